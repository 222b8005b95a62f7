"""Kinds of arguments, and a parser whose errors are one line."""

from __future__ import annotations

import argparse
import math
from dataclasses import fields
from typing import Any, NoReturn, TypeVar

from unwritten.config import settings_from

Settings = TypeVar("Settings")


class OneLineParser(argparse.ArgumentParser):
    """Says what is wrong without the usage that takes many lines; ``--help`` has it."""

    def error(self, message: str) -> NoReturn:
        """Exit with 2."""
        self.exit(2, f"{self.prog}: {message}; {self.prog} --help lists what there is\n")


def at_least_one(text: str) -> int:
    """A whole number of 1 or more."""
    return _whole(text, 1)


def not_negative(text: str) -> int:
    """A whole number of 0 or more, as seeds are."""
    return _whole(text, 0)


def _whole(text: str, least: int) -> int:
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if value < least:
        raise argparse.ArgumentTypeError(f"{text}: give a whole number, {least} or more")
    return value


def add_tip(parser: argparse.ArgumentParser) -> None:
    """Add ``--tip``."""
    parser.add_argument(
        "--tip",
        type=_tip,
        metavar="X,Y[@SECONDS]",
        help="where the tip is in one frame (pixels of the file; default: the first frame), when it is not found",
    )


def _tip(text: str) -> tuple[float, ...]:
    place, _, at_s = text.partition("@")
    try:
        values = [float(part) for part in (*place.split(","), *([at_s] if "@" in text else []))]
    except ValueError:
        values = []
    if len(values) != 2 + ("@" in text) or not all(math.isfinite(value) and value >= 0 for value in values):
        raise argparse.ArgumentTypeError(f"{text}: give X,Y or X,Y@SECONDS, as in 640,360@1.5")
    return tuple(values)


def add_workers(parser: argparse.ArgumentParser, what: str = "processes") -> None:
    """Add ``--workers``."""
    parser.add_argument("--workers", type=at_least_one, metavar="N", help=f"{what} (default: one per core)")


def settings_of(cls: type[Settings], arguments: argparse.Namespace, where: str, **others: Any) -> Settings:
    """Settings from the arguments that bear their names, and from others.

    Raises:
        UsageError: ``cls`` refuses a value; ``where`` begins the message.
    """
    values = {field.name for field in fields(cls)} & vars(arguments).keys()  # type: ignore[arg-type]
    return settings_from(cls, {**{name: vars(arguments)[name] for name in values}, **others}, where)
