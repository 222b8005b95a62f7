"""The few types that every part passes on. T is the number of frames or samples in time.

Coordinates have their origin at the centre of the top left pixel, x right and y down, unless a name says ``xy_mm``,
which has y up. Absence is a mask: a value whose mask is False means nothing and is finite all the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.integer]

Modality = Literal["audio", "video", "av"]
MODALITIES: tuple[Modality, ...] = get_args(Modality)
Style = Literal["standard", "cursive", "retrace"]
STYLES: tuple[Style, ...] = get_args(Style)


@dataclass(frozen=True)
class Frame:
    """One picture of a video.

    Attributes:
        image: RGB uint8 ``[H, W, 3]`` as coded, with the container's rotation applied once.
        time_s: presentation time in seconds, from the stream's PTS, first frame at 0.
        sample_aspect_ratio: width of a pixel over its height, after rotation.
    """

    image: NDArray[np.uint8]
    time_s: float
    sample_aspect_ratio: float = 1.0


@dataclass(frozen=True)
class Track:
    """Where the tip of the pen was in each frame of a clip.

    Attributes:
        time_s: ``[T]`` presentation time of each frame in seconds, strictly increasing.
        tip_px: ``[T, 2]`` position of the tip in square pixels of the frame's height (x is multiplied by the sample
            aspect ratio); finite everywhere, meaningful where ``visible``.
        visible: ``[T]`` bool; False on black frames and wherever the tracker does not know.
        confidence: ``[T]`` probability that the tip lies within 1 % of the frame's diagonal of ``tip_px``.
        shot: ``[T]`` int, 0 for the first shot; a black frame belongs to the shot before it.
        shaft_rad: ``[T]`` direction from the tip along the pen's shaft, radians, x right and y down.
        contact: ``[T]`` probability that the pen is down on the paper.
        size_px: width and height of the frame in square pixels.
        sample_aspect_ratio: ``tip_px[:, 0] / sample_aspect_ratio`` is the column in the file's own pixels.
        bridged: ``[T]`` bool; True where a short gap was filled in, None when nothing was.
        writing_rad: direction in which writing progresses in the picture, radians (x right, y down); None if unknown.
        mirrored: True when the picture shows the scene as a mirror does.
        page_px: ``[T, 2]`` the tip on the page, square pixels of the first frame of its shot: what a moving camera does
            to the picture is taken out; None where the camera stands still.
    """

    time_s: FloatArray
    tip_px: FloatArray
    visible: BoolArray
    confidence: FloatArray
    shot: IntArray
    shaft_rad: FloatArray
    contact: FloatArray
    size_px: tuple[float, float]
    sample_aspect_ratio: float = 1.0
    bridged: BoolArray | None = None
    writing_rad: float | None = None
    mirrored: bool = False
    page_px: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.time_s)

    @property
    def diagonal_px(self) -> float:
        """Length of the frame's diagonal in square pixels."""
        return float(np.hypot(*self.size_px))

    @property
    def shot_starts_s(self) -> list[float]:
        """Times at which shots begin, the first one included, on the track's clock."""
        first = np.flatnonzero(np.diff(self.shot, prepend=self.shot[0] - 1))
        return [float(time) for time in self.time_s[first]]

    def select(self, members: BoolArray | IntArray) -> Track:
        """The track in some frames, on the same clock.

        Args:
            members: ``[T]`` bool, True for a frame to keep; or the numbers of the frames.
        """
        per_frame: dict[str, Any] = {
            name: value[members] for name, value in vars(self).items() if isinstance(value, np.ndarray)
        }
        return replace(self, **per_frame)

    def along_writing(self) -> NDArray[np.float64]:
        """Tip ``[T, 2]`` on the page in square pixels, turned so that writing runs along +x with y down.

        A mirrored picture is turned over first. Where the direction of writing is unknown nothing is turned.
        """
        x, y = np.array(self.tip_px if self.page_px is None else self.page_px, np.float64).reshape(-1, 2).T
        angle_rad = 0.0 if self.writing_rad is None else self.writing_rad
        if self.mirrored:
            x = -x
            angle_rad = 0.0 if self.writing_rad is None else np.pi - angle_rad
        # Rotation by -angle; with y down a positive angle runs clockwise on the screen.
        cosine, sine = np.cos(angle_rad), np.sin(angle_rad)
        return np.stack((cosine * x + sine * y, cosine * y - sine * x), axis=1)


@dataclass(frozen=True)
class Strokes:
    """One sample of handwriting as a tablet records it.

    Attributes:
        time_s: ``[T]`` seconds, increasing.
        xy_mm: ``[T, 2]`` pen position in millimetres, x right, y **up**.
        pen_down: ``[T]`` bool.
        label: what was written.
        writer: who wrote it; groups of a split are made of it.
        source: where the sample came from, for provenance.
    """

    time_s: FloatArray
    xy_mm: FloatArray
    pen_down: BoolArray
    label: str = ""
    writer: str = ""
    source: str = ""

    def __len__(self) -> int:
        return len(self.time_s)


@dataclass(frozen=True)
class Recording:
    """What a camera and a microphone give of one clip: the input of features, from files or from a simulation.

    Attributes:
        track: the pen's track, None without video.
        waveform: float32 ``[N]`` mono sound, None without sound.
        sample_rate_hz: rate of ``waveform``.
        audio_offset_s: time of the first sample on the track's clock.
    """

    track: Track | None = None
    waveform: FloatArray | None = None
    sample_rate_hz: int = 16_000
    audio_offset_s: float = 0.0

    @property
    def modalities(self) -> tuple[Modality, ...]:
        """The modalities that it can be read in, in the order audio, video, av."""
        has_sound, has_track = self.waveform is not None, self.track is not None
        has = {"audio": has_sound, "video": has_track, "av": has_sound and has_track}
        return tuple(modality for modality in MODALITIES if has[modality])

    def digest(self) -> str:
        """Hexadecimal digest of all that a camera or microphone can have of it; names files that are made of it."""
        state = hashlib.sha256(f"1 {self.sample_rate_hz} {self.audio_offset_s}".encode())
        if self.waveform is not None:
            state.update(np.ascontiguousarray(self.waveform).tobytes())
        if self.track is not None:
            track = self.track
            for values in (track.time_s, track.tip_px, track.visible, track.shot, track.shaft_rad, track.contact):
                state.update(np.ascontiguousarray(values).tobytes())
            state.update(f"{track.size_px} {track.sample_aspect_ratio} {track.writing_rad} {track.mirrored}".encode())
        return state.hexdigest()

    def only(self, modality: Modality) -> Recording:
        """What a modality holds of it; sound alone has a clock of its own."""
        return Recording(
            track=None if modality == "audio" else self.track,
            waveform=None if modality == "video" else self.waveform,
            sample_rate_hz=self.sample_rate_hz,
            audio_offset_s=self.audio_offset_s if modality == "av" else 0.0,
        )

    def aligned_waveform(self) -> NDArray[np.float32]:
        """Sound on the pictures' clock, float32 ``[N]``: its first sample falls on the first picture.

        Sound that starts before the pictures is cut there; silence fills what is missing in front.
        """
        assert self.waveform is not None
        waveform = np.asarray(self.waveform, np.float32)
        first_s = float(self.track.time_s[0]) if self.track is not None and len(self.track) else 0.0
        start = round((self.audio_offset_s - first_s) * self.sample_rate_hz)
        return np.concatenate([np.zeros(max(0, start), np.float32), waveform[max(0, -start) :]])


@dataclass(frozen=True)
class Features:
    """The model's input: two streams on one clock of ``rate_hz`` frames a second.

    Attributes:
        kinematics: float32 ``[T, K]``, columns as in ``features.kinematics.CHANNELS``.
        kinematics_mask: ``[T]`` bool, False where no track is known.
        spectrogram: float32 ``[T, M]`` log-mel energies.
        spectrogram_mask: ``[T]`` bool, False where there is no sound.
        shot: ``[T]`` int shot number on the same clock.
        rate_hz: frames a second of both streams.
        trust: mean confidence of the track where it is known; 1 without a track.
    """

    kinematics: NDArray[np.float32]
    kinematics_mask: BoolArray
    spectrogram: NDArray[np.float32]
    spectrogram_mask: BoolArray
    shot: IntArray
    rate_hz: float
    trust: float = 1.0

    def __len__(self) -> int:
        return len(self.kinematics)


@dataclass(frozen=True)
class Truth:
    """What truly happened in a clip, as far as it is known; None for what is not.

    No reader may look at it, save those that measure what it costs not to know it. T is the number of frames of the
    clip's track.

    Attributes:
        frame: ``[M]`` int, frames in which the tip is known, increasing.
        tip_px: ``[M, 2]`` the tip in those frames in the pictures' own pixels, as they are decoded: not made square.
        shot: ``[T]`` int, 0 for the first shot; a black frame belongs to the shot before it.
        contact: ``[T]`` bool, the pen is down on the paper.
        letter_spans_s: ``[n, 2]`` start and end of each letter in seconds on the track's clock: its ink where that is
            known, else its shot.
        boundaries_s: ``[n - 1]`` when each letter but the last gives way to the next: a cut where there is one.
    """

    frame: IntArray | None = None
    tip_px: FloatArray | None = None
    shot: IntArray | None = None
    contact: BoolArray | None = None
    letter_spans_s: FloatArray | None = None
    boundaries_s: FloatArray | None = None


@dataclass(frozen=True)
class Clip:
    """One item to read: a word that somebody wrote, in up to three modalities.

    Attributes:
        id: unique within a benchmark, stable over runs, e.g. ``words/standard/above``.
        files: path of the file for each modality that exists; empty for simulated clips that live in memory.
        style: ``standard``, ``cursive``, ``retrace``, or another name.
        word: the truth, None when unknown.
        length: number of letters, where that is known of an unknown word.
        source: ``letter``, ``synthetic``, ``live``, ``simulated``, ``own``, or ``letter-shot`` for one shot of a
            synthetic word.
        writer: who wrote it, as far as known.
        letter_clips: ids of the letter clips that a synthetic word is made of, in order; the intervals' groups.
        recording: the simulated recording, None for files.
        shot: which shot of the files this clip is, from 0; None for all of them.
        truth: what is known of how it was written, None for nothing.
    """

    id: str
    files: Mapping[Modality, Path] = field(default_factory=dict)
    style: str = ""
    word: str | None = None
    source: str = "own"
    writer: str = ""
    letter_clips: tuple[str, ...] = ()
    recording: Recording | None = None
    shot: int | None = None
    truth: Truth | None = None
    length: int | None = None

    @property
    def modalities(self) -> tuple[Modality, ...]:
        """The modalities that this clip can be read in, in the order audio, video, av."""
        if self.recording is not None:
            return self.recording.modalities
        return tuple(modality for modality in MODALITIES if modality in self.files)


State = Literal["answered", "refused", "blocked", "empty", "malformed", "failed"]
STATES: tuple[State, ...] = get_args(State)


@dataclass(frozen=True)
class Answer:
    """What one reader said of one clip in one modality.

    Attributes:
        item: ``Clip.id``.
        reader: the reader's name in tables.
        modality: what the reader was given.
        raw: the reply as it came; for the baseline its greedy letters.
        word: the lower-case word taken from it, empty when there is none.
        candidates: words with probabilities, best first.
        state: ``answered`` or why there is no answer.
        seconds: wall time of this answer.
        tokens_in, tokens_out, cost: what a paid model counted (cost in US dollars); None for others.
        error: one line, empty when there was none.
        served_model: the model that answered, as its server names it; empty where nobody says. Of several models in
            turn each is named, joined by `` + ``.
        details: further facts to keep (letter times, media sent, finish reason), JSON-serialisable.
    """

    item: str
    reader: str
    modality: Modality
    raw: str = ""
    word: str = ""
    candidates: tuple[tuple[str, float], ...] = ()
    state: State = "answered"
    seconds: float = 0.0
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    error: str = ""
    served_model: str = ""
    details: Mapping[str, object] = field(default_factory=dict)
