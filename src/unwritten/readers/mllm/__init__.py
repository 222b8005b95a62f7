"""Multimodal models as readers: GPT, Gemini, Qwen and whatever speaks one of their protocols.

``load`` builds a reader from its node of the configuration; what is wrong with it shows there, before any paid call.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections.abc import Callable, Coroutine
from functools import lru_cache
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from unwritten.config import settings_from
from unwritten.errors import UnwrittenError, UsageError
from unwritten.readers.base import Reader
from unwritten.readers.mllm.keys import Secrets, check_base_url, key_from_environment
from unwritten.readers.mllm.prompts import PromptSettings, read_prompt_file
from unwritten.readers.mllm.provider import Client, check_options
from unwritten.readers.mllm.reader import MllmReader
from unwritten.readers.mllm.settings import (
    BudgetSettings,
    LimitSettings,
    MediaSettings,
    MllmSettings,
    PriceSettings,
    RungSettings,
    SamplingSettings,
)
from unwritten.readers.mllm.setup import Setup

_LOG = logging.getLogger("unwritten")
_PARTS: dict[str, Any] = {
    "media": MediaSettings,
    "prompt": PromptSettings,
    "rung": RungSettings,
    "sampling": SamplingSettings,
    "limits": LimitSettings,
    "budget": BudgetSettings,
    "prices": PriceSettings,
}
_PROCESS = f"process-{os.getpid()}-{time.time_ns()}"


def load(node: DictConfig) -> Reader:
    """The reader that a node describes.

    Args:
        node: fields of ``MllmSettings``, and ``media``, ``prompt``, ``rung``, ``sampling``, ``limits``, ``budget`` and
            ``prices`` with those of their own classes, ``model_prices`` with prices by modality.

    Raises:
        UsageError: a setting is unknown or impossible, there is no key, or the server knows no such model.
        UnwrittenError: the server refuses the key or does not answer, or a file cannot be read.
    """
    values: dict[str, Any] = OmegaConf.to_container(node, resolve=True)  # type: ignore[assignment]
    values.pop("kind", None)
    where = f"reader.{str(values.get('name') or 'mllm').replace('.', '_')}"
    missing = sorted(OmegaConf.missing_keys(node))
    if missing:
        key = missing[0].removeprefix(f"{where}.")
        raise UsageError(f"{where}.{key}: is not set; see conf/reader for what it may be")
    model_prices = {
        modality: settings_from(PriceSettings, node, f"{where}.model_prices.{modality}")
        for modality, node in (values.pop("model_prices", None) or {}).items()
    }
    parts = {name: settings_from(cls, values.pop(name, None), f"{where}.{name}") for name, cls in _PARTS.items()}
    settings: MllmSettings = settings_from(MllmSettings, values, where)
    check_base_url(settings.base_url, where)
    _check_scoring(settings, parts["prompt"], where)
    _check_rate(settings, parts["media"], where)
    _check_baseline(parts["rung"])
    key = "" if settings.dry_run else key_from_environment(settings.key_env, where)
    setup = Setup(
        settings=settings,
        prompt_text=read_prompt_file(parts["prompt"], f"{where}.prompt"),
        words=_candidates(parts["prompt"], where),
        run=_run_name(),
        store=Path(settings.store) if settings.store else _default_store(),
        secrets=Secrets(*([key] if settings.key_env else [])),
        model_prices=model_prices,
        **parts,
    )
    _check_spending(setup, where)
    connect = _connector(setup, key, where)
    reader = MllmReader(setup, connect, _lazy_baseline(parts["rung"].checkpoint))
    _check_modalities(reader, where)
    if settings.check_model and not settings.dry_run:
        _run_apart(_check_models(connect, settings.name, {settings.model, *settings.models.values()}))
    return reader


def _connector(setup: Setup, key: str, where: str) -> Callable[[], Client]:
    settings = setup.settings
    try:
        if settings.provider == "openai":
            import openai  # noqa: F401  # missing clients are said now

            from unwritten.readers.mllm import openai_client

            check_options(settings, openai_client.OPTIONS, where)
            api = settings.options.get("api", "chat")
            if api not in openai_client.APIS:
                raise UsageError(f"{where}.options.api={api}: give {' or '.join(openai_client.APIS)}")
            return lambda: openai_client.OpenAIClient(settings, setup.sampling, setup.limits, key)
        if settings.provider == "anthropic":
            import anthropic  # noqa: F401

            from unwritten.readers.mllm import anthropic_client

            check_options(settings, anthropic_client.OPTIONS, where)
            return lambda: anthropic_client.AnthropicClient(settings, setup.sampling, setup.limits, key)
        if settings.provider == "gemini":
            import google.genai  # noqa: F401

            from unwritten.readers.mllm import gemini

            check_options(settings, gemini.OPTIONS, where)
            return lambda: gemini.GeminiClient(settings, setup.sampling, setup.limits, key)
        import transformers  # noqa: F401

        from unwritten.readers.mllm import qwen_local

        check_options(settings, qwen_local.OPTIONS, where)
        return lambda: qwen_local.LocalQwen(settings, setup.sampling, setup.limits)
    except ImportError as error:
        extra = "qwen" if settings.provider == "transformers" else "mllm"
        raise UsageError(f"{where}: {error.name} is not installed; pip install -e '.[{extra}]'") from error


async def _check_models(connect: Callable[[], Client], name: str, models: set[str]) -> None:
    client = connect()
    try:
        for model in sorted(models):
            shutdown = await client.check(model)
            if shutdown:
                _LOG.warning("%s: %s shuts down on %s; docs/mllm.md says what may stand in", name, model, shutdown)
    finally:
        await client.close()


def _run_apart(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine to its end in a thread of its own: the caller may be inside an event loop, as notebooks are."""
    errors: list[BaseException] = []

    def work() -> None:
        try:
            asyncio.run(coroutine)
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]


def _check_spending(setup: Setup, where: str) -> None:
    nodes = {"prices": setup.settings.model} | {
        f"model_prices.{modality}": model for modality, model in setup.settings.models.items()
    }
    for node, model in nodes.items():
        if setup.budget.usd is not None and not setup.prices_of(model).known:
            raise UsageError(
                f"{where}.budget.usd: the prices of {model} are unknown; set {where}.{node}.input and .output"
            )


def _check_scoring(settings: MllmSettings, prompt: PromptSettings, where: str) -> None:
    if settings.score_candidates and settings.provider != "transformers":
        raise UsageError(f"{where}.score_candidates: only local models score a list; set it to false")
    if settings.score_candidates and not prompt.candidates:
        raise UsageError(f"{where}.score_candidates: needs a list; set {where}.prompt.candidates=english")


def _check_rate(settings: MllmSettings, media: MediaSettings, where: str) -> None:
    from unwritten.readers.mllm.gemini import MOST_FPS

    if settings.provider == "gemini" and media.pictures == "video" and media.fps > MOST_FPS:
        raise UsageError(f"{where}.media.fps={media.fps:g}: Gemini looks at at most {MOST_FPS:g} frames a second")


def _check_baseline(rung: RungSettings) -> None:
    from unwritten.models.checkpoint import default_checkpoint

    path = Path(rung.checkpoint or default_checkpoint())
    if rung.letters and not path.is_file():
        raise UnwrittenError(f"{path}: no such checkpoint; rung {rung.name} gives what the trained baseline reads")


def _check_modalities(reader: MllmReader, where: str) -> None:
    setup = reader.setup
    settings, rung = setup.settings, setup.rung
    lacking = [modality for modality in settings.modalities if modality not in reader.modalities()]
    if not lacking and reader.modalities():
        return
    if not settings.abilities and not rung.gives:
        raise UsageError(
            f"{where}: a model of words alone takes no clip; say what else it takes in {where}.abilities, "
            "or begin at rung=ink"
        )
    able = ", ".join(settings.abilities) or "words alone"
    raise UsageError(
        f"{where}: {settings.model} takes {able}, pictures are sent as {setup.media.pictures}, and this is rung "
        f"{rung.name}: it cannot be asked in {lacking[0] if lacking else 'any modality'}"
    )


def _candidates(prompt: PromptSettings, where: str) -> dict[int, tuple[str, ...]]:
    """The most frequent candidates of each length."""
    if not prompt.candidates:
        return {}
    from unwritten.words.lists import NAMED, read_words, word_list

    if prompt.candidates in NAMED:
        listed = word_list(prompt.candidates)
        words = [listed.words[index] for index in (-listed.frequency).argsort(kind="stable")]
    else:
        try:
            words = list(read_words(prompt.candidates))
        except UnwrittenError as error:
            raise UsageError(f"{where}.prompt.candidates: {error}") from error
    by_length: dict[int, list[str]] = {}
    for word in words:
        own = by_length.setdefault(len(word), [])
        if len(own) < prompt.most_candidates:
            own.append(word)
    # In the order of the alphabet: the order of frequency would tell the model which to prefer.
    return {length: tuple(sorted(own)) for length, own in by_length.items()}


def _default_store() -> Path:
    from unwritten.store import default_store

    return default_store() / "replies.sqlite3"


def _run_name() -> str:
    """The run directory: a run that is started again in it goes on spending the same budget."""
    from hydra.core.hydra_config import HydraConfig
    from omegaconf import OmegaConf

    # Where a configuration was only shown (--cfg job), Hydra names no directory.
    if HydraConfig.initialized() and not OmegaConf.is_missing(HydraConfig.get().runtime, "output_dir"):
        return str(Path(HydraConfig.get().runtime.output_dir).resolve())
    return _PROCESS


def _lazy_baseline(checkpoint: str | None) -> Any:
    @lru_cache(maxsize=1)
    def loaded() -> Any:
        from unwritten.readers.mllm.rungs import trained_baseline

        return trained_baseline(checkpoint)

    return lambda recording, modality, n: loaded()(recording, modality, n)
