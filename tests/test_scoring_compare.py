"""Differences, fusion, breakdowns, calibration, letter times, test size and oracle steps on answers that we made."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from unwritten.errors import UnwrittenError, UsageError
from unwritten.scoring.analysis import analyse
from unwritten.scoring.breakdown import confusion_matrix, most_confused, ola_by
from unwritten.scoring.calibration import calibration
from unwritten.scoring.compare import compare_pairs, fusion_effects, holm
from unwritten.scoring.intervals import IntervalSettings
from unwritten.scoring.oracle import format_oracle, oracle_steps
from unwritten.scoring.power import sample_size_of, subsampling_curve
from unwritten.scoring.segments import (
    Segment,
    average_precision,
    mean_average_precision,
    predicted_segments,
    temporal_iou,
)
from unwritten.scoring.side_information import Snapper, snapped
from unwritten.scoring.table import answers_table
from unwritten.types import MODALITIES, STYLES, Answer, Clip
from unwritten.words.lists import word_list

QUICK = IntervalSettings(replicates=400)
LETTERS = list("abcdefghijklmnopqrstuvwxyz")


def items(count: int = 240) -> list[Clip]:
    lexicon = word_list("benchmark").words
    chosen = np.random.default_rng(0).choice(len(lexicon), count, replace=False)
    clips = []
    for number, index in enumerate(chosen):
        word, style = lexicon[index], STYLES[number % 3]
        letters = tuple(f"{style}/{letter}" for letter in word)
        clips.append(
            Clip(f"{style}/{word}", style=style, word=word, source="synthetic", writer=style, letter_clips=letters)
        )
    return clips


def answers(clips: list[Clip], reader: str, modality: str, right: float, seed: int) -> list[Answer]:
    """A reader that gets each letter right with probability ``right``."""
    rng = np.random.default_rng(seed)
    out = []
    for clip in clips:
        assert clip.word
        word = "".join(x if rng.random() < right else str(rng.choice(LETTERS)) for x in clip.word)
        out.append(Answer(clip.id, reader, modality, word, word, ((word, right),)))  # type: ignore[arg-type]
    return out


def table(given: list[Answer], clips: list[Clip]) -> pd.DataFrame:
    return answers_table(given, clips, "b", "transfer")[0]


CLIPS = items()


def test_holm_is_the_textbook_example_and_keeps_the_order() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []


def test_a_better_reader_is_found_and_an_equal_one_is_not() -> None:
    both = table([*answers(CLIPS, "good", "av", 0.7, 1), *answers(CLIPS, "poor", "av", 0.4, 2)], CLIPS)
    found = compare_pairs(both, [("good", "poor")], QUICK)[0]
    assert found.p_holm < 1e-4 and 0.2 < found.low < found.difference < found.high < 0.4
    same = table([*answers(CLIPS, "one", "av", 0.5, 3), *answers(CLIPS, "two", "av", 0.5, 4)], CLIPS)
    assert compare_pairs(same, [("one", "two")], QUICK)[0].p_value > 0.01


def test_readers_are_compared_on_the_items_that_both_were_asked() -> None:
    both = table([*answers(CLIPS, "all", "av", 0.7, 1), *answers(CLIPS[:100], "some", "av", 0.4, 2)], CLIPS)
    found = compare_pairs(both, [("all", "some")], QUICK)[0]
    assert (found.n, found.left_out) == (100, len(CLIPS) - 100)


def test_comparisons_refuse_to_mix_protocols() -> None:
    one = table(answers(CLIPS, "one", "av", 0.5, 3), CLIPS)
    two = table(answers(CLIPS, "two", "av", 0.5, 4), CLIPS).assign(protocol="closed")
    with pytest.raises(UnwrittenError, match="do not compare"):
        compare_pairs(pd.concat([one, two], ignore_index=True), [("one", "two")], QUICK)


def fusion(audio: float, video: float, both: float, clips: list[Clip] = CLIPS) -> dict[str, bool]:
    given = [
        a for m, right in zip(MODALITIES, (audio, video, both), strict=True) for a in answers(clips, "r", m, right, 8)
    ]
    return {effect.style: effect.non_inferior for effect in fusion_effects(table(given, clips), QUICK)}


def test_fusion_that_helps_is_no_worse_and_fusion_that_hurts_is_not_said_to_be() -> None:
    assert fusion(0.2, 0.4, 0.6) == {"all": True, "standard": True, "cursive": True, "retrace": True}
    assert not any(fusion(0.2, 0.6, 0.4).values())


def test_the_fusion_bound_holds_against_both_modalities_and_names_the_better() -> None:
    given = [a for m, right in zip(MODALITIES, (0.5, 0.3, 0.5), strict=True) for a in answers(CLIPS, "r", m, right, 8)]
    effect = fusion_effects(table(given, CLIPS), QUICK)[0]
    assert effect.better_single == "audio"
    # Answers of the same letters: no difference at all, item by item.
    assert effect.effect == 0.0 and effect.bound <= effect.low


def test_no_significant_loss_is_not_yet_non_inferiority() -> None:
    few = CLIPS[:12]
    given = [
        a
        for seed, (m, right) in enumerate(zip(MODALITIES, (0.3, 0.5, 0.5), strict=True))
        for a in answers(few, "r", m, right, seed)
    ]
    effect = fusion_effects(table(given, few), QUICK)[0]
    assert effect.low < 0 < effect.high and not effect.non_inferior


def test_a_reader_without_audio_and_video_together_has_no_fusion_effect() -> None:
    assert fusion_effects(table(answers(CLIPS, "r", "audio", 0.5, 1), CLIPS), QUICK) == []


def test_breakdowns_see_where_letters_go_wrong() -> None:
    given = [Answer(c.id, "r", "av", word="".join([(c.word or "")[0], *"?" * 9])) for c in CLIPS]
    first_only = table(given, CLIPS)
    by_position = {part.value: part for part in ola_by(first_only, "position", QUICK)}
    assert by_position["1"].ola == 1.0 and by_position["2"].ola == 0.0
    by_length = {part.value: part.ola for part in ola_by(first_only, "length", QUICK)}
    assert by_length["2"] == pytest.approx(0.5) and by_length["5"] == pytest.approx(0.2)
    letters = sum(part.letters for part in ola_by(first_only, "letter", QUICK))
    assert letters == sum(len(c.word or "") for c in CLIPS)
    with pytest.raises(UsageError, match="known are position"):
        ola_by(first_only, "weather", QUICK)  # type: ignore[arg-type]


def test_the_confusion_matrix_counts_every_letter_once() -> None:
    counts = confusion_matrix(["cat", "cot"], ["cot", "c"], "acot")
    assert counts.sum() == 6
    assert counts["acot".index("a"), "acot".index("o")] == 1
    assert counts["acot".index("t"), -1] == 1  # an answer that was too short
    assert most_confused(counts, "acot") == [("a", "o", 1)]


def test_calibration_of_an_honest_and_of_a_boastful_reader() -> None:
    rng = np.random.default_rng(0)
    sure = rng.uniform(0, 1, 20_000)
    right = rng.random(20_000) < sure
    honest = calibration(list(sure), list(right))
    boastful = calibration([0.99] * 1000, [index % 2 == 0 for index in range(1000)])
    assert honest and boastful
    assert honest.expected_error < 0.02
    assert boastful.expected_error == pytest.approx(0.49)
    assert boastful.brier == pytest.approx(0.5 * 0.01**2 + 0.5 * 0.99**2)
    assert calibration([], []) is None


def test_letter_times_score_as_they_overlap() -> None:
    true = {"c": [Segment("a", 0.0, 1.0), Segment("b", 1.0, 2.0)]}
    assert temporal_iou(Segment("a", 0.0, 1.0), Segment("a", 0.5, 1.5)) == pytest.approx(1 / 3)
    assert mean_average_precision(true, true)["mean"] == 1.0
    late = {"c": [Segment("a", 0.5, 1.5, 0.9), Segment("b", 1.5, 2.5, 0.8)]}
    scores = mean_average_precision(late, true)
    assert scores["0.3"] == 1.0 and scores["0.4"] == 0.0
    swapped = {"c": [Segment("b", 0.0, 1.0), Segment("a", 1.0, 2.0)]}
    assert mean_average_precision(swapped, true)["mean"] == 0.0
    assert mean_average_precision(swapped, true, by_letter=False)["mean"] == 1.0


def test_a_letter_is_found_once_and_sure_mistakes_cost_precision() -> None:
    true = {"c": [Segment("a", 0.0, 1.0)]}
    twice = {"c": [Segment("a", 0.0, 1.0, 0.9), Segment("a", 0.0, 1.0, 0.8)]}
    assert average_precision(twice, true, 0.5) == 1.0
    wrong_first = {"c": [Segment("a", 5.0, 6.0, 0.9), Segment("a", 0.0, 1.0, 0.8)]}
    assert average_precision(wrong_first, true, 0.5) == pytest.approx(0.5)
    assert np.isnan(average_precision(true, {}, 0.5))


def test_sample_size_is_what_halves_the_interval() -> None:
    clips = [Clip(f"w{number}", style="s", word=LETTERS[number // 26] + LETTERS[number % 26]) for number in range(200)]
    given = [Answer(c.id, "r", "av", word=(c.word or "") if number % 2 else "") for number, c in enumerate(clips)]
    need = sample_size_of(table(given, clips), 0.02)
    # The textbook: (1.96 * 0.5 / 0.02)^2 = 2401 items that are all right or all wrong.
    assert need.items == pytest.approx(2401, rel=0.02)
    assert need.narrowest == 0.0


def test_no_number_of_words_replaces_more_letter_clips() -> None:
    hard = set("aeiou")
    given = [Answer(c.id, "r", "av", word="".join("?" if x in hard else x for x in c.word or "")) for c in CLIPS]
    need = sample_size_of(table(given, CLIPS), 0.002)
    assert need.items is None and need.narrowest > 0.002


def test_smaller_tests_scatter_more_and_keep_the_order_less_often() -> None:
    both = table([*answers(CLIPS, "good", "av", 0.5, 1), *answers(CLIPS, "poor", "av", 0.45, 2)], CLIPS)
    curve = subsampling_curve(both, [10, len(CLIPS)], draws=200)
    small, whole = curve.iloc[0], curve.iloc[-2]
    assert small.high - small.low > 0.1 and whole.low == pytest.approx(whole.high)
    assert small.order_kept < 0.95 and whole.order_kept == 1.0
    with pytest.raises(UnwrittenError, match="cannot be drawn"):
        subsampling_curve(both, [10_000])


def test_snapping_takes_the_nearest_word_and_the_more_frequent_of_two() -> None:
    snapper = Snapper(["cat", "cot", "coat", "dog"], np.array([1.0, 2.0, 5.0, 1.0]))
    assert snapper.snap("cxt", 3) == "cot"
    assert snapper.snap("dig", 3) == "dog"
    assert snapper.snap("coat", 3) == "cot"  # told the length, so no longer word
    assert snapper.snap("coxt", None) == "coat"
    assert snapper.snap("", 3) == ""
    assert snapper.snap("xxxxxxx", 7) == "xxxxxxx"  # no word of this length is known


def test_snapped_rows_stand_beside_the_free_ones() -> None:
    words = word_list("benchmark")
    free = table([*answers(CLIPS, "free", "av", 0.8, 1), *answers(CLIPS, "blind-x", "av", 0.1, 2)], CLIPS)
    rows = snapped(free, words.words, words.frequency, "benchmark")
    assert set(rows["reader"]) == {"free-snapped-benchmark"}
    found = compare_pairs(pd.concat([free, rows]), [("free-snapped-benchmark", "free")], QUICK)[0]
    assert found.low > 0


def test_each_true_step_is_worth_what_it_adds() -> None:
    base = table(answers(CLIPS, "ctc", "av", 0.3, 1), CLIPS)
    tips = table(answers(CLIPS, "ctc", "av", 0.6, 1), CLIPS)
    shots = table(answers(CLIPS, "ctc", "av", 0.6, 1), CLIPS)
    steps = oracle_steps(base, {"tips": tips, "tips+shots": shots}, QUICK)
    assert steps[0].gain.low > 0.2 and steps[1].added is not None and steps[1].added.difference == 0.0
    assert "tips+shots" in format_oracle(steps)
    with pytest.raises(UnwrittenError, match="no run"):
        oracle_steps(base, {})


def test_the_analysis_of_a_run_compares_each_reader_with_the_best_blind_one() -> None:
    clips = CLIPS[:60]
    given = [
        *answers(clips, "ctc", "av", 0.6, 1),
        *answers(clips, "blind-constant", "av", 0.15, 2),
        *answers(clips, "blind-random", "av", 0.05, 3),
    ]
    analysis = analyse(table(given, clips), settings=QUICK)
    assert [(c.first, c.second) for c in analysis.comparisons] == [("ctc", "blind-constant")]
    assert ("ctc", "av") in analysis.calibration and ("ctc", "av") in analysis.confusions
    assert {part.by for part in analysis.parts} == {"position", "length", "letter", "public"}


def test_letter_times_come_from_the_answers_themselves() -> None:
    clips = [Clip("x", word="is"), Clip("y", word="it")]
    given = [
        Answer("x", "ctc", "av", word="is", candidates=(("is", 0.5),), details={"letter_spans_s": [[0, 1], [1, 2.5]]}),
        Answer("y", "ctc", "av", word="it"),
    ]
    found = predicted_segments(table(given, clips))
    assert found == {"x": [Segment("i", 0, 1, 0.5), Segment("s", 1, 2.5, 0.5)], "y": []}
