"""Where one take ends and the next begins: black frames, and cuts.

Within a take the picture changes smoothly: the difference between two frames is much like that between the next two,
and what has texture is found again close by. At a cut the difference stands out from those around it and texture is
lost.
"""

from __future__ import annotations

from typing import Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from unwritten.tracking.settings import TrackerSettings
from unwritten.types import BoolArray

_TILE = 16  # pixels of the half-size working plane
_SEARCH = 3  # how far a tile may move between frames before it counts as changed, same pixels
_WIDE_SEARCH = 12  # the same where everything moves fast
_USUAL_LUMA = 150.0
_LITTLE = 0.3  # share of tiles found again below which a frame may begin a shot amid fast motion
_SHORTEST = 4  # frames of a take; a shorter one shows something else, and is no leap in a film of few frames a second
_NEIGHBOURS = 2  # frames before and after whose change a cut must stand out from


def is_black(luma: NDArray[np.uint8], black_level: float) -> bool:
    """True when a full-range luma plane shows nothing: dark on average, and no bright spot.

    Args:
        luma: uint8 ``[h, w]``.
        black_level: mean luma below which a frame may be black.
    """
    return float(luma.mean()) < black_level and float(np.percentile(luma[::4, ::4], 99)) < 3 * black_level


def similarity(before: NDArray[np.uint8], after: NDArray[np.uint8], search: int = _SEARCH) -> float:
    """Share of the textured tiles of ``before`` that are found again in ``after`` near the same place, in [0, 1].

    A tile is found when its normalised correlation with some place within reach exceeds 0.9, so changes of exposure
    do not matter, and a moving hand costs only its own fast tiles. Plain paper says nothing and is left out.

    Args:
        before, after: luma uint8 of the same size, half that of the working plane.
        search: how far a tile may have moved, pixels.
    """
    first = before
    second = cv2.copyMakeBorder(after, search, search, search, search, cv2.BORDER_REPLICATE)
    height, width = first.shape
    least = 6 * max(float(first.mean()), 10.0) / _USUAL_LUMA
    found = textured = 0
    for top in range(0, height - _TILE + 1, _TILE):
        for left in range(0, width - _TILE + 1, _TILE):
            tile = first[top : top + _TILE, left : left + _TILE]
            if tile.std() < least:
                continue
            textured += 1
            area = second[top : top + _TILE + 2 * search, left : left + _TILE + 2 * search]
            found += float(cv2.matchTemplate(area, tile, cv2.TM_CCOEFF_NORMED).max()) > 0.9
    return found / textured if textured else 1.0


class ShotFinder:
    """Collects what tells shots apart from a stream of frames and numbers the shots at its end."""

    def __init__(self, settings: TrackerSettings) -> None:
        self._settings = settings
        self._last: NDArray[np.uint8] | None = None
        self._black: list[bool] = []
        self._change: list[float] = []  # mean difference from the last frame that was not black
        self._kept: list[float] = []  # similarity to that frame

    def add(self, luma: NDArray[np.uint8]) -> Literal["black", "changed", "alike"]:
        """Look at the next frame; ``changed`` may be a cut.

        Args:
            luma: uint8 ``[h, w]``, full range.
        """
        black = is_black(luma, self._settings.black_level)
        # Half the size halves the noise, and what is left to do.
        luma = cv2.resize(luma, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)
        change, kept = 0.0, 1.0
        changed = False
        if not black:
            if self._last is not None and self._last.shape == luma.shape:
                # As if both were of usual brightness: dim clips show their cuts too, and a flickering lamp is no cut.
                mean, last_mean = (max(float(plane.mean()), 10.0) for plane in (luma, self._last))
                last = cv2.convertScaleAbs(self._last, alpha=float(np.clip(mean / last_mean, 0.7, 1.4)))
                change = float(cv2.absdiff(last, luma).mean()) * _USUAL_LUMA / mean
                # Most frames need no closer look: they change little, or as much as those before them.
                recent = max(self._change[-_NEIGHBOURS:], default=0.0)
                changed = self._black[-1] or change > max(self._settings.cut_change, 1.5 * recent) or change > 15
                if changed:
                    kept = similarity(self._last, luma)
                    # Fast motion hides from a narrow search what a wide one finds again; a cut hides from both.
                    if kept < _LITTLE and similarity(self._last, luma, _WIDE_SEARCH) > 0.5:
                        kept = _LITTLE
            elif self._last is not None:
                change, kept, changed = 255.0, 0.0, True
            self._last = luma
        self._black.append(black)
        self._change.append(change)
        self._kept.append(kept)
        if black:
            return "black"
        return "changed" if changed else "alike"

    def shots(self) -> tuple[NDArray[np.int64], BoolArray]:
        """Shot number ``[T]`` and black mask ``[T]``; a black frame belongs to the shot before it."""
        black = np.array(self._black, bool)
        shot = np.zeros(len(black), np.int64)
        shown = np.flatnonzero(~black)
        change = np.array(self._change)[shown]
        kept = np.array(self._kept)[shown]
        begun = 0
        for k in range(1, len(shown)):
            around = np.r_[change[max(1, k - _NEIGHBOURS) : k], change[k + 1 : k + 1 + _NEIGHBOURS]]
            spike = change[k] / max(float(around.max(initial=0.0)), 0.3)
            after_black = shown[k] - shown[k - 1] > 1
            if after_black:
                cut = kept[k] < 0.9
            else:
                stands_out = spike > self._settings.cut_spike and kept[k] < 0.85
                cut = change[k] > self._settings.cut_change and (stands_out or (kept[k] < _LITTLE and spike > 0.8))
            short = min(k - begun, len(shown) - k) < _SHORTEST
            if cut and (after_black or not short or kept[k] < _LITTLE):
                shot[shown[k] :] += 1
                begun = k
        return shot, black
