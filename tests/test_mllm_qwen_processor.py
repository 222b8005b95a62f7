"""What the local reader feeds the model: its processor's tensors of the very media, at their rate, within our caps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from mllm_loopback import small_clip
from mllm_tiny import save_tiny_processor

from unwritten.media import write_audio, write_video
from unwritten.readers.mllm.media import encode
from unwritten.readers.mllm.parts import Request, Sound, Text, Turn, Video
from unwritten.readers.mllm.qwen_inputs import end_of_turn, load_processor, qwen_inputs
from unwritten.readers.mllm.settings import MediaSettings
from unwritten.types import Modality

pytest.importorskip("transformers")
pytest.importorskip("torchvision", reason="the processor's video half needs torchvision")
FRAME_PIXELS = (3136, 6272)


@pytest.fixture(scope="module")
def processor(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("processor")
    save_tiny_processor(folder)
    return load_processor(str(folder))


def asked(folder: Path, modality: Modality, seconds: float, pictures: str = "video") -> Request:
    clip = small_clip(folder, "cat", f"for{seconds}", seconds=seconds)
    settings = MediaSettings(pictures=pictures, fps=4.0)  # type: ignore[arg-type]
    shown = encode(clip, modality, settings).parts
    return Request((Turn("user", (*shown, Text("Which word?"))),), 8)


def film(folder: Path, levels: list[int], fps: float, side: int = 56) -> Video:
    """A video of plain frames, lossless but for the colour's rounding."""
    images = [np.full((side, side, 3), level, np.uint8) for level in levels]
    path = write_video(folder / f"{fps}-{len(levels)}.mp4", images, fps=fps, crf=0, threads=1)
    return Video(path.read_bytes(), fps, len(levels), len(levels) / fps)


@pytest.mark.parametrize("pictures", ["video", "frames"])
def test_there_is_a_place_in_the_text_for_every_token_of_picture_and_sound(
    processor: Any, tmp_path: Path, pictures: str
) -> None:
    ours = qwen_inputs(processor, asked(tmp_path, "av", 2.5077, pictures), FRAME_PIXELS)
    ids = ours["input_ids"][0]

    def count(name: str) -> int:
        return int((ids == processor.tokenizer.convert_tokens_to_ids(f"<|{name}|>")).sum())

    grids = ours["video_grid_thw" if pictures == "video" else "image_grid_thw"]
    assert count("VIDEO" if pictures == "video" else "IMAGE") == int(grids.prod(dim=1).sum()) // 4
    heard = int(ours["feature_attention_mask"].sum())
    assert heard == 251  # 2.5077 s, a frame for every 10 ms begun
    assert count("AUDIO") == 63  # the encoder halves them twice: 251 to 126 to 63


def test_a_conversation_begins_with_the_system_turn_of_the_published_format(processor: Any) -> None:
    ours = qwen_inputs(processor, Request((Turn("user", (Text("hi"),)),), 4))
    said = processor.tokenizer.decode(ours["input_ids"][0])
    assert said.startswith("<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\nhi<|im_end|>")
    assert said.endswith("<|im_start|>assistant\n")
    assert said.count("<|im_end|>") == 2 and end_of_turn(processor) in ours["input_ids"][0]


def test_every_frame_that_is_sent_is_seen_two_to_a_patch_and_each_video_keeps_its_rate(
    processor: Any, tmp_path: Path
) -> None:
    dark_light, slow = film(tmp_path, [0, 255, 255], 4.0), film(tmp_path, [0, 0, 0, 0], 10.0)
    ours = qwen_inputs(processor, Request((Turn("user", (dark_light, slow, Text("?"))),), 4), (3136, 3136))
    assert ours["video_grid_thw"].tolist() == [[2, 4, 4], [2, 4, 4]]  # three frames are two pairs, the last shown twice
    layers = ours["pixel_values_videos"][:32].reshape(2, 16, 3, 2, 14, 14)
    assert (layers[0, :, :, 0] < 0).all() and (layers[0, :, :, 1] > 0).all() and (layers[1] > 0).all()
    torch.testing.assert_close(ours["video_second_per_grid"], torch.tensor([2 / 4.0, 2 / 10.0]))


def test_pixels_of_a_long_video_are_capped(processor: Any, tmp_path: Path) -> None:
    long = film(tmp_path, [0] * 40, 10.0, side=112)
    ours = qwen_inputs(processor, Request((Turn("user", (long, Text("?"))),), 4), (784, 112 * 112), 20 * 56 * 56)
    assert int(ours["video_grid_thw"].prod()) * 14 * 14 <= 20 * 56 * 56


def test_a_sound_beyond_the_models_hearing_is_not_cut_in_silence(processor: Any, tmp_path: Path) -> None:
    path = write_audio(tmp_path / "long.wav", np.zeros(31 * 16_000, np.float32), 16_000)
    request = Request((Turn("user", (Sound(path.read_bytes(), "wav", 31.0), Text("?"))),), 4)
    with pytest.raises(ValueError, match="the sound lasts 31 s; the model hears 30 s"):
        qwen_inputs(processor, request)
