"""From a conversation to the tensors that Qwen2.5-Omni's thinker takes, made of the parts of its own processor.

The whole processor needs torchvision for its video half alone; frames go through the image half here, two by two, as a
patch spans two frames. Caps on pixels are ours, for without them long videos do not fit any machine. A patch has 14x14
pixels of two frames; four patches make a token. T is the number of frames, P the number of patches.
"""

from __future__ import annotations

import io
import tempfile
from dataclasses import dataclass
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


@dataclass(frozen=True)
class QwenParts:
    """The parts of the processor: a tokenizer, Whisper's feature extractor, and the image processor."""

    tokenizer: Any
    ear: Any
    eye: Any

    @property
    def end_of_turn(self) -> int:
        """Token that ends a reply."""
        return int(self.tokenizer.convert_tokens_to_ids("<|im_end|>"))

    @staticmethod
    def load(model: str) -> QwenParts:
        """From a folder or a name on the hub.

        Raises:
            OSError: something is missing.
        """
        from transformers import AutoTokenizer, Qwen2VLImageProcessorPil, WhisperFeatureExtractor

        return QwenParts(
            AutoTokenizer.from_pretrained(model),
            WhisperFeatureExtractor.from_pretrained(model),
            Qwen2VLImageProcessorPil.from_pretrained(model),
        )


def qwen_inputs(
    parts: QwenParts,
    request: Request,
    frame_pixels: tuple[int, int] = FRAME_PIXELS,
    total_pixels: int = TOTAL_PIXELS,
    system: str = SYSTEM,
) -> dict[str, torch.Tensor]:
    """A conversation as tensors.

    Args:
        parts: of the processor.
        request: turns.
        frame_pixels: fewest and most pixels of one frame.
        total_pixels: most pixels of one video.
        system: what the conversation begins with.
    """
    pictures: list[torch.Tensor] = []
    picture_grids: list[tuple[int, int, int]] = []
    films: list[torch.Tensor] = []
    film_grids: list[tuple[int, int, int]] = []
    film_steps_s: list[float] = []
    spectrograms: list[torch.Tensor] = []
    masks: list[torch.Tensor] = []
    merged = int(parts.eye.merge_size) ** 2
    text = [f"<|im_start|>system\n{system}<|im_end|>\n"]

    def written(part: Part) -> str:
        if isinstance(part, Text):
            return part.text
        if isinstance(part, Picture):
            patches, grid = image_patches(parts.eye, part)
            pictures.append(patches)
            picture_grids.append(grid)
            return _marked("vision", "IMAGE", int(np.prod(grid)) // merged)
        if isinstance(part, Video):
            patches, grid = video_patches(parts.eye, decoded_frames(part), frame_pixels, total_pixels)
            films.append(patches)
            film_grids.append(grid)
            film_steps_s.append(int(parts.eye.temporal_patch_size) / part.fps)
            return _marked("vision", "VIDEO", int(np.prod(grid)) // merged)
        heard = spectrogram(parts.ear, decoded_sound(part))
        spectrograms.append(heard["input_features"])
        masks.append(heard["attention_mask"])
        return _marked("audio", "AUDIO", sound_tokens(int(masks[-1].sum())))

    for turn in request.turns:
        text.append(f"<|im_start|>{turn.role}\n{''.join(written(part) for part in turn.parts)}<|im_end|>\n")
    text.append("<|im_start|>assistant\n")
    tokens = torch.tensor([parts.tokenizer.encode("".join(text), add_special_tokens=False)])
    inputs = {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)}
    if pictures:
        inputs |= {"pixel_values": torch.cat(pictures), "image_grid_thw": torch.tensor(picture_grids)}
    if films:
        inputs |= {
            "pixel_values_videos": torch.cat(films),
            "video_grid_thw": torch.tensor(film_grids),
            "video_second_per_grid": torch.tensor(film_steps_s),
        }
    if spectrograms:
        inputs |= {"input_features": torch.cat(spectrograms), "feature_attention_mask": torch.cat(masks)}
    return inputs


def spectrogram(ear: Any, waveform: NDArray[np.float32]) -> Any:
    """Log-mel ``input_features`` [1, mels, frames] and its ``attention_mask`` [1, frames], as the processor makes them.

    It lays every sound on as much silence as the ear can hear at once: cut at its end, the last frames would differ.

    Raises:
        ValueError: the sound is longer than that.
    """
    if len(waveform) > int(ear.n_samples):
        raise ValueError(
            f"the sound lasts {len(waveform) / SAMPLE_RATE_HZ:.0f} s; the model hears {ear.chunk_length} s"
        )
    return ear(
        waveform,
        sampling_rate=SAMPLE_RATE_HZ,
        padding="max_length",
        return_attention_mask=True,
        return_tensors="pt",
    )


def sound_tokens(frames: int) -> int:
    """Tokens of a sound of so many spectrogram frames: the encoder halves it twice."""
    return ((frames - 1) // 2 + 1 - 2) // 2 + 1


def image_patches(eye: Any, part: Picture) -> tuple[torch.Tensor, tuple[int, int, int]]:
    """Patches float32 ``[P, 1176]`` of an image, and its grid (1, rows, columns)."""
    from PIL import Image

    seen = eye(images=[Image.open(io.BytesIO(part.data)).convert("RGB")], return_tensors="pt")
    return seen["pixel_values"].float(), _grid(seen)


def video_patches(
    eye: Any, frames: NDArray[np.uint8], frame_pixels: tuple[int, int], total_pixels: int
) -> tuple[torch.Tensor, tuple[int, int, int]]:
    """Patches float32 ``[P, 1176]`` of a video, and its grid (pairs of frames, rows, columns).

    Args:
        eye: the image processor.
        frames: uint8 ``[T, H, W, 3]``; an odd last frame is shown twice.
        frame_pixels: fewest and most pixels of one frame.
        total_pixels: most pixels of all of them, as far as ``frame_pixels`` allows.
    """
    from PIL import Image

    depth = int(eye.temporal_patch_size)
    if len(frames) % depth:
        frames = np.concatenate([frames, np.repeat(frames[-1:], depth - len(frames) % depth, axis=0)])
    fewest, most = frame_pixels
    most = max(fewest, min(most, depth * total_pixels // len(frames)))
    size = {"shortest_edge": fewest, "longest_edge": most}
    seen = eye(images=[Image.fromarray(frame) for frame in frames], size=size, return_tensors="pt")
    _, rows, columns = _grid(seen)
    side = int(eye.patch_size)
    # Each image was given `depth` equal layers; a video's patch has the layers of as many frames.
    each = seen["pixel_values"].float().reshape(len(frames) // depth, depth, rows * columns, 3, depth, side, side)
    patches = each[:, :, :, :, 0].permute(0, 2, 3, 1, 4, 5).reshape(-1, 3 * depth * side * side)
    return patches, (len(frames) // depth, rows, columns)


def _grid(seen: Any) -> tuple[int, int, int]:
    time, rows, columns = (int(value) for value in seen["image_grid_thw"][0])
    return time, rows, columns


def _marked(kind: str, token: str, count: int) -> str:
    return f"<|{kind}_bos|>{f'<|{token}|>' * count}<|{kind}_eos|>"


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
