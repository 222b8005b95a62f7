"""Truths handed in, shots as items, and what the analysis says of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from unwritten.benchmark.truth import with_truth
from unwritten.decoding.times import whole_spans_s
from unwritten.errors import UnwrittenError
from unwritten.handwriting.writers import SimulatedWriter
from unwritten.readers.ctc import CtcReader
from unwritten.readers.network import CtcNetwork, EmissionCache
from unwritten.readers.oracle import OracleReader, OracleSettings, hand_in, with_true_tips
from unwritten.recordings.shots import cut_shot, letter_shots, record_shot
from unwritten.scoring.analysis import analyse, write_analysis
from unwritten.scoring.breakdown import ola_by
from unwritten.scoring.intervals import IntervalSettings
from unwritten.scoring.oracle import oracle_tables
from unwritten.scoring.printed import format_analysis
from unwritten.scoring.segments import letter_times
from unwritten.scoring.table import answers_table
from unwritten.simulation.camera import CameraSettings, film, film_with_truth
from unwritten.simulation.clips import spelled_clips, written_by
from unwritten.simulation.motion import Motion
from unwritten.simulation.pen import PenSettings
from unwritten.simulation.severity import severity
from unwritten.simulation.writing import LetterBank, join_shots, perform_sample
from unwritten.types import Answer, Clip, Features, Modality, Recording, Track, Truth

QUICK = IntervalSettings(replicates=200)


@pytest.fixture(scope="module")
def motion() -> Motion:
    bank = LetterBank.of(written_by([SimulatedWriter(7, "standard")], ("cat",), 1, 0))
    rng = np.random.default_rng(0)
    writer = bank.writers(2)[0]
    return join_shots(
        [perform_sample(bank.corpus, i, 3.0, PenSettings(), i) for i in bank.spell(writer, "cat", rng)], "cat"
    )


@pytest.fixture(scope="module")
def spelled() -> list[Clip]:
    corpus = written_by([SimulatedWriter(1_000_007, "standard")], ("cat",), 1, 0)
    return spelled_clips(corpus, severity("measured"), 3, 0)


def test_the_truth_of_a_film_costs_it_no_random_draw(motion: Motion) -> None:
    for seed in range(5):
        alone, beside = np.random.default_rng(seed), np.random.default_rng(seed)
        track = film(motion, 3.0, CameraSettings(), alone)
        again, _ = film_with_truth(motion, 3.0, CameraSettings(), beside)
        assert np.array_equal(track.tip_px, again.tip_px) and np.array_equal(track.contact, again.contact)
        assert alone.random() == beside.random()


def test_a_tracker_without_errors_sees_the_truth(motion: Motion) -> None:
    exact = CameraSettings(
        jitter_px=0.0, wander_px=0.0, blur_s=0.0, dropout_rate_hz=0.0, jump_rate_hz=0.0, contact_blind=0.0
    )
    track, truth = film_with_truth(motion, 3.0, exact, np.random.default_rng(3))
    assert truth.frame is not None and truth.tip_px is not None and truth.contact is not None
    assert np.allclose(track.tip_px[truth.frame], truth.tip_px)
    assert np.array_equal(np.flatnonzero(track.visible), truth.frame)
    noisy, same = film_with_truth(motion, 3.0, CameraSettings(), np.random.default_rng(3))
    assert same.frame is not None and same.tip_px is not None
    error_px = np.hypot(*(noisy.tip_px[same.frame] - same.tip_px).T)
    assert 0.05 < np.median(error_px) < 5


def test_letter_times_of_a_word_shot_letter_by_letter_are_known_and_lie_in_its_shots(spelled: list[Clip]) -> None:
    for clip in spelled:
        assert clip.truth is not None and clip.recording is not None and clip.recording.track is not None
        assert clip.truth.letter_spans_s is not None and clip.truth.boundaries_s is not None and clip.word
        edges = [0.0, *clip.truth.boundaries_s, np.inf]
        for (start_s, end_s), low, high in zip(clip.truth.letter_spans_s, edges[:-1], edges[1:], strict=True):
            assert low <= start_s < end_s <= high
        track = clip.recording.track
        cuts_s = track.time_s[np.flatnonzero(np.diff(track.shot)) + 1]
        assert np.allclose(cuts_s, clip.truth.boundaries_s, atol=0.05)


def track_of(count: int, cut: int) -> Track:
    time_s = np.arange(count) / 30
    return Track(
        time_s=time_s,
        tip_px=np.column_stack([np.arange(count), np.arange(count)]).astype(float),
        visible=np.ones(count, dtype=bool),
        confidence=np.full(count, 0.5),
        shot=(np.arange(count) >= cut).astype(int),
        shaft_rad=np.zeros(count),
        contact=np.full(count, 0.8),
        size_px=(640.0, 480.0),
        sample_aspect_ratio=0.5,
        writing_rad=0.5,
    )


def test_marks_in_some_frames_correct_the_whole_shot_and_no_other() -> None:
    track = track_of(40, 20)
    # Pictures are twice as wide in their own pixels; the tracker is 3 px to the right and then 5.
    marked = np.array([0, 10])
    tip_px = np.column_stack([2 * (marked - np.array([3.0, 5.0])), marked])
    found = with_true_tips(track, Truth(frame=marked, tip_px=tip_px))
    assert found.tip_px[[0, 5, 10, 19], 0] == pytest.approx([-3, 1, 5, 14])
    assert np.array_equal(found.tip_px[20:], track.tip_px[20:])
    assert np.array_equal(found.tip_px[:, 1], track.tip_px[:, 1])


def test_a_marked_tip_is_seen_where_the_tracker_saw_nothing() -> None:
    track = replace(track_of(10, 10), visible=np.arange(10) != 4)
    found = with_true_tips(track, Truth(frame=np.array([4]), tip_px=np.array([[6.0, 9.0]])))
    assert found.visible.all() and found.tip_px[4].tolist() == [3.0, 9.0]
    assert np.array_equal(found.tip_px[5:], track.tip_px[5:])


def test_each_truth_replaces_its_own_part_of_the_track() -> None:
    recording = Recording(track_of(10, 5))
    truth = Truth(shot=np.repeat([0, 1], [3, 7]), contact=np.arange(10) > 2)
    shots = hand_in(recording, truth, ("shots",)).track
    contact = hand_in(recording, truth, ("contact",)).track
    assert shots is not None and contact is not None
    assert shots.shot.tolist() == [0] * 3 + [1] * 7 and (shots.contact == 0.8).all()
    assert contact.contact.tolist() == [0.0] * 3 + [1.0] * 7 and contact.shot.tolist() == [0] * 5 + [1] * 5
    one_less = hand_in(recording, Truth(shot=np.repeat([0, 1], [3, 6])), ("shots",)).track
    assert one_less is not None and one_less.shot.tolist() == [0] * 3 + [1] * 7
    with pytest.raises(UnwrittenError, match="5 frames, the film has 10"):
        hand_in(recording, Truth(shot=np.zeros(5, dtype=int)), ("shots",))


def test_marks_are_found_by_the_files_that_they_name(ground_truth: Path) -> None:
    files = {"av": Path("/somewhere/words/standard/above.mp4"), "video": Path("x/words/standard/above_muted.mp4")}
    letter = {"video": Path("x/letters/standard/b-1_muted.mp4")}
    above, other = with_truth(
        [Clip("above", files=files, word="above"), Clip("b", files=letter, word="b")],  # type: ignore[arg-type]
        ground_truth,
    )
    assert other.truth is None and above.truth is not None
    assert above.truth.shot is not None and above.truth.boundaries_s is not None and above.truth.tip_px is not None
    assert len(above.truth.shot) == 614 and above.truth.shot.max() == 4
    assert above.truth.boundaries_s == pytest.approx([2.0687, 4.2042, 6.1561, 8.0747])


def test_a_folder_without_marks_and_marks_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    clip = Clip("is", files={"video": tmp_path / "is_muted.mp4"}, word="is")
    with pytest.raises(UnwrittenError, match=r"neither pen_tip\.csv nor shots\.json"):
        with_truth([clip], tmp_path)
    (tmp_path / "pen_tip.csv").write_text("clip,frame\nis_muted.mp4,3\n")
    with pytest.raises(UnwrittenError, match=r"pen_tip\.csv: cannot be read"):
        with_truth([clip], tmp_path)
    (tmp_path / "pen_tip.csv").unlink()
    shot = {"start_s": 0, "end_s": 1}
    entry = {"n_frames": 9, "first_frames": [0], "shots": [shot]}
    (tmp_path / "shots.json").write_text(json.dumps({"is_muted.mp4": entry}))
    with pytest.raises(UnwrittenError, match="2 letters, but 1 shot in"):
        with_truth([clip], tmp_path)


def test_every_shot_of_a_word_becomes_an_item_of_its_letter() -> None:
    word = Clip("w/is", {"av": Path("is.mp4")}, "standard", "is", "synthetic", letter_clips=("i-1", "s-1"))
    shots = letter_shots([word, Clip("l/i", word="i", source="letter"), replace(word, id="own", source="own")])
    assert [(clip.id, clip.word, clip.shot, clip.letter_clips, clip.source) for clip in shots] == [
        ("w/is#1", "i", 0, ("i-1",), "letter-shot"),
        ("w/is#2", "s", 1, ("s-1",), "letter-shot"),
    ]


def test_a_shot_begins_its_own_clock_and_takes_its_own_sound() -> None:
    waveform = np.arange(32_000, dtype=np.float32)
    recording = Recording(track_of(60, 30), waveform, 16_000, audio_offset_s=0.25)
    first, second = (cut_shot(recording, shot) for shot in (0, 1))
    assert first.track is not None and second.track is not None
    assert first.waveform is not None and second.waveform is not None
    assert (
        len(first.track) == len(second.track) == 30 and second.track.time_s[0] == 0 and (second.track.shot == 0).all()
    )
    assert first.audio_offset_s == pytest.approx(0.25) and len(first.waveform) == 12_000
    # The second shot begins at 1 s, which is 0.75 s into the sound.
    assert second.audio_offset_s == pytest.approx(0.0) and second.waveform[0] == 12_000
    with pytest.raises(UnwrittenError, match="has 2 shots, letter 3 is not there"):
        cut_shot(recording, 2)


def test_joined_sound_is_cut_where_it_was_joined(sample_clips: Path) -> None:
    clip = Clip("a#5", {"audio": sample_clips / "words" / "standard" / "above.mp3"}, word="e", shot=4)
    for shot in (0, 4):
        waveform = record_shot(replace(clip, shot=shot), "audio").waveform
        assert waveform is not None and 1.5 < len(waveform) / 16_000 < 2.5
    with pytest.raises(UnwrittenError, match="letter 6 is not there"):
        record_shot(replace(clip, shot=5), "audio")


@pytest.fixture(scope="module")
def untrained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint that has learned nothing; one for reading needs no more."""
    import torch

    from unwritten.features.extract import FeatureSettings
    from unwritten.models.checkpoint import save_small
    from unwritten.models.fusion import FusionModel, ModelSettings

    torch.manual_seed(0)
    small = ModelSettings(
        channels=8, audio_channels=8, fused_channels=8, dilations=(1,), audio_dilations=(1,), fused_dilations=(1,)
    )
    path = tmp_path_factory.mktemp("checkpoint") / "untrained.ckpt"
    save_small(FusionModel(small), FeatureSettings().as_mapping(), {}, path)
    return path


def test_readers_of_one_checkpoint_run_it_once_for_each_clip_and_truths_are_read_from_start_to_end(
    untrained: Path, spelled: list[Clip], monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = []
    run_network = CtcNetwork.log_probs

    def counted(self: CtcNetwork, features: Features, modality: Modality) -> np.ndarray:
        runs.append(modality)
        return run_network(self, features, modality)

    monkeypatch.setattr(CtcNetwork, "log_probs", counted)
    listed, free = (CtcReader(untrained, mode, lexicon="benchmark") for mode in ("ctc", "ctc-free"))
    told = OracleReader(CtcReader(untrained, "ctc", "told", "benchmark"), OracleSettings(("boundaries",)))
    answers = {reader.name: next(iter(reader.read(spelled[:1], "av"))) for reader in (listed, free, told)}
    assert runs == ["av"]
    clip = spelled[0]
    assert clip.truth is not None and clip.truth.boundaries_s is not None and clip.word
    rank, words = answers["ctc"].details["rank"], answers["ctc"].details["rank_of"]
    assert isinstance(rank, int) and isinstance(words, int) and 1 <= rank <= words
    assert answers["told"].state == "answered" and len(answers["told"].word) == len(clip.word)
    assert answers["told"].details["oracle"] == "boundaries"
    spans_s = np.array(answers["told"].details["letter_spans_s"])
    half_frame_s = 0.5 / listed.network.emission_rate_hz + 1e-3
    assert spans_s[1:, 0] == pytest.approx(clip.truth.boundaries_s, abs=half_frame_s)
    everything = OracleReader(CtcReader(untrained, "ctc", "all", "benchmark"))
    assert next(iter(everything.read([clip], "video"))).details["oracle"] == "all"
    tips = OracleReader(listed, OracleSettings(("tips", "contact")))
    assert tips.asked([clip], "audio") == [] and tips.asked([clip, Clip("x", word="x")], "av") == [clip]
    (refused,) = tips.read([replace(clip, truth=None)], "av")
    assert refused.state == "failed" and "truth=DIR" in refused.error


def test_emissions_are_computed_once_for_each_recording_and_the_oldest_leave() -> None:
    cache, made = EmissionCache(most_bytes=250), []

    def read(clip: Clip, modality: Modality = "av") -> None:
        def compute() -> tuple[np.ndarray, float]:
            made.append(clip.id)
            return np.zeros((25, 1), dtype=np.float32), 1.0

        cache.get_or_compute(clip, modality, None, compute)

    one, two, three = (Clip(name, recording=Recording(track_of(5, 5))) for name in ("one", "two", "three"))
    for clip in (one, one, two, one):
        read(clip)
    assert made == ["one", "two"]
    read(replace(one, recording=Recording(track_of(5, 5))))  # another recording under the same name; two leaves
    assert made == ["one", "two", "one"] and cache.held_bytes == 200
    read(two)
    read(three, "audio")
    assert made[3:] == ["two", "three"]


def answers(right: dict[str, int], reader: str, **details: object) -> list[Answer]:
    """A reader that gets the first so many letters of each word."""
    return [
        Answer(word, reader, "av", word=word[:count] + "#" * (len(word) - count), details=details)
        for word, count in right.items()
    ]


WORDS = ("light", "above", "storm", "house", "plant", "money")
CLIPS = [Clip(word, word=word, style="standard") for word in WORDS]


def table_of(given: list[Answer], clips: list[Clip] = CLIPS) -> pd.DataFrame:
    return answers_table(given, clips, "b", "transfer")[0]


def test_a_truth_that_helps_is_worth_what_it_adds_and_has_a_table_of_its_own(tmp_path: Path) -> None:
    told = {"oracle": "tips", "oracle_base": "ctc"}
    some = dict.fromkeys(WORDS[:4], 4)
    given = [
        *answers(dict.fromkeys(WORDS, 2), "ctc"),
        *answers(some, "ctc-true-tips", **told),
        *answers(dict.fromkeys(WORDS, 2), "ctc-true-shots", **{**told, "oracle": "shots"}),
        *answers(dict.fromkeys(WORDS, 1), "blind-random"),
    ]
    table = table_of(given)
    (own,) = oracle_tables(table, QUICK)
    tips, shots = own.steps
    assert (own.reader, own.modality, tips.name, tips.gain.n) == ("ctc", "av", "tips", 4)
    assert tips.gain.difference == pytest.approx(0.4) and tips.ola == pytest.approx(0.8)
    assert shots.gain.difference == 0 and shots.added is None
    analysis = analyse(table, settings=QUICK)
    assert {(pair.first, pair.second) for pair in analysis.comparisons} == {("ctc", "blind-random")}
    printed = format_analysis(analysis, table, 0.01)
    assert ["tips", "4", "40.0", "80.0", "+40.0"] in [line.split()[:5] for line in printed.splitlines()]
    assert "Letters that no public clip shows (all but a, b, e, o, v)" in printed
    write_analysis(analysis, tmp_path / "analysis.json")
    stored = json.loads((tmp_path / "analysis.json").read_text())
    assert stored["oracle"][0]["steps"][0]["gain"]["n"] == 4


def test_letters_that_no_public_clip_shows_are_scored_alone() -> None:
    parts = {part.value: part for part in ola_by(table_of(answers({"above": 5, "light": 0}, "ctc"), CLIPS), "public")}
    assert (parts["shown"].letters, parts["shown"].ola) == (5, 1.0)
    assert (parts["not shown"].letters, parts["not shown"].ola) == (5, 0.0)


def test_letter_times_are_scored_where_they_are_known() -> None:
    spans_s = np.array([[0.0, 1.0], [1.0, 2.0]])
    clips = [Clip("x", word="is", truth=Truth(letter_spans_s=spans_s)), Clip("y", word="it")]
    given = [
        Answer("x", "ctc", "av", word="is", details={"letter_spans_s": [[0, 1], [1.5, 2]]}),
        Answer("y", "ctc", "av", word="it", details={"letter_spans_s": [[0, 1], [1.5, 2]]}),
    ]
    (times,) = letter_times(table_of(given, clips))
    assert times.items == 1 and times.letters["0.5"] == 1.0 and times.boundaries["mean"] == 1.0
    wrong = [replace(given[0], word="as"), given[1]]
    (times,) = letter_times(table_of(wrong, clips))
    assert times.letters["mean"] == 0.5 and times.boundaries["mean"] == 1.0


def test_a_letter_lasts_until_halfway_to_the_next_peak() -> None:
    assert whole_spans_s([[0.5, 0.6], [1.4, 1.5]], 2.0).tolist() == [[0.0, 1.0], [1.0, 2.0]]
    assert whole_spans_s((), 2.0).tolist() == []


def test_small_benchmarks_are_printed_item_by_item_and_shots_are_in_no_mean_with_words() -> None:
    word = Clip("w/is", word="is", style="standard", source="synthetic")
    shot = Clip("w/is#1", word="i", style="standard", source="letter-shot", shot=0)
    ranked = {"rank": 3, "rank_of": 26, "probability": 0.125}
    given = [
        Answer("w/is", "ctc", "av", word="it", details={**ranked, "rank_of": 101}),
        Answer("w/is#1", "ctc", "av", word="j", details=ranked),
        Answer("w/is", "ctc-letters", "av", word="iz"),
        Answer("w/is#1", "ctc-letters", "av", word="j", details=ranked),
    ]
    table = table_of(given, [word, shot])
    assert set(table["benchmark"]) == {"b", "b/letter-shot"}
    analysis = analyse(table, settings=QUICK)
    total = next(row for row in analysis.scores if (row.reader, row.benchmark) == ("ctc", "b"))
    assert total.n == 1
    assert len(analysis.items) == 4
    lines = [line for line in format_analysis(analysis, table, 0.01).splitlines() if line.startswith("w/is")]
    assert [line.split() for line in lines] == [
        ["w/is", "is", "av", "it", "3", "101", "0.12"],
        ["w/is#1", "i", "av", "j", "3", "26", "0.12"],
    ]
