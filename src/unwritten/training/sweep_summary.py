"""What a sweep found, as a table and a parallel-coordinates figure."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hydra.core.utils import JobReturn
from hydra.experimental.callback import Callback
from hydra.types import RunMode
from omegaconf import DictConfig

from unwritten.files import plain_cell, whole_file


@dataclass(frozen=True)
class TrialSummary:
    """One run of a sweep.

    Attributes:
        name: its folder.
        state: ``complete``, ``pruned`` or ``failed``.
        loss: validation loss, None when it never had one.
        values: of its overrides, by name.
        epochs: how long it ran, None if unknown.
        error: why it failed.
    """

    name: str
    state: str
    loss: float | None
    values: Mapping[str, Any] = field(default_factory=dict)
    epochs: int | None = None
    error: str = ""


def write_summary(trials: Sequence[TrialSummary], folder: Path) -> None:
    """Write ``trials.csv`` (best first) and ``trials.png``.

    Raises:
        UnwrittenError: the folder cannot be written.
    """
    names = sorted({name for trial in trials for name in trial.values})
    with whole_file(folder / "trials.csv") as temporary, temporary.open("w", newline="", encoding="utf-8") as stream:
        table = csv.writer(stream)
        table.writerow(["run", "state", "val_loss", "epochs", *names, "error"])
        for trial in best_first(trials):
            values = [trial.values.get(name, "") for name in names]
            row = [trial.name, trial.state, trial.loss, trial.epochs, *values, trial.error]
            table.writerow([plain_cell(cell) for cell in row])
    if trials:
        from unwritten.training.figures import parallel_coordinates

        columns = {name: [trial.values.get(name) for trial in trials] for name in names}
        figure = parallel_coordinates(columns, [trial.loss for trial in trials], [trial.state for trial in trials])
        with whole_file(folder / "trials.png") as temporary:
            figure.savefig(temporary, dpi=110)


def best_first(trials: Sequence[TrialSummary]) -> list[TrialSummary]:
    """Complete trials by their loss, then pruned, then failed ones."""
    order = {"complete": 0, "pruned": 1, "failed": 2}
    return sorted(trials, key=lambda trial: (order[trial.state], trial.loss is None, trial.loss or 0.0, trial.name))


def format_summary(trials: Sequence[TrialSummary]) -> str:
    """The table as text, best first."""
    names = sorted({name for trial in trials for name in trial.values})
    rows = [["run", "state", "val/loss", *names]]
    for trial in best_first(trials):
        loss = "-" if trial.loss is None else f"{trial.loss:.4f}"
        rows.append([trial.name, trial.state, loss, *(_short(trial.values.get(name)) for name in names)])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def read_runs(folder: Path) -> list[TrialSummary]:
    """The runs of a grid, from the folders that Hydra made for its jobs."""
    from omegaconf import OmegaConf

    found = []
    for path in sorted(folder.glob("*/.hydra/overrides.yaml"), key=lambda path: (len(path.parts[-3]), path)):
        run_dir = path.parents[1]
        pairs = (str(override).lstrip("+").partition("=") for override in OmegaConf.load(path))
        values = {name: _value(text) for name, _, text in pairs if name}
        result = run_dir / "result.json"
        facts = json.loads(result.read_text(encoding="utf-8")) if result.is_file() else {}
        state = "complete" if facts else "failed"
        found.append(TrialSummary(run_dir.name, state, facts.get("val_loss"), values, facts.get("epochs")))
    constant = {
        name
        for name in {name for trial in found for name in trial.values}
        if len(found) > 1 and len({str(trial.values.get(name)) for trial in found}) == 1
    }
    return [
        TrialSummary(
            trial.name,
            trial.state,
            trial.loss,
            {name: value for name, value in trial.values.items() if name not in constant},
            trial.epochs,
        )
        for trial in found
    ]


def _value(text: str) -> Any:
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


class SweepSummary(Callback):
    """Writes the summary of a multirun of ``train.py`` after every run, and prints it at the end."""

    def on_job_end(self, config: DictConfig, job_return: JobReturn, **kwargs: Any) -> None:
        """Called by Hydra after a run, also a failed one; nothing else is called when a grid ends with a failure."""
        if config.hydra.mode == RunMode.MULTIRUN:
            self._summarise(config)

    def on_multirun_end(self, config: DictConfig, **kwargs: Any) -> None:
        """Called by Hydra after the last run of a grid without failures."""
        trials = self._summarise(config)
        if trials:
            print(f"\n{format_summary(trials)}\n\n{config.hydra.sweep.dir}: trials.csv, trials.png")

    @staticmethod
    def _summarise(config: DictConfig) -> list[TrialSummary]:
        folder = Path(config.hydra.sweep.dir)
        if (folder / "study.log").is_file():  # a study keeps its own summary
            return []
        trials = read_runs(folder)
        if trials:
            write_summary(trials, folder)
        return trials
