"""Scores of a training run: simulated clips of writers that nobody trained on, or what its protocol tests on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from unwritten.scoring.scores import Score
from unwritten.types import Clip


def score(config: DictConfig, checkpoint: Path, run_dir: Path) -> list[Score]:
    """Score the checkpoint and blind guessing on the clips of ``scored_clips``; print the table.

    Returns:
        One entry for each reader, modality and style, as in ``scores.json``.
    """
    from unwritten.evaluation.jobs import Job
    from unwritten.evaluation.log import AnswerLog
    from unwritten.evaluation.loop import read_all
    from unwritten.files import digest_file
    from unwritten.readers.base import Reader
    from unwritten.readers.blind import BlindReader, BlindSettings
    from unwritten.readers.ctc import MODES, CtcReader
    from unwritten.scoring.intervals import IntervalSettings
    from unwritten.scoring.scores import score_table, write_scores
    from unwritten.scoring.table import write_answers
    from unwritten.scoring.text import format_scores
    from unwritten.store import Store

    benchmark, clips = scored_clips(config)
    store = Store(config.store)
    settings = json.dumps([digest_file(checkpoint), int(config.score_items), int(config.seed)])
    blind = [BlindSettings(f"blind-{strategy}", strategy) for strategy in ("constant", "letters", "random")]
    readers: list[Reader] = [*(CtcReader(checkpoint, mode, store=store) for mode in MODES), *map(BlindReader, blind)]
    with AnswerLog(run_dir / "answers.jsonl") as log:
        table, _ = read_all([Job(reader, str(config.protocol), settings) for reader in readers], clips, log, benchmark)
    write_answers(table, run_dir / "answers.parquet")
    scores = score_table(table, IntervalSettings())
    write_scores(scores, run_dir / "scores.json")
    print(format_scores([entry for entry in scores if entry.style == "all"]))
    return scores


def scored_clips(config: DictConfig) -> tuple[str, list[Clip]]:
    """Name and clips of what a run is scored on: simulated unseen writers, or the test part of its real clips."""
    if config.data.get("kind") == "clips":
        from omegaconf import OmegaConf

        from unwritten.training.clips import tested_clips

        node: Any = OmegaConf.to_container(config, resolve=True)
        return "clips", tested_clips(node, int(config.score_items))
    from unwritten.simulation.clips import simulated_writers_benchmark

    clips = simulated_writers_benchmark(int(config.score_items), int(config.seed), str(config.simulation.name))
    return "simulated writers", clips
