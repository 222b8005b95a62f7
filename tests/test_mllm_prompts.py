"""What is asked: the published order in our own words, the ablations, demonstrations, lists, and a user's own text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hydra import compose, initialize_config_dir
from mllm_loopback import says, serving, small_clip
from omegaconf import OmegaConf

from unwritten.errors import UnwrittenError, UsageError
from unwritten.files import project_root
from unwritten.readers import mllm
from unwritten.readers.mllm import anthropic_client, gemini, openai_client, qwen_local
from unwritten.readers.mllm.demonstrations import demonstrations
from unwritten.readers.mllm.prompts import question, tells_length
from unwritten.readers.mllm.sampling import sampling_taken
from unwritten.types import Clip

CONF = project_root() / "conf"
PROMPTS = sorted(path.stem for path in (CONF / "prompt").glob("*.yaml") if path.stem != "base")
NODES = sorted(path.stem for path in (CONF / "reader").glob("*.yaml") if "kind: mllm" in path.read_text())
OPEN = ("openai-compatible", "vllm", "llama-cpp", "ollama", "openrouter")  # whose model the user names
READERS = [name for name in NODES if name not in OPEN]
PUBLISHED = ("gpt-4o", "gemini-2.5-pro", "gemini-2.5-flash", "qwen2.5-omni-7b", "qwen2.5-omni-7b-vllm")
KEYS = ("OPENAI_API_KEY", "GEMINI_API_KEY", "ANTHROPIC_API_KEY", "")


def compose_reader(name: str, *overrides: str) -> Any:
    with initialize_config_dir(str(CONF), version_base="1.3"):
        node = name.replace(".", "_")
        placed = [override.replace("NODE", f"reader.{node}") for override in overrides]
        return compose("evaluate", [f"reader={name}", *placed]).reader[node]


def load(name: str, *overrides: str) -> Any:
    return mllm.load(compose_reader(name, "NODE.dry_run=true", *overrides))


@pytest.mark.parametrize("name", READERS)
def test_every_reader_composes_with_its_exact_version_and_says_its_frame_rate(name):
    reader = load(name)
    settings = reader.setup.settings
    assert reader.name == (f"{name}-{settings.options['effort']}" if "effort" in settings.options else name)
    assert reader.modalities() == (("video",) if name.startswith("claude") else ("audio", "video", "av"))
    assert reader.setup.media.fps >= 5  # one frame a second shows no stroke
    assert settings.model
    assert settings.key_env in KEYS
    assert settings.strict_model == (name in PUBLISHED)
    sampling = reader.setup.sampling
    assert sampling_taken(settings.model, sampling) == sampling  # nothing is set that would not be sent


@pytest.mark.parametrize("name", OPEN)
def test_servers_of_many_models_take_the_name_of_one(name):
    reader = load(name, "NODE.model=some/model", "NODE.abilities=[image]")
    assert (reader.name, reader.modalities()) == (name, ("video",))
    with pytest.raises(UsageError, match=r"model: is not set"):
        load(name)


@pytest.mark.parametrize("name", NODES)
def test_each_file_says_when_and_where_its_facts_were_read_or_that_its_prices_are_old(name):
    text = (CONF / "reader" / f"{name}.yaml").read_text()
    head = " ".join(line.removeprefix("# ") for line in text.splitlines() if line.startswith("#"))
    told = re.search(r"[Rr]ead on \d+ \w+ 2026|published in 2025", head)
    assert told or name in ("openai-compatible", "qwen2.5-omni-7b")  # which have no facts of a service


@pytest.mark.parametrize("name", NODES)
def test_every_documented_option_is_set_without_a_plus(name):
    options = compose_reader(name).options
    known = {
        "openai": openai_client.OPTIONS,
        "anthropic": anthropic_client.OPTIONS,
        "gemini": gemini.OPTIONS,
        "transformers": qwen_local.OPTIONS,
    }[compose_reader(name).provider]
    assert set(options) == {"strict_model", *known}


@pytest.mark.parametrize("name", ["gpt-4o", "gpt-5.5", "gpt-6.2-sol"])
def test_a_relay_has_the_prices_of_both_its_models(name):
    setup = load(name).setup
    seeing, hearing = setup.prices_of(setup.model("video")), setup.prices_of(setup.model("audio"))
    assert seeing.known and hearing.known
    assert hearing.audio_input and not seeing.audio_input


@pytest.mark.parametrize("name", ["gemini-4-carbon", "gemini-3.5-flash-lite", "openrouter"])
def test_a_budget_in_money_says_which_price_nobody_knows(name):
    with pytest.raises(UsageError, match=r"budget.usd: the prices of \S+ are unknown; set reader\.\S+\.prices\.input"):
        load(name, "NODE.model=a/b", "budget_usd=5")


def test_the_published_four_are_there():
    assert set(PUBLISHED) <= set(READERS)
    assert {"final", "open", "one-word", "style-only", "length-only"} <= set(PROMPTS)


def test_the_final_question_says_what_models_were_told_in_that_order():
    prompt = load("gpt-4o").setup.prompt
    text = question(prompt, "audio", 5)
    order = ["Listen", "5 letters", "Which English word", "lowercase letters a to z", "guess", "apologise", "style"]
    places = [text.index(piece) for piece in order]
    assert places == sorted(places)
    assert question(prompt, "video", 5).startswith("Watch")
    assert "1 letter." in question(prompt, "av", 1)
    assert "letters." not in question(prompt, "av", None)  # nothing is said of a length that nobody knows


@pytest.mark.parametrize(
    ("name", "length", "style"),
    [("open", False, False), ("one-word", False, False), ("style-only", False, True), ("length-only", True, False)],
)
def test_each_ablation_tells_only_its_part_and_names_its_reader(name, length, style):
    reader = load("gpt-4o", f"prompt@NODE.prompt={name}")
    text = question(reader.setup.prompt, "video", 5)
    assert ("5 letters" in text) == length == tells_length(reader.setup.prompt)
    assert ("British cursive" in text) == style
    assert reader.name == f"gpt-4o-{name}"


def test_a_length_that_was_not_told_is_not_demanded(tmp_path):
    clip = small_clip(tmp_path)
    with serving(says("horse")) as server:
        base = {
            "kind": "mllm",
            "model": "m",
            "abilities": ["audio"],
            "base_url": f"{server.url}/v1",
            "store": str(tmp_path / "r.sqlite3"),
        }
        told = {**base, "prompt": {"sentences": ["It has {letters}."]}}
        (free,) = mllm.load(OmegaConf.create(base)).read([clip], "audio")
        (bound,) = mllm.load(OmegaConf.create(told)).read([clip], "audio")
    assert (free.state, free.word) == ("answered", "horse")
    assert (bound.state, bound.word) == ("malformed", "horse")


def test_a_users_file_is_taken_as_it_is(tmp_path):
    file = tmp_path / "mine.txt"
    file.write_text("  Name it ({n}); {keep: this}.\n")
    reader = load("gpt-4o", f"NODE.prompt.file={file}")
    assert question(reader.setup.prompt, "av", 4, text=reader.setup.prompt_text) == "Name it (4); {keep: this}."
    with pytest.raises(UsageError, match=r"nowhere\.txt: .* cannot be read"):
        load("gpt-4o", f"NODE.prompt.file={tmp_path / 'nowhere.txt'}")
    file.write_text(" ")
    with pytest.raises(UsageError, match="is empty"):
        load("gpt-4o", f"NODE.prompt.file={file}")


def test_a_candidate_list_has_words_of_the_right_length_in_alphabetical_order():
    reader = load("gpt-4o", "prompt@NODE.prompt=candidates", "NODE.prompt.most_candidates=30")
    words = reader.setup.words[4]
    assert len(words) == 30
    assert list(words) == sorted(words)
    assert all(len(word) == 4 for word in words)
    assert ", ".join(words) in question(reader.setup.prompt, "av", 4, words)


def pool(letters: bool = True) -> list[Clip]:
    names = ["cat", "dog", "sun", "cot", "fig", "pen"]
    return [
        Clip(
            f"item-{word}",
            files={"audio": Path(f"{word}.mp3")},
            word=word,
            style="standard" if word != "pen" else "cursive",
            letter_clips=tuple(f"{letter}-1" for letter in word) if letters else (),
        )
        for word in names
    ]


def test_demonstrations_are_other_words_that_share_no_letter_clip_and_stay_the_same():
    items = pool()
    shown = demonstrations(items[0], items, 2, "audio", seed=0)
    assert {clip.word for clip in shown} <= {"fig", "sun", "dog", "pen"}  # "cot" shares c and t
    assert [clip.id for clip in shown] == [clip.id for clip in demonstrations(items[0], items[::-1], 2, "audio", 0)]
    assert all(clip.style == "standard" for clip in shown)
    with pytest.raises(UnwrittenError, match="only 4 items"):
        demonstrations(items[0], items, 5, "audio", 0)


def test_demonstrations_go_first_with_their_answers(tmp_path):
    clips = [small_clip(tmp_path, word, word) for word in ("cat", "dogs", "sun")]
    with serving(says("cat")) as server:
        node = OmegaConf.create(
            {
                "kind": "mllm",
                "name": "m",
                "model": "m",
                "abilities": ["audio"],
                "base_url": f"{server.url}/v1",
                "store": str(tmp_path / "r.sqlite3"),
                "prompt": {"name": "few-shot", "demonstrations": 2, "sentences": ["It has {letters}."]},
            }
        )
        reader: Any = mllm.load(node)
        reader.begin(clips, "audio")
        (answer,) = reader.read(clips[:1], "audio")
        turns = server.asked[0]["messages"]
    assert [turn["role"] for turn in turns] == ["user", "assistant", "user", "assistant", "user"]
    assert {turns[1]["content"], turns[3]["content"]} == {"dogs", "sun"}
    assert "3 letters" in turns[4]["content"][-1]["text"]
    assert sorted(answer.details["sent"]["shown"]) == ["dogs", "sun"]
