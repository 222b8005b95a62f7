"""Handwriting from whatever its owner has."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

from unwritten.errors import UnwrittenError
from unwritten.handwriting import iam, inkml, unipen
from unwritten.handwriting.corpus import HandwritingCorpus, from_strokes, load_npz
from unwritten.types import Strokes

_LOG = logging.getLogger("unwritten")


def load(
    path: Path | str,
    *,
    alphabet: str | None = "abcdefghijklmnopqrstuvwxyz",
    rates_hz: Mapping[str, float] | None = None,
) -> HandwritingCorpus:
    """Read an ``.npz`` corpus, a UNIPEN folder, an IAM-OnDB folder or line, or InkML (a file or a folder of files).

    Args:
        path: the file or folder.
        alphabet: letters that labels may hold; None allows any.
        rates_hz: true rates of sites whose headers are wrong (``.npz`` and UNIPEN).

    Raises:
        UnwrittenError: the path is missing, of no known kind, broken, or without usable samples.
    """
    path = Path(path)
    if path.is_dir():
        if unipen.is_unipen(path):
            return unipen.read_folder(path, alphabet=alphabet, rates_hz=rates_hz)
        ink = sorted(path.rglob("*.inkml"))
        if ink:
            return from_strokes(_readable_ink(path, ink), str(path), alphabet=alphabet)
        if any(path.rglob("*.xml")):
            return iam.read_folder(path, alphabet=alphabet)
        raise UnwrittenError(f"{path}: holds no handwriting; give a UNIPEN, IAM-OnDB or InkML folder, or an .npz file")
    if not path.is_file():
        raise UnwrittenError(f"{path}: is not there; give an .npz file, an .inkml file, or a folder")
    if path.suffix == ".npz":
        return load_npz(path, alphabet=alphabet, rates_hz=rates_hz)
    if path.suffix == ".inkml":
        return from_strokes(inkml.read_file(path), str(path), alphabet=alphabet)
    if path.suffix == ".xml":
        line = iam.read_file(path)
        return from_strokes(iam.split_words(line) or [line], str(path), alphabet=alphabet)
    raise UnwrittenError(f"{path}: is no known kind of handwriting; give .npz, .inkml, .xml, or a UNIPEN folder")


def _readable_ink(folder: Path, files: list[Path]) -> list[Strokes]:
    """Samples of every file that can be used; each that cannot is named, and only a folder without any is refused."""
    samples: list[Strokes] = []
    for file in files:
        try:
            samples += inkml.read_file(file)
        except UnwrittenError as error:
            _LOG.warning("%s", error)
    if not samples:
        raise UnwrittenError(f"{folder}: holds no InkML file that can be used; mend the files that are named above")
    return samples
