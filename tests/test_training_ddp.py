"""Several processes: the same loss curve, weights and files as one process with batches as large as theirs together."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import torch
from hydra import compose, initialize_config_dir

from unwritten.files import project_root
from unwritten.training.fit import fit

ROOT = project_root()
OPTIONS = [
    "debug=fast",
    "data.loader.items_per_epoch=29",
    "data.loader.validation_items=9",
    "data.loader.max_frames=1000000",
    "model.dropout=0",
    "model.video_dropout=0",
    "model.audio_dropout=0",
    "trainer.precision=32-true",
    "trainer.max_epochs=3",
    "trainer.threads=1",
    "score_items=0",
]


def curves(run_dir):
    table = pd.read_csv(run_dir / "metrics" / "metrics.csv")
    return {name: table[name].dropna().to_numpy() for name in table.columns if "/" in name}


@pytest.mark.slow
def test_two_processes_give_the_curve_of_one_with_the_doubled_batch(tmp_path):
    store = f"store={tmp_path / 'store'}"
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        single = compose("train", [*OPTIONS, store, "trainer=cpu", "trainer.threads=1", "data.loader.max_items=8"])
    fit(single, tmp_path / "one")
    options = [
        *OPTIONS,
        store,
        "trainer=ddp",
        "trainer.accelerator=cpu",
        "trainer.devices=2",
        "data.loader.max_items=4",
    ]
    command = [sys.executable, "train.py", *options, f"hydra.run.dir={tmp_path / 'two'}"]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=600, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    assert done.returncode == 0, done.stderr[-3000:]
    one, two = curves(tmp_path / "one"), curves(tmp_path / "two")
    assert one.keys() == two.keys()
    assert len(one["val/loss"]) == 3
    for name, values in one.items():
        np.testing.assert_allclose(two[name], values, rtol=2e-4, err_msg=name)
    weights = [
        torch.load(tmp_path / run / "checkpoints" / "best.ckpt", weights_only=True)["state_dict"]
        for run in ("one", "two")
    ]
    for name, value in weights[0].items():
        torch.testing.assert_close(weights[1][name], value, rtol=1e-3, atol=1e-4)
    # Only one of the two wrote.
    assert sorted(path.name for path in (tmp_path / "two" / "checkpoints").iterdir()) == ["best.ckpt", "last.ckpt"]
    assert len(list((tmp_path / "two").rglob("metrics*.csv"))) == 1
