"""Clean words made of letter clips: whole in every player, in step at every letter, the same every time, resumable."""

from __future__ import annotations

import shutil
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import av
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from synthesis_clips import LETTERS, RATE_HZ, clicks_s, flashes_s, letter_clip, letter_clips, make

from unwritten.benchmark.audit.folder import audit
from unwritten.benchmark.letters import find_clips
from unwritten.benchmark.manifest import read_manifest
from unwritten.benchmark.synthesis.letters import prepare
from unwritten.benchmark.synthesis.mp3 import encode_frames, file_of
from unwritten.benchmark.synthesis.settings import Canvas
from unwritten.benchmark.synthesis.synthesize import SynthesisSettings, Word, synthesize
from unwritten.cli import main
from unwritten.errors import UnwrittenError
from unwritten.media import open_video, probe, read_audio, read_frames, write_audio, write_video
from unwritten.types import Clip


@pytest.fixture(scope="module")
def primitives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return letter_clips(tmp_path_factory.mktemp("primitives"))


def test_sound_is_in_step_with_pictures_at_every_letter_of_a_long_word(primitives: Path, tmp_path: Path) -> None:
    item = make(primitives, tmp_path, ["abcabcabcabc"])["words/standard/abcabcabcabc"]
    flashes = flashes_s(item.clip.files["video"])
    assert flashes == pytest.approx(
        [
            start + LETTERS[letter][1] / 30
            for letter, (start, _) in zip(item.clip.word, item.letter_times_s, strict=True)
        ],
        abs=1e-3,
    )
    for modality in ("av", "audio"):
        assert clicks_s(item.clip.files[modality]) == pytest.approx(flashes, abs=0.020)


def test_all_three_files_of_a_word_last_equally_long_and_hold_what_they_say(primitives: Path, tmp_path: Path) -> None:
    for item in make(primitives, tmp_path, ["ab", "cab"]).values():
        audio, video, both = (probe(item.clip.files[modality]) for modality in ("audio", "video", "av"))
        assert audio.container == "mp3"
        assert audio.video is None
        assert video.audio is None
        assert len(audio.parts) == len(video.parts) == len(both.parts) == 1
        assert len(read_audio(audio.path)) / RATE_HZ == pytest.approx(item.duration_s, abs=1e-3)
        assert len(read_audio(both.path)) / RATE_HZ == pytest.approx(item.duration_s, abs=0.012)
        counts = [sum(1 for _ in open_video(info.path)) for info in (video, both)]
        assert counts == [round(item.duration_s * 30)] * 2
        assert video.video.sample_aspect_ratio == 1.0  # type: ignore[union-attr]


def test_the_audit_finds_no_fault_in_clean_words(primitives: Path, tmp_path: Path) -> None:
    make(primitives, tmp_path, ["ab", "cab", "abcab"])
    assert audit(tmp_path, workers=1) == []


def test_words_are_found_by_name_as_well_as_by_manifest(primitives: Path, tmp_path: Path) -> None:
    listed = make(primitives, tmp_path, ["ab", "cab"])
    (tmp_path / "manifest.csv").unlink()
    (tmp_path / "manifest.parquet").unlink()
    found = {clip.id: clip for clip in find_clips(tmp_path)}
    assert found.keys() == listed.keys()
    assert all(found[name].letter_clips == item.clip.letter_clips for name, item in listed.items())


def test_a_reader_that_knows_only_one_container_hears_the_whole_word(primitives: Path, tmp_path: Path) -> None:
    item = make(primitives, tmp_path, ["abcab"])["words/standard/abcab"]
    with av.open(str(item.clip.files["audio"])) as container:
        samples = sum(frame.samples for frame in container.decode(audio=0))
    assert samples / 48_000 == pytest.approx(item.duration_s, abs=0.001)


def test_letters_are_copied_without_being_encoded_again(primitives: Path, tmp_path: Path) -> None:
    words = ["".join(np.random.default_rng(seed).choice(list("abc"), 5)) for seed in range(30)]
    synthesize(
        primitives,
        tmp_path,
        SynthesisSettings(short_side_px=64, styles=("standard",)),
        sorted(set(words)),
        workers=1,
    )
    letter = next((tmp_path / ".letters" / "clean" / "standard").glob("a.*.mp4"))
    word = tmp_path / "words" / "standard" / f"{next(word for word in words if word[0] == 'a')}_muted.mp4"
    with av.open(str(letter)) as one, av.open(str(word)) as other:
        originals = [bytes(packet) for packet in one.demux(video=0) if packet.size][: LETTERS["a"][0]]
        copies = [bytes(packet) for packet in other.demux(video=0) if packet.size][: LETTERS["a"][0]]
    assert copies == originals


def test_styles_are_never_mixed_and_keep_their_own_rate(primitives: Path, tmp_path: Path) -> None:
    items = make(primitives, tmp_path, ["ab", "cab"], styles=())
    assert set(items) == {"words/standard/ab", "words/standard/cab", "words/cursive/ab"}
    assert probe(items["words/cursive/ab"].clip.files["video"]).video.rate_hz == 25  # type: ignore[union-attr]
    assert items["words/cursive/ab"].clip.letter_clips == ("cursive/a", "cursive/b")


def test_the_most_frequent_words_that_the_letters_cover(primitives: Path, tmp_path: Path) -> None:
    manifest = synthesize(primitives, tmp_path, SynthesisSettings(count=2, short_side_px=64), workers=1)
    words = {item.clip.word for item in read_manifest(manifest) if item.clip.style == "standard"}
    assert len(words) == 2
    assert all(set(word) <= set("abc") for word in words)


@pytest.mark.parametrize("fill", ["freeze", "black"])
def test_pauses_and_the_gaps_of_phrases(primitives: Path, tmp_path: Path, fill: str) -> None:
    item = make(primitives, tmp_path, ["ab ca"], pause_s=0.2, gap_s=0.4, fill=fill)["words/standard/ab ca"]
    gaps = [after[0] - before[1] for before, after in pairwise(item.letter_times_s)]
    assert gaps == pytest.approx([0.2, 0.4, 0.2], abs=1e-3)
    frames = [frame.image.astype(int) for frame in read_frames(item.clip.files["video"])]
    last_of_a, pause = LETTERS["a"][0] - 1, LETTERS["a"][0] + 3
    if fill == "black":
        assert frames[pause].mean() < 8
    else:
        assert np.abs(frames[pause] - frames[last_of_a]).mean() < 4
    for modality in ("av", "audio"):
        assert clicks_s(item.clip.files[modality]) == pytest.approx(flashes_s(item.clip.files["video"]), abs=0.020)
    quiet = read_audio(item.clip.files["audio"])[int((item.letter_times_s[1][1] + 0.05) * RATE_HZ) :][: RATE_HZ // 4]
    assert np.abs(quiet).max() < 0.02


def test_capitals_are_letters_of_their_own(primitives: Path, tmp_path: Path) -> None:
    items = make(primitives, tmp_path, ["aa"], upper_case=True)
    assert items.keys() == {"words/standard-capitals/AA"}
    assert items["words/standard-capitals/AA"].clip.letter_clips == ("standard/A", "standard/A")


def test_several_takes_give_several_versions(primitives: Path, tmp_path: Path) -> None:
    takes = tmp_path / "takes"
    for take in (1, 2):
        letter_clip(takes, f"take{take}", *LETTERS["abc"[take - 1]], 30, take)
    rows = [f"a{take},a,standard,letter,take{take}.mp3,take{take}_muted.mp4,take{take}.mp4" for take in (1, 2)]
    (takes / "manifest.csv").write_text("\n".join(["id,word,style,source,audio,video,av", *rows]))
    items = make(takes, tmp_path / "out", ["aaa"], takes=3)
    assert items.keys() == {"words/standard/aaa", "words/standard/aaa.take2", "words/standard/aaa.take3"}
    assert len({item.digest for item in items.values()}) == 3
    again = make(takes, tmp_path / "again", ["aaa"], takes=3)
    assert {name: item.digest for name, item in items.items()} == {name: item.digest for name, item in again.items()}


def test_a_prepared_letter_is_the_same_whatever_lies_in_memory(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    folder = tmp_path / "wide"
    letter = write_video(folder / "a-1.mp4", rng.integers(60, 160, (20, 64, 112, 3)).astype(np.uint8), fps=30)
    write_audio(folder / "a-1.mp3", rng.normal(0, 0.1, RATE_HZ).astype(np.float32))
    clip = Clip("a-1", {"video": letter, "audio": folder / "a-1.mp3"}, "standard", "a", "letter")
    # Seven macroblocks across: vector code that takes sixteen at once reaches beyond the row.
    canvas = Canvas(112, 64, Fraction(30))
    made, filled = set(), []
    for attempt in range(30):
        filled = [np.full(int(size), attempt, np.uint8) for size in rng.integers(1, 60_000, 200)]
        film = prepare(clip, tmp_path / f"{attempt}.mp4", canvas, SynthesisSettings(), 0.5).film
        made.add(film.read_bytes())
    assert len(filled) == 200
    assert len(made) == 1


def test_an_interrupted_run_leaves_only_whole_files_and_goes_on(primitives: Path, tmp_path: Path) -> None:
    words = ["ab", "ba", "cab", "abba"]

    def interrupt(stage: str, done: int, total: int) -> None:
        if stage == "words" and done == 2:
            raise KeyboardInterrupt

    how = SynthesisSettings(short_side_px=64, styles=("standard",))
    with pytest.raises(KeyboardInterrupt):
        synthesize(primitives, tmp_path, how, words, workers=1, report=interrupt)
    made = {path: path.stat().st_mtime_ns for path in (tmp_path / "words").rglob("*.mp*")}
    assert len(made) == 6
    assert not (tmp_path / "manifest.csv").exists()
    assert not list(tmp_path.rglob("*.part*"))
    assert all(probe(path).duration_s > 0.5 for path in made)
    (tmp_path / "words" / "standard" / ".cab.1.part.mp4").write_bytes(b"half")  # what a killed process leaves
    items = make(primitives, tmp_path, words)
    assert len(items) == 4
    assert all(path.stat().st_mtime_ns == when for path, when in made.items())
    assert not list(tmp_path.rglob("*.part*"))


def test_a_write_that_fails_half_way_leaves_nothing(
    primitives: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from unwritten.benchmark.synthesis import words as synthesis_words

    def fill_the_disk(path: Path, *_: object, **__: object) -> None:
        path.write_bytes(b"half a film")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(synthesis_words, "_write_film", fill_the_disk)
    with pytest.raises(UnwrittenError, match="No space left"):
        make(primitives, tmp_path, ["cab"])
    assert {path.name for path in (tmp_path / "words" / "standard").iterdir()} == {"cab.mp3"}
    assert not (tmp_path / "manifest.csv").exists()


def test_the_disk_that_words_take_is_told_before_they_are_made(primitives: Path, tmp_path: Path) -> None:
    told: list[str] = []

    def tell(line: str) -> None:
        assert not (tmp_path / "words").exists()
        told.append(line)

    synthesize(primitives, tmp_path, SynthesisSettings(short_side_px=64), ["ab", "zebra"], workers=1, announce=tell)
    assert any("6 files" in line and "takes about" in line and "kB (" in line for line in told)
    assert any("1 of 2 words left out" in line and "z" in line for line in told)


def test_the_estimate_is_near_the_truth(primitives: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from unwritten.benchmark.synthesis import synthesize as synthesis

    estimates: list[int] = []
    monkeypatch.setattr(synthesis, "_announce_size", lambda jobs, out, tell: estimates.extend(job.size for job in jobs))
    items = make(primitives, tmp_path, ["abcab", "cab"])
    truth = sum(path.stat().st_size for item in items.values() for path in item.clip.files.values())
    assert sum(estimates) == pytest.approx(truth, rel=0.15)


def test_real_letters_become_a_word_without_their_faults(sample_clips: Path, tmp_path: Path) -> None:
    how = SynthesisSettings(short_side_px=108, styles=("cursive",))
    manifest = synthesize(sample_clips / "letters", tmp_path, how, ["aaa"], workers=1)
    (item,) = read_manifest(manifest)
    kinds = {fault.kind for fault in audit(tmp_path, workers=1)}
    assert not kinds - {"frozen-frames"}
    assert item.duration_s == pytest.approx(5.7, abs=0.001)


@pytest.mark.slow
def test_processes_make_the_same_words(primitives: Path, tmp_path: Path) -> None:
    one = make(primitives, tmp_path / "one", ["ab", "cab"])
    two = read_manifest(synthesize(primitives, tmp_path / "two", one_style(), ["ab", "cab"], workers=2))
    assert {item.clip.id: item.digest for item in two} == {name: item.digest for name, item in one.items()}


def one_style() -> SynthesisSettings:
    return SynthesisSettings(short_side_px=64, styles=("standard",))


@settings(max_examples=12, deadline=None)
@given(st.integers(1, 30_000))
@example(1_200)  # too few frames for FFmpeg's guess at the format
def test_an_mp3_of_frames_that_stand_alone_is_exact_to_the_sample(
    tmp_path_factory: pytest.TempPathFactory, samples: int
) -> None:
    bump = np.zeros(samples, np.float32)
    centre = samples // 2
    bump += 0.5 * np.exp(-(((np.arange(samples) - centre) / 200.0) ** 2)).astype(np.float32)
    path = tmp_path_factory.mktemp("mp3") / "a.mp3"
    path.write_bytes(file_of(encode_frames(bump), samples))
    heard = read_audio(path, 48_000)
    assert len(heard) == samples
    if samples > 6_000:
        assert np.average(np.arange(samples), weights=heard.clip(0) ** 2) == pytest.approx(centre, abs=3)


def refused(primitives: Path, out: Path, words: list[str] | None = None, **changes: object) -> str:
    with pytest.raises(UnwrittenError) as caught:
        synthesize(primitives, out, SynthesisSettings(short_side_px=64, **changes), words, workers=1)  # type: ignore[arg-type]
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_bad_input_ends_in_one_clear_line(primitives: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    assert str(empty) in refused(empty, tmp_path / "out")
    assert "no such folder" in refused(tmp_path / "missing", tmp_path / "out")
    assert "retrace" in refused(primitives, tmp_path / "out", styles=("retrace",))
    assert "no word can be made" in refused(primitives, tmp_path / "out", ["zebra"])
    assert "another folder" in refused(primitives, primitives)
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    assert "cannot be written" in refused(primitives, blocked / "out", ["ab"])
    words = tmp_path / "words"
    words.mkdir()
    only_words = words / "standard"
    shutil.copytree(primitives / "standard", only_words)
    shutil.copy(only_words / "b-1.mp4", words / "a-1.mp4")
    assert "claims the same name" in refused(words, tmp_path / "out")


def test_styles_cannot_be_mixed_in_one_word(primitives: Path) -> None:
    clips = {clip.id: clip for clip in find_clips(primitives)}
    with pytest.raises(UnwrittenError, match="one style"):
        Word("ab", "standard", 1, (clips["standard/a-1"], clips["cursive/b-2c"]), (False, False))


def test_words_made_in_another_way_are_not_mixed_in(primitives: Path, tmp_path: Path) -> None:
    letters, out = tmp_path / "letters", tmp_path / "out"
    shutil.copytree(primitives, letters)
    make(letters, out, ["ab"])
    assert "crf=25, not 30" in refused(letters, out, ["ab"], crf=30)
    letter_clip(letters / "standard", "a-1", 20, 3, 0, 30, seed=99)
    assert "another standard/a-1" in refused(letters, out, ["ab"])


def test_a_second_run_adds_its_words_to_the_manifest(primitives: Path, tmp_path: Path) -> None:
    make(primitives, tmp_path, ["ab"])
    assert make(primitives, tmp_path, ["cab"]).keys() == {"words/standard/ab", "words/standard/cab"}


def test_the_command_makes_words_and_prints_the_manifest(
    primitives: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = tmp_path / "words.txt"
    words.write_text("ab\nba\n")
    out = tmp_path / "out"
    options = ["--style", "standard", "--short-side", "64", "--workers", "1"]
    assert main(["synthesize", str(primitives), "-o", str(out), "--words", str(words), *options]) == 0
    shown = capsys.readouterr()
    assert shown.out.strip() == str(out / "manifest.csv")
    assert " free)" in shown.err
    assert len(list((out / "words" / "standard").iterdir())) == 6
    assert main(["synthesize", str(primitives), "-o", str(out), "--words", str(tmp_path / "no.txt"), *options]) == 1
    assert main(["synthesize", str(primitives), "-o", str(out), "--crf", "99", *options]) == 2
