"""Where no dark cone shows: the learned detector says where the tip is now and then, and flow carries it between.

Only shots whose frames show no convincing dark nib are shown to the network, some ten times a second; torch is imported
when the first such frame comes. What it says stands beside the dark path and never replaces a convincing one.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
from numpy.typing import NDArray

from unwritten.errors import UnwrittenError
from unwritten.tracking.flow import carry
from unwritten.tracking.follow import Followed
from unwritten.tracking.path import fuse, gaps
from unwritten.tracking.planes import Planes
from unwritten.tracking.settings import TrackerSettings

if TYPE_CHECKING:
    from unwritten.tracking.detector import NibDetector

_DIAGONAL_PX = 256.0  # what the network looks at
_SEEN = 0.3  # confidence below which the network saw nothing
_SIGMA_PX = 0.9  # of a detection, working pixels
_FLOW_SIGMA_PX = 0.5  # a light cone over light paper holds little that flow could follow
_AROUND_PX = 42  # half side of the picture about the tip in which the shaft is looked for
_LONGEST_S = 0.3  # between two detections that still belong together
_LOG = logging.getLogger(__name__)


class LearnedEye:
    """Takes in every frame, asks the detector about the doubtful ones.

    Args:
        settings: ``ask_every_s`` and ``detector`` count here.
        name: stands in warnings.
    """

    def __init__(self, settings: TrackerSettings, name: str) -> None:
        self._settings = settings
        self._name = name
        self._detector: NibDetector | None = None
        self._wanted = settings.detector
        self._last: Planes | None = None
        self._asked_s = -np.inf
        self.tip: list[NDArray[np.float64]] = []
        self.axis: list[NDArray[np.float64]] = []
        self.confidence: list[float] = []  # NaN where the network was not asked
        self.flow: list[NDArray[np.float64]] = []
        self.flow_error: list[float] = []

    def look(self, planes: Planes, state: str, doubtful: bool) -> None:
        """Take in the next frame.

        Args:
            planes: the frame.
            state: ``black``, ``changed`` (perhaps a cut) or ``alike``.
            doubtful: the frame shows no convincing dark nib.
        """
        carried = self._carry(planes) if state != "black" else None
        self.tip.append(np.zeros(2) if carried is None else carried)
        self.axis.append(self.axis[-1] if self.axis else np.array([0.0, -1.0]))
        self.confidence.append(np.nan)
        self.flow.append(np.zeros(2))
        self.flow_error.append(np.inf)
        self._last = None if carried is None else planes
        due = state == "changed" or planes.time_s - self._asked_s >= self._settings.ask_every_s
        if state == "black" or not (self._wanted and doubtful and due):
            return
        found = self._ask(planes)
        if found is None:
            return
        self._asked_s = planes.time_s
        tip, self.confidence[-1] = found
        if self.confidence[-1] >= _SEEN:
            self.tip[-1], self.axis[-1] = tip, shaft_axis(planes, tip)
            self._last = planes

    def _carry(self, planes: Planes) -> NDArray[np.float64] | None:
        if self._last is None or self._last.luma.shape != planes.luma.shape:
            return None
        window = 2 * round(self._settings.nib_width * self._settings.fine_diagonal_px / 2) + 1
        point = (self.tip[-1] + 8.0 * self.axis[-1])[None]
        shift, error = carry(self._last.luma, planes.luma, point, window)
        self.flow[-1], self.flow_error[-1] = shift[0], float(error[0])
        return self.tip[-1] + shift[0] if error[0] < 2.0 else None

    def _ask(self, planes: Planes) -> tuple[NDArray[np.float64], float] | None:
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
        found = self._detector.find(cv2.cvtColor(cv2.merge(small), cv2.COLOR_YCrCb2RGB).astype(np.uint8, copy=False))
        return (found.tip + 0.5) * np.array([width / size[0], height / size[1]]) - 0.5, found.confidence

    def follow(
        self, frames: NDArray[np.int64], adjacent: NDArray[np.bool_], time_s: NDArray[np.float64]
    ) -> tuple[Followed, float] | None:
        """The detector's path through one shot and its usual confidence; None where it saw nothing.

        Args:
            frames: ``[T]`` indices of the shot's frames.
            adjacent: ``[T - 1]`` True where no frame is missing between two.
            time_s: ``[T]``.
        """
        confidence = np.array(self.confidence)[frames]
        asked = np.isfinite(confidence)
        seen = asked & (np.nan_to_num(confidence) >= _SEEN)
        if not seen.any() or seen.sum() < 0.5 * asked.sum():
            return None
        sigma = np.where(seen, _SIGMA_PX / np.maximum(np.nan_to_num(confidence), 0.1), np.inf)
        error = np.array(self.flow_error)[frames][:-1]
        flow_sigma = np.where((error < 2.0) & adjacent, _FLOW_SIGMA_PX + error, np.inf)
        tip, _ = fuse(np.array(self.tip)[frames], sigma, np.array(self.flow)[frames][:-1], flow_sigma)
        visible = seen.copy()
        for begin, end in gaps(seen):
            visible[begin:end] = time_s[end] - time_s[begin - 1] <= _LONGEST_S
        first, last = np.flatnonzero(seen)[[0, -1]]
        visible[:first] = time_s[first] - time_s[:first] <= _LONGEST_S / 2
        visible[last:] = time_s[last:] - time_s[last] <= _LONGEST_S / 2
        every = np.arange(len(frames))
        axis = np.array(self.axis)[frames]
        axis = np.stack([np.interp(every, every[seen], _steady(axis[seen, k])) for k in range(2)], 1)
        axis /= np.maximum(np.hypot(*axis.T), 1e-9)[:, None]
        sure = np.where(visible, np.interp(every, every[seen], confidence[seen]), 0.0)
        nothing = np.full(len(frames), -1.0)
        # Squared, its confidence is worth what that of dark cones is.
        followed = Followed(tip, axis, visible, np.zeros(len(frames), bool), sure**2, nothing, -np.inf)
        return followed, float(np.median(np.nan_to_num(confidence[asked])))


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
