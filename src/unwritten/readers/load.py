"""From a reader's node of the configuration to the reader."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig, OmegaConf

from unwritten.config import settings_from
from unwritten.errors import UsageError
from unwritten.readers.base import Reader

if TYPE_CHECKING:
    from unwritten.readers.recorded import PublishedScore


def load_reader(node: DictConfig, key: str) -> Sequence[Reader]:
    """The readers that a node describes: usually one, none for printed tables, one per person for recorded people.

    Args:
        node: ``kind`` and what that kind takes.
        key: the node's name, for messages and as the reader's name when it has none.

    Raises:
        UsageError: an unknown kind or setting.
        UnwrittenError: a file that the reader needs cannot be read.
    """
    kind = node.get("kind")
    if kind not in _LOADERS:
        raise UsageError(f"reader.{key}.kind={kind}: known are {', '.join(sorted(_LOADERS))}")
    return _LOADERS[kind](node, key)


def _blind(node: DictConfig, key: str) -> Sequence[Reader]:
    from unwritten.readers.blind import BlindReader, BlindSettings

    return [BlindReader(settings_from(BlindSettings, _values(node, key), f"reader.{key}"))]


def _recorded(node: DictConfig, key: str) -> Sequence[Reader]:
    from unwritten.readers.recorded import recorded_readers

    if OmegaConf.is_missing(node, "file") or not node.get("file"):
        raise UsageError(f"reader={key} needs reader.{key}.file=CSV, the recorded answers")
    return recorded_readers(str(node.file), str(node.get("name") or key))


def _published(node: DictConfig, key: str) -> Sequence[Reader]:
    return []


def _ctc(node: DictConfig, key: str) -> Sequence[Reader]:
    from unwritten.decoding.settings import DecodingSettings
    from unwritten.readers.as_sent import AsSentReader, AsSentSettings
    from unwritten.readers.ctc import CtcReader
    from unwritten.readers.oracle import OracleReader, OracleSettings
    from unwritten.store import Store
    from unwritten.tracking.settings import TrackerSettings

    values = _values(node, key)
    values.pop("protocol", None)
    parts: dict[str, type[Any]] = {
        "decoding": DecodingSettings,
        "tracker": TrackerSettings,
        "as_sent": AsSentSettings,
        "oracle": OracleSettings,
    }
    for name, settings in parts.items():
        if values.get(name) is not None:
            values[name] = settings_from(settings, values[name], f"reader.{key}.{name}")
    as_sent, oracle = values.pop("as_sent", None), values.pop("oracle", None)
    try:
        reader = CtcReader(**values, store=Store())
    except TypeError as error:
        raise UsageError(f"reader.{key}: {error}") from error
    if oracle is not None:
        return [OracleReader(reader, oracle)]
    return [reader if as_sent is None else AsSentReader(reader, as_sent)]


def _mllm(node: DictConfig, key: str) -> Sequence[Reader]:
    from unwritten.readers import mllm

    return [mllm.load(node)]


def _values(node: DictConfig, key: str) -> dict[str, Any]:
    values: dict[str, Any] = OmegaConf.to_container(node, resolve=True)  # type: ignore[assignment]
    values.pop("kind")
    return {"name": key, **values}


_LOADERS: dict[str, Callable[[DictConfig, str], Sequence[Reader]]] = {
    "blind": _blind,
    "ctc": _ctc,
    "mllm": _mllm,
    "published": _published,
    "recorded": _recorded,
}


def load_published(nodes: DictConfig) -> list[PublishedScore]:
    """Rows of the printed tables that the configuration asks for, each once.

    Raises:
        UnwrittenError: a name was never published.
    """
    from unwritten.readers.recorded import published_scores

    asked = [node for node in nodes.values() if node.get("kind") == "published"]
    return list(dict.fromkeys(score for node in asked for score in published_scores(list(node.get("readers") or []))))
