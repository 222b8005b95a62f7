"""The tracker: a stream of frames in, the track of the pen's tip out.

Each frame leaves only a few candidates behind, so memory hardly grows with a clip's length; what is decided over a
whole shot (its cuts, the path, the direction of writing) is decided at the end.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unwritten.tracking.flow import carry
from unwritten.tracking.nib import find_nibs
from unwritten.tracking.path import Sighting, choose, fuse, gaps
from unwritten.tracking.planes import Planes, planes_of_frame, read_planes
from unwritten.tracking.refine import refine
from unwritten.tracking.settings import TrackerSettings
from unwritten.tracking.shots import ShotFinder
from unwritten.types import BoolArray, Frame, Track

Row = tuple[float, ...]  # score, tip, axis, sigma, width: see ``Sighting.of``
_LOG = logging.getLogger(__name__)
_EMPTY = Sighting.of([])
_CARRIED_COST = 1.0  # evidence lost with each frame that a candidate is only carried by flow
_SAME = 3.0  # candidates closer than this are one, working pixels


def track(path: Path | str, settings: TrackerSettings | None = None) -> Track:
    """Follow the tip of the pen through a video file.

    Args:
        path: any video file.
        settings: the tracker's settings.

    Returns:
        the track; all ``visible`` False, with a warning, where there is nothing to follow.

    Raises:
        UnwrittenError: the file cannot be read as video.
    """
    settings = settings or TrackerSettings()
    return _track(read_planes(path, settings.fine_diagonal_px), settings, str(path))


def track_frames(frames: Iterable[Frame], settings: TrackerSettings | None = None, name: str = "frames") -> Track:
    """Follow the tip of the pen through RGB frames, as ``track`` does; ``name`` stands in warnings."""
    settings = settings or TrackerSettings()
    return _track((planes_of_frame(frame, settings.fine_diagonal_px) for frame in frames), settings, name)


class _Eye:
    """Looks at one frame after the other and keeps what the path is made of."""

    def __init__(self, settings: TrackerSettings) -> None:
        self._settings = settings
        self._last: Planes | None = None
        self._shots = ShotFinder(settings)
        self._since_search = 0
        self.sightings: list[Sighting] = []
        self.time_s: list[float] = []

    def look(self, planes: Planes) -> None:
        """Take in the next frame."""
        self.time_s.append(planes.time_s)
        look = self._shots.add(planes.luma)
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
        self._last = planes

    def shots(self) -> tuple[NDArray[np.int64], BoolArray]:
        """Shot number and black mask of all frames."""
        return self._shots.shots()

    def _carry(self, planes: Planes) -> tuple[list[Row], bool]:
        """Bring the last frame's candidates here, noting their flow there; True when the best is the same cone."""
        if self._last is None or not len(self.sightings[-1].score) or self._last.luma.shape != planes.luma.shape:
            return [], False
        last = self.sightings[-1]
        # Flow is measured on the cone itself: ahead of the tip there is paper, which stays.
        window = 2 * round(self._settings.nib_width * self._settings.fine_diagonal_px / 2) + 1
        shift, error = carry(self._last.luma, planes.luma, last.tip + 5.0 * last.axis, window)
        self.sightings[-1] = replace(last, flow=shift, flow_error=error)
        rows: list[Row] = []
        sure = False
        for index in range(len(last.score)):
            tip, score = last.tip[index] + shift[index], min(float(last.score[index]), 6.0)
            if error[index] > 1.0 or score < -4:
                continue
            refined = self._refine(planes, tip, last.axis[index]) if index < 3 and last.width[index] > 0 else None
            if refined is not None and 0.7 < refined[6] / last.width[index] < 1.4:
                rows.append((score, *refined[1:]))
                sure = sure or index == 0
            else:
                rows.append((score - _CARRIED_COST, *tip, *last.axis[index], last.sigma[index] + 0.5, 0.0))
        return rows, sure

    def _search(self, planes: Planes) -> list[Row]:
        found = find_nibs(planes, self._settings)
        rows: list[Row] = []
        for tip, axis, score in zip(found.tip, found.axis, found.score, strict=True):
            refined = self._refine(planes, tip, axis)
            rows.append((score - 2.0, *tip, *axis, 2.0, 0.0) if refined is None else (score, *refined[1:]))
        return rows

    def _refine(self, planes: Planes, tip: NDArray[np.float64], axis: NDArray[np.float64]) -> Row | None:
        refined = refine(planes.fine, 2 * tip + 0.5, axis, self._settings.tip_level)
        if refined is None:
            return None
        return (0.0, *((refined.tip - 0.5) / 2), *refined.axis, 0.15 + 0.5 * refined.misfit, refined.width)

    def _distinct(self, rows: list[Row]) -> list[Row]:
        """The best rows, those with a fitted cone before those without at the same place."""
        kept: list[Row] = []
        for row in sorted(rows, key=lambda row: (row[6] > 0, row[0]), reverse=True):
            if all(np.hypot(row[1] - other[1], row[2] - other[2]) > _SAME for other in kept):
                kept.append(row)
        kept.sort(reverse=True)
        return kept[: self._settings.candidates + 2]


def _track(stream: Iterable[Planes], settings: TrackerSettings, name: str) -> Track:
    eye = _Eye(settings)
    first: Planes | None = None
    for planes in stream:
        if first is None:
            first = replace(planes)
        eye.look(planes)
    if first is None:
        empty = np.zeros(0)
        return Track(empty, np.zeros((0, 2)), empty > 0, empty, empty.astype(int), empty, empty, (0.0, 0.0))
    time_s = np.array(eye.time_s)
    shot, black = eye.shots()
    count = len(time_s)
    tip, axis = np.zeros((count, 2)), np.tile([0.0, -1.0], (count, 1))
    visible, bridged, confidence = np.zeros(count, bool), np.zeros(count, bool), np.zeros(count)
    for number in range(int(shot.max()) + 1):
        frames = np.flatnonzero((shot == number) & ~black)
        if not len(frames):
            continue
        sightings = [eye.sightings[frame] for frame in frames]
        chosen = choose(sightings, settings)
        seen = chosen >= 0
        scores = np.array([s.score[k] if k >= 0 else np.nan for s, k in zip(sightings, chosen, strict=True)])
        if not seen.any() or np.nanmean(scores) < settings.min_score:
            _LOG.warning("%s: no pen found in shot %d (%d frames)", name, number + 1, len(frames))
            continue
        picked = [(s, int(k)) for s, k in zip(sightings, chosen, strict=True)]
        where = np.array([s.tip[k] if k >= 0 else (0, 0) for s, k in picked], np.float64)
        sigma = np.array([s.sigma[k] if k >= 0 else np.inf for s, k in picked])
        flow = np.array([s.flow[k] if k >= 0 else (0, 0) for s, k in picked], np.float64)
        error = np.array([s.flow_error[k] if k >= 0 else np.inf for s, k in picked])
        flow_sigma = np.where(error < 2.0, 0.1 + error, np.inf)
        # A black frame between two of a shot breaks the flow.
        flow_sigma[:-1][np.diff(frames) > 1] = np.inf
        position, deviation = fuse(where, sigma, flow[:-1], flow_sigma[:-1])
        known = seen.copy()
        for begin, end in gaps(seen):
            if time_s[frames[end]] - time_s[frames[begin - 1]] <= settings.bridge_s:
                known[begin:end] = True
                bridged[frames[begin:end]] = True
        tip[frames] = position
        visible[frames] = known
        index = np.arange(len(frames))
        directions = np.array([s.axis[k] if k >= 0 else (np.nan, np.nan) for s, k in picked], np.float64)
        for column in range(2):
            axis[frames, column] = np.interp(index, index[seen], directions[seen, column])
        evidence = np.interp(index, index[seen], scores[seen])
        confidence[frames] = np.where(known, 1 / (1 + np.exp(-1.5 * evidence)) * np.exp(-deviation / 20), 0.0)
    if not visible.any():
        _LOG.warning("%s: no pen found, so the track is empty; is a pen over paper in view?", name)
    height, width = first.luma.shape
    scale_x, scale_y = first.size_px[0] / width, first.size_px[1] / height
    aspect = first.sample_aspect_ratio
    tip_px = np.stack([(tip[:, 0] + 0.5) * scale_x - 0.5 * aspect, (tip[:, 1] + 0.5) * scale_y - 0.5], 1)
    return Track(
        time_s=time_s,
        tip_px=tip_px,
        visible=visible,
        confidence=confidence,
        shot=shot,
        shaft_rad=np.arctan2(axis[:, 1], axis[:, 0]),
        contact=np.where(visible, 0.5, 0.0),
        size_px=first.size_px,
        sample_aspect_ratio=aspect,
        bridged=bridged if bridged.any() else None,
    )
