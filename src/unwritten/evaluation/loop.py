"""The one loop: every reader answers every item in every modality that both have; each answer is kept as it comes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pandas as pd

from unwritten.evaluation.jobs import Job
from unwritten.evaluation.log import AnswerLog
from unwritten.readers.base import Reader, failed_answer
from unwritten.scoring.table import Problems, answers_table
from unwritten.types import MODALITIES, Answer, Clip, Modality


def read_all(
    jobs: Sequence[Job], clips: Sequence[Clip], log: AnswerLog, benchmark: str, modality: Modality | None = None
) -> tuple[pd.DataFrame, Problems]:
    """Let every reader read every item in every modality that both have.

    Args:
        jobs: the readers.
        clips: the items.
        log: open; what it holds under the same settings is not read again.
        benchmark: name of the items' benchmark in the table.
        modality: the only one that is read; None for all.

    Returns:
        The answers table, without a row when no reader takes an item, and what was amiss with the answers.
    """
    asked: list[tuple[str, str, str]] = []
    answers: list[Answer] = []
    unknown: list[str] = []
    for job in jobs:
        for given in MODALITIES if modality is None else (modality,):
            if given in job.reader.modalities():
                items = asked_items(job.reader, clips, given)
                asked += [(job.reader.name, given, clip.id) for clip in items]
                answers += read_items(job, items, given, log)
        unknown += [f"{job.reader.name}/{item}" for item in job.reader.unknown_items(clips)]
    if not asked:
        return pd.DataFrame(), Problems()
    protocols = {job.reader.name: job.protocol for job in jobs}
    table, problems = answers_table(answers, clips, benchmark, protocols, asked)
    return table, replace(problems, unknown_items=(*problems.unknown_items, *unknown))


def asked_items(reader: Reader, clips: Sequence[Clip], modality: Modality) -> list[Clip]:
    """The items that a reader is asked in one modality."""
    items = [clip for clip in clips if modality in clip.modalities and (clip.shot is None or reader.reads_shots)]
    return list(reader.asked(items, modality))


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
