"""What a GPU makes of training: the same losses as the CPU, exact files, speed, utilisation and memory.

Needs no configuration library, no word list and no media library; see ``gpu_check.sh``.
"""

from __future__ import annotations

import argparse
import itertools
import json
import logging
import os
import platform
import shutil
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lightning
import numpy as np
import torch

from unwritten.files import whole_file
from unwritten.models.batch import Batch, LoadedBatch
from unwritten.models.fusion import ModelSettings
from unwritten.models.module import CtcModule, OptimiserSettings
from unwritten.store import Store
from unwritten.training.data import LoaderSettings, SimulatedData
from unwritten.training.handwriting import HandwritingSettings
from unwritten.training.resume import last_checkpoint
from unwritten.training.setup import TrainingSettings, assemble
from unwritten.training.trainer import TrainerSettings, best_and_last, make_trainer

_TEXT = (
    "the of and to in is you that it he was for on are as with his they at be this from have or by one had not but "
    "what all were when we there can an your which their said if do will each about how up out them then she many "
    "some so these would other into has more her two like him see time could no make than first been its who now"
)
WORDS = tuple(_TEXT.split(" "))
"""Words of the check's own, so that it needs no word list."""


@dataclass(frozen=True)
class Size:
    """How much work the check does."""

    writers: int
    epochs: int
    items: int
    model: ModelSettings
    steps: int
    clips: int


FULL = Size(24, 6, 4096, ModelSettings(), 40, 40)
QUICK = Size(2, 2, 48, ModelSettings(channels=32, audio_channels=16, fused_channels=32, dilations=(1, 2)), 2, 4)


class Stop(Exception):  # noqa: N818 - nothing went wrong
    """Ends a run as a kill would, after a checkpoint was written."""


class StopAfter(lightning.Callback):
    """Leaves the run after an epoch whose checkpoint is written."""

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch

    def on_train_epoch_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        """Called by Lightning."""
        if trainer.current_epoch > self.epoch:
            raise Stop


class EpochClock(lightning.Callback):
    """Items and seconds of every training epoch, without its validation."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.items: list[int] = []
        self.seconds: list[float] = []

    def on_train_epoch_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        """Called by Lightning."""
        self._items, self._start_s = 0, time.perf_counter()

    def on_train_batch_end(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule, outputs: Any, batch: Batch, index: int
    ) -> None:
        """Called by Lightning."""
        self._items += len(batch.lengths)
        if index + 1 == trainer.num_training_batches:
            synchronise(self.device)
            self.items.append(self._items)
            self.seconds.append(time.perf_counter() - self._start_s)

    @property
    def items_per_s(self) -> float:
        """Of the later epochs: the first one starts the loader's processes and compiles kernels."""
        later = slice(1, None) if len(self.items) > 1 else slice(None)
        return sum(self.items[later]) / sum(self.seconds[later])


class Utilisation:
    """Samples the GPU's utilisation twice a second while the block runs; None where no driver tells it."""

    def __init__(self, device: torch.device) -> None:
        self.device, self.samples = device, list[float]()
        self._end = threading.Event()

    def __enter__(self) -> Utilisation:
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _watch(self) -> None:
        while self.device.type == "cuda" and not self._end.wait(0.5):
            try:
                self.samples.append(float(torch.cuda.utilization(self.device)))
            except (RuntimeError, ModuleNotFoundError, OSError):
                return

    @property
    def percent(self) -> float | None:
        """Mean of the samples."""
        return float(np.mean(self.samples)) if self.samples else None


def synchronise(device: torch.device) -> None:
    """Wait until the device has done all that it was given."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def moved(batch: LoadedBatch, module: CtcModule, device: torch.device) -> Batch:
    """The batch as training has it on a device."""
    return module.on_after_batch_transfer(module.transfer_batch_to_device(batch, device, 0), 0)


def gradients(module: CtcModule, batch: Batch) -> tuple[torch.Tensor, float]:
    """Losses ``[3]`` on the CPU and the gradient's norm."""
    module.zero_grad()
    sums, counts = module.summed_losses(batch)
    losses = sums / counts.clamp_min(1.0)
    losses.sum().backward()
    norm = torch.sqrt(sum((p.grad.double() ** 2).sum() for p in module.parameters() if p.grad is not None))  # type: ignore[arg-type]
    return losses.detach().float().cpu(), float(norm)


def compare(module: CtcModule, batch: LoadedBatch, device: torch.device) -> tuple[dict[str, Any], dict[str, bool]]:
    """CPU and device on one batch: logits, losses, gradients, in single precision and in bf16, and both CTC kernels."""
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    module = module.eval()
    cpu, other = torch.device("cpu"), device
    results: dict[str, Any] = {}
    here = moved(batch, module.cpu(), cpu)
    with torch.no_grad():
        wanted = [logits.float() for logits in module.network(*here[:4], here.lengths)]
    wanted_losses, wanted_norm = gradients(module, here)
    module.to(other)
    on_device = moved(batch, module, other)
    with torch.no_grad():
        found = [logits.float().cpu() for logits in module.network(*on_device[:4], batch.lengths.to(other))]
        with torch.autocast(other.type, dtype=torch.bfloat16):
            rough = [logits.float().cpu() for logits in module.network(*on_device[:4], batch.lengths.to(other))]
    losses, norm = gradients(module, on_device)
    results["spectrogram_max_difference"] = float((on_device.spectrogram.cpu() - here.spectrogram).abs().max())
    results["logits_max_difference"] = max(float((a - b).abs().max()) for a, b in zip(found, wanted, strict=True))
    results["losses_cpu"], results["losses_device"] = wanted_losses.tolist(), losses.tolist()
    results["gradient_norm_cpu"], results["gradient_norm_device"] = wanted_norm, norm
    results["bf16_logits_max_difference"] = max(float((a - b).abs().max()) for a, b in zip(rough, wanted, strict=True))
    # Full lengths are what cuDNN's kernel takes; int64 targets on the device are what PyTorch's own does.
    full = batch._replace(lengths=torch.full_like(batch.lengths, batch.kinematics.shape[1]))
    cudnn, cudnn_norm = gradients(module, moved(full, module, other))
    native, native_norm = gradients(module, moved(full, module, other)._replace(targets=full.targets.long().to(other)))
    results["ctc_int32_cpu_targets"], results["ctc_int64_device_targets"] = cudnn.tolist(), native.tolist()
    module.cpu()
    spread = max(1.0, max(float(logits.abs().max()) for logits in wanted))
    checks = {
        "varied spectrograms equal the CPU's to 1e-4": results["spectrogram_max_difference"] <= 1e-4,
        "logits equal the CPU's to 1e-3 of their range": results["logits_max_difference"] <= 1e-3 * spread,
        "losses equal the CPU's to 1e-3": torch.allclose(losses, wanted_losses, rtol=1e-3, atol=1e-4),
        "gradients equal the CPU's to 1 %": abs(norm - wanted_norm) <= 0.01 * wanted_norm,
        "bf16 logits equal to 5 % of their range": results["bf16_logits_max_difference"] <= 0.05 * spread,
        "both CTC kernels give one loss": torch.allclose(cudnn, native, rtol=1e-3, atol=1e-4),
        "both CTC kernels give one gradient": abs(cudnn_norm - native_norm) <= 0.01 * native_norm,
    }
    return results, checks


def step_rate(
    module: CtcModule, batches: Sequence[LoadedBatch], device: torch.device, precision: str, steps: int
) -> float:
    """Items a second of forward, backward and optimiser alone, on batches that lie on the device already."""
    module.to(device).train()
    optimiser = module.configure_optimizers()["optimizer"]
    on_device = [moved(batch, module, device) for batch in batches]
    enabled = precision.startswith("bf16")

    def step(batch: Batch) -> int:
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=enabled):
            sums, counts = module.summed_losses(batch, training_too=True)
        optimiser.zero_grad()
        (sums / counts.clamp_min(1.0)).sum().backward()
        torch.nn.utils.clip_grad_norm_(module.parameters(), 1.0)
        optimiser.step()
        return len(batch.lengths)

    for batch in on_device:  # every shape once: kernels are chosen at first sight
        step(batch)
    synchronise(device)
    start_s = time.perf_counter()
    items = sum(step(batch) for batch in itertools.islice(itertools.cycle(on_device), max(steps, len(on_device))))
    synchronise(device)
    return items / (time.perf_counter() - start_s)


def train(
    settings: TrainingSettings,
    trainer_settings: TrainerSettings,
    data: SimulatedData,
    run_dir: Path,
    module: CtcModule,
    callbacks: Sequence[lightning.Callback],
) -> tuple[lightning.Trainer, float]:
    """Fit or resume; gives the trainer and the best validation loss."""
    checkpoints = best_and_last(run_dir)
    trainer = make_trainer(trainer_settings, run_dir, settings.seed, checkpoints, callbacks)
    trainer.fit(module, data, ckpt_path=last_checkpoint(run_dir, module), weights_only=True)
    score = checkpoints[0].best_model_score
    return trainer, float(score) if score is not None else float("nan")


def evaluate(checkpoint: Path, settings: TrainingSettings, clips: int) -> dict[str, float]:
    """Ordered letter accuracy of lexicon decoding on words of writers that training did not see, by modality."""
    from unwritten.decoding.alphabet import Alphabet
    from unwritten.decoding.decode import decode
    from unwritten.decoding.lexicon import Lexicon
    from unwritten.decoding.settings import DecodingSettings
    from unwritten.handwriting.corpus import from_strokes
    from unwritten.handwriting.writers import SimulatedWriter
    from unwritten.readers.network import CtcNetwork
    from unwritten.scoring.metrics import ordered_letter_accuracy
    from unwritten.simulation.clips import live_clips
    from unwritten.types import MODALITIES

    network = CtcNetwork(checkpoint)
    lexicon = Lexicon.build(WORDS, [1.0] * len(WORDS), Alphabet(network.alphabet))
    decoding = DecodingSettings(alphabet=network.alphabet, rate_hz=network.emission_rate_hz)
    rng = np.random.default_rng(7)
    strokes = [SimulatedWriter(1_000_000 + n, "standard").write(str(rng.choice(WORDS))) for n in range(clips)]
    found: dict[str, list[float]] = {modality: [] for modality in MODALITIES}
    for clip in live_clips(from_strokes(strokes, "check"), settings.simulation, None, 7):
        assert clip.recording is not None
        assert clip.word is not None
        features = network.features_of(clip.recording)
        for modality in MODALITIES:
            read = decode(network.log_probs(features, modality), decoding, lexicon, len(clip.word))
            found[modality].append(ordered_letter_accuracy(clip.word, read.word))
    return {modality: float(np.mean(values)) for modality, values in found.items()}


def check(device: torch.device, size: Size, root: Path, workers: int) -> dict[str, Any]:
    """The whole check; ``passed`` says whether everything held."""
    precision = "bf16-mixed" if device.type == "cuda" else "32-true"
    settings = TrainingSettings(
        max_epochs=size.epochs,
        handwriting=HandwritingSettings(simulated_writers={"standard": size.writers, "cursive": size.writers // 2}),
        loader=LoaderSettings(items_per_epoch=size.items, validation_items=max(16, size.items // 16), workers=workers),
        model=size.model,
        optimiser=OptimiserSettings(learning_rate=4e-3, warmup_steps=20),
    )
    trainer_settings = TrainerSettings(
        accelerator=device.type, devices=1, precision=precision, max_epochs=size.epochs, ema_decay=0.98
    )
    seconds: dict[str, float] = {}
    start_s = time.perf_counter()

    def lap(name: str) -> None:
        nonlocal start_s
        seconds[name], start_s = round(time.perf_counter() - start_s, 1), time.perf_counter()

    words = (WORDS, [1.0] * len(WORDS))
    data, module = assemble(settings, Store(root / "store"), max(1, workers), words=words, quiet=True)
    lap("simulate handwriting")
    batches = [data.training[(0, number)] for number in range(min(4, len(data.training.batches(0))))]
    comparison, checks = compare(module, batches[0], device)
    lap("compare with the CPU")
    alone = step_rate(module, batches, device, precision, size.steps)
    lap("forward and backward alone")
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    run_dir = root / "run"
    stop = max(0, size.epochs // 2 - 1)
    clock = EpochClock(device)
    with Utilisation(device) as utilisation:
        with suppress(Stop):
            train(settings, trainer_settings, data, run_dir, fresh(module), [StopAfter(stop)])
        first = torch.load(run_dir / "checkpoints" / "last.ckpt", map_location="cpu", weights_only=True)
        lap("train")
        trainer, loss = train(settings, trainer_settings, data, run_dir, fresh(module), [clock])
    lap("resume")
    steps = settings.max_epochs * len(data.training.batches(0))
    checks["a stopped run goes on from its last epoch"] = first["epoch"] == stop and trainer.global_step == steps
    checks["the loss is finite and fell"] = np.isfinite(loss) and loss < sum(comparison["losses_cpu"])
    accuracy = evaluate(run_dir / "checkpoints" / "best.ckpt", settings, size.clips)
    lap("evaluate")
    trained = CtcModule.load_from_checkpoint(
        run_dir / "checkpoints" / "best.ckpt", map_location="cpu", weights_only=True
    )
    after, checks_after = compare(trained, batches[0], device)
    checks |= {f"{name}, trained": held for name, held in checks_after.items()}
    lap("compare again")
    return {
        "passed": all(checks.values()),
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else platform.processor() or "CPU",
        "precision": precision,
        "versions": {"python": platform.python_version(), "torch": torch.__version__, "cuda": torch.version.cuda},
        "cpus": os.cpu_count(),
        "workers": workers,
        "parameters": sum(value.numel() for value in module.parameters()),
        "checks": {name: bool(held) for name, held in checks.items()},
        "untrained": comparison,
        "trained": after,
        "val_loss": loss,
        "ola": accuracy,
        "training_items_per_s": clock.items_per_s,
        "step_items_per_s": alone,
        "share_of_step_rate": clock.items_per_s / alone,
        "utilisation_percent": utilisation.percent,
        "peak_memory_mib": torch.cuda.max_memory_allocated(device) / 2**20 if device.type == "cuda" else None,
        "seconds": seconds,
    }


def fresh(module: CtcModule) -> CtcModule:
    """A module of the same settings with weights of its own."""
    lightning.seed_everything(0, verbose=False)
    hparams = module.hparams
    return CtcModule(hparams["model"], hparams["optimiser"], hparams["features"], hparams["about"])


def main() -> int:
    """Run the check; 0 if everything held."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, default=Path("gpu_check.json"), help="where to write the result")
    parser.add_argument("--device", default="cuda", help="cuda, or cpu to try the script itself")
    parser.add_argument("--quick", action="store_true", help="next to no work: its figures mean nothing")
    parser.add_argument("--workers", type=int, help="processes that compose batches; default: from the cores")
    arguments = parser.parse_args()
    if arguments.device != "cpu" and not torch.cuda.is_available():
        print("gpu_check: PyTorch sees no CUDA device; --device cpu --quick tries the script itself", file=sys.stderr)
        return 1
    for name in ("lightning.pytorch", "lightning.fabric"):
        logging.getLogger(name).setLevel(logging.ERROR)
    warnings.filterwarnings("ignore")
    workers = arguments.workers if arguments.workers is not None else max(1, min(12, (os.cpu_count() or 2) - 2))
    root = Path(tempfile.mkdtemp(prefix="gpu_check_"))
    try:
        result = check(torch.device(arguments.device), QUICK if arguments.quick else FULL, root, workers)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    result["quick"] = arguments.quick
    with whole_file(arguments.json) as temporary:
        temporary.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    for name, held in result["checks"].items():
        print(f"{'ok  ' if held else 'FAIL'} {name}")
    print(
        f"{result['device']}, {result['precision']}: {result['training_items_per_s']:.0f} items/s in training, "
        f"{result['step_items_per_s']:.0f} of forward and backward alone ({result['share_of_step_rate']:.0%}), "
        f"utilisation {result['utilisation_percent']} %, {result['peak_memory_mib']} MiB at most; "
        f"{sum(result['seconds'].values()):.0f} s in all; {arguments.json}"
    )
    return 0 if result["passed"] else 1


if __name__ == "__main__":
    sys.exit(main())
