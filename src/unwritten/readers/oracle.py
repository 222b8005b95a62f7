"""The baseline with one truth handed in: what each of its steps costs is what its truth is worth.

After PuzzleVQA (arXiv 2403.13315). ``scoring.oracle`` makes the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from unwritten.decoding.in_spans import decode_in_spans, edges_of
from unwritten.errors import UnwrittenError
from unwritten.readers.base import ClipReader, number_of_letters
from unwritten.readers.ctc import CtcReader, Reading
from unwritten.types import Answer, Clip, FloatArray, Modality, Recording, Track, Truth

Step = Literal["tips", "shots", "contact", "boundaries"]
STEPS: tuple[Step, ...] = get_args(Step)
CONTAINER_FRAMES = 2
"""The same film with and without sound may differ by so many frames at its end."""


@dataclass(frozen=True)
class OracleSettings:
    """Which truths are handed in.

    Attributes:
        truths: of ``tips``, ``shots``, ``contact`` (what the tracker says, put right; nothing for sound alone) and
            ``boundaries`` (each letter is read inside its own span). A clip is asked when one of them is known, and
            gets all that are.
        base: the reader that nothing is handed, for the table.
    """

    truths: tuple[Step, ...] = STEPS
    base: str = "ctc"

    def __post_init__(self) -> None:
        unknown = [name for name in self.truths if name not in STEPS]
        if unknown or not self.truths:
            raise ValueError(f"truths: {unknown[0] if unknown else 'none'!r}; known are {', '.join(STEPS)}")

    @property
    def name(self) -> str:
        """Of the row in the table."""
        return "all" if set(self.truths) == set(STEPS) else "+".join(self.truths)


class OracleReader(ClipReader):
    """A trained reader that is told a part of the truth.

    Args:
        reader: the reader that is told.
        settings: what it is told.
    """

    def __init__(self, reader: CtcReader, settings: OracleSettings = OracleSettings()) -> None:
        self.name = reader.name
        self.reader = reader
        self.settings = settings
        self.fingerprint = f"{reader.fingerprint} {'+'.join(settings.truths)}"

    def known(self, clip: Clip, modality: Modality) -> tuple[Step, ...]:
        """The truths asked for that are known of a clip and mean something in a modality."""
        truth = clip.truth
        if truth is None:
            return ()
        seen = modality != "audio"
        has: dict[Step, bool] = {
            "tips": seen and truth.tip_px is not None,
            "shots": seen and truth.shot is not None,
            "contact": seen and truth.contact is not None,
            "boundaries": truth.boundaries_s is not None and (number_of_letters(clip) or 0) > 1,
        }
        return tuple(step for step in self.settings.truths if has[step])

    def asked(self, clips: Sequence[Clip], modality: Modality) -> list[Clip]:
        """The clips of which a truth is known."""
        return [clip for clip in clips if self.known(clip, modality)]

    def read(self, clips: Sequence[Clip], modality: Modality) -> Iterator[Answer]:
        """One answer for each clip, in order, with what it was told."""
        told = {"oracle": self.settings.name, "oracle_base": self.settings.base}
        for answer in super().read(clips, modality):
            yield replace(answer, details={**answer.details, **told})

    def answer(self, clip: Clip, modality: Modality) -> Answer:
        """Read one clip with the truths that are known of it.

        Raises:
            UnwrittenError: none is, or the clip cannot be read.
        """
        reader, network = self.reader, self.reader.network
        steps, truth = self.known(clip, modality), clip.truth
        if truth is None or not steps:
            raise UnwrittenError(f"{clip.id}: no truth to hand in is known; give the folder that holds it as truth=DIR")
        if steps == ("boundaries",):
            emissions = reader.emissions_of(clip, modality)
        else:
            recording = hand_in(reader.recording_of(clip, modality), truth, steps, clip.id)
            emissions = network.log_probs(network.features_of(recording), modality)
        if "boundaries" not in steps:
            return reader.decoded(clip, modality, emissions).answer(self.name)
        edges = edges_of(_boundaries_s(clip, modality), emissions, network.emission_rate_hz)
        lexicon = reader.lexicon_of(len(edges) - 1)
        decoded = decode_in_spans(emissions, edges, reader.decoding, lexicon, clip.word)
        return Reading(clip, modality, emissions, reader.decoding, decoded, lexicon).answer(self.name)


def _boundaries_s(clip: Clip, modality: Modality) -> FloatArray:
    """Where letters meet ``[n - 1]`` on the clock of what is read.

    Files of sound were joined by themselves and drift against the pictures: where they have one part for each letter,
    their own joins are the truth.
    """
    assert clip.truth is not None and clip.truth.boundaries_s is not None and clip.word
    if modality == "audio" and clip.recording is None:
        from unwritten.media import read_audio_report

        starts_s = read_audio_report(clip.files["audio"])[1].part_starts_s
        if len(starts_s) == len(clip.word):
            return np.array(starts_s[1:])
    return clip.truth.boundaries_s


def hand_in(recording: Recording, truth: Truth, steps: Sequence[Step], name: str = "recording") -> Recording:
    """A recording whose track says the truth of some steps.

    Args:
        recording: with a track, unless only ``boundaries`` is handed in, which changes nothing here.
        truth: in which those steps are known.
        steps: which to hand in.
        name: of the clip, for the error.

    Raises:
        UnwrittenError: the truth was marked on a film of another number of frames.
    """
    track = recording.track
    if track is None:
        return recording
    if "tips" in steps and truth.tip_px is not None and truth.frame is not None:
        if len(truth.frame) and int(truth.frame[-1]) >= len(track):
            raise _other_length(name, int(truth.frame[-1]) + 1, track)
        track = with_true_tips(track, truth)
    if "shots" in steps and truth.shot is not None:
        missing = len(track) - len(truth.shot)
        if abs(missing) > CONTAINER_FRAMES:
            raise _other_length(name, len(truth.shot), track)
        track = replace(track, shot=np.pad(truth.shot, (0, max(0, missing)), mode="edge")[: len(track)])
    if "contact" in steps and truth.contact is not None:
        if len(truth.contact) != len(track):
            raise _other_length(name, len(truth.contact), track)
        track = replace(track, contact=truth.contact.astype(np.float64))
    return replace(recording, track=track)


def _other_length(name: str, frames: int, track: Track) -> UnwrittenError:
    return UnwrittenError(f"{name}: its truth speaks of {frames} frames, the film has {len(track)}; mark it anew")


def with_true_tips(track: Track, truth: Truth) -> Track:
    """The track with the true tip in each frame where it is known.

    Where only some frames are marked, the track's error is interpolated between those of its shot, since a tracker's
    error changes slowly; a shot without a mark stays as it is.
    """
    assert truth.tip_px is not None and truth.frame is not None
    known = np.asarray(truth.frame, dtype=np.int64)
    true_px = np.asarray(truth.tip_px, dtype=np.float64) * np.array([track.sample_aspect_ratio, 1.0])
    tip_px, visible = np.array(track.tip_px, dtype=np.float64), np.array(track.visible)
    error_px = true_px - tip_px[known]
    measured = visible[known]
    for shot in np.unique(track.shot):
        marks = measured & (track.shot[known] == shot)
        members = np.flatnonzero(track.shot == shot)
        if marks.any():
            for axis in (0, 1):
                tip_px[members, axis] += np.interp(members, known[marks], error_px[marks, axis])
    tip_px[known] = true_px
    visible[known] = True
    confidence = np.where(np.isin(np.arange(len(track)), known), 1.0, track.confidence)
    return replace(track, tip_px=tip_px, visible=visible, confidence=confidence)
