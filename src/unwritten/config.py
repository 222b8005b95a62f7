"""From a composed Hydra config to the settings that a part of the package takes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from unwritten.errors import UsageError

if TYPE_CHECKING:
    from omegaconf import DictConfig

Settings = TypeVar("Settings")


def settings_from(cls: type[Settings], node: DictConfig | Mapping[str, Any] | None, where: str = "config") -> Settings:
    """Build the frozen dataclass ``cls`` from a config node; lists become tuples.

    Args:
        cls: a dataclass of settings with a default for every field.
        node: the node of the config, or None for the defaults.
        where: the node's name, for the error.

    Raises:
        UsageError: the node holds a key that ``cls`` does not know, or a value that ``cls`` refuses.
    """
    values: Any = _plain(node)
    known = {field.name for field in dataclasses.fields(cls)}  # type: ignore[arg-type]
    unknown = sorted(set(values) - known)
    if unknown:
        raise UsageError(f"{where}.{unknown[0]}: no such setting; known are {', '.join(sorted(known))}")
    try:
        return cls(**{key: tuple(value) if isinstance(value, list) else value for key, value in values.items()})
    except (TypeError, ValueError) as error:
        raise UsageError(f"{where}: {error}") from error


def _plain(node: DictConfig | Mapping[str, Any] | None) -> dict[str, Any]:
    if type(node).__module__.startswith("omegaconf"):
        from omegaconf import OmegaConf  # settings are also built where no configuration library is installed

        return OmegaConf.to_container(node, resolve=True)  # type: ignore[return-value]
    return dict(node or {})
