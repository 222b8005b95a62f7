"""Bare fingers and hands by MediaPipe: what it is good for here, on a real clip and on drawn hands' landmarks."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from unwritten.errors import UnwrittenError
from unwritten.media import read_frames
from unwritten.tracking import TrackerSettings, track
from unwritten.tracking.hand import left_evidence, model_path

needs_mediapipe = pytest.mark.skipif(importlib.util.find_spec("mediapipe") is None, reason="mediapipe is not installed")


@needs_mediapipe
def test_the_hand_about_the_pen_is_told_to_be_a_right_one_and_its_mirror_image_a_left_one(data):
    pictures = [frame.image for frame in read_frames(data / "a-2c_muted.mp4")][::12]
    evidence = left_evidence(pictures)
    mirrored = left_evidence([np.ascontiguousarray(picture[:, ::-1]) for picture in pictures])
    assert evidence is not None and evidence < -1
    assert mirrored == pytest.approx(-evidence, abs=0.5)


@needs_mediapipe
def test_mediapipe_alone_follows_a_fingertip_that_is_not_the_nib(data):
    clip = data / "a-2c_muted.mp4"
    finger, nib = track(clip, TrackerSettings(kind="mediapipe")), track(clip, TrackerSettings(kind="nib"))
    both = finger.visible & nib.visible
    assert both.mean() > 0.8
    off = np.hypot(*(finger.tip_px - nib.tip_px)[both].T) / nib.diagonal_px
    assert np.median(off) > 0.02, "the index fingertip grips the pen well above its nib"
    assert finger.writing_rad is None


def test_a_hand_model_that_is_not_there_is_named(tmp_path):
    with pytest.raises(UnwrittenError, match=r"none\.task: no such hand model"):
        model_path(str(tmp_path / "none.task"))


def test_without_mediapipe_the_pen_is_followed_all_the_same_and_fingers_are_said_not_to_be(data, monkeypatch, caplog):
    def missing(*_):
        raise ImportError("No module named 'mediapipe'")

    monkeypatch.setattr("unwritten.tracking.hand._make_landmarker", missing)
    pen = track(data / "a-2c_muted.mp4")
    assert pen.visible.mean() > 0.9
    finger = track(data / "a-2c_muted.mp4", TrackerSettings(kind="mediapipe"))
    assert not finger.visible.any()
    assert any("fingers are not followed" in record.getMessage() for record in caplog.records)
