"""What the pictures of a clip are like: black, frozen, cut into shots, even in time. T is the number of pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unwritten.media import open_video
from unwritten.tracking.planes import planes_of_picture
from unwritten.tracking.settings import TrackerSettings
from unwritten.tracking.shots import ShotFinder

_SAMPLE_PX = 135  # the shorter side after thinning out
_BLOCKS = 24  # pictures are compared by the means of about so many blocks each way


@dataclass(frozen=True)
class PictureSettings:
    """When a picture counts as frozen, and, as the tracker has it, as black or as the first of a shot.

    Attributes:
        frozen_change: mean change from the last picture, on luma's scale of 256, below which nothing moved; a camera's
            noise changes more.
        tracker: its levels of black pictures and of cuts, so that audit and tracker never disagree.
    """

    frozen_change: float = 0.03
    tracker: TrackerSettings = field(default_factory=TrackerSettings)


@dataclass(frozen=True)
class PictureFacts:
    """What the pictures of one file are like.

    Attributes:
        time_s: ``[T]`` presentation times.
        sizes_px: the sizes (width, height) that occur, upright, in the order in which they come.
        aspects: the sample aspect ratios that occur.
        rotation: degrees counter-clockwise that metadata asks for.
        black: numbers of the black pictures.
        frozen: numbers of the pictures that repeat the one before, black ones left out.
        first_of_shot: number of the first picture of each shot.
    """

    time_s: NDArray[np.float64]
    sizes_px: tuple[tuple[int, int], ...]
    aspects: tuple[float, ...]
    rotation: int
    black: tuple[int, ...]
    frozen: tuple[int, ...]
    first_of_shot: tuple[int, ...]

    @property
    def period_s(self) -> float:
        """Median time between two pictures, 0 for a single one."""
        return float(np.median(np.diff(self.time_s))) if len(self.time_s) > 1 else 0.0

    @property
    def duration_s(self) -> float:
        """Time from the first picture to the end of the last."""
        return float(self.time_s[-1] + self.period_s)


def look_at_pictures(path: Path | str, settings: PictureSettings | None = None) -> PictureFacts:
    """Decode all pictures of a file and describe them.

    Raises:
        UnwrittenError: the file holds no video that decodes.
    """
    settings = settings or PictureSettings()
    times: list[float] = []
    sizes: dict[tuple[int, int], None] = {}
    aspects: dict[float, None] = {}
    finder = ShotFinder(settings.tracker)
    change: list[float] = []
    last: NDArray[np.float32] | None = None
    rotation = 0
    for picture in open_video(path):
        luma = picture.luma()
        times.append(picture.time_s)
        sizes[(luma.shape[1], luma.shape[0])] = None
        aspects[round(picture.sample_aspect_ratio, 6)] = None
        rotation = picture.rotation
        stride = max(1, min(luma.shape) // _SAMPLE_PX)
        blocks = _block_means(luma[::stride, ::stride])
        finder.add(planes_of_picture(picture, settings.tracker.fine_diagonal_px).luma)
        if last is not None and last.shape == blocks.shape:
            change.append(float(np.abs(blocks - last).mean()))
        else:
            change.append(np.inf)
        last = blocks
    shot, black = finder.shots()
    frozen = (np.array(change) < settings.frozen_change) & ~black
    return PictureFacts(
        time_s=np.array(times),
        sizes_px=tuple(sizes),
        aspects=tuple(aspects),
        rotation=rotation,
        black=tuple(np.flatnonzero(black).tolist()),
        frozen=tuple(np.flatnonzero(frozen).tolist()),
        first_of_shot=tuple(np.flatnonzero(np.diff(shot, prepend=-1)).tolist()),
    )


def _block_means(sample: NDArray[np.uint8]) -> NDArray[np.float32]:
    rows, columns = max(1, sample.shape[0] // _BLOCKS), max(1, sample.shape[1] // _BLOCKS)
    height, width = sample.shape[0] // rows * rows, sample.shape[1] // columns * columns
    blocks = sample[:height, :width].reshape(height // rows, rows, width // columns, columns)
    return blocks.mean(axis=(1, 3), dtype=np.float32)


def runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Runs of consecutive numbers as (first, last): 3 4 5 9 gives (3, 5) and (9, 9)."""
    if not numbers:
        return []
    breaks = [0, *(index + 1 for index, (a, b) in enumerate(pairwise(numbers)) if b != a + 1), len(numbers)]
    return [(numbers[start], numbers[end - 1]) for start, end in pairwise(breaks)]
