"""Sweeps: a study that prunes, survives failures and kill -9, and grids with a summary."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import optuna
import pytest
from hydra import compose, initialize_config_dir

from unwritten.errors import UnwrittenError, UsageError
from unwritten.files import project_root
from unwritten.training.sweep import SearchSettings, open_study, run_study
from unwritten.training.sweep_summary import TrialSummary, format_summary, read_runs, write_summary

ROOT = project_root()
SPACE = {"optimiser.learning_rate": {"low": 1e-4, "high": 1e-1, "log": True}, "model": {"choices": ["tiny", "base"]}}
SETTINGS = SearchSettings(trials=12, startup_trials=4, warmup_epochs=1, space=SPACE)


def rate_of(overrides):
    return float(dict(text.split("=") for text in overrides)["optimiser.learning_rate"])


def loss_of(overrides):
    return (np.log10(rate_of(overrides)) + 2.5) ** 2


class Trainer:
    def __init__(self, epoch, loss):
        self.current_epoch, self.callback_metrics = epoch, {"val/loss": loss}


def trained(overrides, run_dir, prune, epochs=4):
    """A run whose loss falls to what its learning rate allows."""
    for epoch in range(epochs):
        prune.on_validation_end(Trainer(epoch, loss_of(overrides) + 1 / (epoch + 1)), None)
    return loss_of(overrides)


def test_a_study_finds_a_good_value_and_prunes_bad_trials(tmp_path):
    found = run_study(SearchSettings(trials=25, startup_trials=6, warmup_epochs=1, space=SPACE), trained, tmp_path, 0)
    assert len(found) == 25
    states = [trial.state for trial in found]
    assert states.count("pruned") >= 3
    best = min(trial.loss for trial in found if trial.state == "complete")
    assert best < 0.05
    pruned = [trial.loss for trial in found if trial.state == "pruned"]
    assert min(pruned) > best


def test_a_study_writes_its_table_best_first_and_a_figure(tmp_path):
    found = run_study(SETTINGS, trained, tmp_path, 0)
    with (tmp_path / "trials.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 12
    assert float(rows[0]["val_loss"]) == min(trial.loss for trial in found if trial.state == "complete")
    assert (tmp_path / "trials.png").read_bytes().startswith(b"\x89PNG")
    assert format_summary(found).splitlines()[0].split() == ["run", "state", "val/loss", *sorted(SPACE)]


def test_a_failed_trial_does_not_end_the_study(tmp_path):
    def sometimes(overrides, run_dir, prune):
        if rate_of(overrides) > 0.01:
            raise RuntimeError("out of memory\non device 0")
        return float("nan") if rate_of(overrides) < 1e-3 else 1.0

    found = run_study(SETTINGS, sometimes, tmp_path, 1)
    assert len(found) == 12
    errors = [trial.error for trial in found if trial.state == "failed"]
    assert any("out of memory on device 0" in error for error in errors)
    assert any("val/loss is nan" in error for error in errors)
    assert any(trial.state == "complete" for trial in found)


def test_a_study_of_failures_says_why_in_one_line(tmp_path):
    def never(overrides, run_dir, prune):
        raise UnwrittenError("corpus.npz: is not there")

    with pytest.raises(UnwrittenError, match=r"no trial of 2 was completed; the first failed with: .*corpus\.npz"):
        run_study(SearchSettings(trials=2, space=SPACE), never, tmp_path, 0)


def test_bad_usage_ends_a_study_at_once(tmp_path):
    def refused(overrides, run_dir, prune):
        raise UsageError("model.chanels: no such setting")

    with pytest.raises(UsageError, match="chanels"):
        run_study(SETTINGS, refused, tmp_path, 0)


@pytest.mark.parametrize("space", [{}, {"x": {"low": 1}}, {"x": {"choices": [1], "low": 2}}])
def test_a_space_without_values_is_refused(space):
    with pytest.raises(ValueError, match="space"):
        SearchSettings(space=space)


def test_a_resumed_study_proposes_new_values_and_stops_at_its_number(tmp_path):
    run_study(SearchSettings(trials=5, startup_trials=20, space=SPACE), trained, tmp_path, 0)
    found = run_study(SearchSettings(trials=9, startup_trials=20, space=SPACE), trained, tmp_path, 0)
    rates = [trial.values["optimiser.learning_rate"] for trial in found]
    assert len(rates) == 9
    assert len(set(rates)) == 9
    assert len(run_study(SearchSettings(trials=9, space=SPACE), trained, tmp_path, 0)) == 9


def test_a_file_that_is_no_study_is_one_line(tmp_path):
    (tmp_path / "study.log").write_text("not a journal\n" * 3)
    with pytest.raises(UnwrittenError, match=r"study\.log: cannot be used as a study") as caught:
        open_study(SETTINGS, tmp_path, 0)
    assert "\n" not in str(caught.value)


def test_a_study_killed_with_9_goes_on_with_the_trial_that_was_in_flight(tmp_path):
    script = textwrap.dedent(
        f"""
        import pathlib, sys, time
        from unwritten.training.sweep import SearchSettings, run_study
        def run(overrides, run_dir, prune):
            run_dir.mkdir(parents=True, exist_ok=True)
            with (run_dir / "seen").open("a") as stream:
                stream.write(" ".join(overrides) + "\\n")
            if len(list(run_dir.parent.glob("trial-*"))) == 3:
                time.sleep(60)
            return 1.0
        run_study(SearchSettings(trials=5, space={SPACE!r}), run, pathlib.Path(sys.argv[1]), 0)
        """
    )
    process = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not (tmp_path / "trial-0002" / "seen").is_file() and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    given = (tmp_path / "trial-0002" / "seen").read_text()
    again = []

    def run(overrides, run_dir, prune):
        again.append((run_dir.name, " ".join(overrides) + "\n"))
        return 1.0

    found = run_study(SearchSettings(trials=5, space=SPACE), run, tmp_path, 0)
    assert again[0] == ("trial-0002", given)
    assert len(again) == 3
    assert [trial.state for trial in found] == ["complete"] * 5


def test_an_interrupted_trial_is_queued_again(tmp_path):
    def stopped(overrides, run_dir, prune):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_study(SETTINGS, stopped, tmp_path, 0)
    waiting = open_study(SETTINGS, tmp_path, 0).get_trials(states=(optuna.trial.TrialState.WAITING,))
    assert [trial.user_attrs["folder"] for trial in waiting] == ["trial-0000"]


def test_a_grid_of_failures_numbers_and_names_is_drawn(tmp_path):
    trials = [
        TrialSummary("0", "complete", 1.5, {"lr": 1e-3, "model": "tiny"}),
        TrialSummary("1", "complete", 1.0, {"lr": 1e-1, "model": "base"}),
        TrialSummary("2", "failed", None, {"lr": 1e-2, "model": "base"}, error="out of memory"),
        TrialSummary("3", "pruned", 3.0, {"lr": 1e-2}),
    ]
    write_summary(trials, tmp_path)
    lines = (tmp_path / "trials.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines] == ["run", "1", "0", "3", "2"]
    write_summary(trials[2:3], tmp_path)  # nothing but a failure is drawn all the same


@pytest.mark.parametrize("name", ["grid", "slurm", "ray"])
def test_the_recipes_for_grids_compose(name):
    plugin = {"grid": "hydra_joblib_launcher", "slurm": "hydra_submitit_launcher", "ray": "hydra_ray_launcher"}[name]
    pytest.importorskip(f"hydra_plugins.{plugin}")
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        config = compose("train", [f"hparams_search={name}"], return_hydra_config=True)
    launcher = {"grid": "Joblib", "slurm": "SlurmLauncher", "ray": "RayLauncher"}[name]
    assert launcher in config.hydra.launcher._target_
    assert set(config.hydra.sweeper.params) == {"model", "optimiser.learning_rate"}


def test_the_study_recipe_composes_and_its_space_is_one_of_known_overrides():
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        config = compose("train", ["hparams_search=optuna", "hparams_search.trials=3"])
        settings = SearchSettings(**config.hparams_search)
        assert settings.trials == 3
        for name, node in settings.space.items():
            value = node["choices"][0] if "choices" in node else node["low"]
            compose("train", [f"{name}={value}"])


def run_script(*options):
    command = [sys.executable, "train.py", "-m", "debug=fast", "trainer=cpu", "score_items=0", *options]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, env=environment)


def test_a_multirun_of_two_with_joblib_ends_with_a_summary_though_one_of_them_fails(tmp_path):
    store = f"store={tmp_path / 'store'}"
    sweep = f"hydra.sweep.dir={tmp_path / 'sweep'}"
    done = run_script("hydra/launcher=joblib", "hydra.launcher.n_jobs=1", "model.fusion=early,sideways", store, sweep)
    assert done.returncode == 2, done.stderr[-2000:]
    assert "fusion must be early or late" in done.stderr.splitlines()[-1]
    found = read_runs(tmp_path / "sweep")
    assert [(trial.state, trial.values) for trial in found] == [
        ("complete", {"model.fusion": "early"}),
        ("failed", {"model.fusion": "sideways"}),
    ]
    assert [line.split(",")[1] for line in (tmp_path / "sweep" / "trials.csv").read_text().splitlines()] == [
        "state",
        "complete",
        "failed",
    ]
    assert (tmp_path / "sweep" / "trials.png").is_file()


@pytest.mark.slow
def test_a_study_of_two_real_runs_is_resumed_by_the_same_command(tmp_path):
    options = ["hparams_search=optuna", f"store={tmp_path / 'store'}", f"hydra.sweep.dir={tmp_path / 'study'}"]
    done = run_script(*options, "hparams_search.trials=2")
    assert done.returncode == 0, done.stderr[-2000:]
    done = run_script(*options, "hparams_search.trials=3")
    assert done.returncode == 0, done.stderr[-2000:]
    assert "trial 2:" in done.stdout
    assert "trial 1:" not in done.stdout
    with (tmp_path / "study" / "trials.csv").open(newline="") as stream:
        assert len(list(csv.DictReader(stream))) == 3
    assert (tmp_path / "study" / "trial-0001" / "checkpoints" / "best.ckpt").is_file()
