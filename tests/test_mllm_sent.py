"""The report shows the frames that each model was sent beside its answer."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import cv2
import numpy as np
import pytest
from browser import run_in_page
from mllm_loopback import says, serving, small_clip
from omegaconf import OmegaConf

from unwritten.readers import mllm
from unwritten.report.gallery import GallerySettings
from unwritten.report.inputs import Run, read_results
from unwritten.report.page import make_page
from unwritten.report.sent import what_was_sent
from unwritten.scoring.analysis import analyse, write_analysis
from unwritten.scoring.intervals import IntervalSettings
from unwritten.scoring.scores import score_table, write_scores
from unwritten.scoring.table import answers_table, write_answers
from unwritten.types import Answer, Clip


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Clip], list[Answer], list[bytes]]:
    """Two clips, a model's answers to them in two modalities, and the pictures of the first request."""
    folder = tmp_path_factory.mktemp("clips")
    clips = [small_clip(folder, word, word, seconds=2.0) for word in ("cat", "dogs")]
    with serving(says("cat")) as server:
        node = {
            "kind": "mllm",
            "name": "talker",
            "model": "m",
            "abilities": ["image", "audio"],
            "base_url": f"{server.url}/v1",
            "store": str(folder / "r.sqlite3"),
            "media": {"fps": 5.0, "max_frames": 6},
            "limits": {"concurrency": 1},
        }
        reader = mllm.load(OmegaConf.create(node))
        answers = [answer for modality in ("video", "av") for answer in reader.read(clips, modality)]
        parts = server.asked[0]["messages"][0]["content"]
    images = [base64.b64decode(p["image_url"]["url"].split(",")[1]) for p in parts if p["type"] == "image_url"]
    return clips, answers, images


def picture(data: bytes) -> np.ndarray:
    return cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)


def test_the_frames_shown_are_those_that_were_sent(asked):
    clips, answers, images = asked
    shown = what_was_sent(clips[0], "video", answers[0].details["sent"])
    assert shown is not None
    assert shown.text == "6 frames at 2.78 a second, 128x48, as images"
    strip = picture(base64.b64decode(shown.frames.split(",")[1])).astype(float)
    tiles = np.split(strip, len(images), axis=1)
    for tile, image in zip(tiles, images, strict=True):
        wanted = cv2.resize(picture(image), (tile.shape[1], tile.shape[0]), interpolation=cv2.INTER_AREA)
        assert np.abs(tile - wanted).mean() < 4  # two rounds of JPEG; other frames of the clip differ by 10 and more
    both = what_was_sent(clips[0], "av", answers[2].details["sent"])
    assert both is not None and both.text.endswith("2.0 s of sound")


def test_without_the_clip_words_say_what_was_sent_and_answers_of_others_have_none(asked):
    clips, answers, _ = asked
    told = what_was_sent(None, "video", answers[0].details["sent"])
    assert told is not None and (told.frames, told.text[:8]) == ("", "6 frames")
    moved = Clip("cat", files={"video": Path("nowhere.mp4")})
    gone = what_was_sent(moved, "video", answers[0].details["sent"])
    assert gone is not None and gone.text.endswith("the clip cannot be read now")
    assert what_was_sent(clips[0], "video", {}) is None


def test_the_page_sets_them_beside_each_answer(asked, tmp_path):
    clips, answers, _ = asked
    others = [Answer(clip.id, "blind-constant", "video", "cat", "cat") for clip in clips]
    table, problems = answers_table([*answers, *others], clips, "b", "transfer")
    quick = IntervalSettings(replicates=100)
    scores = score_table(table, quick)
    run = tmp_path / "run"
    write_answers(table, run / "answers.parquet")
    write_scores(scores, run / "scores.json")
    write_analysis(analyse(table, problems, quick, scores=scores), run / "analysis.json")

    def load(_: Run) -> tuple[list[Clip], None]:
        return clips, None

    page = tmp_path / "report.html"
    page.write_text(make_page(read_results([run]), GallerySettings(), load), encoding="utf-8")
    data = json.loads(page.read_text().split('id="gallery-data">')[1].split("</script>")[0])
    first = data["items"][0]
    assert len(first["sent"]) == 2  # muted, and with its sound
    assert sorted(answer["sent"] is None for answer in first["answers"]) == [False, False, True]
    found = run_in_page(
        page,
        "const cells = [...document.querySelectorAll('#g-item td.sent')];"
        "return [cells.length, cells.filter(c => c.querySelector('img')?.naturalWidth > 100).length,"
        " cells.map(c => c.textContent)];",
    )
    assert found[:2] == [3, 2]
    assert sum("6 frames at 2.78 a second" in text for text in found[2]) == 2
