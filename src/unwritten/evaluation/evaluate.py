"""Readers against a benchmark: load both, read, keep every answer as it comes, score, print.

A run directory that already holds answers is gone on with: what was read under the same settings is not read again. One
that holds the scores of other settings is refused.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from omegaconf import DictConfig, OmegaConf

from unwritten.config import real_number, whole_number
from unwritten.errors import UnwrittenError, UsageError
from unwritten.evaluation.items import load_benchmark
from unwritten.evaluation.log import AnswerLog
from unwritten.readers.base import Reader, failed_answer, not_asked
from unwritten.readers.load import load_published, load_reader
from unwritten.scoring.analysis import analyse, write_analysis
from unwritten.scoring.intervals import IntervalSettings
from unwritten.scoring.printed import format_analysis
from unwritten.scoring.scores import Score, score_table, write_scores
from unwritten.scoring.table import Problems, answers_table, clean, read_answers, write_answers
from unwritten.scoring.text import format_scores
from unwritten.types import MODALITIES, Answer, Clip, Modality
from unwritten.words.lists import word_list

PROTOCOLS = ("transfer", "live", "cross-style", "closed")
# What may change when a run goes on: how fast and for how much money a model is asked, not what it is asked.
_FREE = ("budget_*", *(f"reader.*.{name}" for name in ("limits.*", "budget.*", "store", "dry_run", "check_model")))


@dataclass(frozen=True)
class Job:
    """One reader with all that its answers depend on."""

    reader: Reader
    protocol: str
    settings: str


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
    refuse_other_settings(config, run_dir, "scores.json", _FREE)
    whole_number(config.seed, "seed")
    intervals = settings_from(IntervalSettings, config.intervals, "intervals")
    margin = real_number(config.fusion_margin, "fusion_margin", high=1.0)
    lists = [config.snap] if isinstance(config.snap, str) else list(config.snap or ())
    for name in lists:
        word_list(str(name))  # what is no list is said before anything is read
    if not config.get("reader"):
        raise UsageError("reader=[]: name at least one reader")
    published = load_published(config.reader)
    if config.answers:
        table, problems = stored_tables(config.answers)
    elif published and len(published_nodes(config)) == len(config.reader):
        table, problems = pd.DataFrame(), Problems()
    else:
        table, problems = read_all(config, run_dir)
    record_run(config, run_dir)
    if not table.empty:
        for name in lists:
            table = with_snapped(table, str(name))
        write_answers(table, run_dir / "answers.parquet")
    scores = [] if table.empty else score_table(table, intervals)
    printed = [*scores, *(Score(**row, protocol="published", n=None) for row in published)]
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
    if not table.empty and not (table["state"] == "answered").any():
        first = table["error"].iloc[0] or table["state"].iloc[0]
        raise UnwrittenError(f"{run_dir}: no reader answered anything; the first item says: {first}")
    return printed


def published_nodes(config: DictConfig) -> list[str]:
    """Names of the reader nodes that hold printed tables."""
    return [str(name) for name, node in config.reader.items() if node.get("kind") == "published"]


def read_all(config: DictConfig, run_dir: Path) -> tuple[pd.DataFrame, Problems]:
    """Let every reader read every item in every modality that both have.

    Raises:
        UsageError: an unknown modality, protocol or setting.
    """
    modality = config.modality
    if modality is not None and modality not in MODALITIES:
        raise UsageError(f"modality={modality}: known are {', '.join(MODALITIES)}")
    jobs = load_jobs(config)  # first: it is quick, and what is wrong with it shows before the benchmark is made
    clips = load_benchmark(config.benchmark, config.seed)
    for line in not_asked([job.reader for job in jobs], clips, modality):
        print(line, file=sys.stderr)
    if any(job.reader.dry_run for job in jobs):
        print_plans(jobs, clips, modality)
        raise SystemExit(0)
    asked: list[tuple[str, str, str]] = []
    answers: list[Answer] = []
    unknown: list[str] = []
    with AnswerLog(run_dir / "answers.jsonl") as log:
        if log.torn:
            print(f"{log.path}: the last answer was cut short and is read again", file=sys.stderr)
        for job in jobs:
            for given in MODALITIES if modality is None else (modality,):
                if given not in job.reader.modalities():
                    continue
                items = [clip for clip in clips if given in clip.modalities]
                if not job.reader.reads_shots:
                    items = [clip for clip in items if clip.shot is None]
                items = list(job.reader.asked(items, given))
                asked += [(job.reader.name, given, clip.id) for clip in items]
                answers += read_items(job, items, given, log)
            unknown += [f"{job.reader.name}/{item}" for item in job.reader.unknown_items(clips)]
    if not asked:
        raise UnwrittenError(
            f"{run_dir}: no reader takes a modality that an item has, or no truth that it is to be handed is known; "
            "choose another modality or reader, or give benchmark.truth=DIR"
        )
    name = str(config.benchmark.get("name") or config.benchmark.kind)
    protocols = {job.reader.name: job.protocol for job in jobs}
    table, problems = answers_table(answers, clips, name, protocols, asked)
    return table, Problems(**{**vars(problems), "unknown_items": (*problems.unknown_items, *unknown)})


def print_plans(jobs: Sequence[Job], clips: Sequence[Clip], modality: Modality | None) -> None:
    """Say what each reader that is run dry would ask and pay for; nothing is read."""
    for job in jobs:
        if not job.reader.dry_run:
            print(f"{job.reader.name}: left out of the dry run")
            continue
        for given in MODALITIES if modality is None else (modality,):
            if given in job.reader.modalities():
                items = [clip for clip in clips if given in clip.modalities]
                job.reader.begin(items, given)
                print(job.reader.plan(items, given))


def load_jobs(config: DictConfig) -> list[Job]:
    """The readers of the configuration.

    Raises:
        UsageError: an unknown protocol, or two readers of one name.
    """
    jobs: list[Job] = []
    for key, node in config.reader.items():
        for reader in load_reader(node, str(key)):
            protocol = str(node.get("protocol") or reader.protocol or config.protocol)
            if protocol not in PROTOCOLS:
                raise UsageError(f"protocol={protocol}: known are {', '.join(PROTOCOLS)}")
            if reader.name in {job.reader.name for job in jobs}:
                raise UsageError(f"reader.{key}.name={reader.name}: two readers have this name; rename one")
            depends = {
                "reader": OmegaConf.to_container(node, resolve=True),
                "benchmark": OmegaConf.to_container(config.benchmark, resolve=True),
                "seed": config.seed,
                "fingerprint": reader.fingerprint,
            }
            digest = hashlib.sha256(json.dumps(depends, sort_keys=True, default=str).encode()).hexdigest()[:16]
            jobs.append(Job(reader, protocol, digest))
    return jobs


def read_items(job: Job, clips: Sequence[Clip], modality: Modality, log: AnswerLog) -> list[Answer]:
    """Answers to these clips: those in the log, and the rest read now, each written to the log at once."""
    from tqdm import tqdm

    stored = log.stored(job.reader.name, modality, job.settings)
    answers = [stored[clip.id] for clip in clips if clip.id in stored]
    left = [clip for clip in clips if clip.id not in stored]
    job.reader.begin(clips, modality)
    progress = tqdm(
        total=len(clips), initial=len(answers), desc=f"{job.reader.name} {modality}", unit="clip", mininterval=1.0
    )
    with progress:
        for answer in _read_each(job.reader, left, modality):
            log.append(answer, job.settings)
            answers.append(answer)
            progress.update()
    return answers


def _read_each(reader: Reader, clips: Sequence[Clip], modality: Modality) -> Iterator[Answer]:
    """Read on after a reader broke: the first clip without an answer is what broke it, and counts as failed."""
    left = {clip.id: clip for clip in clips}
    while left:
        start_s = time.perf_counter()
        try:
            for answer in reader.read(list(left.values()), modality):
                left.pop(answer.item, None)
                yield answer
                start_s = time.perf_counter()
            return
        except Exception as error:
            # One clip must not cost the run; its error stays in the table, and it counts 0 in every mean.
            culprit = left.pop(next(iter(left)), None)
            if culprit is None:
                return
            yield failed_answer(culprit, reader.name, modality, error, time.perf_counter() - start_s)


def stored_tables(paths: Any) -> tuple[pd.DataFrame, Problems]:
    """Join the answers of earlier runs; a reader that several runs have is told apart by the run's folder.

    Raises:
        UnwrittenError: a file is no answers table.
    """
    listed = [paths] if isinstance(paths, str | Path) else list(paths)
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
