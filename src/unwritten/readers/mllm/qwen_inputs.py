"""From a conversation to the tensors that Qwen2.5-Omni's thinker takes, by the model's own processor.

Caps on pixels are ours, for without them long videos do not fit any machine. A patch has 14x14 pixels of two frames;
four patches make a token. T is the number of frames.
"""

from __future__ import annotations

import io
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from unwritten.media import read_audio, read_frames
from unwritten.readers.mllm.parts import Part, Picture, Request, Sound, Text, Video

SAMPLE_RATE_HZ = 16_000
FRAME_PIXELS = (128 * 28 * 28, 768 * 28 * 28)  # fewest and most of one frame, as in the model's own processor
TOTAL_PIXELS = 24_576 * 28 * 28  # most of one video: some 12,000 tokens
SYSTEM = "You are a helpful assistant."  # what the model's own format says where a conversation says nothing
_TENSORS = {
    "input_ids", "attention_mask", "pixel_values", "image_grid_thw", "pixel_values_videos", "video_grid_thw",
    "video_second_per_grid", "input_features", "feature_attention_mask",
}  # fmt: skip


def load_processor(model: str) -> Any:
    """The model's own processor, from a folder or a name on the hub.

    Raises:
        OSError: something is missing.
    """
    from transformers.models.qwen2_5_omni.processing_qwen2_5_omni import Qwen2_5OmniProcessor

    return Qwen2_5OmniProcessor.from_pretrained(model)


def end_of_turn(processor: Any) -> int:
    """Token that ends a reply."""
    return int(processor.tokenizer.convert_tokens_to_ids("<|im_end|>"))


def qwen_inputs(
    processor: Any,
    request: Request,
    frame_pixels: tuple[int, int] = FRAME_PIXELS,
    total_pixels: int = TOTAL_PIXELS,
    system: str = SYSTEM,
) -> dict[str, torch.Tensor]:
    """A conversation as tensors.

    Args:
        processor: the model's.
        request: turns.
        frame_pixels: fewest and most pixels of one frame.
        total_pixels: most pixels of one video, as far as ``frame_pixels`` allows.
        system: what the conversation begins with.

    Raises:
        ValueError: a sound is longer than the model hears.
    """
    from PIL import Image

    turns = [{"role": turn.role, "content": [_content(part) for part in turn.parts]} for turn in request.turns]
    begin = {"role": "system", "content": [{"type": "text", "text": system}]}
    text = processor.apply_chat_template([begin, *turns], add_generation_prompt=True, tokenize=False)
    parts = list(request.parts())
    videos = [part for part in parts if isinstance(part, Video)]
    given: dict[str, Any] = {}
    if videos:
        frames = [decoded_frames(part) for part in videos]
        depth = int(processor.video_processor.temporal_patch_size)
        fewest, most = frame_pixels
        most = max(fewest, min(most, depth * total_pixels // max(len(film) + len(film) % depth for film in frames)))
        size = {"shortest_edge": fewest, "longest_edge": most}
        given |= {"videos": frames, "fps": videos[0].fps, "do_sample_frames": False, "size": size}
    pictures = [Image.open(io.BytesIO(part.data)).convert("RGB") for part in parts if isinstance(part, Picture)]
    sounds = [_heard(processor, decoded_sound(part)) for part in parts if isinstance(part, Sound)]
    given |= {name: media for name, media in (("images", pictures), ("audio", sounds)) if media}
    inputs = processor(text=text, return_tensors="pt", **given)
    if videos:  # the processor knows one rate for all videos
        inputs["video_second_per_grid"] = torch.tensor([depth / part.fps for part in videos])
    return {name: value for name, value in inputs.items() if name in _TENSORS}


def _content(part: Part) -> dict[str, str]:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    return {"type": {Picture: "image", Sound: "audio", Video: "video"}[type(part)]}


def _heard(processor: Any, waveform: NDArray[np.float32]) -> NDArray[np.float32]:
    ear = processor.feature_extractor
    if len(waveform) > int(ear.n_samples):
        raise ValueError(
            f"the sound lasts {len(waveform) / SAMPLE_RATE_HZ:.0f} s; the model hears {ear.chunk_length} s"
        )
    return waveform


def decoded_sound(part: Sound) -> NDArray[np.float32]:
    """Float32 ``[N]`` at the rate of the model's ear."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"sound.{part.format}"
        path.write_bytes(part.data)
        return read_audio(path, SAMPLE_RATE_HZ)


def decoded_frames(part: Video) -> NDArray[np.uint8]:
    """Uint8 ``[T, H, W, 3]``."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "clip.mp4"
        path.write_bytes(part.data)
        return np.stack([frame.image for frame in read_frames(path)])
