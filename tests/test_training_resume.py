"""What a run refuses, how it is stopped, and that epochs are whole, equally long and never mixed up."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
import torch
from hydra import compose, initialize_config_dir

from unwritten.errors import UnwrittenError, UsageError
from unwritten.files import project_root
from unwritten.models.module import CtcModule
from unwritten.training.data import EpochSampler, SimulatedData, as_many, bucket
from unwritten.training.fit import fit, keep_metrics, prepare
from unwritten.training.resume import last_checkpoint
from unwritten.training.trainer import TrainerSettings, make_trainer

ROOT = project_root()


def composed(*overrides):
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        return compose("train", ["debug=fast", "trainer=cpu", "trainer.threads=1", "score_items=0", *overrides])


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return f"store={tmp_path_factory.getbasetemp() / 'store'}"


@pytest.fixture(scope="module")
def data(store):
    return prepare(composed(store, "data.loader.items_per_epoch=200"))[0]


def module(**model):
    return CtcModule({"channels": 8, "audio_channels": 8, "fused_channels": 8, "dilations": (1,), **model})


def saved(run_dir, **changes):
    mine = module()
    path = run_dir / "checkpoints" / "last.ckpt"
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"hyper_parameters": dict(mine.hparams), "state_dict": mine.state_dict(), **changes}
    torch.save(content, path)
    return path


def test_a_new_run_dir_has_nothing_to_go_on_from_and_a_like_checkpoint_is_taken(tmp_path):
    assert last_checkpoint(tmp_path, module()) is None
    path = saved(tmp_path)
    assert last_checkpoint(tmp_path, module()) == path


def test_a_checkpoint_of_another_architecture_names_what_differs(tmp_path):
    saved(tmp_path)
    deaf = CtcModule(module().hparams["model"], {"shot_weight": 0.0})
    with pytest.raises(UnwrittenError, match=r"trained with optimiser\.shot_weight=1\.0, this run has 0\.0"):
        last_checkpoint(tmp_path, deaf)
    with pytest.raises(
        UnwrittenError, match=r"last\.ckpt: was trained with model\.channels=8, this run has 16"
    ) as caught:
        last_checkpoint(tmp_path, module(channels=16))
    assert "\n" not in str(caught.value)


def test_a_checkpoint_of_another_version_is_refused_in_one_line(tmp_path):
    hparams = dict(module().hparams)
    saved(tmp_path, hyper_parameters={**hparams, "model": {**hparams["model"], "lstm_layers": 2}})
    with pytest.raises(UnwrittenError, match=r"another version of unwritten wrote it.*lstm_layers"):
        last_checkpoint(tmp_path, module())
    saved(tmp_path, state_dict={"network.lstm": torch.zeros(3)})
    with pytest.raises(UnwrittenError, match="another version's architecture"):
        last_checkpoint(tmp_path, module())


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 half a zip", None])
def test_a_damaged_or_foreign_last_checkpoint_is_one_line(tmp_path, content):
    path = saved(tmp_path)
    if content is None:
        torch.save({"weights": torch.zeros(2)}, path)
    else:
        path.write_bytes(content)
    with pytest.raises(UnwrittenError, match=r"last\.ckpt: (cannot be read|is no training checkpoint)"):
        last_checkpoint(tmp_path, module())


def test_trainer_settings_that_are_unknown_or_that_the_machine_lacks_are_bad_usage(tmp_path, store):
    with pytest.raises(UsageError, match=r"trainer\.epochs: no such setting"):
        fit(composed(store, "+trainer.epochs=3"), tmp_path)
    if not torch.cuda.is_available():
        with pytest.raises(UsageError, match="trainer: ") as caught:
            make_trainer(TrainerSettings(accelerator="gpu"), tmp_path, 0, ())
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "override", ["traner.max_epochs=3", "data.loader.max_itemz=3", "model=huge", "experiment=none"]
)
def test_a_config_key_that_does_not_exist_exits_with_2_and_one_line(override, capsys):
    from unwritten.run import command_line
    from unwritten.training.train import train

    assert command_line("train.py", train, [override]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert line.startswith("train.py: ")


@pytest.mark.parametrize(
    ("override", "named"),
    [
        ("data.mix.stretched_spread=-0.1", "stretched_spread=-0.1"),
        ("data.mix.spelled=3", "spelled=3"),
        ("data.mix.longest_spelled=1", "longest_spelled=1"),
        ("data.augment.gain=-1", "gain=-1"),
        ("data.loader.workers=-1", "workers=-1"),
        ("data.loader.items_per_epoch=0", "items_per_epoch=0"),
        ("data.loader.validation_items=0", "validation_items=0"),
        ("data.loader.max_frames=0", "max_frames=0"),
        ("data.loader.longest_s=0.1", r"data\.loader\.longest_s=0\.1: no item"),
        ("data.validation_share=1", "validation_share=1"),
        ("model.channels=0", "channels=0"),
        ("model.dropout=2", "dropout=2"),
        ("model.dilations=[]", "dilations"),
        ("model.alphabet=abc", r"model\.alphabet=abc: the handwriting also holds d"),
        ("optimiser.learning_rate=-1", "learning_rate=-1"),
        ("optimiser.shot_weight=null", "shot_weight=null"),
        ("trainer.threads=-1", "threads=-1"),
        ("trainer.ema_decay=2", "ema_decay=2"),
        ("trainer.accelerator=tpu", "trainer: "),
        ("score_items=abc", "score_items=abc"),
        ("processes=0", "processes=0"),
        ("logger.kind=paper", r"logger\.kind=paper"),
        ("data.corpora=missing.npz", r"missing\.npz: is not there"),
    ],
)
def test_a_value_that_means_nothing_is_one_line_before_anything_is_written(tmp_path, store, override, named):
    with pytest.raises(UnwrittenError, match=named) as caught:
        fit(composed(store, override), tmp_path)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_a_run_that_is_gone_on_with_under_other_settings_is_refused_and_stays_as_it_is(tmp_path, store):
    run = (store, "trainer.max_epochs=1", "data.loader.items_per_epoch=6", "data.loader.validation_items=2")
    fit(composed(*run), tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for override, named in (("seed=5", "seed"), ("optimiser.shot_weight=0", r"optimiser\.shot_weight")):
        with pytest.raises(UsageError, match=rf"last\.ckpt of a run with other settings \({named}\)"):
            fit(composed(*run, override), tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    fit(composed(*run, "processes=1", "data.loader.workers=0"), tmp_path)


@pytest.mark.slow
def test_an_interrupted_run_exits_with_130_and_says_how_to_go_on(tmp_path, store):
    run_dir = tmp_path / "run"
    more = ["trainer.max_epochs=500", "score_items=0", f"hydra.run.dir={run_dir}"]
    process = subprocess.Popen(
        [sys.executable, "train.py", "debug=fast", "trainer=cpu", store, *more],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    deadline = time.monotonic() + 120
    while not (run_dir / "checkpoints" / "last.ckpt").is_file() and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=120)
    assert process.returncode == 130, error
    assert "interrupted" in error.splitlines()[-1]
    assert str(run_dir) in error.splitlines()[-1]
    assert "Traceback" not in error


def test_the_loss_curve_from_before_an_interrupt_is_kept(tmp_path):
    for content in ("first", "second"):
        (tmp_path / "metrics.csv").write_text(content)
        keep_metrics(tmp_path)
    kept = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert kept == {"metrics.1.csv": "first", "metrics.2.csv": "second"}


def test_every_epoch_has_as_many_batches_as_the_first(data):
    counts = {epoch: len(data.training.part(0, 1).batches(epoch)) for epoch in (0, 1, 2, 3)}
    assert len(set(counts.values())) == 1
    # Whatever epoch is asked for first, as in a resumed run.
    assert data.training.part(0, 1).batches(3) == data.training.batches(3)


def test_batches_are_halved_or_left_out_until_there_are_as_many_as_wanted():
    batches = [[1, 2, 3, 4], [5, 6], [7]]
    more = as_many(batches, 5)
    assert len(more) == 5
    assert sorted(number for batch in more for number in batch) == [1, 2, 3, 4, 5, 6, 7]
    assert as_many(batches, 2) == batches[:2]
    assert len(as_many([[1]], 3)) == 1  # nothing is left to halve
    assert batches == [[1, 2, 3, 4], [5, 6], [7]]


@pytest.mark.parametrize("workers", [0, 1])
def test_a_loader_that_was_started_early_begins_with_the_epoch_it_is_told(data, workers):
    loader = SimulatedData(data.training, data.validation, replace(data.settings, workers=workers)).train_dataloader()
    started = iter(loader)
    loader.sampler.set_epoch(3)
    assert torch.equal(next(started).kinematics, data.training.part(0, 1)[(3, 0)].kinematics)


def test_validation_stays_the_same_whatever_epoch_lightning_announces(data):
    sampler = data.val_dataloader().sampler
    before = list(sampler)
    sampler.set_epoch(7)
    assert list(sampler) == before
    moving = EpochSampler(data.training)
    moving.set_epoch(7)
    assert next(iter(moving))[0] == 7


def test_devices_share_every_batch_without_an_item_twice(data):
    for devices in (2, 3):
        parts = [data.training.part(rank, devices) for rank in range(devices)]
        batches = [part.batches(2) for part in parts]
        assert all(one == batches[0] for one in batches), "all devices see the same buckets"
        everything = [number for batch in batches[0] for number in batch]
        assert len(everything) == len(set(everything))
        for batch in batches[0][:5]:
            shares = [batch[rank::devices] for rank in range(devices)]
            assert sorted(number for share in shares for number in share) == sorted(batch)
            assert max(map(len, shares)) <= data.settings.max_items


def test_each_devices_part_of_a_batch_is_within_the_bounds():
    from unwritten.training.data import LoaderSettings, padded_frames

    frames = np.random.default_rng(0).integers(60, 900, size=300).tolist()
    settings = LoaderSettings(max_frames=2048, max_items=6)
    for devices in (1, 2, 4):
        batches = bucket(frames, settings, np.random.default_rng(1), devices)
        assert sorted(number for batch in batches for number in batch) == list(range(300))
        for batch in batches:
            longest = max(padded_frames(frames[number]) for number in batch)
            each = -(-len(batch) // devices)
            assert each <= 6
            assert each == 1 or each * longest <= 2048


def test_a_device_without_an_item_of_its_own_counts_for_nothing(data):
    lonely = data.training.part(1, 2)
    lonely._batches, lonely._plan, lonely._epoch = [[0]], data.training._plan, 0
    lonely._per_epoch = 1
    if not lonely._plan:
        lonely._plan = data.training.planner.plan(0, 4)
    batch = lonely[(0, 0)]
    assert not batch.kinematics_mask.any()
    assert not batch.spectrogram_mask.any()
    sums, counts = module(kinematic_inputs=batch.kinematics.shape[2]).summed_losses(batch.varied(), training_too=True)
    assert counts.tolist() == [0] * 5
    assert sums.tolist() == [0] * 5


def test_the_ctc_loss_takes_targets_as_cudnn_wants_them_and_stays_the_same(data):
    batch = data.training.part(0, 1)[(0, 0)]
    assert batch.targets.dtype == torch.int32
    assert batch.targets.device.type == batch.lengths.device.type == "cpu"
    mine = module(kinematic_inputs=batch.kinematics.shape[2]).eval()
    wide = batch._replace(targets=batch.targets.long())
    torch.testing.assert_close(mine.summed_losses(batch.varied()), mine.summed_losses(wide.varied()), rtol=0, atol=0)


def test_every_letter_that_is_shot_by_itself_and_heard_is_asked_for(data):
    batch = data.training.part(0, 1)[(0, 0)].varied()
    plan = [data.training._plan[n] for n in data.training.batches(0)[0]]
    alone = sum(len(item.word) for item in plan if len(item.entries) == len(item.word))
    assert alone > 0
    mine = module(kinematic_inputs=batch.kinematics.shape[2])
    sums, counts = mine.summed_losses(batch, training_too=True)
    assert counts[4] == alone and sums[4] > 0
    sums[4].backward()
    assert mine.network.audio_encoder.stem.weight.grad.abs().sum() > 0
    assert mine.network.video_encoder.stem.weight.grad is None or not mine.network.video_encoder.stem.weight.grad.any()
    silent = batch._replace(spectrogram_mask=torch.zeros_like(batch.spectrogram_mask))
    assert mine.summed_losses(silent, training_too=True)[1][4] == 0


def test_only_the_streams_travel_to_the_device(data):
    batch = data.training.part(0, 1)[(0, 0)]
    moved = module().transfer_batch_to_device(batch, torch.device("meta"), 0)
    assert [tensor.device.type for tensor in moved] == ["meta"] * 10 + ["cpu"] * 3


def test_a_fused_optimiser_is_clipped_in_bf16(tmp_path, store, monkeypatch):
    """What Lightning's own clipping refuses, and every run on CUDA does."""
    real, norms = torch.optim.AdamW, []
    monkeypatch.setattr(torch.optim, "AdamW", lambda groups, fused, **rest: real(groups, fused=True, **rest))
    clip = torch.nn.utils.clip_grad_norm_

    def counted(parameters, limit):
        norms.append(limit)
        return clip(parameters, limit)

    monkeypatch.setattr(torch.nn.utils, "clip_grad_norm_", counted)
    config = composed(store, "trainer.precision=bf16-mixed", "trainer.max_epochs=1", "trainer.gradient_clip_val=0.5")
    assert np.isfinite(fit(config, tmp_path))
    assert norms
    assert set(norms) == {0.5}


def test_a_full_disk_ends_training_in_one_line_and_leaves_the_last_checkpoint_whole(tmp_path, store):
    script = (
        "import resource, sys\n"
        "from unwritten.cli import main\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)\n"
        "sys.exit(main(['train', *sys.argv[2:]]))\n"
    )
    command = ["debug=fast", "trainer=cpu", "trainer.threads=1", "score_items=0", store, f"hydra.run.dir={tmp_path}"]
    done = subprocess.run([sys.executable, "-c", script, "1000000", *command], capture_output=True, text=True)
    assert done.returncode == 1
    said = [line for line in done.stderr.splitlines() if line.startswith("unwritten train:")]
    assert len(said) == 1 and "free some space" in said[0], done.stderr
    assert "Traceback" not in done.stderr
    assert not list((tmp_path / "checkpoints").glob("*"))
