"""A simulated recording as real files: muted video, sound alone and both, named as the benchmark names its clips."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

import av
import av.error
import numpy as np
from numpy.typing import NDArray

from unwritten.errors import UnwrittenError
from unwritten.files import whole_file
from unwritten.media import write_audio, write_video
from unwritten.simulation.scene.render import render
from unwritten.simulation.scene.settings import SceneSettings
from unwritten.types import Clip, Modality, Recording, Track

_COPY_BLOCK_S = 0.5  # sound and pictures are interleaved about this finely


def render_clip(
    recording: Recording,
    path: Path | str,
    settings: SceneSettings | None = None,
    seed: int = 0,
    *,
    audio_suffix: Literal[".mp3", ".m4a", ".wav", ".flac"] = ".mp3",
) -> Mapping[Modality, Path]:
    """Write a recording as files.

    The pictures are rendered and encoded once; the file with both streams holds a copy of the same packets, so that
    muted and audio-visual items differ in the sound alone. The sound alone is encoded again and carries no pictures.

    Args:
        recording: track, waveform or both; a track needs frames, times that increase and a size.
        path: folder and name without suffix: ``out/above`` becomes ``out/above_muted.mp4``, ``out/above.mp3`` and
            ``out/above.mp4``.
        settings: what the scene looks like.
        seed: the same seed gives the same pictures.
        audio_suffix: format of the sound alone.

    Returns:
        the path of each modality written, as ``Clip.files`` takes them.

    Raises:
        UnwrittenError: nothing to write, or the place cannot be written.
    """
    path = Path(path)
    has_sound = recording.waveform is not None and len(recording.waveform) > 0
    track = recording.track if recording.track is not None and len(recording.track) else None
    if track is None and not has_sound:
        raise UnwrittenError(f"{path}: the recording holds neither pictures nor sound; simulate at least one of them")
    names = _file_names(path, audio_suffix)
    files: dict[Modality, Path] = {}
    if has_sound:
        files["audio"] = names["audio"]
        write_audio(files["audio"], recording.aligned_waveform(), recording.sample_rate_hz)
    if track is not None:
        files["video"] = names["video"]
        time_s = np.asarray(track.time_s) - track.time_s[0]
        write_video(
            files["video"], _pictures(track, settings, seed), time_s, sample_aspect_ratio=track.sample_aspect_ratio
        )
    if track is not None and has_sound:
        files["av"] = names["av"]
        _add_sound(files["video"], recording.aligned_waveform(), recording.sample_rate_hz, files["av"])
    return files


def _file_names(path: Path, audio_suffix: str) -> dict[Modality, Path]:
    suffixes: dict[Modality, str] = {"audio": audio_suffix, "video": "_muted.mp4", "av": ".mp4"}
    return {modality: path.with_name(path.name + suffix) for modality, suffix in suffixes.items()}


def render_once(
    recording: Recording,
    path: Path | str,
    settings: SceneSettings | None = None,
    seed: int = 0,
    *,
    audio_suffix: Literal[".mp3", ".m4a", ".wav", ".flac"] = ".mp3",
) -> Mapping[Modality, Path]:
    """As ``render_clip``, unless the files are there: what is there is whole and is taken as it is.

    Raises:
        UnwrittenError: nothing to write, or the place cannot be written.
    """
    names = _file_names(Path(path), audio_suffix)
    files = {modality: names[modality] for modality in recording.modalities}
    if files and all(file.is_file() for file in files.values()):
        return files
    return render_clip(recording, path, settings, seed, audio_suffix=audio_suffix)


def clip_with_files(clip: Clip, folder: Path | str, settings: SceneSettings | None = None) -> Clip:
    """A simulated clip that exists as files, for readers that take files; a clip of files is returned as it is.

    Files are named by the clip's id and a digest of recording and settings, and are made once. The scene's seed is made
    from the clip's id, so the order of clips does not matter.

    Raises:
        UnwrittenError: the recording is empty, or the folder cannot be written.
    """
    if clip.files or clip.recording is None:
        return clip
    state = f"{clip.recording.digest()} {settings or SceneSettings()}"
    path = Path(folder) / f"{clip.id}-{hashlib.sha256(state.encode()).hexdigest()[:12]}"
    return replace(clip, files=render_once(clip.recording, path, settings, zlib.crc32(clip.id.encode())))


def _pictures(track: Track, settings: SceneSettings | None, seed: int) -> Iterator[NDArray[np.uint8]]:
    for frame in render(track, settings, np.random.default_rng(seed)):
        yield frame.image


def _add_sound(muted: Path, waveform: NDArray[np.float32], sample_rate_hz: int, target: Path) -> None:
    """Copy the pictures' packets of ``muted`` beside newly encoded AAC sound."""
    with whole_file(target) as temporary:
        sound = temporary.with_suffix(".sound.m4a")
        try:
            write_audio(sound, waveform, sample_rate_hz)
            with (
                av.open(f"file:{muted}") as pictures,
                av.open(f"file:{sound}") as speech,
                av.open(f"file:{temporary}", "w", format="mp4", options={"movflags": "+faststart"}) as container,
            ):
                streams = [pictures.streams.video[0], speech.streams.audio[0]]
                copies = [container.add_stream_from_template(stream) for stream in streams]
                packets = [
                    (float(packet.dts * packet.time_base), index, packet)
                    for index, (source, stream) in enumerate(zip((pictures, speech), streams, strict=True))
                    for packet in source.demux(stream)
                    if packet.dts is not None and packet.time_base is not None
                ]
                packets.sort(key=lambda entry: (entry[0] // _COPY_BLOCK_S, entry[1], entry[0]))
                for _, index, packet in packets:
                    packet.stream = copies[index]
                    container.mux(packet)
        except av.error.FFmpegError as error:
            raise UnwrittenError(f"{target}: cannot be written ({error.strerror}); choose another place") from error
        finally:
            sound.unlink(missing_ok=True)
