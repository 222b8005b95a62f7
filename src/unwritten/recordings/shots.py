"""One shot of a word as a clip of its own: the word's track and sound, cut where its letters were joined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from unwritten.errors import UnwrittenError
from unwritten.recordings.record import record_file, record_sound
from unwritten.recordings.tracks import stored_track
from unwritten.store import Store
from unwritten.tracking.settings import TrackerSettings
from unwritten.types import Clip, Modality, Recording
from unwritten.wording import counted

SOURCE = "letter-shot"


def letter_shots(clips: Sequence[Clip]) -> list[Clip]:
    """An item for every letter of every synthetic word, named ``WORD#1`` for the first; nothing is opened."""
    return [
        Clip(
            id=f"{clip.id}#{place + 1}",
            files=clip.files,
            style=clip.style,
            word=letter,
            source=SOURCE,
            writer=clip.writer,
            letter_clips=clip.letter_clips[place : place + 1],
            shot=place,
        )
        for clip in clips
        if clip.source == "synthetic" and clip.word and len(clip.word) > 1 and clip.shot is None
        for place, letter in enumerate(clip.word)
    ]


def record_shot(
    clip: Clip, modality: Modality, tracker: TrackerSettings | None = None, store: Store | None = None
) -> Recording:
    """The recording of one shot of a word's file.

    Sound alone is cut where its parts were joined; where it was not joined letter by letter, at the shots of the
    word's pictures, which cut everything else too.

    Args:
        clip: with ``shot``.
        modality: of the file to cut.
        tracker: settings of the tracker.
        store: where tracks are kept; None computes anew.

    Raises:
        UnwrittenError: the file has nothing to read, or no such shot.
    """
    assert clip.shot is not None
    path = clip.files[modality]
    if modality != "audio":
        return cut_shot(record_file(path, modality, tracker, store), clip.shot, str(path))
    whole, report = record_sound(path)
    starts_s = report.part_starts_s
    if len(starts_s) < 2:
        pictures = clip.files.get("video") or clip.files.get("av")
        if pictures is None:
            raise UnwrittenError(f"{path}: where its letters meet is not known; add its video")
        starts_s = stored_track(pictures, tracker or TrackerSettings(), store).shot_starts_s
    if clip.shot >= len(starts_s):
        raise UnwrittenError(f"{path}: has {counted(len(starts_s), 'shot')}, letter {clip.shot + 1} is not there")
    assert whole.waveform is not None
    edges = [*(max(0, round(start * whole.sample_rate_hz)) for start in starts_s), len(whole.waveform)]
    waveform = whole.waveform[edges[clip.shot] : edges[clip.shot + 1]]
    if not len(waveform):
        raise UnwrittenError(f"{path}: ends before letter {clip.shot + 1}")
    return replace(whole, waveform=waveform)


def cut_shot(recording: Recording, shot: int, name: str = "recording") -> Recording:
    """One shot of a recording with its sound, on a clock that begins at the shot's first frame.

    Args:
        recording: with a track.
        shot: which, from 0.
        name: of the file, for the error.

    Raises:
        UnwrittenError: there is no such shot, it has too few frames to be read, or the sound ends before it.
    """
    track = recording.track
    assert track is not None
    starts_s = [*track.shot_starts_s, np.inf]
    members = track.shot == shot
    if members.sum() < 2:
        raise UnwrittenError(f"{name}: has {counted(len(starts_s) - 1, 'shot')}, letter {shot + 1} is not there")
    part = track.select(members)
    start_s = float(part.time_s[0])
    end_s = min(start for start in starts_s if start > start_s)
    part = replace(part, time_s=part.time_s - start_s, shot=np.zeros(len(part), dtype=np.int64))
    waveform, offset_s = recording.waveform, 0.0
    if waveform is not None:
        rate_hz, origin_s = recording.sample_rate_hz, recording.audio_offset_s
        first = max(0, round((start_s - origin_s) * rate_hz))
        last = len(waveform) if np.isinf(end_s) else max(0, round((end_s - origin_s) * rate_hz))
        waveform = waveform[first:last]
        if not len(waveform):
            raise UnwrittenError(f"{name}: its sound ends before letter {shot + 1}")
        offset_s = origin_s + first / rate_hz - start_s
    return Recording(part, waveform, recording.sample_rate_hz, offset_s)
