"""From a composed Hydra config to the settings that a part of the package takes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from unwritten.errors import UsageError
from unwritten.files import project_root

if TYPE_CHECKING:
    from omegaconf import DictConfig

Settings = TypeVar("Settings")
_LISTED = ("benchmark", "logger")  # groups without a class of settings: what may be set stands in their files
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
    plain = _plain(node)
    if not isinstance(plain, Mapping):
        raise UsageError(f"{where}={_shown(plain)}: give its settings by name")
    values: dict[str, Any] = dict(plain)
    known = {field.name for field in dataclasses.fields(cls)}  # type: ignore[arg-type]
    unknown = sorted(set(values) - known)
    if unknown:
        raise UsageError(f"{where}.{unknown[0]}: no such setting; known are {', '.join(sorted(known))}")
    hints = _hints(cls)  # type: ignore[arg-type]
    for name, value in values.items():
        if not _is_a(value, hints[name]):
            raise UsageError(f"{where}.{name}={_shown(value)}: give {_described(hints[name])}")
        if hints[name] is str:
            values[name] = str(value)  # a name may be 7
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


def place(value: Any, where: str) -> Path:
    """The value as the name of a file or folder.

    Raises:
        UsageError: it is none.
    """
    if not isinstance(value, str | Path) or not str(value):
        raise UsageError(f"{where}={_shown(value)}: give the name of a file or folder")
    return Path(value)


@cache
def _hints(cls: type) -> dict[str, Any]:
    return get_type_hints(cls)


def _is_a(value: Any, hint: Any) -> bool:
    """Whether a plain value of a configuration is what a setting's type says; other types are left to the class."""
    kind, inner = get_origin(hint), get_args(hint)
    if kind in (Union, UnionType):
        return any(_is_a(value, part) for part in inner)
    if kind is Literal:
        return value in inner
    if kind is tuple:
        if not isinstance(value, list | tuple):
            return False
        return Ellipsis not in inner or all(_is_a(part, inner[0]) for part in value)
    if kind in (dict, Mapping):
        return isinstance(value, Mapping) and all(_is_a(part, inner[1]) for part in value.values())
    if hint in (int, float):
        # Not a number is no number either; True would be 1.
        return isinstance(value, int | hint) and not isinstance(value, bool) and value == value
    if hint is str:
        return isinstance(value, str | int | float) and not isinstance(value, bool)
    return hint is Any or not isinstance(hint, type) or isinstance(value, hint)


def _described(hint: Any) -> str:
    kind, inner = get_origin(hint), get_args(hint)
    if kind in (Union, UnionType):
        return " or ".join(_described(part) for part in inner)
    if kind is Literal:
        return "one of " + ", ".join(map(str, inner))
    if kind is tuple:
        return f"a list, each {_described(inner[0])}"
    if kind in (dict, Mapping):
        return f"names with values, each {_described(inner[1])}"
    known = {int: "a whole number", float: "a number", bool: "true or false", str: "text", type(None): "null"}
    return known.get(hint, "names with values")


def _shown(value: Any) -> str:
    return "null" if value is None else str(value)


def check_parts(config: Mapping[str, Any], parts: Iterable[str], values: Iterable[str]) -> None:
    """Refuse a composed configuration with a name that nobody reads, or without a part that somebody does.

    Args:
        config: the whole configuration.
        parts: names of nodes, such as ``data`` and ``data.loader``.
        values: names of single values beside them.

    Raises:
        UsageError: a name is unknown, or a part is missing, null or a single value.
    """
    parts = tuple(parts)
    known = sorted({*(part for part in parts if "." not in part), *values})
    for name in config:
        if name not in known:
            raise UsageError(f"{name}: no such setting; known are {', '.join(known)}")
    for part in parts:
        node: Any = config
        for name in part.split("."):
            node = node.get(name)
        if not isinstance(node, Mapping):
            listed = choices(part)
            wanted = f"one of {', '.join(listed)}" if listed else "its settings by name"
            raise UsageError(f"{part}={_shown(node)}: give {wanted}")
        if part in _LISTED:
            known = sorted(_settings_of_group(part))
            unknown = sorted(set(map(str, node)) - set(known))
            if unknown:
                raise UsageError(f"{part}.{unknown[0]}: no such setting; known are {', '.join(known)}")


def _settings_of_group(group: str) -> set[str]:
    """Names that stand in any configuration of a group of ``conf/``."""
    import yaml

    files = (project_root() / "conf" / group).glob("*.yaml")
    return {name for path in files for name in yaml.safe_load(path.read_text(encoding="utf-8"))} - {"defaults"}


def choices(group: str) -> list[str]:
    """Names of the configurations in a group of ``conf/``, such as ``model``; none where there is no such group."""
    return sorted(path.stem for path in (project_root() / "conf" / group).glob("*.yaml"))


def _plain(node: DictConfig | Mapping[str, Any] | None) -> Any:
    if type(node).__module__.startswith("omegaconf"):
        from omegaconf import OmegaConf  # settings are also built where no configuration library is installed

        return OmegaConf.to_container(node, resolve=True)
    return dict(node or {}) if isinstance(node, Mapping | None) else node
