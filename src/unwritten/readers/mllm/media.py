"""A clip as it is sent: only what its modality claims, in square pixels, at a known rate. T is the number of frames."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from unwritten.errors import UnwrittenError
from unwritten.media import probe, read_audio_report, read_frames, write_audio, write_video
from unwritten.readers.mllm.parts import Part, Picture, Sound, Text, Video, media_digest
from unwritten.readers.mllm.settings import MediaSettings
from unwritten.types import Clip, Modality, Recording


@dataclass(frozen=True)
class Encoded:
    """Parts to send, and what they are.

    Attributes:
        parts: in order.
        sent: facts to store with the answer.
    """

    parts: tuple[Part, ...]
    sent: dict[str, object]


def encode(
    clip: Clip, modality: Modality, settings: MediaSettings, fps: float | None = None, rendered: Path | None = None
) -> Encoded:
    """Encode a clip.

    Args:
        clip: with a file of this modality, or simulated.
        modality: ``audio`` sends sound that was decoded and encoded again, so that no container hides pictures;
            ``video`` sends pictures without any sound track.
        settings: how.
        fps: a rate of the ladder instead of the settings' own.
        rendered: folder for the files of simulated clips; None takes the user's store.

    Raises:
        UnwrittenError: the clip lacks the modality or its file cannot be read.
    """
    path = clip_file(clip, modality, rendered)
    rate = fps or settings.fps
    pictures: tuple[Part, ...] = ()
    sound: tuple[Part, ...] = ()
    sent: dict[str, object] = {"modality": modality, "file": path.name}
    waveform = None
    if modality in ("audio", "av"):
        waveform = _sound_on_picture_clock(path, settings.sample_rate_hz, aligned=modality == "av")
        sent |= {
            "sound_s": round(len(waveform) / settings.sample_rate_hz, 3),
            "sample_rate_hz": settings.sample_rate_hz,
        }
    muxed = modality == "av" and settings.av == "muxed"
    if modality in ("video", "av"):
        images, times_s = sample_frames(path, rate, settings.max_frames, settings.longest_side_px)
        seconds = float(times_s[-1]) + _mean_step_s(times_s)
        height, width = images[0].shape[:2]
        sent |= {
            "pictures": settings.pictures,
            "fps": round(len(images) / seconds, 3),
            "fps_asked": rate,
            "frames": len(images),
            "seconds": round(seconds, 3),
            "size_px": [width, height],
        }
        if settings.pictures == "frames":
            pictures = tuple(_frames(images, times_s, settings.jpeg_quality))
        else:
            pictures = (_video(images, times_s, seconds, waveform if muxed else None, settings),)
    if waveform is not None and not muxed:
        sound = (_sound(waveform, settings),)
    parts = (*pictures, *sound)
    sent["bytes"] = sum(len(part.data) for part in parts if not isinstance(part, Text))
    sent["digest"] = media_digest(parts)
    return Encoded(parts, sent)


def clip_file(clip: Clip, modality: Modality, rendered: Path | None = None) -> Path:
    """The file of a clip in one modality; a simulated clip's is rendered once and kept.

    Raises:
        UnwrittenError: the clip has no such file.
    """
    if modality not in clip.modalities:
        raise UnwrittenError(f"{clip.id}: has no {modality} file; leave out modality={modality} or add the file")
    if clip.recording is None:
        return clip.files[modality]
    from unwritten.simulation.scene import render_once
    from unwritten.store import default_store

    recording = clip.recording.only(modality)
    digest = recording.digest()
    path = (rendered or default_store() / "clips") / digest[:2] / digest / "clip"
    return render_once(recording, path, seed=int(digest[:8], 16), audio_suffix=".wav")[modality]


def sample_frames(
    path: Path | str, fps: float, most: int, longest_side_px: int
) -> tuple[list[NDArray[np.uint8]], NDArray[np.float64]]:
    """Pictures of a video at a steady rate, in square pixels.

    Args:
        path: the video.
        fps: rate; each of the times 0, 1/fps, 2/fps, ... takes the first picture at or after it, none twice.
        most: most pictures; more are thinned evenly.
        longest_side_px: longer side of the result, which never grows.

    Returns:
        T images uint8 ``[H, W, 3]`` with even sides and their times ``[T]`` in seconds, first at 0.
    """
    images: list[NDArray[np.uint8]] = []
    times: list[float] = []
    next_s = 0.0
    for frame in read_frames(path):
        # A hair early: times come in ticks, and 1/30 s steps add up to a little more or less than a second.
        if frame.time_s < next_s - 1e-3:
            continue
        next_s = (np.floor((frame.time_s + 1e-3) * fps) + 1) / fps
        images.append(_square(frame.image, frame.sample_aspect_ratio, longest_side_px))
        times.append(frame.time_s)
    kept = np.unique(np.linspace(0, len(images) - 1, min(most, len(images))).round().astype(int))
    first_s = times[0]
    shape = images[0].shape
    # Joined clips may change size; every picture of one item has the size of the first.
    same = [images[i] if images[i].shape == shape else cv2.resize(images[i], (shape[1], shape[0])) for i in kept]
    return [np.asarray(image, np.uint8) for image in same], np.array([times[i] - first_s for i in kept])


def _square(image: NDArray[np.uint8], sample_aspect_ratio: float, longest_side_px: int) -> NDArray[np.uint8]:
    height, width = float(image.shape[0]), image.shape[1] * sample_aspect_ratio
    scale = min(1.0, longest_side_px / max(height, width))
    size = (max(2, 2 * round(width * scale / 2)), max(2, 2 * round(height * scale / 2)))
    return np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), np.uint8)


def _mean_step_s(times_s: NDArray[np.float64]) -> float:
    return float(np.mean(np.diff(times_s))) if len(times_s) > 1 else 1 / 30


def _frames(images: list[NDArray[np.uint8]], times_s: NDArray[np.float64], quality: int) -> Iterator[Part]:
    yield Text(f"{len(images)} frames of the video follow, each after its time.")
    for image, time_s in zip(images, times_s, strict=True):
        _, data = cv2.imencode(".jpg", cv2.cvtColor(image, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, quality])
        yield Text(f"{time_s:.2f} s")
        yield Picture(data.tobytes())


def _video(
    images: list[NDArray[np.uint8]],
    times_s: NDArray[np.float64],
    seconds: float,
    waveform: NDArray[np.float32] | None,
    settings: MediaSettings,
) -> Video:
    with tempfile.TemporaryDirectory() as folder:
        # One thread: what the encoder makes must not depend on the machine, for its digest is a key.
        path = write_video(
            Path(folder) / "clip.mp4",
            images,
            times_s,
            fps=max(1.0, len(images) / seconds),
            waveform=waveform,
            sample_rate_hz=settings.sample_rate_hz,
            crf=settings.crf,
            threads=1,
        )
        if (probe(path).audio is not None) != (waveform is not None):
            raise UnwrittenError(f"{path.name}: a video's sound track is not what its modality says; report this")
        data = path.read_bytes()
    sound_s = 0.0 if waveform is None else len(waveform) / settings.sample_rate_hz
    return Video(data, round(len(images) / seconds, 3), len(images), seconds, sound_s)


def _sound(waveform: NDArray[np.float32], settings: MediaSettings) -> Sound:
    with tempfile.TemporaryDirectory() as folder:
        path = write_audio(Path(folder) / f"sound.{settings.audio_format}", waveform, settings.sample_rate_hz)
        return Sound(path.read_bytes(), settings.audio_format, len(waveform) / settings.sample_rate_hz)


def _sound_on_picture_clock(path: Path, sample_rate_hz: int, aligned: bool) -> NDArray[np.float32]:
    waveform, report = read_audio_report(path, sample_rate_hz)
    return Recording(None, waveform, sample_rate_hz, report.offset_s if aligned else 0.0).aligned_waveform()
