"""From a composed Hydra config to the settings that a part of the package takes."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from unwritten.errors import UsageError

if TYPE_CHECKING:
    from omegaconf import DictConfig

Settings = TypeVar("Settings")
INFINITE = float("inf")
"""No upper bound."""


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
    for field in dataclasses.fields(cls):  # type: ignore[arg-type]
        if field.name in values:
            _check_number(field, values[field.name], where)
    try:
        return cls(**{key: tuple(value) if isinstance(value, list) else value for key, value in values.items()})
    except (TypeError, ValueError) as error:
        raise UsageError(f"{where}: {error}") from error


def bounded(settings: object, **bounds: tuple[float, float]) -> None:
    """Refuse numbers of a dataclass of settings that lie outside their bounds, both included.

    Raises:
        ValueError: one does, or is none.
    """
    for name, (low, high) in bounds.items():
        value = getattr(settings, name)
        if not _lies_in(value, low, high):
            raise ValueError(f"{name}={value}: give {_wanted(low, high)}")


def real_number(value: Any, where: str, low: float = 0.0, high: float = INFINITE) -> float:
    """The value as a number from ``low`` to ``high``.

    Raises:
        UsageError: it is none, or lies outside.
    """
    if not _lies_in(value, low, high):
        raise UsageError(f"{where}={value}: give {_wanted(low, high)}")
    return float(value)


def _lies_in(value: Any, low: float, high: float) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high


def _wanted(low: float, high: float) -> str:
    return f"{low:g} or more" if high == INFINITE else f"a number from {low:g} to {high:g}"


def whole_number(value: Any, where: str, least: int = 0) -> int:
    """The value as a whole number of at least ``least``.

    Raises:
        UsageError: it is none.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise UsageError(f"{where}={value}: give a whole number")
    if value < least:
        raise UsageError(f"{where}={value}: give {least} or more")
    return value


def _check_number(field: dataclasses.Field[Any], value: Any, where: str) -> None:
    """Refuse words, and what is not a number, where the default of a setting is a number."""
    default, kind = field.default, str(field.type)
    if value is None or isinstance(default, bool) or not isinstance(default, int | float) or "str" in kind:
        return
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or value != value:
        raise UsageError(f"{where}.{field.name}={value}: give a number")


def _plain(node: DictConfig | Mapping[str, Any] | None) -> dict[str, Any]:
    if type(node).__module__.startswith("omegaconf"):
        from omegaconf import OmegaConf  # settings are also built where no configuration library is installed

        return OmegaConf.to_container(node, resolve=True)  # type: ignore[return-value]
    return dict(node or {})
