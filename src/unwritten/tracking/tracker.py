"""The tracker: a stream of frames in, the track of the pen's tip out.

Each frame leaves only a few candidates behind, so memory hardly grows with a clip's length; what is decided over a
whole shot (its cuts, the path) or clip (the direction of writing) is decided at the end.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from unwritten.tracking.confidence import calibrated
from unwritten.tracking.contact import contact_from_motion
from unwritten.tracking.decide import Claim, likeliest
from unwritten.tracking.eye import Eye
from unwritten.tracking.finger import FingerEye
from unwritten.tracking.follow import Followed, follow
from unwritten.tracking.hint import HintEye
from unwritten.tracking.learned import LearnedEye
from unwritten.tracking.page import PageEye
from unwritten.tracking.planes import Planes, planes_of_frame, read_planes
from unwritten.tracking.settings import TrackerSettings
from unwritten.tracking.view import left_chirality, writing_direction
from unwritten.types import Frame, Track
from unwritten.wording import counted

_TOLD_NEAR = 0.015  # share of the diagonal within which a path passes a place that somebody pointed at
_ASKED_FOR = 10.0  # log odds of a fingertip where the user says that one writes
_LOG = logging.getLogger(__name__)


class Eyes(NamedTuple):
    """All that look at the frames."""

    nib: Eye
    learned: LearnedEye
    finger: FingerEye
    hint: HintEye
    page: PageEye


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
    """Follow the tip of the pen through RGB frames, as ``track`` does.

    Args:
        frames: in order; taken one at a time.
        settings: the tracker's settings.
        name: stands in warnings.
    """
    settings = settings or TrackerSettings()
    return _track((planes_of_frame(frame, settings.fine_diagonal_px) for frame in frames), settings, name)


def _track(stream: Iterable[Planes], settings: TrackerSettings, name: str) -> Track:
    eye, learned, finger = Eye(settings), LearnedEye(settings, name), FingerEye(settings, name)
    hint, page = HintEye(settings, name), PageEye()
    first: Planes | None = None
    for planes in stream:
        first = planes if first is None else first
        eye.look(planes)
        hint.look(planes)
        page.look(planes, eye.state)
        learned.look(planes, eye.state, eye.unconvincing or eye.resting)
        # MediaPipe runs only where it is asked for, where no pen shows, and now and then where one hardly does.
        if settings.kind == "mediapipe" or (settings.kind == "auto" and eye.doubtful):
            finger.look(planes)
        elif settings.kind == "auto" and (eye.unconvincing or eye.resting):
            finger.look_if_due(planes)
        else:
            finger.skip()
    finger.close()
    if first is None:
        nothing = np.zeros(0)
        return Track(nothing, np.zeros((0, 2)), nothing > 0, nothing, np.zeros(0, int), nothing, nothing, (0.0, 0.0))
    hint.close(eye.time_s[-1])
    found = _found(Eyes(eye, learned, finger, hint, page), first, settings)
    _warn_of_unseen(found, eye.shots()[1], name)
    return found


def _warn_of_unseen(found: Track, black: NDArray[np.bool_], name: str) -> None:
    """Name the shots of the track that is given in which nothing is seen, whatever was tried on the way to it."""
    if not found.visible.any():
        _LOG.warning("%s: no pen or fingertip found, so the track is empty; is one over paper in view?", name)
        return
    for number in range(int(found.shot.max()) + 1):
        lit = (found.shot == number) & ~black
        if lit.any() and not found.visible[lit].any():
            _LOG.warning("%s: no pen found in shot %d (%s)", name, number + 1, counted(int(lit.sum()), "frame"))


def _found(eyes: Eyes, first: Planes, settings: TrackerSettings) -> Track:
    """The track that the likeliest claim of each shot makes."""
    eye = eyes.nib
    time_s = np.array(eye.time_s)
    shot, black = eye.shots()
    count = len(time_s)
    tip, axis = np.zeros((count, 2)), np.tile([0.0, -1.0], (count, 1))
    visible, bridged, of_pen = (np.zeros(count, bool) for _ in range(3))
    confidence, reach = np.zeros(count), np.full(count, -1.0)
    on_page, moves = tip.copy(), False
    for number in range(int(shot.max()) + 1):
        frames = np.flatnonzero((shot == number) & ~black)
        claim = likeliest(claims_of(frames, time_s[frames], eyes, settings))
        if claim is not None:
            path = claim.path
            tip[frames], axis[frames], visible[frames], bridged[frames], confidence[frames], reach[frames] = path[:6]
            of_pen[frames] = claim.kind != "finger"
            on_page[frames] = path.tip if claim.page is None else claim.page
            moves = moves or claim.page is not None
    if settings.calibrated:
        confidence = calibrated(confidence)
    result = Track(
        time_s=time_s,
        tip_px=_square_px(tip, first),
        visible=visible,
        confidence=confidence,
        shot=shot,
        shaft_rad=np.arctan2(axis[:, 1], axis[:, 0]),
        contact=np.zeros(count),
        size_px=first.size_px,
        sample_aspect_ratio=first.sample_aspect_ratio,
        bridged=bridged if bridged.any() else None,
        page_px=_square_px(on_page, first) if moves else None,
    )
    result = replace(result, contact=contact_from_motion(result, reach))
    if visible.any() and not (visible & of_pen).any():  # a finger has no shaft that tells how its hand lies
        told = None if settings.writing_deg is None else float(np.radians(settings.writing_deg))
        return replace(result, writing_rad=told, mirrored=bool(settings.mirrored))
    left = left_chirality(result, eye.pictures, settings)
    writing_rad, mirrored = writing_direction(result, settings, left)
    return replace(result, writing_rad=writing_rad, mirrored=mirrored)


def claims_of(
    frames: NDArray[np.int64], time_s: NDArray[np.float64], eyes: Eyes, settings: TrackerSettings
) -> list[Claim]:
    """Every path through the frames ``[T]`` of one shot that may be the tip's."""
    adjacent = np.diff(frames) == 1
    nib, learned, finger, hint, page = eyes
    paths: list[tuple[str, Followed | None, float]] = []
    if len(frames) and settings.kind != "mediapipe":
        sightings = [
            hint.seen(int(frame), nib.sightings[frame], False) if frame == hint.hinted else nib.sightings[frame]
            for frame in frames
        ]
        paths.append(("nib", follow(sightings, adjacent, time_s, settings, frames == hint.hinted), 0.0))
        paths.append(("learned", learned.follow(frames, adjacent, time_s, hint), 0.0))
    pointed = finger.follow(frames, time_s) if len(frames) else None
    if pointed is not None:
        path, prior = pointed
        paths.append(("finger", path, _ASKED_FOR if settings.kind == "mediapipe" else prior))
    told = np.flatnonzero(frames == hint.hinted)
    diagonal_px = settings.fine_diagonal_px / 2
    return [
        Claim.of(
            kind,
            path,
            page.to_page(frames, path.tip),
            time_s,
            learned.support(frames, path.tip),
            diagonal_px,
            prior,
            len(told) > 0,
        )
        for kind, path, prior in paths
        if path is not None and all(_passes(path, int(row), hint, diagonal_px) for row in told)
    ]


def _passes(path: Followed, row: int, hint: HintEye, diagonal_px: float) -> bool:
    """Whether a path shows the tip where somebody says that it is, in frame ``row`` of its shot."""
    off = np.hypot(*(path.tip[row] - hint.places[cast(int, hint.hinted)].tip))
    return bool(path.visible[row] and off <= _TOLD_NEAR * diagonal_px)


def _square_px(tip: NDArray[np.float64], planes: Planes) -> NDArray[np.float64]:
    """Working pixels to square pixels of the frame's height, ``[T, 2]``."""
    height, width = planes.luma.shape
    scale_x, scale_y = planes.size_px[0] / width, planes.size_px[1] / height
    aspect = planes.sample_aspect_ratio
    return np.stack([(tip[:, 0] + 0.5) * scale_x - 0.5 * aspect, (tip[:, 1] + 0.5) * scale_y - 0.5], 1)
