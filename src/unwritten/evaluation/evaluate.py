"""Readers against a benchmark: load both, read, keep every answer as it comes, score, print.

A run directory that already holds answers is gone on with: what was read under the same settings is not read again. One
that holds the scores of other settings is refused.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pandas as pd
from omegaconf import DictConfig

from unwritten.config import check_parts, place, real_number, whole_number
from unwritten.errors import UnwrittenError, UsageError
from unwritten.evaluation.items import load_benchmark
from unwritten.evaluation.jobs import load_jobs
from unwritten.evaluation.log import AnswerLog
from unwritten.evaluation.loop import read_all
from unwritten.evaluation.plans import format_plans, plans
from unwritten.readers.base import not_asked
from unwritten.readers.load import load_published
from unwritten.scoring.analysis import analyse, write_analysis
from unwritten.scoring.intervals import IntervalSettings
from unwritten.scoring.printed import format_analysis
from unwritten.scoring.scores import Score, score_table, write_scores
from unwritten.scoring.table import Problems, clean, read_answers, write_answers
from unwritten.scoring.text import format_scores
from unwritten.types import MODALITIES
from unwritten.words.lists import word_list

# What may change when a run goes on: how fast and for how much money a model is asked, not what it is asked.
_OF_READERS = ("limits.*", "budget.*", "store", "dry_run", "check_model", "options.strict_model")
_FREE = ("budget_*", "dry_run", *(f"reader.*.{name}" for name in _OF_READERS))

# A word of another length, or the saying that there is none to tell, is a reply too.
_REPLIED = ("answered", "malformed", "refused")

_PARTS = ("benchmark", "tracking", "rung", "reader", "intervals")
_VALUES = (
    *("modality", "checkpoint", "protocol", "seed", "answers", "snap", "fusion_margin"),
    *("budget_calls", "budget_usd", "dry_run"),  # that multimodal readers bring
)


def evaluate(config: DictConfig) -> list[Score]:
    """Run ``evaluate.py``: read or take stored answers, write the run directory, print the table.

    Raises:
        UsageError: an unknown setting, or a run directory that holds the scores of other settings.
        UnwrittenError: nothing could be read or scored.
    """
    from hydra.core.hydra_config import HydraConfig

    from unwritten.config import settings_from
    from unwritten.run import record_run, refuse_other_settings

    run_dir = Path(HydraConfig.get().runtime.output_dir)
    if not config.get("reader"):
        raise UsageError("reader=[]: name at least one reader")
    check_parts(config, (*_PARTS, *(f"reader.{name}" for name in config.reader)), _VALUES)
    refuse_other_settings(config, run_dir, "scores.json", _FREE)
    whole_number(config.seed, "seed")
    intervals = settings_from(IntervalSettings, config.intervals, "intervals")
    margin = real_number(config.fusion_margin, "fusion_margin", high=1.0)
    lists = [config.snap] if isinstance(config.snap, str) else list(config.snap or ())
    for name in lists:
        word_list(str(name))  # what is no list is said before anything is read
    published = load_published(config.reader)
    if config.answers:
        table, problems = stored_tables(config.answers)
    elif all(node.get("kind") == "published" for node in config.reader.values()):
        table, problems = pd.DataFrame(), Problems()
    else:
        table, problems = read_benchmark(config, run_dir)
    record_run(config, run_dir)
    if not table.empty:
        for name in lists:
            table = with_snapped(table, str(name))
        write_answers(table, run_dir / "answers.parquet")
    scores = [] if table.empty else score_table(table, intervals)
    printed = [*scores, *(Score(**vars(row), protocol="published", n=None) for row in published)]
    write_scores(printed, run_dir / "scores.json")
    print(format_scores(printed))
    if not table.empty:
        analysis = analyse(table, problems, intervals, margin, scores)
        write_analysis(analysis, run_dir / "analysis.json")
        print(format_analysis(analysis, table, margin), end="")
    sys.stdout.flush()
    for line in problems.lines():
        print(f"evaluate.py: {line}", file=sys.stderr)
    written = [name for name in ("answers.parquet", "scores.json", "analysis.json") if (run_dir / name).exists()]
    print(f"\n{run_dir}: {', '.join(written)}", file=sys.stderr)
    if not table.empty and not table["state"].isin(_REPLIED).any():
        first = table["error"].iloc[0] or table["state"].iloc[0]
        raise UnwrittenError(f"{run_dir}: no reader answered anything; the first item says: {first}")
    return printed


def read_benchmark(config: DictConfig, run_dir: Path) -> tuple[pd.DataFrame, Problems]:
    """Let every reader of the configuration read the benchmark.

    Raises:
        UsageError: an unknown modality, protocol or setting.
        UnwrittenError: no reader takes any item.
    """
    modality = config.modality
    if modality is not None and modality not in MODALITIES:
        raise UsageError(f"modality={modality}: known are {', '.join(MODALITIES)}")
    jobs = load_jobs(config)  # first: it is quick, and what is wrong with it shows before the benchmark is made
    clips = load_benchmark(config.benchmark, config.seed)
    for line in not_asked([job.reader for job in jobs], clips, modality):
        print(line, file=sys.stderr)
    if config.dry_run or any(job.reader.dry_run for job in jobs):
        readers = [job.reader for job in jobs if config.dry_run or job.reader.dry_run]
        print(format_plans(plans(readers, clips, modality)))
        for job in jobs:
            if job.reader not in readers:
                print(f"{job.reader.name}: left out of the dry run")
        raise SystemExit(0)
    name = str(config.benchmark.get("name") or config.benchmark.kind)
    with AnswerLog(run_dir / "answers.jsonl") as log:
        if log.torn:
            print(f"{log.path}: the last answer was cut short and is read again", file=sys.stderr)
        table, problems = read_all(jobs, clips, log, name, modality)
    if table.empty:
        raise UnwrittenError(
            f"{run_dir}: no reader takes a modality that an item has, or no truth that it is to be handed is known; "
            "choose another modality or reader, or give benchmark.truth=DIR"
        )
    return table, problems


def stored_tables(paths: Any) -> tuple[pd.DataFrame, Problems]:
    """Join the answers of earlier runs; a reader that several runs have is told apart by the run's folder.

    Raises:
        UnwrittenError: a file is no answers table.
        UsageError: something is no name of a file.
    """
    listed = [place(path, "answers") for path in ([paths] if isinstance(paths, str | Path) else paths)]
    tables, seen = [], set[tuple[Any, ...]]()
    for path in listed:
        table = read_answers(path)
        keys = set(table[["benchmark", "protocol", "reader", "modality", "item"]].itertuples(index=False, name=None))
        again = {key[2] for key in keys & seen}
        if again:
            folder = Path(path).name if Path(path).is_dir() else Path(path).resolve().parent.name
            table["reader"] = [f"{name}@{folder}" if name in again else name for name in table["reader"]]
        seen |= keys
        tables.append(table)
    return clean(pd.concat(tables, ignore_index=True))


def with_snapped(table: pd.DataFrame, name: str) -> pd.DataFrame:
    """Add, for every reader that answers freely, a row that snaps its answers to a word list.

    Raises:
        UsageError: no list has this name.
    """
    from unwritten.scoring.side_information import snapped

    words = word_list(name)
    return pd.concat([table, snapped(table, words.words, words.frequency, name)], ignore_index=True)
