"""What the local reader feeds the model is what the model's own processor makes of the same conversation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from mllm_loopback import small_clip
from mllm_tiny import save_tiny_parts

from unwritten.readers.mllm.media import encode
from unwritten.readers.mllm.parts import Request, Sound, Text, Turn, Video
from unwritten.readers.mllm.qwen_inputs import QwenParts, decoded_frames, decoded_sound, qwen_inputs
from unwritten.readers.mllm.settings import MediaSettings
from unwritten.types import Modality

pytest.importorskip("transformers")
FRAME_PIXELS = (3136, 6272)
# The format of the published model: a system turn where a conversation has none, then turns between marks.
TEMPLATE = """\
{%- for turn in messages -%}
{%- if loop.first and turn.role != 'system' -%}
{{ '<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n' }}
{%- endif -%}
{{ '<|im_start|>' + turn.role + '\n' }}
{%- for part in turn.content -%}
{%- if part.type == 'text' -%}{{ part.text }}
{%- elif part.type == 'audio' -%}{{ '<|audio_bos|><|AUDIO|><|audio_eos|>' }}
{%- elif part.type == 'video' -%}{{ '<|vision_bos|><|VIDEO|><|vision_eos|>' }}
{%- elif part.type == 'image' -%}{{ '<|vision_bos|><|IMAGE|><|vision_eos|>' }}
{%- endif -%}
{%- endfor -%}
{{ '<|im_end|>\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\n' }}{%- endif -%}
"""


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> QwenParts:
    folder = tmp_path_factory.mktemp("parts")
    save_tiny_parts(folder)
    return QwenParts.load(str(folder))


def asked(folder: Path, modality: Modality, seconds: float, pictures: str = "video") -> Request:
    clip = small_clip(folder, "cat", f"for{seconds}", seconds=seconds)
    settings = MediaSettings(pictures=pictures, fps=4.0)  # type: ignore[arg-type]
    shown = encode(clip, modality, settings).parts
    return Request((Turn("user", (*shown, Text("Which word?"))),), 8)


def processed(parts: QwenParts, request: Request) -> Any:
    """The request as the model's own processor takes it."""
    from transformers import Qwen2VLVideoProcessor
    from transformers.models.qwen2_5_omni.processing_qwen2_5_omni import Qwen2_5OmniProcessor

    films = Qwen2VLVideoProcessor(patch_size=14, temporal_patch_size=2, merge_size=2)
    processor = Qwen2_5OmniProcessor(parts.eye, films, parts.ear, parts.tokenizer, chat_template=TEMPLATE)
    kinds = {Text: "text", Sound: "audio", Video: "video"}
    content = [{"type": kinds[type(part)], "text": getattr(part, "text", "")} for part in request.parts()]
    text = processor.apply_chat_template(
        [{"role": "user", "content": content}], add_generation_prompt=True, tokenize=False
    )
    videos = [part for part in request.parts() if isinstance(part, Video)]
    given: dict[str, Any] = {}
    if videos:
        size = {"shortest_edge": FRAME_PIXELS[0], "longest_edge": FRAME_PIXELS[1]}
        frames = [decoded_frames(part) for part in videos]
        given |= {"videos": frames, "fps": videos[0].fps, "do_sample_frames": False, "size": size}
    sounds = [decoded_sound(part) for part in request.parts() if isinstance(part, Sound)]
    if sounds:
        given["audio"] = sounds
    return processor(text=text, return_tensors="pt", **given)


@pytest.mark.parametrize("modality", ["audio", "video", "av"])
@pytest.mark.parametrize("seconds", [1.0, 2.5077])  # whole spectrogram frames, and a part of one
def test_tokens_and_tensors_are_those_of_the_models_own_processor(
    parts: QwenParts, tmp_path: Path, modality: Modality, seconds: float
) -> None:
    pytest.importorskip("torchvision", reason="the processor's video half needs torchvision")
    request = asked(tmp_path, modality, seconds)
    theirs, ours = processed(parts, request), qwen_inputs(parts, request, FRAME_PIXELS)
    assert set(ours) <= set(theirs)
    assert set(ours) >= {"input_ids", "attention_mask"}
    for name in set(ours) - {"pixel_values_videos"}:
        torch.testing.assert_close(
            ours[name], theirs[name].to(ours[name].dtype), msg=lambda said, n=name: f"{n}: {said}"
        )
    if modality != "audio":
        # Two libraries round the resized pixels differently: one step of 255 is 0.0146 here.
        torch.testing.assert_close(ours["pixel_values_videos"], theirs["pixel_values_videos"], atol=0.02, rtol=0)


@pytest.mark.parametrize("pictures", ["video", "frames"])
def test_there_is_a_place_in_the_text_for_every_token_of_picture_and_sound(
    parts: QwenParts, tmp_path: Path, pictures: str
) -> None:
    ours = qwen_inputs(parts, asked(tmp_path, "av", 2.5077, pictures), FRAME_PIXELS)
    ids = ours["input_ids"][0]

    def count(name: str) -> int:
        return int((ids == parts.tokenizer.convert_tokens_to_ids(f"<|{name}|>")).sum())

    grids = ours["video_grid_thw" if pictures == "video" else "image_grid_thw"]
    assert count("VIDEO" if pictures == "video" else "IMAGE") == int(grids.prod(dim=1).sum()) // 4
    heard = int(ours["feature_attention_mask"].sum())
    assert heard == 251  # 2.5077 s, a frame for every 10 ms begun
    assert count("AUDIO") == 63  # the encoder halves them twice: 251 to 126 to 63


def test_a_conversation_begins_with_the_system_turn_of_the_published_format(parts: QwenParts) -> None:
    ours = qwen_inputs(parts, Request((Turn("user", (Text("hi"),)),), 4))
    said = parts.tokenizer.decode(ours["input_ids"][0])
    assert said.startswith("<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\nhi<|im_end|>")
    assert said.endswith("<|im_start|>assistant\n")


def test_a_sound_beyond_the_models_hearing_is_not_cut_in_silence(parts: QwenParts) -> None:
    from unwritten.readers.mllm.qwen_inputs import spectrogram

    with pytest.raises(ValueError, match="the sound lasts 31 s; the model hears 30 s"):
        spectrogram(parts.ear, torch.zeros(31 * 16_000).numpy())
