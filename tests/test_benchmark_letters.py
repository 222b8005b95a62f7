"""Clips are found by their names, wherever they lie."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from unwritten import cli
from unwritten.benchmark import ClipPatterns, find_clips, search
from unwritten.config import settings_from
from unwritten.errors import UnwrittenError, UsageError
from unwritten.types import MODALITIES, STYLES, Clip


def make(root: Path, *names: str) -> Path:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return root


def take(stem: str) -> tuple[str, str, str]:
    return f"{stem}.mp3", f"{stem}_muted.mp4", f"{stem}.mp4"


def only(root: Path, patterns: ClipPatterns | None = None) -> Clip:
    (clip,) = find_clips(root, patterns or ClipPatterns())
    return clip


def test_the_sample_clips_are_three_letters_and_a_word(sample_clips: Path) -> None:
    clips = {clip.id: clip for clip in find_clips(sample_clips)}
    assert sorted(clips) == [
        "letters/cursive/a-2c",
        "letters/retrace/a-3r",
        "letters/standard/a-1",
        "words/standard/above",
    ]
    for clip in clips.values():
        assert clip.modalities == MODALITIES
        assert clip.files["audio"].suffix == ".mp3" and clip.files["video"].name.endswith("_muted.mp4")
        assert clip.files["av"].suffix == ".mp4" and "_muted" not in clip.files["av"].name
    assert {clip.style for clip in clips.values() if clip.source == "letter" and clip.word == "a"} == set(STYLES)
    above = clips["words/standard/above"]
    assert (above.word, above.style, above.source) == ("above", "standard", "synthetic")
    assert above.letter_clips == tuple(f"standard/{letter}" for letter in "above")


@pytest.mark.parametrize(("stem", "style"), [("l-1", "standard"), ("l-2c", "cursive"), ("l-3r", "retrace")])
def test_a_letter_needs_no_folder(tmp_path: Path, stem: str, style: str) -> None:
    clip = only(make(tmp_path, *take(stem)))
    assert (clip.id, clip.word, clip.style, clip.source) == (stem, "l", style, "letter")
    assert clip.letter_clips == (f"{style}/l",) and clip.modalities == MODALITIES


def test_a_marked_word_is_live_and_has_no_letter_clips(tmp_path: Path) -> None:
    clip = only(make(tmp_path, *take("anywhere/above-2c")))
    assert (clip.word, clip.style, clip.source, clip.letter_clips) == ("above", "cursive", "live", ())


@pytest.mark.parametrize("folder", ["cursive", "words/Cursive", "cursive_words/4", "British cursive/a to m"])
def test_an_unmarked_word_takes_its_style_from_the_nearest_folder(tmp_path: Path, folder: str) -> None:
    clip = only(make(tmp_path / "data", *take(f"{folder}/above")))
    assert (clip.word, clip.style, clip.source) == ("above", "cursive", "synthetic")


def test_the_folder_that_is_pointed_at_counts_too(tmp_path: Path) -> None:
    make(tmp_path, *take("standard/above"))
    assert only(tmp_path / "standard").style == "standard"


def test_spaces_and_colons_in_names_are_read(tmp_path: Path) -> None:
    clip = only(make(tmp_path, *take("synthetic words/cursive: above")))
    assert (clip.word, clip.style, clip.source) == ("above", "cursive", "synthetic")
    assert clip.letter_clips == tuple(f"cursive/{letter}" for letter in "above")


def test_unmarked_words_in_a_live_folder_are_live(tmp_path: Path) -> None:
    assert only(make(tmp_path, *take("live_words/standard/above"))).source == "live"
    assert only(make(tmp_path / "2", *take("olive/standard/above"))).source == "synthetic"


def test_capitals_are_labels_of_their_own_unless_folded(tmp_path: Path) -> None:
    make(tmp_path, *take("upper/A-1"), *take("lower/b-1"))
    assert {clip.word for clip in find_clips(tmp_path)} == {"A", "b"}
    assert {clip.word for clip in find_clips(tmp_path, ClipPatterns(fold_case=True))} == {"a", "b"}
    make(tmp_path, *take("lower/a-1"))
    with pytest.raises(UnwrittenError, match="claims the same name"):
        find_clips(tmp_path, ClipPatterns(fold_case=True))


def test_modalities_in_folders_of_their_own_make_one_clip(tmp_path: Path) -> None:
    clip = only(make(tmp_path, "audio/a-1.mp3", "muted/a-1_muted.mp4", "both/a-1.mp4"))
    assert clip.modalities == MODALITIES and clip.id == "letter/standard/a-1"


def test_suffixes_of_other_recorders_are_known_in_any_case(tmp_path: Path) -> None:
    clip = only(make(tmp_path, "a-1.WAV", "a-1_muted.MOV", "a-1.MOV"))
    assert clip.modalities == MODALITIES


def test_a_name_is_the_same_in_both_unicode_forms(tmp_path: Path) -> None:
    clip = only(make(tmp_path, unicodedata.normalize("NFD", "é-1.mp4"), "é-1_muted.mp4"))
    assert clip.word == "é" and clip.modalities == ("video", "av")


def test_hidden_files_and_other_files_are_passed_over_and_odd_media_told(tmp_path: Path) -> None:
    make(tmp_path, *take("a-1"), "._a-1.mp4", ".cache/b-1.mp4", "README.md", "IMG_0042.mov", "b-9x.mp4")
    found = search(tmp_path)
    assert [clip.id for clip in found.clips] == ["a-1"]
    assert sorted(path.name for path in found.unrecognised) == ["IMG_0042.mov", "b-9x.mp4"]


def test_a_word_without_style_is_the_users_own(tmp_path: Path) -> None:
    clip = only(make(tmp_path, "above.mp4"))
    assert (clip.source, clip.style, clip.word, clip.letter_clips) == ("own", "", "above", ())


def test_two_takes_that_claim_one_name_are_refused_by_name(tmp_path: Path) -> None:
    make(tmp_path, "one/a-1.mp4", "two/a-1.mp4")
    with pytest.raises(UnwrittenError, match=r"two/a-1\.mp4: claims the same name as .*one/a-1\.mp4; rename"):
        find_clips(tmp_path)


def test_a_copy_of_the_same_content_is_left_out_and_told(tmp_path: Path) -> None:
    for folder in ("all", "evaluation"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "above-1.mp4").write_text("the same")
    found = search(tmp_path)
    assert [clip.id for clip in found.clips] == ["all/above-1"]
    assert [path.parent.name for path in found.copies] == ["evaluation"]


def test_an_empty_or_missing_folder_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UnwrittenError, match="no clip found; names must read like"):
        find_clips(tmp_path)
    assert cli.main(["clips", str(tmp_path / "not there")]) == 1
    assert (
        capsys.readouterr().err
        == f"unwritten: {tmp_path / 'not there'}: no such folder; give the folder that holds the clips\n"
    )


def test_patterns_come_from_the_configuration(tmp_path: Path) -> None:
    node = {"marks": {"italic": "9"}, "folders": {"italic": "ital"}, "modalities": {"av": r"-both\.avi"}}
    patterns = settings_from(ClipPatterns, node)
    clip = only(make(tmp_path, "a-9-both.avi", "a-1.mp4"), patterns)
    assert (clip.word, clip.style, clip.modalities) == ("a", "italic", ("av",))
    with pytest.raises(UsageError, match="no such setting"):
        settings_from(ClipPatterns, {"mark": {}}, "benchmark.patterns")
    with pytest.raises(UsageError, match="no regular expression"):
        settings_from(ClipPatterns, {"name": "("}, "benchmark.patterns")


def test_the_shipped_configuration_reads_names_as_the_defaults_do() -> None:
    from omegaconf import OmegaConf

    from unwritten.files import project_root

    node = OmegaConf.load(project_root() / "conf/benchmark/unwritten.yaml")
    assert settings_from(ClipPatterns, node.patterns) == ClipPatterns()


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.text(alphabet="abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=8),
    st.sampled_from([("standard", "1"), ("cursive", "2c"), ("retrace", "3r")]),
    st.booleans(),
)
def test_what_is_named_is_what_is_found(
    tmp_path_factory: pytest.TempPathFactory, word: str, style: tuple[str, str], marked: bool
) -> None:
    root = tmp_path_factory.mktemp("clips")
    clip = only(make(root, *take(f"{word}-{style[1]}" if marked else f"{style[0]}/{word}")))
    source = "letter" if len(word) == 1 else "live" if marked else "synthetic"
    assert (clip.word, clip.style, clip.source, clip.modalities) == (word, style[0], source, MODALITIES)


def test_counts_say_what_is_there_and_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make(tmp_path, *take("a-1"), "b-1.mp3", "B-1.mp4", *take("standard/above"), "IMG_1.mp4")
    assert cli.main(["clips", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "letter     standard       3       2       1       2" in out
    assert "synthetic  standard       1       1       1       1" in out
    assert "standard letters: 2 small, 1 capital; no clip of c d e" in out
    assert "2 incomplete clips:" in out and "b-1 lacks video, av" in out and "IMG_1.mp4" in out
