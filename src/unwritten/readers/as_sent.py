"""The baseline on the least that multimodal models look at: a frame a second, and sound as common players read it.

If the baseline falls to the floor there, a model's failure may lie in its input and not in the model.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from unwritten.errors import UnwrittenError
from unwritten.readers.base import Reader, failed_answer
from unwritten.readers.ctc import CtcReader
from unwritten.types import Answer, Clip, Modality, Recording, Track

Sound = Literal["whole", "first-part"]


@dataclass(frozen=True)
class AsSentSettings:
    """What is left of a clip.

    Attributes:
        frames_per_second: pictures kept, counted from the first; None keeps all. The track is made from the whole video
            first and thinned then, which flatters the reader: a tracker that saw one picture a second would know less.
        sound: ``first-part`` ends where the first of several byte-joined files ends, as players that stop at the join
            hear it; ``whole`` keeps everything.
    """

    frames_per_second: float | None = 1.0
    sound: Sound = "first-part"

    def __post_init__(self) -> None:
        if self.frames_per_second is not None and not self.frames_per_second > 0:
            raise ValueError(f"frames_per_second: {self.frames_per_second} keeps no picture; give a positive number")
        if self.sound not in get_args(Sound):
            raise ValueError(f"sound: {self.sound!r} is not one of {', '.join(get_args(Sound))}")


class AsSentReader(Reader):
    """A reader that gets its clips as they are sent to models.

    Args:
        reader: makes the recordings and reads what is left of them.
        settings: what is left of a clip.
    """

    def __init__(self, reader: CtcReader, settings: AsSentSettings = AsSentSettings()) -> None:
        self.name = reader.name
        self.reader = reader
        self.settings = settings
        self.fingerprint = reader.fingerprint

    def modalities(self) -> tuple[Modality, ...]:
        """Those of the reader."""
        return self.reader.modalities()

    def read(self, clips: Sequence[Clip], modality: Modality) -> Iterator[Answer]:
        """Yield one answer for each clip, in order."""
        for clip in clips:
            start_s = time.perf_counter()
            try:
                recording = self._as_sent(self.reader.recording_of(clip, modality), clip, modality)
            except (UnwrittenError, ValueError) as error:
                yield failed_answer(clip, self.name, modality, error, time.perf_counter() - start_s)
                continue
            for answer in self.reader.read([replace(clip, recording=recording, files={})], modality):
                yield replace(answer, seconds=time.perf_counter() - start_s)

    def _as_sent(self, recording: Recording, clip: Clip, modality: Modality) -> Recording:
        waveform, track = recording.waveform, recording.track
        if waveform is not None and self.settings.sound == "first-part":
            end_s = self._first_part_s(clip, modality)
            if end_s is not None:
                waveform = waveform[: max(1, round(end_s * recording.sample_rate_hz))]
        if track is not None and self.settings.frames_per_second is not None:
            track = thin_track(track, self.settings.frames_per_second)
        return replace(recording, waveform=waveform, track=track)

    @staticmethod
    def _first_part_s(clip: Clip, modality: Modality) -> float | None:
        """Where the first part of the sound ends, in seconds; None when there is one part."""
        if clip.recording is not None:
            # A simulated word has no file; its first part is its first shot. A sound alone has shots in truth only.
            whole = clip.recording
            if whole.track is None:
                return None
            later = np.flatnonzero(whole.track.shot > whole.track.shot[0])
            return None if not len(later) else float(whole.track.time_s[later[0]]) - whole.audio_offset_s
        from unwritten.media import read_audio_report

        parts = read_audio_report(clip.files[modality])[1].parts
        sounding = [part for part in parts if part.duration_s > 0]
        return sounding[0].start_s + sounding[0].duration_s if len(sounding) > 1 else None


def thin_track(track: Track, frames_per_second: float) -> Track:
    """The track in the first frame at or after each of the times 0, 1/f, 2/f, ...

    Args:
        track: of T frames.
        frames_per_second: f.
    """
    wanted_s = track.time_s[0] + np.arange(int((track.time_s[-1] - track.time_s[0]) * frames_per_second) + 1) / (
        frames_per_second
    )
    # A hair early: 1/30 s steps add up to a little more or less than a second.
    keep = np.unique(np.minimum(np.searchsorted(track.time_s, wanted_s - 1e-3), len(track) - 1))
    return track.select(keep)
