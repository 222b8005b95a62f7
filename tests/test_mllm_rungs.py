"""The ladder: each rung gives more, each is one configuration, and each can be run to its end."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hydra import compose, initialize_config_dir
from hypothesis import given, settings
from hypothesis import strategies as st
from mllm_loopback import says, serving
from omegaconf import OmegaConf

from unwritten.files import project_root
from unwritten.media import probe
from unwritten.models.checkpoint import default_checkpoint
from unwritten.readers import mllm
from unwritten.readers.mllm.media import clip_file
from unwritten.readers.mllm.rungs import Reading, by_letter, given_parts, trained_baseline
from unwritten.readers.mllm.settings import RungSettings
from unwritten.readers.mllm.strokes import describe, strokes_of, words_text
from unwritten.types import Clip, Recording, Track

RUNGS = ("media", "ink", "segmentation", "strokes", "letters")


def written(letters: int = 2, shots: bool = True) -> Track:
    """A square drawn for each letter, then a bar beside it."""
    corners = np.array([(0, 0), (0, 40), (40, 40), (40, 0), (0, 0)], float)
    square = np.concatenate([np.linspace(a, b, 5, endpoint=False) for a, b in pairwise(corners)])
    travel = np.linspace((0, 0), (60, 0), 5)
    bar = np.linspace((60, 0), (60, 40), 8)
    one = np.concatenate([square, travel, bar]) + np.array((40, 40))
    tips = np.concatenate([one + np.array((0 if shots else 90 * letter, 0)) for letter in range(letters)])
    down = np.tile(np.r_[np.ones(20), np.zeros(5), np.ones(8)], letters)
    count = len(tips)
    return Track(
        time_s=np.arange(count) / 30,
        tip_px=tips,
        visible=np.ones(count, bool),
        confidence=np.ones(count),
        shot=np.repeat(np.arange(letters), len(one)) if shots else np.zeros(count, int),
        shaft_rad=np.full(count, 0.9),
        contact=down,
        size_px=(320.0, 160.0),
        writing_rad=0.0,
    )


def clip() -> Clip:
    hum = (0.1 * np.sin(np.arange(36_000) * 0.3)).astype(np.float32)
    return Clip("drawn", word="ab", style="standard", source="simulated", recording=Recording(written(), hum))


def fixed(recording: Recording, modality: str, n: int | None) -> Reading:
    return Reading("qz", ((0.0, 1.0), (1.2, 2.0)))


def node(url: str, store: Path, rung: str, **changes: Any) -> Any:
    with initialize_config_dir(str(project_root() / "conf"), version_base="1.3"):
        config = compose("evaluate", ["reader=openai-compatible", f"rung={rung}"])
    changes = {"model": "m", "base_url": url, "store": str(store / "r.sqlite3"), **changes}
    return OmegaConf.merge(config.reader["openai-compatible"], OmegaConf.create(changes))


def climb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, abilities: list[str]) -> dict[str, tuple[Any, Any]]:
    monkeypatch.setenv("UNWRITTEN_STORE", str(tmp_path / "store"))
    monkeypatch.setattr(mllm, "_lazy_baseline", lambda checkpoint: fixed)
    climbed = {}
    with serving(says("ab")) as server:
        for rung in RUNGS:
            if rung == "media" and not abilities:
                continue
            reader = mllm.load(node(f"{server.url}/v1", tmp_path, rung, abilities=abilities))
            (answer,) = reader.read([clip()], "video")
            assert answer.state == "answered", answer.error
            climbed[rung] = (answer, server.asked[-1]["messages"][-1]["content"])
    return climbed


def test_each_rung_sends_something_else_and_runs_to_its_end(tmp_path, monkeypatch):
    climbed = climb(tmp_path, monkeypatch, ["image"])
    assert [answer.reader for answer, _ in climbed.values()] == [
        "openai-compatible",
        *(f"openai-compatible+{rung}" for rung in RUNGS[1:]),
    ]
    assert len({answer.details["sent"]["request_digest"] for answer, _ in climbed.values()}) == 5
    said = {rung: " ".join(part.get("text", "") for part in content) for rung, (_, content) in climbed.items()}
    pictures = {rung: sum(part["type"] == "image_url" for part in content) for rung, (_, content) in climbed.items()}
    assert pictures["ink"] == pictures["media"] + 1
    assert "letter 2:" in said["segmentation"] and "letter 2:" not in said["ink"]
    assert "turning" in said["strokes"] and "turning" not in said["segmentation"]
    assert "read these letters: qz" in said["letters"] and "qz" not in said["strokes"]
    for lower, higher in pairwise(RUNGS):
        assert len(said[higher]) > len(said[lower])


def test_models_of_words_alone_climb_from_the_second_rung_without_media(tmp_path, monkeypatch):
    climbed = climb(tmp_path, monkeypatch, [])
    assert list(climbed) == list(RUNGS[1:])
    for answer, content in climbed.values():
        assert {part["type"] for part in content} == {"text"}
        assert answer.details["sent"]["bytes"] == 0
        assert "recovered" in content[-1]["text"]  # it is not told to watch what it was not sent
    assert "part 2, stroke 4: (150,100)" in climbed["ink"][1][0]["text"]
    assert climbed["ink"][1][0]["text"].endswith("(150,0)")


def test_letters_are_shots_where_the_clip_was_cut_at_them_else_what_is_known_best():
    def never() -> list[tuple[float, float]]:
        raise AssertionError("nobody needed the baseline")

    cut = written(2)
    assert by_letter(cut, 2, None, never) is cut
    live = written(2, shots=False)
    truly = by_letter(live, 2, [1.1], never)
    assert [int((truly.shot == letter).sum()) for letter in (0, 1)] == [33, 33]
    found = by_letter(live, 2, None, lambda: [(0.0, 0.9), (1.3, 2.0)])
    np.testing.assert_array_equal(found.shot, truly.shot)


@pytest.mark.skipif(not default_checkpoint().is_file(), reason="checkpoints/ holds no checkpoint")
def test_the_trained_baseline_gives_letters_and_a_span_for_each_letter_of_the_word_in_order():
    reading = trained_baseline(None)(clip().recording, "video", 2)  # type: ignore[arg-type]
    assert reading.letters.isalpha()
    starts_s = [start_s for start_s, _ in reading.spans_s]
    assert len(reading.spans_s) == 2 and starts_s == sorted(starts_s)
    assert all(0 <= start_s <= end_s <= clip().recording.track.time_s[-1] + 0.1 for start_s, end_s in reading.spans_s)


def test_sound_gives_no_ink_and_an_unseen_pen_none_either(tmp_path):
    reader = mllm.load(node("http://localhost:1/v1", tmp_path, "ink", abilities=["image", "audio"], dry_run=True))
    assert "audio" not in reader.modalities()
    unseen = Recording(written())
    unseen.track.visible[:] = False  # type: ignore[union-attr]
    with pytest.raises(Exception, match="the pen was not seen"):
        given_parts(clip(), "video", RungSettings("ink", ink=True), True, unseen, fixed)


def test_strokes_are_told_as_a_person_would():
    strokes = strokes_of(written(1))
    assert len(strokes) == 2
    text = words_text(strokes)
    assert "2 strokes" in text
    assert "closing on its start" in text
    assert "from the top right down, to the bottom right" in text
    corner = np.array([(0.0, 1.0), (0.0, 0.0), (1.0, 0.0)])
    assert describe(corner).startswith("from the top left down, then right, turning anticlockwise")
    assert describe(np.array([(0.5, 1.0), (0.51, 1.0)]), np.array([(0.0, 0.0), (1.0, 1.0)])) == "a dot at the top"


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(-1, 1)), min_size=2, max_size=12), st.sampled_from([0.25, 4.0]))
def test_a_stroke_is_told_alike_however_large_it_is(points, scale):
    xy = np.array(points)
    if np.ptp(xy, axis=0).max() > 1e-3:
        assert describe(xy) == describe(xy * scale)  # a power of two keeps every digit


def test_simulated_items_become_files_once(tmp_path):
    item = clip()
    for modality, has_video, has_sound in (("video", True, False), ("audio", False, True), ("av", True, True)):
        file = clip_file(item, modality, tmp_path)
        made = file.stat().st_mtime_ns
        info = probe(file)
        assert ((info.video is not None), (info.audio is not None)) == (has_video, has_sound)
        assert clip_file(item, modality, tmp_path) == file
        assert file.stat().st_mtime_ns == made
