"""The ladder from perception to reading: what a model is given beside the clip, so that it shows where it fails.

After PuzzleVQA (Y. K. Chia et al., arXiv 2403.13315): hand over the true perception, then the next step, and see at
which step a model recovers. Here: the recovered ink, which part of it is which letter, the strokes in words, the
letters that the baseline reads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import cv2
import numpy as np

from unwritten.errors import UnwrittenError
from unwritten.readers.base import number_of_letters
from unwritten.readers.mllm.parts import Part, Picture, Text
from unwritten.readers.mllm.settings import RungSettings
from unwritten.readers.mllm.strokes import points_text, strokes_of, words_text
from unwritten.types import Clip, FloatArray, Modality, Recording, Track


@dataclass(frozen=True)
class Reading:
    """What the baseline makes of a recording: its letters without a lexicon, and when each is written."""

    letters: str
    spans_s: tuple[tuple[float, float], ...]


Baseline = Callable[[Recording, Modality, int | None], Reading]


def given_parts(
    clip: Clip, modality: Modality, rung: RungSettings, sees: bool, recording: Recording, baseline: Baseline
) -> tuple[Part, ...]:
    """What a rung gives beside the clip.

    Args:
        clip: the item.
        modality: of the item; nothing is taken from what it does not hold.
        rung: which rung.
        sees: True for a model that takes images.
        recording: the clip's track and sound.
        baseline: reads the recording, asked only when needed.

    Raises:
        UnwrittenError: the pen was not seen.
    """
    parts: list[Part] = []
    n = number_of_letters(clip)
    track = recording.track
    if rung.needs_track:
        if track is None or not track.visible.any():
            raise UnwrittenError(f"{clip.id}: the pen was not seen, so there is no ink to give; use rung=media")
        divided = rung.segmentation or rung.strokes
        if divided:
            track = by_letter(track, n, _true_boundaries_s(clip), lambda: baseline(recording, modality, n).spans_s)
        strokes = strokes_of(track)
        # What could not be divided into n letters is not called letters.
        shown = len(np.unique(track.shot[track.visible]))
        kind = "letter" if divided and n in (None, shown) else "part"
        if rung.ink:
            parts += _ink(track, kind, sees, points_text(strokes))
        if rung.segmentation:
            parts.append(Text(_segmentation(track, kind, sees and rung.ink)))
        if rung.strokes:
            parts.append(Text(f"The strokes, as one reads the line:\n{words_text(strokes, kind)}"))
    if rung.letters:
        letters = baseline(recording, modality, n).letters or "nothing"
        parts.append(Text(f"A recogniser that knows no words read these letters: {letters}"))
    return tuple(parts)


def _true_boundaries_s(clip: Clip) -> Sequence[float] | FloatArray | None:
    if clip.truth is None or clip.truth.boundaries_s is not None:
        return None if clip.truth is None else clip.truth.boundaries_s
    spans = clip.truth.letter_spans_s
    return None if spans is None else [float(before[1] + after[0]) / 2 for before, after in pairwise(spans)]


def by_letter(
    track: Track,
    n: int | None,
    boundaries_s: Sequence[float] | FloatArray | None,
    spans_s: Callable[[], Sequence[tuple[float, float]]],
) -> Track:
    """The track with ``shot`` numbering its letters.

    Args:
        track: as recorded.
        n: number of letters; a clip of as many shots was cut at them, and nothing else is needed.
        boundaries_s: when each letter truly gives way to the next, on the track's clock; None where that is not known.
        spans_s: the times of the letters as the baseline finds them, asked where nothing better is known.
    """
    shown = np.unique(track.shot[track.visible])
    if n is not None and len(shown) == n:
        return track
    if boundaries_s is None or len(boundaries_s) != (n or 0) - 1:
        spans = spans_s()
        # A letter ends where the next begins; the middle between the two is as good as any moment.
        boundaries_s = [float(track.time_s[0]) + (before[1] + after[0]) / 2 for before, after in pairwise(spans)]
    return replace(track, shot=np.searchsorted(np.asarray(boundaries_s, np.float64), track.time_s, side="right"))


def _ink(track: Track, kind: str, sees: bool, points: str) -> list[Part]:
    if not sees:
        about = "The path of the pen, recovered from the video, as points (x to the right, y up)"
        return [Text(f"{about}:\n{points}")]
    from unwritten.tracking.ink import draw_png, recover_ink

    _, data = cv2.imencode(".png", cv2.cvtColor(draw_png(recover_ink(track)), cv2.COLOR_RGB2BGR))
    panels = "one panel for each letter in order" if kind == "letter" else "one panel for each take of the camera"
    about = (
        f"This picture shows the path of the pen, recovered from the video: {panels}; faint lines are pen-up travel."
    )
    return [Text(about), Picture(data.tobytes(), "image/png")]


def _segmentation(track: Track, kind: str, panels: bool) -> str:
    lines = []
    start_s = float(track.time_s[0])
    for number, shot in enumerate(np.unique(track.shot[track.visible]), start=1):
        times = track.time_s[(track.shot == shot) & track.visible] - start_s
        panel = f", panel {number} of the picture" if panels else ""
        lines.append(f"{kind} {number}: {times[0]:.2f} s to {times[-1]:.2f} s{panel}")
    return f"The {kind}s of it are:\n" + "\n".join(lines)


def trained_baseline(checkpoint: str | None) -> Baseline:
    """The trained network without a lexicon; its letters are greedy, its times those of the best path of n letters.

    Raises:
        UnwrittenError: the checkpoint cannot be read.
    """
    from unwritten.readers.ctc import CtcReader

    reader = CtcReader(checkpoint, mode="ctc-letters")

    def read(recording: Recording, modality: Modality, n: int | None) -> Reading:
        decoded = reader.reading(Clip("", recording=recording, length=n), modality).decoded
        return Reading(decoded.letters, tuple(decoded.letter_spans_s))

    return read
