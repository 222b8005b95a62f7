"""What a report is made from: the run directories of ``evaluate.py``, joined."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from unwritten.errors import UnwrittenError
from unwritten.readers.recorded import published_scores
from unwritten.scoring.scores import CONTRACT, Score, item_scores
from unwritten.scoring.table import COLUMNS, read_answers

PUBLISHED = "published"
"""The protocol of numbers that were printed elsewhere: nothing is known of them but the number."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Run:
    """One run directory.

    Attributes:
        path: the directory.
        table: its answers table; empty for a run of published numbers alone.
        scores: rows of ``scores.json``, or the fuller ones of ``analysis.json``.
        analysis: ``analysis.json``, empty when there is none.
        config: the composed configuration, empty when there is none.
        provenance: versions and command, empty when there is none.
    """

    path: Path
    table: pd.DataFrame
    scores: list[Row]
    analysis: Mapping[str, Any]
    config: Mapping[str, Any]
    provenance: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The directory's own name."""
        return self.path.resolve().name

    @property
    def readers(self) -> Mapping[str, Mapping[str, Any]]:
        """The configured reader nodes by the name that the reader has in tables."""
        nodes = self.config.get("reader")
        found: dict[str, Mapping[str, Any]] = {}
        for key, node in (nodes if isinstance(nodes, Mapping) else {}).items():
            if isinstance(node, Mapping):
                found[str(node.get("name") or key)] = node
        return found


def read_run(path: Path | str) -> Run:
    """Read one run directory.

    Raises:
        UnwrittenError: it holds no scores, or a file in it is damaged.
    """
    path = Path(path)
    if not path.is_dir():
        raise UnwrittenError(f"{path}: is no run directory; give one that evaluate.py wrote (its last line names it)")
    if not (path / "scores.json").is_file():
        raise UnwrittenError(f"{path}: holds no scores.json; run evaluate.py hydra.run.dir={path} to the end first")
    scores = _parsed(path / "scores.json")
    if not isinstance(scores, list) or not all(isinstance(row, dict) and set(CONTRACT) <= set(row) for row in scores):
        raise UnwrittenError(f"{path / 'scores.json'}: is not a list of scores; run evaluate.py again")
    analysis = _parsed(path / "analysis.json") if (path / "analysis.json").is_file() else {}
    if not isinstance(analysis, dict):
        raise UnwrittenError(f"{path / 'analysis.json'}: is not an analysis; run evaluate.py again")
    if analysis.get("scores"):
        printed = [row for row in scores if row["protocol"] == PUBLISHED]
        scores = [*analysis["scores"], *printed]
    has_answers = (path / "answers.parquet").is_file()
    table = read_answers(path) if has_answers else pd.DataFrame(columns=list(COLUMNS))
    provenance = _parsed(path / "provenance.json") if (path / "provenance.json").is_file() else {}
    config = _parsed(path / "config.yaml", "YAML") if (path / "config.yaml").is_file() else {}
    return Run(path, table, scores, analysis, config if isinstance(config, dict) else {}, provenance)


def _parsed(path: Path, kind: str = "JSON") -> Any:
    import yaml

    try:
        text = path.read_text(encoding="utf-8")
        return json.loads(text) if kind == "JSON" else yaml.safe_load(text)
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise UnwrittenError(f"{path}: cannot be read as {kind} ({' '.join(str(error).split())[:100]})") from error


@dataclass(frozen=True)
class Results:
    """All runs of a report, laid side by side.

    Attributes:
        runs: in the order given.
        scores: every own row, with ``run`` (its place) and the reader's name made unique by ``@RUN`` where two runs
            scored a reader of one name on the same thing.
        published: rows of protocol ``published``, each once; those of the paper when no run holds any.
        renamed: (run, reader) to the name used here.
    """

    runs: list[Run]
    scores: list[Row]
    published: list[Row]
    renamed: Mapping[tuple[int, str], str]

    def totals(self, benchmark: str | None = None) -> list[Row]:
        """Own rows over all styles."""
        rows = [row for row in self.scores if row["style"] == "all"]
        return rows if benchmark is None else [row for row in rows if row["benchmark"] == benchmark]

    @property
    def printed(self) -> list[Row]:
        """Published rows over all styles."""
        return [row for row in self.published if row["style"] == "all"]

    def analysed(self, what: str) -> list[tuple[int, dict[str, Any]]]:
        """Entries of one kind in the runs' analyses, each with the place of its run."""
        return [(place, entry) for place, run in enumerate(self.runs) for entry in run.analysis.get(what, [])]

    def groups(self) -> list[tuple[str, str]]:
        """Each (benchmark, protocol) that has a total, in order."""
        return list(dict.fromkeys((row["benchmark"], row["protocol"]) for row in self.totals()))

    @cached_property
    def scored(self) -> pd.DataFrame:
        """Scored answers of all runs, readers as they are called here; empty without answers."""
        tables = [
            run.table.assign(reader=[self.name_of(place, reader) for reader in run.table["reader"]])
            for place, run in enumerate(self.runs)
            if not run.table.empty
        ]
        return item_scores(pd.concat(tables, ignore_index=True)) if tables else pd.DataFrame()

    def floor(self, row: Row) -> float | None:
        """The best OLA of a reader without any input on the very items of a row; None where none was asked them."""
        table = self.scored
        if table.empty:
            return None
        name, _, source = row["benchmark"].rpartition("/")
        whole = table["benchmark"] == row["benchmark"]
        table = table[whole if whole.any() else (table["benchmark"] == name) & (table["source"] == source)]
        table = table[table["modality"] == row["modality"]]
        own = set(table.loc[table["reader"] == row["reader"], "item"])
        blind = table[table["reader"].str.startswith("blind-") & table["item"].isin(own)]
        means = [rows["ola"].mean() for _, rows in blind.groupby("reader") if set(rows["item"]) == own]
        return float(max(means)) if means else None

    def name_of(self, run: int, reader: str) -> str:
        """The reader's name in this report."""
        return self.renamed.get((run, reader), reader)

    def headline(self) -> Row | None:
        """The row to lead with: ``ctc`` where there is one, else the best that looks; with both streams if it can."""
        rows = [row for row in self.totals() if not row["reader"].startswith("blind-")]
        if not rows:
            return None
        main = [row for row in rows if row["reader"] == "ctc"] or rows
        widest = max(int(row["n"] or 0) for row in main)
        # Letters, synthetic and live words also have rows of their own, over fewer items.
        main = [row for row in main if int(row["n"] or 0) == widest]
        return max(main, key=lambda row: (row["modality"] == "av", row["ola"]))


def read_results(paths: Sequence[Path | str]) -> Results:
    """Read and join run directories.

    Raises:
        UnwrittenError: no run, one run twice, or a run that cannot be read.
    """
    if not paths:
        raise UnwrittenError("no run: name the directory of at least one run of evaluate.py")
    resolved = [Path(path).resolve() for path in paths]
    for path, own in zip(paths, resolved, strict=True):
        if resolved.count(own) > 1:
            raise UnwrittenError(f"{path}: is given twice; name each run once")
    runs = [read_run(path) for path in paths]
    first_run: dict[tuple[Any, ...], int] = {}
    clashing: set[str] = set()
    for place, run in enumerate(runs):
        for row in run.scores:
            key = tuple(row[name] for name in ("benchmark", "protocol", "reader", "modality", "style"))
            if first_run.setdefault(key, place) != place and row["protocol"] != PUBLISHED:
                clashing.add(row["reader"])
    names = _run_names(runs)
    renamed = {
        (place, reader): f"{reader}@{names[place]}"
        for place, run in enumerate(runs)
        for reader in {row["reader"] for row in run.scores} & clashing
    }
    scores, published = [], dict[tuple[str, ...], Row]()
    for place, run in enumerate(runs):
        for row in run.scores:
            if row["protocol"] == PUBLISHED:
                published.setdefault(tuple(row[name] for name in ("reader", "benchmark", "modality", "style")), row)
            else:
                scores.append({**row, "run": place, "reader": renamed.get((place, row["reader"]), row["reader"])})
    printed = list(published.values()) or [
        asdict(Score(**vars(row), protocol=PUBLISHED, n=None)) for row in published_scores()
    ]
    return Results(runs, scores, printed, renamed)


def _run_names(runs: Sequence[Run]) -> list[str]:
    own = [run.name for run in runs]
    return [name if own.count(name) == 1 else f"{name}-{place}" for place, name in enumerate(own, start=1)]
