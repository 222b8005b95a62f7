"""All that is said about a run beside its score table: ``analysis.json``, which reports are made from."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from unwritten.files import whole_file
from unwritten.scoring.breakdown import Part, confusion_matrix, most_confused, ola_by
from unwritten.scoring.calibration import Calibration, calibration_table
from unwritten.scoring.compare import MARGIN, Comparison, FusionEffect, compare_pairs, fusion_effects, holm
from unwritten.scoring.intervals import IntervalSettings
from unwritten.scoring.items import MOST_ITEMS, ItemRow, item_rows
from unwritten.scoring.ladder import Ladder, ladders
from unwritten.scoring.oracle import OracleTable, is_oracle, oracle_tables
from unwritten.scoring.scores import Score, item_scores, score_table
from unwritten.scoring.segments import LetterTimes, letter_times
from unwritten.scoring.table import Problems
from unwritten.types import MODALITIES

ALPHABET = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class Analysis:
    """What :func:`analyse` finds.

    Attributes:
        scores: every row with all its metrics.
        fusion: audio+video against the better single modality.
        comparisons: readers in pairs, by modality (in ``modalities``), Holm-corrected all together.
        parts: OLA by position, length, letter, and by whether a public clip shows the letter.
        calibration: by reader and modality.
        confusions: the most frequent ones, by reader and modality.
        problems: counts of what was wrong with the answers.
        oracle: what the truth of each step is worth, for readers that had truths handed in.
        ladders: at which rung multimodal models recover that were asked at several.
        letter_times: temporal mAP, where letter times are known.
        items: every answer with the rank of the truth, for benchmarks of few items.
    """

    scores: list[Score]
    fusion: list[FusionEffect]
    comparisons: list[Comparison]
    modalities: list[str]
    parts: list[Part]
    calibration: dict[tuple[str, str], Calibration]
    confusions: dict[tuple[str, str], list[tuple[str, str, int]]] = field(default_factory=dict)
    problems: dict[str, int] = field(default_factory=dict)
    oracle: list[OracleTable] = field(default_factory=list)
    ladders: list[Ladder] = field(default_factory=list)
    letter_times: list[LetterTimes] = field(default_factory=list)
    items: list[ItemRow] = field(default_factory=list)


def analyse(
    table: pd.DataFrame,
    problems: Problems | None = None,
    settings: IntervalSettings | None = None,
    margin: float = MARGIN,
    scores: list[Score] | None = None,
) -> Analysis:
    """Everything about a cleaned answers table.

    Args:
        table: from :func:`unwritten.scoring.table.clean`.
        problems: what cleaning found.
        settings: of the intervals.
        margin: of fusion's non-inferiority.
        scores: when they were made already.
    """
    settings = settings or IntervalSettings()
    # A reader that was handed a truth competes with nobody: it has a table of its own.
    competing = table[~is_oracle(table)]
    scored = item_scores(competing)
    comparisons: list[Comparison] = []
    modalities: list[str] = []
    parts: list[Part] = []
    confusions: dict[tuple[str, str], list[tuple[str, str, int]]] = {}
    for _, rows in scored.groupby(["benchmark", "protocol"], sort=False):
        for modality in MODALITIES:
            own = rows[rows["modality"] == modality]
            found = compare_pairs(own, reader_pairs(own), settings) if len(own) else []
            comparisons += found
            modalities += [modality] * len(found)
        for by in ("position", "length", "letter", "public"):
            parts += ola_by(rows, by, replace(settings, replicates=min(500, settings.replicates)))
        for (reader, modality), own in rows.groupby(["reader", "modality"], sort=False):
            counts = confusion_matrix(list(own["truth"]), list(own["counted"]), ALPHABET)
            confusions[str(reader), str(modality)] = most_confused(counts, ALPHABET)
    corrected = holm([comparison.p_value for comparison in comparisons])
    return Analysis(
        scores=score_table(table, settings) if scores is None else scores,
        fusion=fusion_effects(competing, settings, margin),
        comparisons=[replace(c, p_holm=p) for c, p in zip(comparisons, corrected, strict=True)],
        modalities=modalities,
        parts=parts,
        calibration=calibration_table(competing),
        confusions=confusions,
        problems=(problems or Problems()).counts(),
        oracle=oracle_tables(table, settings),
        ladders=ladders(table, settings),
        letter_times=letter_times(competing),
        items=item_rows(table) if table["item"].nunique() <= MOST_ITEMS else [],
    )


def reader_pairs(scored: pd.DataFrame) -> list[tuple[str, str]]:
    """Which readers to compare: each that looks with the best that does not, and those that look with each other.

    Pairs without a common item are left out.
    """
    means = scored.groupby("reader", sort=False)["ola"].mean()
    blind = [str(reader) for reader in means.index if str(reader).startswith("blind-")]
    looking = [str(reader) for reader in means.index if str(reader) not in blind]
    pairs = []
    if blind:
        floor = max(blind, key=lambda reader: float(means[reader]))
        pairs += [(reader, floor) for reader in looking]
    pairs += [(first, second) for place, first in enumerate(looking) for second in looking[place + 1 :]]
    items = {str(reader): set(rows["item"]) for reader, rows in scored.groupby("reader")}
    return [(first, second) for first, second in pairs if items[first] & items[second]]


def write_analysis(analysis: Analysis, path: Path | str) -> None:
    """Write ``analysis.json``, whole or not at all; keys of two parts become ``reader/modality``."""
    content = asdict(analysis)
    modalities = content.pop("modalities")
    content["comparisons"] = [
        {"modality": modality, **own} for modality, own in zip(modalities, content["comparisons"], strict=True)
    ]
    for name in ("calibration", "confusions"):
        content[name] = {"/".join(key): value for key, value in content[name].items()}
    with whole_file(path) as temporary:
        temporary.write_text(json.dumps(_finite(content), indent=1) + "\n", encoding="utf-8")


def _finite(value: Any) -> Any:
    """JSON has no NaN: what is unknown is null."""
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
