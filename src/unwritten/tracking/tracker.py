"""The tracker: a stream of frames in, the track of the pen's tip out.

Each frame leaves only a few candidates behind, so memory hardly grows with a clip's length; what is decided over a
whole shot (its cuts, the path) or clip (the direction of writing) is decided at the end.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unwritten.tracking.confidence import calibrated
from unwritten.tracking.contact import contact_from_motion
from unwritten.tracking.eye import Eye
from unwritten.tracking.finger import FingerEye
from unwritten.tracking.follow import Followed, follow
from unwritten.tracking.learned import LearnedEye
from unwritten.tracking.planes import Planes, planes_of_frame, read_planes
from unwritten.tracking.settings import TrackerSettings
from unwritten.tracking.view import left_chirality, writing_direction
from unwritten.types import Frame, Track
from unwritten.wording import counted

_AGREE = 0.012  # share of the diagonal within which the dark path and the detector mean the same tip
_SURE, _SURER = 0.6, 0.75  # the detector's usual confidence where no dark path is possible, where a weak one is
_LOG = logging.getLogger(__name__)


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
    first: Planes | None = None
    for planes in stream:
        first = planes if first is None else first
        eye.look(planes)
        learned.look(planes, eye.state, eye.unconvincing and settings.kind != "mediapipe")
        # MediaPipe runs only where it is asked for, or where no pen shows.
        if settings.kind == "mediapipe" or (settings.kind == "auto" and eye.doubtful):
            finger.look(planes)
        else:
            finger.skip()
    finger.close()
    if first is None:
        nothing = np.zeros(0)
        return Track(nothing, np.zeros((0, 2)), nothing > 0, nothing, np.zeros(0, int), nothing, nothing, (0.0, 0.0))
    found = _found(eye, learned, finger, first, settings, name)
    _warn_of_unseen(found, eye.shots()[1], name)
    return found


def _found(
    eye: Eye, learned: LearnedEye, finger: FingerEye, first: Planes, settings: TrackerSettings, name: str
) -> Track:
    """The track of the nib or of the fingertip, whichever the film shows."""
    if settings.kind == "mediapipe":
        return _finger_track(eye, finger, first, settings, name)
    pointing = finger.pointing and not _pen_in_hand(learned, finger, first)
    found = _nib_track(eye, None if pointing else learned, first, settings, name)
    if not found.visible.any() and pointing:
        return _finger_track(eye, finger, first, settings, name)
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


def _pen_in_hand(learned: LearnedEye, finger: FingerEye, first: Planes) -> bool:
    """True when the detector is sure of a tip away from the finger's: a stretched finger along a light pen."""
    sure = np.nan_to_num(np.array(learned.confidence))
    both = (sure >= 0.5) & (np.array(finger.confidence) > 0)
    if both.sum() < 3 or np.median(sure[both]) < _SURER:
        return False
    apart = np.hypot(*(np.array(learned.tip) - np.array(finger.tip))[both].T) / np.hypot(*first.luma.shape)
    return bool(np.median(apart) > 0.05)


def _finger_track(eye: Eye, finger: FingerEye, first: Planes, settings: TrackerSettings, name: str) -> Track:
    shot, black = eye.shots()
    confidence = np.where(black, 0.0, finger.confidence)
    result = Track(
        time_s=np.array(eye.time_s),
        tip_px=_square_px(np.array(finger.tip), first),
        visible=confidence > 0,
        confidence=confidence,
        shot=shot,
        shaft_rad=np.array(finger.shaft_rad),
        contact=np.zeros(len(shot)),
        size_px=first.size_px,
        sample_aspect_ratio=first.sample_aspect_ratio,
        writing_rad=None if settings.writing_deg is None else float(np.radians(settings.writing_deg)),
        mirrored=bool(settings.mirrored),
    )
    return replace(result, contact=contact_from_motion(result, np.full(len(shot), -1.0)))


def _nib_track(eye: Eye, learned: LearnedEye | None, first: Planes, settings: TrackerSettings, name: str) -> Track:
    time_s = np.array(eye.time_s)
    shot, black = eye.shots()
    count = len(time_s)
    tip, axis = np.zeros((count, 2)), np.tile([0.0, -1.0], (count, 1))
    visible, bridged = np.zeros(count, bool), np.zeros(count, bool)
    confidence, reach = np.zeros(count), np.full(count, -1.0)
    for number in range(int(shot.max()) + 1):
        frames = np.flatnonzero((shot == number) & ~black)
        adjacent = np.diff(frames) == 1
        dark = follow([eye.sightings[frame] for frame in frames], adjacent, time_s[frames], settings)
        asked = learned.follow(frames, adjacent, time_s[frames]) if learned is not None and len(frames) else None
        path = _decide(dark, asked, first, settings)
        if path is None:
            continue
        tip[frames], axis[frames], visible[frames], bridged[frames], confidence[frames], reach[frames] = path[:6]
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
    )
    result = replace(result, contact=contact_from_motion(result, reach))
    left = left_chirality(result, eye.pictures, settings)
    writing_rad, mirrored = writing_direction(result, settings, left)
    return replace(result, writing_rad=writing_rad, mirrored=mirrored)


def _decide(
    dark: Followed | None, asked: tuple[Followed, float] | None, first: Planes, settings: TrackerSettings
) -> Followed | None:
    """The dark path where it convinces, else what the detector says, if it is sure; None for no pen.

    A weak dark path that the detector agrees with is kept, for it is exact; one that it is sure of being wrong is not.
    """
    evidence = -np.inf if dark is None else dark.evidence
    usual = dark if evidence >= settings.min_score else None
    if asked is None or evidence >= settings.convincing:
        return usual
    learned, sure = asked
    if dark is not None:
        both = dark.visible & learned.visible
        apart = np.hypot(*(dark.tip - learned.tip)[both].T) / np.hypot(*first.luma.shape)
        if both.sum() >= 0.9 * learned.visible.sum() and np.mean(apart < _AGREE) > 0.9:
            return dark._replace(confidence=np.maximum(dark.confidence, np.where(dark.visible, sure, 0.0)))
    return learned if sure >= (_SURE if usual is None else _SURER) else usual


def _square_px(tip: NDArray[np.float64], planes: Planes) -> NDArray[np.float64]:
    """Working pixels to square pixels of the frame's height, ``[T, 2]``."""
    height, width = planes.luma.shape
    scale_x, scale_y = planes.size_px[0] / width, planes.size_px[1] / height
    aspect = planes.sample_aspect_ratio
    return np.stack([(tip[:, 0] + 0.5) * scale_x - 0.5 * aspect, (tip[:, 1] + 0.5) * scale_y - 0.5], 1)
