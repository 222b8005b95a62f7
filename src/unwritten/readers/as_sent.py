"""The baseline on the least that multimodal models look at: a frame a second, and sound as common players read it.

If the baseline falls to the floor there, a model's failure may lie in its input and not in the model.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from unwritten.readers.base import ClipReader
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


class AsSentReader(ClipReader):
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

    def answer(self, clip: Clip, modality: Modality) -> Answer:
        """Read what is left of one clip."""
        left = self._as_sent(self.reader.recording_of(clip, modality), clip, modality)
        return self.reader.answer(replace(clip, recording=left, files={}), modality)

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
            # A simulated word has no file; its parts are its shots. A sound alone has shots in truth only.
            track = clip.recording.track
            starts_s = [] if track is None else [time - clip.recording.audio_offset_s for time in track.shot_starts_s]
        else:
            from unwritten.media import read_audio_report

            starts_s = read_audio_report(clip.files[modality])[1].part_starts_s
        return starts_s[1] if len(starts_s) > 1 else None


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
