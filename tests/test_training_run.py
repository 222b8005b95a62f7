"""Training runs: the composed configuration, what a run leaves, and exact resume after kill -9."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from hydra import compose, initialize_config_dir

from unwritten.errors import UnwrittenError, UsageError
from unwritten.files import project_root
from unwritten.models.checkpoint import load_model, save_small
from unwritten.training.fit import fit, prepare

ROOT = project_root()


def composed(*overrides):
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        return compose("train", list(overrides))


@pytest.fixture
def store(tmp_path_factory):
    return f"store={tmp_path_factory.getbasetemp() / 'store'}"


def weights_of(path):
    return torch.load(path, map_location="cpu", weights_only=True)["state_dict"]


def test_every_experiment_and_trainer_composes():
    for folder, key in (("experiment", "experiment"), ("debug", "debug"), ("trainer", "trainer"), ("logger", "logger")):
        for path in (ROOT / "conf" / folder).glob("*.yaml"):
            assert composed(f"{key}={path.stem}").seed == 0


def test_an_unknown_setting_is_refused_by_name(store):
    with pytest.raises(UsageError, match=r"data\.loader\.max_itemz"):
        prepare(composed("debug=fast", store, "+data.loader.max_itemz=3"))


def test_a_batch_is_a_function_of_seed_epoch_and_number(store):
    first, _ = prepare(composed("debug=fast", store))
    second, _ = prepare(composed("debug=fast", store))
    for one, other in zip(first.training[(3, 1)], second.training[(3, 1)], strict=True):
        assert torch.equal(one, other)
    assert not torch.equal(first.training[(4, 1)].kinematics[:1, :50], second.training[(3, 1)].kinematics[:1, :50])


def test_validation_writers_are_never_trained_on(store):
    data, _ = prepare(composed("debug=fast", store))
    training, validation = set(data.training.pool.writers), set(data.validation.pool.writers)
    assert training
    assert validation
    assert not training & validation


def test_batches_hold_every_item_once_within_their_bounds(store):
    data, _ = prepare(composed("debug=fast", store, "data.loader.items_per_epoch=200", "data.loader.max_frames=4096"))
    batches = data.training.batches(0)
    numbers = sorted(number for batch in batches for number in batch)
    assert numbers == sorted(set(numbers))
    for number in range(len(batches)):
        batch = data.training[(0, number)]
        items, frames = batch.kinematics.shape[:2]
        assert items <= 8
        assert items == 1 or items * frames <= 4096


def run_script(run_dir, store, *more):
    command = [sys.executable, str(ROOT / "train.py"), "debug=fast", f"hydra.run.dir={run_dir}", store, *more]
    return subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )


def test_a_run_killed_with_9_goes_on_to_the_weights_of_an_undisturbed_run(tmp_path, store):
    # Two batches an epoch fetched ahead by a process: a resumed run must not begin with those of another epoch.
    more = (
        "trainer.max_epochs=6",
        "score_items=0",
        "trainer=cpu",
        "trainer.precision=32-true",
        "data.loader.workers=1",
    )
    config = composed("debug=fast", store, *more)
    fit(config, tmp_path / "whole")
    process = run_script(tmp_path / "killed", store, *more)
    last = tmp_path / "killed" / "checkpoints" / "last.ckpt"
    deadline = time.monotonic() + 120
    while not last.is_file() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert torch.load(last, map_location="cpu", weights_only=True)["epoch"] < 5, (
        "it was killed too late to show anything"
    )
    fit(config, tmp_path / "killed")
    whole, resumed = weights_of(tmp_path / "whole" / "checkpoints" / "last.ckpt"), weights_of(last)
    for name, value in whole.items():
        assert torch.equal(value, resumed[name]), name


def test_the_last_checkpoint_is_of_the_last_epoch_also_where_none_was_better(tmp_path, store):
    still = ("optimiser.learning_rate=0", "trainer.ema_decay=0")  # averaging equal weights rounds them
    fit(composed("debug=fast", store, "trainer.max_epochs=3", "score_items=0", *still), tmp_path)
    epochs = {
        name: torch.load(tmp_path / "checkpoints" / f"{name}.ckpt", map_location="cpu", weights_only=True)["epoch"]
        for name in ("best", "last")
    }
    assert epochs == {"best": 0, "last": 2}


def test_a_run_leaves_config_versions_checkpoint_and_scores(tmp_path, store):
    fit(composed("debug=fast", store), tmp_path)
    for name in ("config.yaml", "provenance.json", "checkpoints/best.ckpt", "scores.json", "answers.parquet"):
        assert (tmp_path / name).is_file(), name
    loaded = load_model(tmp_path / "checkpoints" / "best.ckpt")
    assert loaded.about["protocol"] == "transfer"
    small = tmp_path / "small.ckpt"
    save_small(loaded.network, loaded.features, loaded.about, small)
    for name, value in load_model(small).network.state_dict().items():
        np.testing.assert_allclose(value.numpy(), loaded.network.state_dict()[name].numpy(), rtol=2e-3, atol=1e-4)


def test_one_batch_can_be_learned_by_heart(tmp_path, store):
    config = composed("debug=overfit", store, "data.sound=false")
    loss_at_start = start_loss(config)
    loss = fit(composed("debug=overfit", store, "data.sound=false"), tmp_path)
    assert np.isfinite(loss)
    final = train_loss(tmp_path)
    assert final < 0.25 * loss_at_start


def start_loss(config):
    data, module = prepare(config)
    with torch.no_grad():
        return float(module.eval().losses(data.training[(0, 0)].varied())["video"])


def train_loss(run_dir):
    import pandas as pd

    table = pd.read_csv(next(Path(run_dir).rglob("metrics.csv")))
    return float(table["train/video"].dropna().iloc[-1])


@pytest.mark.parametrize("content", [b"", b"not a checkpoint at all", b"PK\x03\x04 half a zip"])
def test_a_file_that_is_no_checkpoint_is_named_in_one_line(tmp_path, content):
    path = tmp_path / "broken.ckpt"
    path.write_bytes(content)
    with pytest.raises(UnwrittenError, match=r"broken\.ckpt: is not a checkpoint") as caught:
        load_model(path)
    assert "\n" not in str(caught.value)


def test_a_missing_checkpoint_and_one_of_another_version_say_what_to_do(tmp_path):
    with pytest.raises(UnwrittenError, match="no such checkpoint; train one"):
        load_model(tmp_path / "none.ckpt")
    torch.save({"format": 99}, tmp_path / "new.ckpt")
    with pytest.raises(UnwrittenError, match="has checkpoint format 99"):
        load_model(tmp_path / "new.ckpt")
