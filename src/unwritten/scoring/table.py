"""The answers table: one row per item, reader and modality, with all that scoring needs and nothing of the models.

On disk it is ``answers.parquet``. Years later it is scored again without the readers that filled it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from unwritten.errors import UnwrittenError
from unwritten.files import whole_file
from unwritten.scoring.metrics import is_text, normalise
from unwritten.types import MODALITIES, STATES, Answer, Clip

SCHEMA = pa.schema(
    [
        ("item", pa.string()),
        ("reader", pa.string()),
        ("modality", pa.string()),
        ("style", pa.string()),
        ("protocol", pa.string()),
        ("truth", pa.string()),
        ("raw", pa.string()),
        ("word", pa.string()),
        ("candidates", pa.list_(pa.struct([("word", pa.string()), ("probability", pa.float64())]))),
        ("state", pa.string()),
        ("seconds", pa.float64()),
        ("tokens_in", pa.int64()),
        ("tokens_out", pa.int64()),
        ("cost", pa.float64()),
        ("error", pa.string()),
        # What intervals and later questions need beside the answer itself.
        ("benchmark", pa.string()),
        ("source", pa.string()),
        ("writer", pa.string()),
        ("letter_clips", pa.list_(pa.string())),
        ("served_model", pa.string()),
        ("details", pa.string()),
    ]
)
COLUMNS = tuple(SCHEMA.names)
KEY = ("benchmark", "protocol", "reader", "modality", "item")


@dataclass(frozen=True)
class Problems:
    """What was wrong with a set of answers, each named ``reader/modality/item``.

    Attributes:
        unknown_items: answers for items that the benchmark does not hold; left out.
        duplicates: answers given more than once; the last one counts.
        missing_truth: items whose word is unknown; kept, but in no mean.
        missing_answers: items that a reader was asked and left without an answer; they count as failed.
        empty_answers: answered with nothing; they count 0.
        non_letter_answers: with characters other than letters; those match nothing.
        unknown_states: with a state that nobody defined; they count as failed.
    """

    unknown_items: tuple[str, ...] = ()
    duplicates: tuple[str, ...] = ()
    missing_truth: tuple[str, ...] = ()
    missing_answers: tuple[str, ...] = ()
    empty_answers: tuple[str, ...] = ()
    non_letter_answers: tuple[str, ...] = ()
    unknown_states: tuple[str, ...] = ()

    def counts(self) -> dict[str, int]:
        """How many of each kind."""
        return {field.name: len(getattr(self, field.name)) for field in fields(self)}

    def lines(self) -> list[str]:
        """One line per kind that occurred, with its count and the first few names."""
        lines = []
        for field in fields(self):
            names = getattr(self, field.name)
            if names:
                shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
                lines.append(f"{field.name.replace('_', ' ')}: {len(names)} ({shown})")
        return lines


def answers_table(
    answers: Iterable[Answer],
    clips: Sequence[Clip],
    benchmark: str,
    protocol: str | Mapping[str, str],
    asked: Iterable[tuple[str, str, str]] = (),
) -> tuple[pd.DataFrame, Problems]:
    """Lay answers out as a table, beside the truth of their items.

    Args:
        answers: in any order.
        clips: the items of the benchmark.
        benchmark: its name, the same for every row.
        protocol: the name of the protocol, or one for each reader.
        asked: (reader, modality, item) that must have a row; those without an answer become rows with state ``failed``.

    Returns:
        The table, sorted as asked and answered, and what was wrong.
    """
    known = {clip.id: clip for clip in clips}
    rows: dict[tuple[str, str, str], dict[str, Any]] = {}
    unknown, duplicates = [], []
    for answer in answers:
        key = (answer.reader, answer.modality, answer.item)
        if answer.item not in known:
            unknown.append("/".join(key))
            continue
        if key in rows:
            duplicates.append("/".join(key))
        rows[key] = _row(answer, known[answer.item], benchmark, protocol)
    missing = []
    for reader, modality, item in asked:
        if (reader, modality, item) not in rows:
            missing.append(f"{reader}/{modality}/{item}")
            nothing = Answer(item, reader, modality, state="failed", error="no answer was given")  # type: ignore[arg-type]
            rows[reader, modality, item] = _row(nothing, known[item], benchmark, protocol)
    table, problems = clean(pd.DataFrame(list(rows.values()), columns=list(COLUMNS)))
    return table, replace(
        problems, unknown_items=tuple(unknown), duplicates=tuple(duplicates), missing_answers=tuple(missing)
    )


def _row(answer: Answer, clip: Clip, benchmark: str, protocol: str | Mapping[str, str]) -> dict[str, Any]:
    return {
        **vars(answer),
        "style": clip.style or "unknown",
        "protocol": protocol if isinstance(protocol, str) else protocol[answer.reader],
        "truth": clip.word or "",
        "candidates": tuple(answer.candidates),
        # Shots of words are the words' recordings again: they are in no mean with them.
        "benchmark": benchmark if clip.shot is None else f"{benchmark}/{clip.source}",
        "source": clip.source,
        "writer": clip.writer,
        "letter_clips": tuple(clip.letter_clips),
        "details": json.dumps({**answer.details, **_known_of(clip)}, default=str),
    }


def _known_of(clip: Clip) -> dict[str, Any]:
    """What scoring needs of the truth beside the word."""
    if clip.truth is None or clip.truth.letter_spans_s is None:
        return {}
    return {"true_letter_spans_s": clip.truth.letter_spans_s.tolist()}


def clean(table: pd.DataFrame) -> tuple[pd.DataFrame, Problems]:
    """Name what is wrong in a table and make it fit for scoring; the last of duplicates stays."""
    table = table.copy()
    labels = (table["reader"] + "/" + table["modality"] + "/" + table["item"]).astype(object)
    repeated = table.duplicated(list(KEY), keep="last")
    duplicates = tuple(labels[repeated])
    table, labels = table[~repeated].reset_index(drop=True), labels[~repeated].reset_index(drop=True)
    truths = [(truth or "").strip() for truth in table["truth"]]
    # Texts keep their case, which their error rates count.
    table["word"] = [
        (word or "").strip() if truth and is_text(truth) else normalise(word or "")
        for word, truth in zip(table["word"], truths, strict=True)
    ]
    table["truth"] = [truth if truth and is_text(truth) else normalise(truth) for truth in truths]
    unknown_state = ~table["state"].isin(STATES)
    no_word = (table["word"] == "") & (table["state"] == "answered")
    letters_only = table["word"].map(lambda word: all(letter.isalpha() for letter in word)).astype(bool)
    problems = Problems(
        duplicates=duplicates,
        missing_truth=tuple(dict.fromkeys(table["item"][table["truth"] == ""])),
        empty_answers=tuple(labels[no_word | (table["state"] == "empty")]),
        non_letter_answers=tuple(labels[~letters_only & (table["state"] == "answered")]),
        unknown_states=tuple(labels[unknown_state]),
    )
    table.loc[no_word, "state"] = "empty"
    table.loc[unknown_state, "state"] = "failed"
    return table, problems


def to_answers(table: pd.DataFrame) -> list[Answer]:
    """The answers in a table, in its order."""
    answers = []
    for row in table[[field.name for field in fields(Answer)]].to_dict("records"):
        row |= {name: _integer(row[name]) for name in ("tokens_in", "tokens_out")}
        row["cost"] = None if pd.isna(row["cost"]) else float(row["cost"])
        row["details"] = json.loads(row["details"] or "{}")
        answers.append(Answer(**row))
    return answers


def _integer(value: Any) -> int | None:
    return None if pd.isna(value) else int(value)


def write_answers(table: pd.DataFrame, path: Path | str) -> None:
    """Write the table as Parquet, whole or not at all."""
    columns = {name: list(table[name]) for name in COLUMNS}
    columns["candidates"] = [
        [{"word": word, "probability": probability} for word, probability in row] for row in columns["candidates"]
    ]
    columns["tokens_in"] = [_integer(value) for value in columns["tokens_in"]]
    columns["tokens_out"] = [_integer(value) for value in columns["tokens_out"]]
    columns["cost"] = [None if pd.isna(value) else value for value in columns["cost"]]
    columns["letter_clips"] = [list(row) for row in columns["letter_clips"]]
    with whole_file(path) as temporary:
        pq.write_table(pa.table(columns, schema=SCHEMA), temporary)


def read_answers(path: Path | str) -> pd.DataFrame:
    """Read an answers table; columns that an older table lacks are filled with nothing.

    Args:
        path: an ``answers.parquet``, or the run directory that holds one.

    Raises:
        UnwrittenError: the file is missing, is no Parquet, or lacks a column that scoring needs.
    """
    path = Path(path)
    if path.is_dir():
        path = path / "answers.parquet"
    try:
        stored = pq.read_table(path)
    except FileNotFoundError as error:
        raise UnwrittenError(
            f"{path}: no such file; give an answers.parquet or the run directory that holds it"
        ) from error
    except (OSError, pa.ArrowException) as error:
        raise UnwrittenError(f"{path}: is not an answers table ({' '.join(str(error).split())[:120]})") from error
    needed = ("item", "reader", "modality", "truth", "word", "state")
    lacking = [name for name in needed if name not in stored.column_names]
    if lacking:
        raise UnwrittenError(
            f"{path}: lacks the column {lacking[0]!r}; an answers table has {', '.join(needed)} and more"
        )
    columns: dict[str, list[Any]] = {}
    for field in SCHEMA:
        present = field.name in stored.column_names
        columns[field.name] = stored.column(field.name).to_pylist() if present else [None] * len(stored)
    for name, default in (("style", "unknown"), ("protocol", "unknown"), ("benchmark", "unknown"), ("details", "{}")):
        columns[name] = [default if value is None else value for value in columns[name]]
    for name in ("raw", "word", "truth", "error", "source", "writer", "served_model"):
        columns[name] = [value or "" for value in columns[name]]
    columns["seconds"] = [value or 0.0 for value in columns["seconds"]]
    columns["letter_clips"] = [tuple(value or ()) for value in columns["letter_clips"]]
    columns["candidates"] = [_candidates(value) for value in columns["candidates"]]
    unknown = sorted(set(columns["modality"]) - set(MODALITIES))
    if unknown:
        raise UnwrittenError(f"{path}: unknown modality {unknown[0]!r}; known are {', '.join(MODALITIES)}")
    return pd.DataFrame(columns, columns=list(COLUMNS))


def _candidates(value: Any) -> tuple[tuple[str, float], ...]:
    return tuple((entry["word"], entry["probability"]) for entry in value or ())
