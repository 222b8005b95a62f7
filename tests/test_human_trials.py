"""People are shown what readers are shown and nothing more; what they answer is scored as a reader's answers are."""

from __future__ import annotations

import base64
import json
import re
import shutil
from pathlib import Path

import av
import numpy as np
import pytest
from browser import run_in_page
from hypothesis import given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf

from unwritten.benchmark import find_clips
from unwritten.cli import main
from unwritten.media import probe, read_audio, write_video
from unwritten.readers.load import load_reader
from unwritten.report.trials import Trial, TrialSettings, encode, plan, seal, write_trials
from unwritten.scoring.scores import score_table
from unwritten.scoring.table import answers_table
from unwritten.types import MODALITIES, Clip

WORDS = ("cat", "dog", "heron")


def unseal(sealed: str, key: str) -> dict[str, str]:
    """The content of ``seal``, as the page's script takes it out."""
    pad = key.encode()
    return json.loads(bytes(byte ^ pad[place % len(pad)] for place, byte in enumerate(base64.b64decode(sealed))))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three tiny synthetic words; as in the benchmark, the sound files hide the film."""
    folder = tmp_path_factory.mktemp("clips") / "standard"
    rng = np.random.default_rng(0)
    for word in WORDS:
        frames = [rng.integers(0, 255, (48, 64, 3), dtype=np.uint8) for _ in range(8)]
        sound = rng.normal(0, 0.1, 6000).astype(np.float32)
        write_video(folder / f"{word}.mp4", frames, waveform=sound, sample_aspect_ratio=0.5)
        write_video(folder / f"{word}_muted.mp4", frames, sample_aspect_ratio=0.5)
        shutil.copy(folder / f"{word}.mp4", folder / f"{word}.mp3")
    return folder


@pytest.fixture(scope="module")
def clips(folder: Path) -> list[Clip]:
    return find_clips(folder)


@pytest.fixture(scope="module")
def page(clips: list[Clip], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All nine trials, three for each participant; the baseline says "cot" to everything."""
    return write_trials(clips, tmp_path_factory.mktemp("human"), TrialSettings(count=3), lambda clip, modality: "cot")


def data_of(page: Path) -> dict:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text(), re.S)
    assert found is not None
    return json.loads(found.group(1))


@settings(max_examples=25, deadline=None)
@given(items=st.integers(1, 30), count=st.integers(1, 30), seed=st.integers(0, 5))
def test_every_trial_is_on_the_ring_once_and_nobody_meets_an_item_twice(items: int, count: int, seed: int) -> None:
    files = dict.fromkeys(MODALITIES, Path("x"))
    ring = plan([Clip(f"item-{k}", files=files) for k in range(items)], TrialSettings(count=count, seed=seed))
    assert len({(t.clip.id, t.modality) for t in ring}) == len(ring) == 3 * items
    if count <= items:
        for start in range(len(ring)):
            mine = [ring[(start + k) % len(ring)].clip.id for k in range(count)]
            assert len(set(mine)) == count


def test_every_participant_gets_all_modalities_in_turn() -> None:
    files = dict.fromkeys(MODALITIES, Path("x"))
    ring = plan([Clip(f"item-{k}", files=files) for k in range(100)], TrialSettings())
    shown = [trial.modality for trial in ring[:15]]
    assert all(shown.count(modality) == 5 for modality in MODALITIES)


def test_a_sound_trial_holds_no_pictures_and_a_muted_one_no_sound(clips: list[Clip], tmp_path: Path) -> None:
    clip = clips[0]
    assert probe(clip.files["audio"]).video is not None, "the source does hide its film"
    sound = encode(Trial(clip, "audio"), tmp_path / "a")
    assert probe(sound).video is None and len(read_audio(sound)) > 4000
    assert probe(encode(Trial(clip, "video"), tmp_path / "b")).audio is None
    both = probe(encode(Trial(clip, "av"), tmp_path / "c"))
    assert both.video is not None and both.audio is not None


def test_pictures_come_in_square_pixels(clips: list[Clip], tmp_path: Path) -> None:
    video = probe(encode(Trial(clips[0], "video"), tmp_path / "b")).video
    assert video is not None and (video.width_px, video.height_px) == (32, 48)


def test_files_say_nothing_about_what_they_hold(page: Path) -> None:
    names = sorted(path.name for path in (page.parent / "media").iterdir())
    assert len(names) == 9 and all(re.fullmatch(r"[0-9a-f]{16}\.(mp3|mp4)", name) for name in names)
    for path in (page.parent / "media").iterdir():
        with av.open(str(path)) as container:
            told = {**container.metadata, **{k: v for stream in container.streams for k, v in stream.metadata.items()}}
        assert set(map(str.lower, told)) <= {
            "major_brand", "minor_version", "compatible_brands", "encoder", "language", "handler_name", "vendor_id"
        }, told  # fmt: skip
        content = path.read_bytes()
        assert not any(word.encode() in content for word in ("heron", "standard"))


def test_the_source_of_the_page_gives_no_word_away(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for word in (*WORDS, "cot", "standard/"):
        assert word not in json.dumps(data_of(page))
        for shift in range(3):
            # As it would look in plain base64, whatever stands before it.
            plain = base64.b64encode(b" " * shift + word.encode())[4:-4].decode()
            assert len(plain) < 4 or plain not in text


@settings(max_examples=30, deadline=None)
@given(item=st.text(max_size=60), truth=st.text(max_size=10), key=st.text("0123456789abcdef", min_size=16, max_size=16))
def test_what_is_sealed_can_be_opened(item: str, truth: str, key: str) -> None:
    content = {"item": item, "truth": truth}
    sealed = seal(content, key)
    assert unseal(sealed, key) == content
    assert json.dumps(content).encode() not in base64.b64decode(sealed)


def test_the_number_of_letters_is_told_only_when_asked(clips: list[Clip], page: Path, tmp_path: Path) -> None:
    assert sorted(trial["n"] for trial in data_of(page)["trials"]) == [3] * 6 + [5] * 3
    untold = write_trials(clips[:1], tmp_path, TrialSettings(count=1, modalities=("audio",), length_told=False))
    assert all("n" not in trial for trial in data_of(untold)["trials"])
    assert "You are not told how many letters" in untold.read_text(encoding="utf-8")


def test_one_file_needs_no_folder(clips: list[Clip], tmp_path: Path) -> None:
    page = write_trials(clips[:1], tmp_path, TrialSettings(count=1, one_file=True))
    assert all(trial["src"].startswith("data:") for trial in data_of(page)["trials"])
    assert [path.name for path in tmp_path.iterdir()] == ["index.html"]


PLAY = """
const wait = () => new Promise(done => setTimeout(done, 20));
let saved = null;
const create = URL.createObjectURL;
URL.createObjectURL = blob => { saved = blob; return create(blob); };
byId("person").value = "2"; byId("agreed").checked = true;
byId("agree").requestSubmit(); byId("begin").click();
const seen = [], early = [];
while (!byId("trial").hidden) {
  const media = document.querySelector("#player audio, #player video");
  seen.push([media.tagName, media.getAttribute("src")]);
  early.push(byId("send").disabled);
  media.dispatchEvent(new Event("play"));
  byId("word").value = byId("boxes").children.length === 5 ? "Heron" : "cat";
  byId("answer").requestSubmit();
  await wait();
}
const everyone = Array.from({ length: study.people }, (_, at) => trialsOf(String(at + 1)));
return { csv: await saved.text(), shown: byId("text").value, name: byId("download").download, seen, early, everyone,
  result: byId("result").textContent, last: byId("answers").innerText, wide: document.documentElement.scrollWidth };
"""


@pytest.fixture(scope="module")
def played(page: Path) -> dict:
    """What participant 2 sees and saves on a phone, answering "heron" to five letters and "cat" to three."""
    return run_in_page(page, PLAY, width_px=360)


def test_what_the_page_saves_is_what_the_recorded_reader_takes(
    played: dict, clips: list[Clip], page: Path, tmp_path: Path
) -> None:
    assert played["csv"] == played["shown"]
    path = tmp_path / played["name"]
    assert path.name == "answers-2.csv"
    path.write_text(played["csv"], encoding="utf-8")
    (reader,) = load_reader(OmegaConf.create({"kind": "recorded", "name": "people", "file": str(path)}), "recorded")
    answers = [a for m in reader.modalities() for a in reader.read(clips, m)]
    assert len(answers) == 3 and all(a.state == "answered" and a.details["person"] == "2" for a in answers)
    opened = [unseal(t["sealed"], t["key"]) | {"modality": t["modality"]} for t in data_of(page)["trials"]]
    mine = {(o["item"], o["modality"]): o["truth"] for o in (opened[k] for k in played["everyone"][1])}
    assert {(a.item, a.modality) for a in answers} == set(mine)
    for answer in answers:
        assert answer.word == ("heron" if len(mine[answer.item, answer.modality]) == 5 else "cat")
    table, problems = answers_table(answers, clips, "people", "transfer")
    assert not any(problems.counts().values())
    # heron and cat are right, dog is answered with cat: none of its letters.
    totals = [score for score in score_table(table) if score.style == "all"]
    assert sum(score.ola * (score.n or 0) for score in totals) == pytest.approx(2.0)


def test_participants_together_answer_every_trial_once(played: dict) -> None:
    shown = [trial for mine in played["everyone"] for trial in mine]
    assert sorted(shown) == list(range(9))


def test_nothing_can_be_answered_before_it_was_played(played: dict) -> None:
    assert played["early"] == [True] * 3
    assert {tag for tag, _ in played["seen"]} == {"AUDIO", "VIDEO"}
    assert all(source.startswith("media/") for _, source in played["seen"])


def test_the_last_screen_shows_what_the_baseline_answered(played: dict) -> None:
    assert "You beat it." in played["result"] and "the machine had" in played["result"]
    assert "cot" in played["last"] and "heron" in played["last"]
    assert played["wide"] == 360


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["{missing}", "-o", "{out}"], "missing"),
        (["{folder}", "-o", "{out}", "--count", "0"], "--count 0"),
        (["{folder}", "-o", "{out}", "--consent", "{missing}"], "cannot be read"),
        (["{folder}", "-o", "{out}", "--baseline", "{missing}"], "no such file"),
        (["{folder}", "-o", "{out}", "--no-baseline", "--checkpoint", "x"], "leave out one"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str], said: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = {"missing": tmp_path / "missing", "out": tmp_path / "out", "folder": folder}
    assert main(["human", *(argument.format(**names) for argument in arguments)]) in (1, 2)
    error = capsys.readouterr().err.strip()
    assert "\n" not in error and said in error


def test_a_count_above_what_there_is_is_capped_and_told(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["human", str(folder), "-o", str(tmp_path / "out"), "--modality", "audio", "--no-baseline"]) == 0
    shown = capsys.readouterr()
    assert shown.err.strip() == "unwritten: each participant gets 3 trials, all that there are"
    assert '"count":3' in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
