"""What a learned detector says of any pen: it looks at the picture now and then, and flow carries what it saw between.

Frames that show no convincing dark nib are shown to it some ten times a second, others now and then, as a check. Torch
is imported when the first frame is shown. All that it offers becomes one path through a shot; how far it supports any
path, its own or that of a dark nib or a finger, is asked afterwards.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
from numpy.typing import NDArray

from unwritten.errors import UnwrittenError
from unwritten.tracking.flow import carry
from unwritten.tracking.follow import Followed, smooth
from unwritten.tracking.hint import HintEye
from unwritten.tracking.path import Candidate, Sighting, choose, fuse
from unwritten.tracking.planes import Planes
from unwritten.tracking.settings import TrackerSettings
from unwritten.types import BoolArray

if TYPE_CHECKING:
    from unwritten.tracking.detector import Detection, NibDetector

_DIAGONAL_PX = 320.0  # what the network looks at
_PEAKS = 6  # kept of a picture
_NEAR = 0.02  # share of the diagonal within which a peak supports a path
_EVEN = 0.05  # weight of a peak that speaks neither for a tip nor against one
_UNSEEN = 0.004  # weight of a place at which the network saw nothing
_MISSING = 0.4  # cost of a frame without a tip, nats; most frames are not shown to the network
_LIKENESS = 0.75  # weight of a place that looks just like what somebody pointed at
_TOLD_JUMP = 4.0  # how much dearer it is to leave the flow where somebody said where the tip is
_STRAIGHTENED = 0.1  # weight from which a peak's shaft is looked for
_SHOWN = 0.05  # smoothed weight below which the path shows no tip
_SIGMA_PX = 0.9  # of a detection, working pixels
_FLOW_SIGMA_PX = 0.5  # a light cone over light paper holds little that flow could follow
_LOST_PX = 2.0  # forward-backward error of flow that found nothing
_SAME_PX = 6.0  # what flow carried and a peak this near are one
_AROUND_PX = 42  # half side of the picture about the tip in which the shaft is looked for
_LOG = logging.getLogger(__name__)


class LearnedEye:
    """Takes in every frame, asks the detector about some.

    Args:
        settings: ``ask_every_s``, ``check_every_s`` and ``detector`` count here.
        name: stands in warnings.
    """

    def __init__(self, settings: TrackerSettings, name: str) -> None:
        self._settings = settings
        self._name = name
        self._detector: NibDetector | None = None
        self._wanted = settings.detector
        self._last: Planes | None = None
        self._asked_s = -np.inf
        self._sightings: list[Sighting] = []
        self._peaks: dict[int, Detection] = {}  # by frame, working pixels

    def look(self, planes: Planes, state: str, doubtful: bool) -> None:
        """Take in the next frame.

        Args:
            planes: the frame.
            state: ``black``, ``changed`` (perhaps a cut) or ``alike``.
            doubtful: the frame shows no convincing dark nib.
        """
        rows = self._carry(planes) if state != "black" else []
        self._last = planes if state != "black" else None
        every_s = self._settings.ask_every_s if doubtful else self._settings.check_every_s
        due = state == "changed" or planes.time_s - self._asked_s >= every_s - 1e-6
        found = self._ask(planes) if self._wanted and due and state != "black" else None
        if found is not None:
            self._peaks[len(self._sightings)], self._asked_s = found, planes.time_s
            rows = self._weighed(planes, found, rows)
        self._sightings.append(Sighting.of(rows))

    def _carry(self, planes: Planes) -> list[Candidate]:
        """Bring the last frame's candidates here, noting their flow there."""
        if self._last is None or self._last.luma.shape != planes.luma.shape or not len(self._sightings[-1].score):
            return []
        last = self._sightings[-1]
        window = 2 * round(self._settings.nib_width * self._settings.fine_diagonal_px / 2) + 1
        shift, error = carry(self._last.luma, planes.luma, last.tip + 8.0 * last.axis, window)
        self._sightings[-1] = replace(last, flow=shift, flow_error=error)
        kept = np.flatnonzero(error < _LOST_PX)
        return [_candidate(0.0, last.tip[k] + shift[k], last.axis[k], np.inf) for k in kept]

    @staticmethod
    def _weighed(planes: Planes, found: Detection, carried: list[Candidate]) -> list[Candidate]:
        """The peaks of this frame, and what flow carried to places where there is none."""
        rows = []
        for tip, weight in zip(found.tip, found.weight, strict=True):
            axis = shaft_axis(planes, tip) if weight >= _STRAIGHTENED else np.zeros(2)
            score = float(np.log(max(weight, _UNSEEN) / _EVEN))
            rows.append(_candidate(score, tip, axis, _SIGMA_PX / max(float(weight), 0.1)))
        for row in carried:
            if all(np.hypot(row.x - other.x, row.y - other.y) > _SAME_PX for other in rows):
                rows.append(row._replace(score=float(np.log(_UNSEEN / _EVEN))))
        return rows[: 2 * _PEAKS]

    def _ask(self, planes: Planes) -> Detection | None:
        if self._detector is None:
            try:
                from unwritten.tracking.detector import NibDetector

                self._detector = NibDetector()
            except (ImportError, UnwrittenError) as error:
                _LOG.warning("%s: pens without a dark nib are not looked for (%s)", self._name, error)
                self._wanted = False
                return None
        height, width = planes.luma.shape
        scale = _DIAGONAL_PX / float(np.hypot(width, height))
        size = (max(8, round(width * scale)), max(8, round(height * scale)))
        small = [cv2.resize(plane, size, interpolation=cv2.INTER_AREA) for plane in (planes.luma, planes.v, planes.u)]
        picture = cv2.cvtColor(cv2.merge(small), cv2.COLOR_YCrCb2RGB).astype(np.uint8, copy=False)
        found = self._detector.find(picture, _PEAKS)
        return replace(found, tip=(found.tip + 0.5) * np.array([width / size[0], height / size[1]]) - 0.5)

    def support(self, frames: NDArray[np.int64], tip: NDArray[np.float64]) -> NDArray[np.float64]:
        """Weight that the detector gives to each place of a path, ``[T]``; NaN for frames that it was not shown.

        Args:
            frames: ``[T]`` indices of frames.
            tip: ``[T, 2]`` working pixels.
        """
        weight = np.full(len(frames), np.nan)
        near = _NEAR * self._settings.fine_diagonal_px / 2
        for row, frame in enumerate(frames):
            if (found := self._peaks.get(int(frame))) is not None:
                close = np.hypot(*(found.tip - tip[row]).T) <= near
                weight[row] = min(1.0, float(found.weight[close].sum()))
        return weight

    def follow(
        self, frames: NDArray[np.int64], adjacent: BoolArray, time_s: NDArray[np.float64], hint: HintEye
    ) -> Followed | None:
        """The best path through what was seen of one shot; None where nothing was.

        Args:
            frames: ``[T]`` indices of the shot's frames.
            adjacent: ``[T - 1]`` True where no frame is missing between two.
            time_s: ``[T]``.
            hint: the path leads through what it shows in this shot.
        """
        sightings = [self._sightings[frame] for frame in frames]
        costs = replace(self._settings, missing=_MISSING)
        if hint.hinted in frames:
            costs = replace(costs, jump=_TOLD_JUMP * costs.jump)
            sightings = [
                hint.seen(int(frame), sighting, int(frame) in self._peaks)
                for frame, sighting in zip(frames, sightings, strict=True)
            ]
        chosen = choose(sightings, costs, turning=0.0)
        seen = chosen >= 0
        weight = np.full(len(frames), np.nan)
        tip, axis, flow = (np.zeros((len(frames), 2)) for _ in range(3))
        sigma, error = (np.full(len(frames), np.inf) for _ in range(2))
        for row in np.flatnonzero(seen):
            sighting, k = sightings[row], chosen[row]
            tip[row], axis[row], sigma[row] = sighting.tip[k], sighting.axis[k], sighting.sigma[k]
            flow[row], error[row] = sighting.flow[k], sighting.flow_error[k]
        if not np.isfinite(sigma).any():
            return None
        # Where the path leaps to another place, flow ties nothing.
        follows = np.hypot(*(np.diff(tip, axis=0) - flow[:-1]).T) <= _SAME_PX
        tied = (error[:-1] < _LOST_PX) & adjacent & follows & seen[:-1] & seen[1:]
        flow_sigma = np.where(tied, _FLOW_SIGMA_PX + error[:-1], np.inf)
        tip, _ = fuse(tip, sigma, flow[:-1], flow_sigma)
        weight = self.support(frames, tip)
        if hint.hinted in frames:
            weight = _with_likeness(weight, frames, tip, hint)
        asked = np.flatnonzero(np.isfinite(weight))
        sure = smooth(np.interp(np.arange(len(frames)), asked, weight[asked]), time_s)
        visible = seen & (sure >= _SHOWN)
        if not visible.any():
            return None
        nothing = np.full(len(frames), -1.0)
        turned = _shafts(axis, np.flatnonzero(np.isfinite(sigma) & axis.any(axis=1)))
        confidence = np.where(visible, sure, 0.0)
        return Followed(tip, turned, visible, np.zeros(len(frames), bool), confidence, nothing, -np.inf)


def _candidate(score: float, tip: NDArray[np.float64], axis: NDArray[np.float64], sigma: float) -> Candidate:
    return Candidate(score, float(tip[0]), float(tip[1]), float(axis[0]), float(axis[1]), sigma)


def _with_likeness(
    weight: NDArray[np.float64], frames: NDArray[np.int64], tip: NDArray[np.float64], hint: HintEye
) -> NDArray[np.float64]:
    """The support of a path ``[T]``, or its likeness to what somebody pointed at, whichever is more."""
    weight = weight.copy()
    for row, frame in enumerate(frames):
        place = hint.places.get(int(frame))
        if place is not None and np.hypot(*(place.tip - tip[row])) <= _SAME_PX:
            weight[row] = np.fmax(weight[row], np.clip(2 * (place.likeness - 0.5), 0, _LIKENESS))
    return weight


def _shafts(axis: NDArray[np.float64], known: NDArray[np.int64]) -> NDArray[np.float64]:
    """Unit vectors ``[T, 2]`` up the shaft: medians of five of those that are known, and what lies between them."""
    if not len(known):
        return np.tile([0.0, -1.0], (len(axis), 1))
    every = np.arange(len(axis))
    turned = np.stack([np.interp(every, known, _steady(axis[known, k])) for k in range(2)], 1)
    return turned / np.maximum(np.hypot(*turned.T), 1e-9)[:, None]


def _steady(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Median of five: the shaft turns slowly, and single pictures mislead."""
    padded = np.pad(values, 2, mode="edge")
    return np.median(np.stack([padded[k : k + len(values)] for k in range(5)]), 0)


def shaft_axis(planes: Planes, tip: NDArray[np.float64]) -> NDArray[np.float64]:
    """Unit vector from a tip up the shaft: along the edges about it, towards the hand.

    Args:
        planes: the frame.
        tip: ``[2]`` working pixels.

    Returns:
        ``[2]``. The direction of the edges is the main axis of the gradients' structure tensor.
    """
    luma = planes.luma
    height, width = luma.shape
    x, y = (int(value) for value in np.rint(tip))
    rows = slice(max(0, y - 3 * _AROUND_PX), min(height, y + 3 * _AROUND_PX + 1))
    columns = slice(max(0, x - 3 * _AROUND_PX), min(width, x + 3 * _AROUND_PX + 1))
    warm: NDArray[Any] = cv2.resize(planes.v, (width, height), interpolation=cv2.INTER_NEAREST)[rows, columns]
    at_y, at_x = np.mgrid[rows, columns]
    hand = np.abs(warm.astype(np.float64) - np.median(planes.v)) > 5
    hand &= np.hypot(at_x - tip[0], at_y - tip[1]) < 3 * _AROUND_PX
    if not hand.any():
        return np.array([0.0, -1.0])
    towards = np.array([at_x[hand].mean() - tip[0], at_y[hand].mean() - tip[1]])
    towards /= max(float(np.hypot(*towards)), 1e-9)
    patch = cv2.GaussianBlur(luma[rows, columns], (0, 0), 1.0).astype(np.float32)
    gx, gy = cv2.Sobel(patch, cv2.CV_32F, 1, 0), cv2.Sobel(patch, cv2.CV_32F, 0, 1)
    off_x, off_y = at_x - tip[0] - 0.45 * _AROUND_PX * towards[0], at_y - tip[1] - 0.45 * _AROUND_PX * towards[1]
    weight = np.exp(-(off_x**2 + off_y**2) / (2 * (0.35 * _AROUND_PX) ** 2))
    xx, yy, xy = (float((weight * part).sum()) for part in (gx * gx, gy * gy, gx * gy))
    edge = 0.5 * np.arctan2(2 * xy, xx - yy) + np.pi / 2
    along = np.array([np.cos(edge), np.sin(edge)])
    along *= 1.0 if along @ towards >= 0 else -1.0
    return along if along @ towards > 0.5 else towards
