"""How hard a simulation is: ``mild``, ``measured`` (no easier than real clips) or ``harsh``, as committed configs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from unwritten.config import settings_from
from unwritten.errors import UsageError
from unwritten.files import project_root
from unwritten.simulation.camera import CameraSettings
from unwritten.simulation.pen import PenSettings
from unwritten.simulation.sound_settings import SoundSettings, sound_settings


@dataclass(frozen=True)
class SimulationSettings:
    """All of a simulation's settings.

    Attributes:
        name: of the severity.
        pen: pace and habits of the hand.
        camera: views and the tracker's errors.
        sound: the scratch and its recording.
    """

    name: str = "measured"
    pen: PenSettings = field(default_factory=PenSettings)
    camera: CameraSettings = field(default_factory=CameraSettings)
    sound: SoundSettings = field(default_factory=SoundSettings)

    @classmethod
    def from_mapping(cls, node: Mapping[str, Any]) -> SimulationSettings:
        """Build from a composed config node; ``sound.severity`` names the sound's own severity where it differs.

        Raises:
            UsageError: a key is unknown or a value refused.
        """
        values = dict(node)
        name = str(values.get("name", "measured"))
        overrides = dict(values.get("sound") or {})
        base = str(overrides.pop("severity", name))
        sound = settings_from(SoundSettings, {**vars(sound_settings(base)), **overrides}, "simulation.sound")
        return cls(
            name,
            settings_from(PenSettings, values.get("pen"), "simulation.pen"),
            settings_from(CameraSettings, values.get("camera"), "simulation.camera"),
            sound,
        )


def severity(name: str) -> SimulationSettings:
    """The committed severity of this name, from ``conf/simulation/NAME.yaml``.

    Raises:
        UsageError: there is no such severity.
    """
    folder = project_root() / "conf" / "simulation"
    path = folder / f"{name}.yaml"
    if not path.is_file():
        known = ", ".join(sorted(file.stem for file in folder.glob("*.yaml")))
        raise UsageError(f"severity {name!r}: there is no such severity; known are {known}")
    from omegaconf import OmegaConf

    node = OmegaConf.to_container(OmegaConf.load(path), resolve=True)
    assert isinstance(node, dict)
    return SimulationSettings.from_mapping({str(key): value for key, value in node.items()})
