"""The local model's code end to end, on a tiny randomly initialised model of the same class.

Nothing is downloaded: weights, tokenizer and the settings of ear and eye are made here, laid out as published ones are.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from mllm_loopback import small_clip
from mllm_tiny import save_tiny_model
from omegaconf import OmegaConf

from unwritten.errors import UsageError
from unwritten.readers import mllm
from unwritten.readers.mllm import qwen_local
from unwritten.readers.mllm.parts import Request, Text, Turn
from unwritten.readers.mllm.qwen_inputs import end_of_turn
from unwritten.readers.mllm.settings import LimitSettings, MllmSettings, SamplingSettings
from unwritten.types import Clip, Modality

pytest.importorskip("transformers")
pytest.importorskip("torchvision", reason="the processor's video half needs torchvision")


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_model(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Clip:
    return small_clip(tmp_path_factory.mktemp("clip"))


def node(model: Path, store: Path, **changes: Any) -> Any:
    base = {
        "kind": "mllm",
        "name": "tiny",
        "model": str(model),
        "provider": "transformers",
        "abilities": ["image", "audio", "video"],
        "store": str(store / "replies.sqlite3"),
        "options": {"device": "cpu", "dtype": "float32", "frame_pixels": [3136, 6272]},
        "media": {"pictures": "video", "fps": 4.0},
        "sampling": {"max_tokens": 4},
        "limits": {"concurrency": 1, "attempts": 1},
        "prompt": {"sentences": ["{opening}", "It has {letters}."], "follow_up": ""},
    }
    return OmegaConf.merge(OmegaConf.create(base), OmegaConf.create(changes))


@pytest.mark.parametrize("modality", ["audio", "video", "av"])
def test_a_local_model_answers_in_every_modality(tiny_model: Path, clip: Clip, tmp_path: Path, modality: Modality):
    reader = mllm.load(node(tiny_model, tmp_path))
    (answer,) = reader.read([clip], modality)
    assert answer.state in ("answered", "malformed", "empty"), answer.error  # random weights name no word
    assert answer.details["finish"] in ("stop", "length")
    assert answer.tokens_in is not None
    assert 1 <= (answer.tokens_out or 0) <= 4
    (again,) = reader.read([clip], modality)
    assert again.details["from_store"] is True
    assert again.raw == answer.raw


def test_images_with_times_are_taken_too(tiny_model: Path, clip: Clip, tmp_path: Path):
    (answer,) = mllm.load(node(tiny_model, tmp_path, media={"pictures": "frames"})).read([clip], "video")
    assert answer.state != "failed", answer.error
    assert answer.details["sent"]["frames"] == 4  # type: ignore[index]


def test_more_frames_are_more_tokens(tiny_model: Path, clip: Clip, tmp_path: Path):
    (few,) = mllm.load(node(tiny_model, tmp_path, media={"fps": 4.0})).read([clip], "video")
    (many,) = mllm.load(node(tiny_model, tmp_path, media={"fps": 10.0})).read([clip], "video")
    assert (few.tokens_in or 0) < (many.tokens_in or 0)


def test_likelihoods_from_the_kept_prompt_are_those_of_the_whole_text(tiny_model: Path, clip: Clip, tmp_path: Path):
    model, processor = qwen_local.load_qwen(str(tiny_model), "cpu", "float32", "sdpa")
    client = qwen_local.LocalQwen(
        MllmSettings(provider="transformers", model="x", options={"frame_pixels": [3136, 6272]}),
        SamplingSettings(),
        LimitSettings(),
    )
    reader = mllm.load(node(tiny_model, tmp_path))
    request, _ = reader.compose(clip, "av")  # type: ignore[attr-defined]
    inputs = client.inputs(processor, request, model)
    words = ("cat", "dog", "a", "cat")
    with torch.inference_mode():
        scores = qwen_local.word_log_probs(model, processor, inputs, words)
        for word, score in zip(words, scores, strict=True):
            tokens = [*processor.tokenizer.encode(word, add_special_tokens=False), end_of_turn(processor)]
            whole = dict(inputs)
            whole["input_ids"] = torch.cat([inputs["input_ids"], torch.tensor([tokens])], dim=1)
            whole["attention_mask"] = torch.ones_like(whole["input_ids"])
            each = model(**whole).logits[0].log_softmax(-1)
            start = inputs["input_ids"].shape[1] - 1
            wanted = sum(float(each[start + place, token]) for place, token in enumerate(tokens))
            assert score == pytest.approx(wanted, abs=1e-3)
    assert scores[0] == pytest.approx(scores[3])


def test_a_list_is_scored_and_sums_to_one(tiny_model: Path, clip: Clip, tmp_path: Path):
    listed = tmp_path / "words.txt"
    listed.write_text("cat\ndog\nsun\ntable\n")
    reader = mllm.load(node(tiny_model, tmp_path, score_candidates=True, prompt={"candidates": str(listed)}))
    (answer,) = reader.read([clip], "audio")
    assert answer.state == "answered", answer.error
    assert {word for word, _ in answer.candidates} == {"cat", "dog", "sun"}
    assert sum(share for _, share in answer.candidates) == pytest.approx(1.0)
    assert answer.word == answer.candidates[0][0]


def test_out_of_memory_steps_down_the_ladder(tiny_model: Path, clip: Clip, tmp_path: Path, monkeypatch):
    real = qwen_local.LocalQwen.inputs

    def small(self: Any, processor: Any, request: Request, model: Any) -> Any:
        (video,) = [part for part in request.parts() if hasattr(part, "frames")]
        if video.frames > 4:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 300 GiB")
        return real(self, processor, request, model)

    monkeypatch.setattr(qwen_local.LocalQwen, "inputs", small)
    reader = mllm.load(node(tiny_model, tmp_path, media={"fps": 10.0, "fps_ladder": [8.0, 4.0]}))
    (answer,) = reader.read([clip], "video")
    assert answer.state != "failed", answer.error
    assert answer.details["sent"]["fps_asked"] == 4.0  # type: ignore[index]
    assert [step["fps"] for step in answer.details["refused_rates"]] == [10.0, 8.0]  # type: ignore[attr-defined]


def test_a_missing_model_is_said_before_any_clip_is_read_and_otherwise_fails_with_its_name(
    clip: Clip, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=r"nowhere: cannot be loaded .* give a folder or a name on the hub"):
        mllm.load(node(tmp_path / "nowhere", tmp_path))
    (answer,) = mllm.load(node(tmp_path / "nowhere", tmp_path, check_model=False)).read([clip], "audio")
    assert answer.state == "failed"
    assert "nowhere: cannot be loaded" in answer.error


@pytest.mark.parametrize(
    ("options", "message"),
    [({"dtype": "int8"}, "'int8' is not one of bfloat16, float16, float32"), ({"speed": 1}, "options.speed")],
)
def test_an_option_that_means_nothing_is_said_at_once(
    tiny_model: Path, tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        mllm.load(node(tiny_model, tmp_path, options=options))


def test_words_alone_need_no_media(tiny_model: Path):
    model, processor = qwen_local.load_qwen(str(tiny_model), "cpu", "float32", "sdpa")
    client = qwen_local.LocalQwen(MllmSettings(provider="transformers", model="x"), SamplingSettings(), LimitSettings())
    inputs = client.inputs(processor, Request((Turn("user", (Text("hi"),)),), 4), model)
    assert set(inputs) == {"input_ids", "attention_mask"}
    assert np.asarray(inputs["input_ids"]).shape[1] > 3


def test_another_system_turn_can_be_asked_for(tiny_model: Path):
    model, processor = qwen_local.load_qwen(str(tiny_model), "cpu", "float32", "sdpa")
    settings = MllmSettings(provider="transformers", model="x", options={"system": "You read."})
    client = qwen_local.LocalQwen(settings, SamplingSettings(), LimitSettings())
    inputs = client.inputs(processor, Request((Turn("user", (Text("hi"),)),), 4), model)
    assert processor.tokenizer.decode(inputs["input_ids"][0]).startswith("<|im_start|>system\nYou read.<|im_end|>\n")
