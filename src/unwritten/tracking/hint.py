"""Where somebody says that the tip is, in one frame: from there flow carries it forwards and backwards.

Flow drifts, so the place is held against what the tip looked like where it was shown, and lately. The frames of the
shot before it wait as JPEG, the last ``_KEPT`` of them, so that memory does not grow with the clip.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from unwritten.errors import UnwrittenError
from unwritten.tracking.flow import carry
from unwritten.tracking.path import Candidate, Sighting
from unwritten.tracking.planes import Plane, Planes
from unwritten.tracking.settings import TrackerSettings

_KEPT = 1800  # frames
_WINDOW_PX = 31  # of flow, working pixels
_RADIUS_PX = 14  # half side of what the tip looks like
_SEARCH_PX = 10  # about the place that flow carries it to
_LIKE = 0.5  # correlation from which a place looks like the tip
_EXACTLY = 0.9  # correlation from which the likeness is believed as it is
_FRESH = 0.997  # what a place says of the tip, for every frame that lies between it and the hint
_TOLD = 6.0  # score of the hint itself, which has no rival in its frame
_SIGMA_PX, _EXACT_PX = 2.0, 0.1  # standard deviation of a place and of the hint itself, working pixels
_NEAR_PX, _AWAY = 110.0, -6.0  # what is farther from the place than a fifth of the diagonal scores this
_SAME_PX = 6.0  # a place and a candidate this near are one
_RENEWED = 0.1  # of what the tip looked like lately, in each frame


class Place(NamedTuple):
    """A place that flow carried the hint to.

    Attributes:
        tip: ``[2]`` working pixels.
        likeness: normalised correlation with what the hint showed and with what it looked like lately, 1 at the hint.
    """

    tip: NDArray[np.float64]
    likeness: float


class HintEye:
    """Takes in every frame; without a hint it does nothing.

    Args:
        settings: ``tip`` counts here.
        name: stands in errors.

    Attributes:
        places: by frame; they mean something within the shot that the hint lies in.
        hinted: index of the hint's frame, None before it came.
    """

    def __init__(self, settings: TrackerSettings, name: str) -> None:
        self._tip, self._name = settings.tip, name
        self._waiting: deque[NDArray[np.uint8]] = deque(maxlen=_KEPT)
        self._count = 0
        self._last: Plane | None = None
        self._looks: _Looks | None = None
        self.places: dict[int, Place] = {}
        self.hinted: int | None = None

    def look(self, planes: Planes) -> None:
        """Take in the next frame.

        Raises:
            UnwrittenError: the hint lies outside the picture.
        """
        if self._tip is None:
            return
        index, luma = self._count, planes.luma
        self._count += 1
        if self._looks is not None:
            if self._last is not None and self._last.shape == luma.shape:
                self.places[index] = self._looks.carried(self._last, luma, self.places[index - 1].tip)
                self._last = luma
            else:
                self._last = None
            return
        at_s = self._tip[2] if len(self._tip) > 2 else 0.0
        if planes.time_s < at_s - 1e-3:
            self._waiting.append(cv2.imencode(".jpg", luma, [cv2.IMWRITE_JPEG_QUALITY, 95])[1])
            return
        # Pixels of the file to pixels of the working plane.
        tip = (np.array(self._tip[:2]) + 0.5) * (planes.sample_aspect_ratio, 1.0) * planes.scale - 0.5
        if not (np.all(tip >= -0.5) and np.all(tip <= np.array(luma.shape[::-1]) - 0.5)):
            width, height = planes.size_px[0] / planes.sample_aspect_ratio, planes.size_px[1]
            raise UnwrittenError(
                f"{self._name}: tip {self._tip[0]:g},{self._tip[1]:g} lies outside the picture of "
                f"{width:.0f} by {height:.0f} pixels"
            )
        self.hinted, self._last = index, luma
        self.places[index] = Place(tip, 1.0)
        self._looks, after = _Looks(luma, tip), luma
        for number in range(1, len(self._waiting) + 1):
            before: Plane | None = cv2.imdecode(self._waiting.pop(), cv2.IMREAD_GRAYSCALE)
            if before is None or before.shape != luma.shape:
                break
            self.places[index - number] = self._looks.carried(after, before, self.places[index - number + 1].tip)
            after = before
        self._looks = _Looks(luma, tip)

    def close(self, last_s: float) -> None:
        """No more frames come; the last one was of ``last_s``.

        Raises:
            UnwrittenError: the hint is of a later time.
        """
        if self._tip is not None and self.hinted is None:
            raise UnwrittenError(f"{self._name}: ends at {last_s:.2f} s, before the tip's time; give an earlier one")

    def seen(self, frame: int, sighting: Sighting, carried: bool) -> Sighting:
        """What a frame offers to a path that leads through the hint.

        Args:
            frame: its index.
            sighting: what it offers otherwise; where the hint lies, nothing but the hint counts.
            carried: the place that flow carried the hint to weighs something there.
        """
        place, then = self.places.get(frame), self.places.get(frame + 1)
        if place is None:
            return sighting
        worth = (
            _TOLD
            if frame == self.hinted
            else _FRESH ** abs(frame - (self.hinted or 0))
            * float(np.clip(6 * (place.likeness - _LIKE), -1, 3))
            * carried
        )
        away = np.hypot(*(sighting.tip - place.tip).T)
        same, near = away <= _SAME_PX, away <= _NEAR_PX
        if frame != self.hinted and same.any():
            score = np.where(same, np.maximum(sighting.score, 0.0) + max(worth, 0.0), sighting.score)
            return replace(sighting, score=np.where(near, score, _AWAY))
        x, y = place.tip
        told = Sighting.of(
            [Candidate(worth, float(x), float(y), 0.0, 0.0, _EXACT_PX if frame == self.hinted else _SIGMA_PX)]
        )
        if then is not None:
            told = replace(told, flow=(then.tip - place.tip)[None], flow_error=np.zeros(1))
        rest = replace(sighting, score=np.where(near, sighting.score, _AWAY))
        return told if frame == self.hinted else told.with_more(rest)


class _Looks:
    """What the tip looks like: as it was shown, and lately."""

    def __init__(self, luma: Plane, tip: NDArray[np.float64]) -> None:
        self._shown = _around(luma, tip, _RADIUS_PX)
        self._lately = self._shown
        self._step = np.zeros(2)

    def carried(self, before: Plane, after: Plane, tip: NDArray[np.float64]) -> Place:
        """The place in ``after`` of what is at ``tip`` in ``before``."""
        shift, _ = carry(before, after, tip[None], _WINDOW_PX)
        # What is small before a picture that stays misleads flow: where it would be if it went on as it did, too.
        found = [self._near(after, tip + step) for step in (shift[0], self._step)]
        place, _ = max(found, key=lambda one: one[1])
        self._step = place.tip - tip
        if place.likeness > _LIKE:
            around = _around(after, place.tip, _RADIUS_PX)
            self._lately = (1 - _RENEWED) * self._lately + _RENEWED * around
        return place

    def _near(self, luma: Plane, tip: NDArray[np.float64]) -> tuple[Place, float]:
        """The place near ``tip`` that looks most like what is followed, and how well it does, nearness counted."""
        height, width = luma.shape
        there = np.clip(tip, -_RADIUS_PX, np.array([width, height]) + _RADIUS_PX)
        area = _around(luma, there, _RADIUS_PX + _SEARCH_PX)
        alike = sum(cv2.matchTemplate(area, look, cv2.TM_CCOEFF_NORMED) for look in (self._shown, self._lately)) / 2
        y, x = np.mgrid[-_SEARCH_PX : _SEARCH_PX + 1, -_SEARCH_PX : _SEARCH_PX + 1]
        worth = alike - 0.15 * (x**2 + y**2) / _SEARCH_PX**2
        best = np.unravel_index(int(worth.argmax()), alike.shape)
        trust = 0.6 * float(np.clip((alike[best] - _LIKE) / (_EXACTLY - _LIKE), 0, 1))
        return Place(there + trust * np.array([x[best], y[best]]), float(alike[best])), float(worth[best])


def _around(luma: Plane, tip: NDArray[np.float64], radius: int) -> NDArray[np.float32]:
    side = 2 * radius + 1
    return cv2.getRectSubPix(luma, (side, side), (float(tip[0]), float(tip[1]))).astype(np.float32)
