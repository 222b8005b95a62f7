"""Looks at one frame after the other and keeps the little that the path is made of."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from unwritten.tracking.flow import carry
from unwritten.tracking.nib import find_nibs
from unwritten.tracking.path import Candidate, Sighting
from unwritten.tracking.planes import Planes
from unwritten.tracking.refine import refine
from unwritten.tracking.settings import TrackerSettings
from unwritten.tracking.shots import ShotFinder
from unwritten.types import BoolArray

_EMPTY = Sighting.of([])
_CARRIED_COST = 1.0  # evidence lost with each frame that a candidate is only carried by flow
_RIVAL = 1.5  # a candidate that trails the best by less than this may still win
_WEAK = 1.0  # evidence below which a frame may not show a pen at all
_SAME = 3.0  # candidates closer than this are one, working pixels
_TAPER = (0.07, 0.42)  # growth of a nib's width per length: real and rendered nibs 0.08 to 0.36, clips up to 0.04
_NO_CONE = 3.0
_REST_S = 1.0
_KEPT_PICTURES = 12  # at most so many frames are kept whole, spread over the clip


class Eye:
    """Takes in frames in order.

    Attributes:
        sightings: candidates of each frame.
        time_s: each frame's time.
        pictures: a few frames kept whole, with their index.
        state: ``black``, ``changed`` (perhaps a cut) or ``alike``, of the last frame.
        unconvincing: the last frame shows no dark nib that would convince by itself.
        doubtful: the last frames show nothing that looks much like a pen.
        resting: what looks most like a pen has hardly moved for a second.
    """

    def __init__(self, settings: TrackerSettings) -> None:
        self._settings = settings
        self._last: Planes | None = None
        self._shots = ShotFinder(settings)
        self._since_search = 0
        self.sightings: list[Sighting] = []
        self.time_s: list[float] = []
        self.pictures: list[tuple[int, Planes]] = []
        self._stride = 1
        self._weak = 0
        self._rested: deque[tuple[float, float, float]] = deque()  # time and place of the best candidate
        self.state = "alike"
        self.unconvincing = False

    def look(self, planes: Planes) -> None:
        """Take in the next frame."""
        self.time_s.append(planes.time_s)
        look = self._shots.add(planes.luma)
        self.state = look
        if look == "black":
            self.sightings.append(_EMPTY)
            self._last = None
            return
        rows, sure = self._carry(planes)
        # The whole picture is searched now and then; between, the tips that flow carried here are refined.
        self._since_search += 1
        if not sure or look == "changed" or self._since_search >= self._settings.search_every:
            self._since_search = 0
            rows += self._search(planes)
        self.sightings.append(Sighting.of(self._distinct(rows)))
        best = max((row.score for row in rows), default=-np.inf)
        self.unconvincing = best < self._settings.convincing
        self._weak = self._weak + 1 if best < _WEAK else 0
        if len(self.sightings[-1].score):
            self._rested.append((planes.time_s, *self.sightings[-1].tip[0]))
        self._last = planes
        self._keep(planes)

    def _keep(self, planes: Planes) -> None:
        index = len(self.time_s) - 1
        if index % self._stride == 0:
            self.pictures.append((index, replace(planes, fine=planes.luma)))
        if len(self.pictures) > _KEPT_PICTURES:
            self._stride *= 2
            self.pictures = [kept for kept in self.pictures if kept[0] % self._stride == 0]

    @property
    def doubtful(self) -> bool:
        """True when the last two frames show nothing that looks much like a pen."""
        return self._weak >= 2

    @property
    def resting(self) -> bool:
        """True when the best candidate of the last second has stayed within 1 % of the diagonal."""
        while self._rested and self._rested[0][0] < self.time_s[-1] - _REST_S:
            self._rested.popleft()
        if not self._rested or self._rested[0][0] > self.time_s[-1] - 0.8 * _REST_S:
            return False
        places = np.array(self._rested)[:, 1:]
        return bool(np.hypot(*np.ptp(places, axis=0)) < 0.01 * self._settings.fine_diagonal_px / 2)

    def shots(self) -> tuple[NDArray[np.int64], BoolArray]:
        """Shot number and black mask of all frames."""
        return self._shots.shots()

    def _carry(self, planes: Planes) -> tuple[list[Candidate], bool]:
        """Bring the last frame's candidates here, noting their flow there; True when the best is the same cone."""
        if self._last is None or not len(self.sightings[-1].score) or self._last.luma.shape != planes.luma.shape:
            return [], False
        last = self.sightings[-1]
        # Flow is measured on the cone itself: ahead of the tip there is paper, which stays.
        window = 2 * round(self._settings.nib_width * self._settings.fine_diagonal_px / 2) + 1
        shift, error = carry(self._last.luma, planes.luma, last.tip + 5.0 * last.axis, window)
        self.sightings[-1] = replace(last, flow=shift, flow_error=error)
        rows: list[Candidate] = []
        sure = False
        for index in range(len(last.score)):
            tip, score = last.tip[index] + shift[index], min(float(last.score[index]), 6.0)
            if error[index] > 1.0 or score < -4:
                continue
            # Only what may become the path is worth refining in every frame.
            likely = index < 2 and last.width[index] > 0 and last.score[index] > last.score[0] - _RIVAL
            refined = self._refine(planes, tip, last.axis[index]) if likely else None
            # The nib that was followed keeps its width: another one is something else that is sharp and dark.
            if refined is not None and 0.7 < refined.width / last.width[index] < 1.4:
                rows.append(refined._replace(score=score))
                sure = sure or index == 0
            else:
                (x, y), (axis_x, axis_y) = tip, last.axis[index]
                rows.append(Candidate(score - _CARRIED_COST, x, y, axis_x, axis_y, last.sigma[index] + 0.5))
        return rows, sure

    def _search(self, planes: Planes) -> list[Candidate]:
        found = find_nibs(planes, self._settings)
        rows: list[Candidate] = []
        for rank, (tip, axis, score) in enumerate(zip(found.tip, found.axis, found.score, strict=True)):
            refined = self._refine(planes, tip, axis) if rank < 3 and score > found.score[0] - 3 * _RIVAL else None
            rows.append(
                Candidate(score - 2.0, tip[0], tip[1], axis[0], axis[1], sigma=2.0)
                if refined is None
                else refined._replace(score=score + refined.score)
            )
        return rows

    def _refine(self, planes: Planes, tip: NDArray[np.float64], axis: NDArray[np.float64]) -> Candidate | None:
        """A fitted cone, its score being what the cone's shape adds to the evidence."""
        # The fine plane has two pixels for one of the working plane, and pixel centres at whole numbers in both.
        cone = refine(planes.fine, 2 * tip + 0.5, axis, self._settings.tip_level)
        if cone is None:
            return None
        score, sigma = -_strip_cost(cone.taper), 0.15 + 0.5 * cone.misfit
        (x, y), (axis_x, axis_y) = (cone.tip - 0.5) / 2, cone.axis
        return Candidate(score, x, y, axis_x, axis_y, sigma, cone.width, cone.shadow, cone.fade)

    def _distinct(self, rows: list[Candidate]) -> list[Candidate]:
        """The best rows, those with a fitted cone before those without at the same place."""
        kept: list[Candidate] = []
        for row in sorted(rows, key=lambda row: (row.width > 0, row.score), reverse=True):
            if all(np.hypot(row.x - other.x, row.y - other.y) > _SAME for other in kept):
                kept.append(row)
        kept.sort(reverse=True)
        return kept[: self._settings.candidates + 2]


def _strip_cost(taper: float) -> float:
    """Evidence that a shape loses which is no cone: a pen's clip and cap are strips, gaps between fingers wedges."""
    return _NO_CONE * float(np.clip((_TAPER[0] - taper) / 0.05, 0, 1) + np.clip((taper - _TAPER[1]) / 0.1, 0, 1))
