"""One group of the configuration says how the tip is found, and trained readers follow it."""

from __future__ import annotations

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from unwritten.config import settings_from
from unwritten.files import project_root
from unwritten.tracking.settings import TrackerSettings


@pytest.mark.parametrize("name", ["nib", "mediapipe"])
def test_readers_take_the_tracker_that_is_named_once(name: str) -> None:
    readers = "reader=[ctc,ctc-free,ctc-letters,ctc-as-sent,blind-constant]"
    with initialize_config_dir(str(project_root() / "conf"), version_base="1.3"):
        config = compose("evaluate", [f"tracking={name}", "tracking.bridge_s=0.2", readers])
    found = settings_from(TrackerSettings, OmegaConf.to_container(config.tracking), "tracking")  # type: ignore[arg-type]
    assert found.bridge_s == 0.2 and found.kind == {"nib": "auto", "mediapipe": "mediapipe"}[name]
    for reader in ("ctc", "ctc-free", "ctc-letters", "ctc-as-sent"):
        assert config.reader[reader].tracker == config.tracking
    assert "tracker" not in config.reader["blind-constant"]


def test_the_group_for_pens_holds_the_defaults() -> None:
    node = OmegaConf.load(project_root() / "conf" / "tracking" / "nib.yaml")
    assert settings_from(TrackerSettings, OmegaConf.to_container(node), "tracking") == TrackerSettings()  # type: ignore[arg-type]
