"""wandb: offline without a key with everything in it that can be synced later, and never the end of a run."""

from __future__ import annotations

import warnings
from pathlib import Path

import pandas as pd
import pytest
from hydra import compose, initialize_config_dir

from unwritten.files import project_root
from unwritten.training.fit import fit
from unwritten.training.wandb_logger import SafeWandbLogger, wandb_logger

ROOT = project_root()


def composed(*overrides):
    options = ["debug=fast", "trainer=cpu", "trainer.threads=1", "trainer.max_epochs=1", "logger=wandb"]
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        return compose("train", [*options, *overrides])


@pytest.fixture
def alone(monkeypatch, tmp_path):
    """No key, no login, and a server that nobody answers at."""
    for name in ("WANDB_API_KEY", "WANDB_MODE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("WANDB_BASE_URL", "http://127.0.0.1:9")


def records(run_dir):
    """What an offline run holds, as ``wandb sync`` reads it: LevelDB's log format, 32 KiB blocks of parts."""
    from wandb.proto.wandb_internal_pb2 import Record

    (path,) = run_dir.glob("wandb/offline-run-*/run-*.wandb")
    content, place, whole, found = path.read_bytes(), 7, b"", []
    while place + 7 <= len(content):
        left = 32_768 - place % 32_768
        if left < 7:
            place += left
            continue
        size, kind = int.from_bytes(content[place + 4 : place + 6], "little"), content[place + 6]
        whole += content[place + 7 : place + 7 + size]
        place += 7 + size
        if kind in (1, 4):  # the only or the last part of a record
            record = Record()
            record.ParseFromString(whole)
            found.append(record)
            whole = b""
    return found


@pytest.mark.slow
def test_without_a_key_a_run_is_kept_offline_with_config_losses_scores_images_and_checkpoint(alone, tmp_path):
    run_dir = tmp_path / "run"
    fit(composed(f"store={tmp_path / 'store'}"), run_dir)
    kept = records(run_dir)
    configured = {item.key for record in kept for item in record.run.config.update}
    assert {"model", "data", "optimiser", "seed"} <= configured
    logged = {item.nested_key[0] for record in kept for item in record.history.item}
    assert {"val/loss", "val/video", "ink", "confusions", "scores"} <= logged
    summary = {item.key or "/".join(item.nested_key) for record in kept for item in record.summary.update}
    assert any(name.startswith("ola/ctc/") for name in summary)
    (artifact,) = [
        record.artifact for record in kept if record.HasField("artifact") and record.artifact.type == "model"
    ]
    assert [entry.path for entry in artifact.manifest.contents] == ["best.ckpt"]
    images = {path.name.split("_")[0] for path in run_dir.rglob("media/images/*.png")}
    assert images == {"ink", "confusions"}
    # The same losses lie in a table, whatever becomes of wandb.
    assert pd.read_csv(run_dir / "metrics" / "metrics.csv")["val/loss"].notna().any()


def test_a_run_goes_on_offline_when_the_server_cannot_be_reached(alone, tmp_path, monkeypatch):
    monkeypatch.setenv("WANDB_API_KEY", "0" * 40)
    config = composed("logger.timeout_s=2", "score_items=0", f"store={tmp_path / 'store'}")
    with pytest.warns(UserWarning, match="wandb cannot start online"):
        fit(config, tmp_path / "run")
    assert (tmp_path / "run" / "checkpoints" / "best.ckpt").is_file()
    assert list((tmp_path / "run").glob("wandb/offline-run-*"))


def test_a_run_goes_on_without_wandb_when_it_cannot_start_at_all(alone, tmp_path, monkeypatch):
    import wandb

    def fails(**settings):
        raise OSError("no space left on device")

    monkeypatch.setattr(wandb, "init", fails)
    config = composed()
    with pytest.warns(UserWarning, match="wandb cannot start offline") as caught:
        assert wandb_logger(config.logger, tmp_path, config) == []
    assert all("\n" not in str(warning.message) for warning in caught)


class Broken:
    """A wandb run of which nothing works any more."""

    id = "broken"

    def __getattr__(self, name):
        raise ConnectionError("the server went away")


def test_whatever_fails_while_a_run_is_logged_is_a_warning(tmp_path):
    logger = SafeWandbLogger.__new__(SafeWandbLogger)
    logger._experiment = Broken()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        logger.log_metrics({"train/loss": 1.0}, 3)
        logger.log_results(composed("score_items=0"), [], Path(tmp_path))
    assert any("metrics could not be logged" in str(warning.message) for warning in caught)
    assert any("the checkpoint could not be logged" in str(warning.message) for warning in caught)
