"""Scores of a training run: simulated clips of writers that nobody trained on."""

from __future__ import annotations

import json
from pathlib import Path

from omegaconf import DictConfig

from unwritten.scoring.scores import Score


def score(config: DictConfig, checkpoint: Path, run_dir: Path) -> list[Score]:
    """Score the checkpoint and blind guessing on simulated clips of unseen writers; print the table.

    Returns:
        One entry for each reader, modality and style, as in ``scores.json``.
    """
    from unwritten.evaluation import Job, read_items
    from unwritten.files import digest_file
    from unwritten.readers.base import Reader
    from unwritten.readers.blind import BlindReader, BlindSettings
    from unwritten.readers.ctc import MODES, CtcReader
    from unwritten.readers.log import AnswerLog
    from unwritten.scoring.intervals import IntervalSettings
    from unwritten.scoring.scores import score_table, write_scores
    from unwritten.scoring.table import answers_table, write_answers
    from unwritten.scoring.text import format_scores
    from unwritten.simulation.clips import simulated_writers_benchmark
    from unwritten.types import MODALITIES

    clips = simulated_writers_benchmark(int(config.score_items), int(config.seed), str(config.simulation.name))
    settings = json.dumps([digest_file(checkpoint), int(config.score_items), int(config.seed)])
    blind = [BlindSettings(f"blind-{strategy}", strategy) for strategy in ("constant", "letters", "random")]
    readers: list[Reader] = [*(CtcReader(checkpoint, mode) for mode in MODES), *map(BlindReader, blind)]
    answers, asked = [], []
    with AnswerLog(run_dir / "answers.jsonl") as log:
        for reader in readers:
            for modality in MODALITIES:
                items = [clip for clip in clips if modality in clip.modalities]
                asked += [(reader.name, modality, clip.id) for clip in items]
                answers += read_items(Job(reader, str(config.protocol), settings), items, modality, log)
    table, _ = answers_table(answers, clips, "simulated writers", str(config.protocol), asked)
    write_answers(table, run_dir / "answers.parquet")
    scores = score_table(table, IntervalSettings())
    write_scores(scores, run_dir / "scores.json")
    print(format_scores([entry for entry in scores if entry.style == "all"]))
    return scores
