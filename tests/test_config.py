"""Settings from configs: a wrong key or value is named, whatever part it belongs to."""

from __future__ import annotations

import pytest

from unwritten.config import settings_from, whole_number
from unwritten.errors import UsageError
from unwritten.simulation.camera import CameraSettings
from unwritten.training.trainer import TrainerSettings


@pytest.mark.parametrize("value", ["abc", float("nan"), True])
def test_what_is_no_number_is_refused_where_a_number_is_needed(value):
    with pytest.raises(UsageError, match=r"camera\.jitter_px="):
        settings_from(CameraSettings, {"jitter_px": value}, "camera")


def test_words_are_taken_where_words_are_allowed():
    assert settings_from(TrainerSettings, {"devices": "auto", "threads": None}).devices == "auto"
    with pytest.raises(UsageError, match=r"trainer\.max_epochs=abc"):
        settings_from(TrainerSettings, {"max_epochs": "abc"}, "trainer")


@pytest.mark.parametrize("value", ["x", 1.5, True, None, -1])
def test_a_whole_number_is_one(value):
    with pytest.raises(UsageError, match="seed="):
        whole_number(value, "seed")
    assert whole_number(3, "seed") == 3
