"""The Lightning module: CTC losses of the three heads, what only training asks for, optimiser, schedule."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import lightning
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.optim import Optimizer

from unwritten.config import INFINITE, bounded, settings_from
from unwritten.models.batch import Batch, LoadedBatch
from unwritten.models.fusion import HEADS, FusionModel, ModelSettings
from unwritten.models.shot_letters import ShotLetters


@dataclass(frozen=True)
class OptimiserSettings:
    """AdamW with a linear warm-up and a cosine decay.

    Attributes:
        learning_rate: peak.
        final_share: share of the peak that is left at the end.
        warmup_steps: steps up to the peak.
        total_steps: steps of the whole schedule; it does not depend on where a run was resumed.
        weight_decay: of AdamW.
        video_weight, audio_weight, av_weight: weights of the three heads' losses.
        guess_weight: weight of the loss of the guess halfway from video.
        shot_weight: weight of the loss of naming the letter of a shot from its sound.
    """

    learning_rate: float = 2e-3
    final_share: float = 0.02
    warmup_steps: int = 200
    total_steps: int = 10_000
    weight_decay: float = 0.01
    video_weight: float = 1.0
    audio_weight: float = 0.5
    av_weight: float = 1.0
    guess_weight: float = 0.5
    shot_weight: float = 1.0

    def __post_init__(self) -> None:
        positive = (0.0, INFINITE)
        bounded(self, learning_rate=positive, final_share=(0.0, 1.0), warmup_steps=positive, weight_decay=positive)
        bounded(self, video_weight=positive, audio_weight=positive, av_weight=positive)
        bounded(self, guess_weight=positive, shot_weight=positive)

    def rate_factor(self, step: int) -> float:
        """Learning rate at a step over its peak."""
        if step < self.warmup_steps:
            return (step + 1) / self.warmup_steps
        progress = min(1.0, (step - self.warmup_steps) / max(1, self.total_steps - self.warmup_steps))
        return self.final_share + (1.0 - self.final_share) * 0.5 * (1.0 + math.cos(math.pi * progress))


class CtcModule(lightning.LightningModule):
    """Trains a ``FusionModel``; everything that a reader needs to know is in its hyper-parameters."""

    def __init__(
        self,
        model: ModelSettings | Mapping[str, Any],
        optimiser: OptimiserSettings | Mapping[str, Any] | None = None,
        features: Mapping[str, Any] | None = None,
        about: Mapping[str, Any] | None = None,
    ) -> None:
        """
        Args:
            model: the network's settings.
            optimiser: the schedule's settings.
            features: settings of the features that the network was trained on, kept for its readers.
            about: data, protocol and seed, kept for the record.
        """
        super().__init__()
        model = model if isinstance(model, ModelSettings) else settings_from(ModelSettings, model, "model")
        if not isinstance(optimiser, OptimiserSettings):
            optimiser = settings_from(OptimiserSettings, optimiser, "optimiser")
        self.optimiser = optimiser
        self.network = FusionModel(model)
        self.shot_letters = ShotLetters(model.audio_channels, len(model.alphabet)) if optimiser.shot_weight else None
        self._asked = {*HEADS, *(("guess",) if model.guess_halfway else ()), *(("shots",) if self.shot_letters else ())}
        self.save_hyperparameters(
            {
                "model": asdict(model),
                "optimiser": asdict(optimiser),
                "features": dict(features or {}),
                "about": dict(about or {}),
            },
            logger=False,
        )

    def transfer_batch_to_device(self, batch: LoadedBatch, device: torch.device, dataloader_idx: int) -> LoadedBatch:
        """Move what the network takes, sound still as bytes."""
        return batch.to(device)

    def on_after_batch_transfer(self, batch: LoadedBatch, dataloader_idx: int) -> Batch:
        """Vary the sound on the device."""
        return batch.varied()

    def summed_losses(self, batch: Batch, training_too: bool = False) -> tuple[Tensor, Tensor]:
        """CTC loss per letter of each head ``[3]``, summed over the items that have its modality, and their number.

        With ``training_too`` two more after them: that of video's guess halfway, and that of naming the letters of
        shots from their sound, summed over these letters; nothing of nothing where the module has no such part.
        """
        device = batch.kinematics.device
        streams = self.network(*batch[:4], batch.lengths.to(device, non_blocking=True), training_too)
        frames = FusionModel.emission_lengths(batch.lengths)
        letters = batch.target_lengths.to(device, non_blocking=True)
        video, audio = batch.kinematics_mask.any(dim=1), batch.spectrogram_mask.any(dim=1)
        asked = list(zip(streams, (video, audio, video | audio), strict=False))
        further = streams[len(HEADS) :]
        if len(further) > 1:
            asked.append((further[1], video))
        sums, counts = [], []
        for stream, present in asked:
            log_probs = F.log_softmax(stream.float(), dim=-1).transpose(0, 1)
            # Targets as int32 and lengths on the CPU: on CUDA PyTorch then takes cuDNN's kernel for a batch whose items
            # are all as long as it, its own for any other, and never waits for the device.
            loss = F.ctc_loss(
                log_probs, batch.targets, frames, batch.target_lengths, blank=0, reduction="none", zero_infinity=True
            )
            weight = present.to(loss.dtype)
            sums.append((loss * weight / letters).sum())
            counts.append(weight.sum())
        if training_too:
            nothing = streams[0].new_zeros((), dtype=torch.float32)
            if len(further) < 2:
                sums.append(nothing)
                counts.append(nothing)
            named = self._name_shots(further[0], batch, audio) if self.shot_letters is not None else (nothing, nothing)
            sums.append(named[0])
            counts.append(named[1])
        return torch.stack(sums), torch.stack(counts)

    def _name_shots(self, hidden: Tensor, batch: Batch, audio: Tensor) -> tuple[Tensor, Tensor]:
        """Cross entropy of the letters of shots that are heard, summed, and their number."""
        assert self.shot_letters is not None
        count = len(batch.targets)
        shots = torch.where(audio[:, None], batch.shots, -1)
        logits = self.shot_letters(hidden, shots, count)
        labels = batch.targets.to(hidden.device, non_blocking=True).long() - 1
        rows = torch.where(shots >= 0, shots, count).flatten()
        present = logits.new_zeros(count + 1).index_fill(0, rows, 1.0)[:count]
        return (F.cross_entropy(logits, labels, reduction="none") * present).sum(), present.sum()

    def losses(self, batch: Batch) -> dict[str, Tensor]:
        """Mean CTC loss per letter of each head, over the items that have its modality."""
        sums, counts = self.summed_losses(batch)
        return dict(zip(HEADS, sums / counts.clamp_min(1.0), strict=True))

    def training_step(self, batch: Batch, batch_index: int) -> Tensor:
        """Weighted sum of the losses, each the mean over the items (or shots) of all devices together."""
        sums, counts = self.summed_losses(batch, training_too=True)
        devices = self.trainer.world_size
        if devices > 1:
            # Gradients are averaged over devices, which may hold differing numbers of items.
            counts = self.trainer.strategy.reduce(counts, reduce_op="sum")
        means = sums * devices / counts.clamp_min(1.0)
        wanted = self.optimiser
        weights = (wanted.video_weight, wanted.audio_weight, wanted.av_weight, wanted.guess_weight, wanted.shot_weight)
        total = (means * means.new_tensor(weights)).sum()
        losses = dict(zip((*HEADS, "guess", "shots"), means, strict=True))
        items = len(batch.lengths)
        self.log("train/loss", total, prog_bar=True, batch_size=items, sync_dist=devices > 1)
        asked = {f"train/{name}": loss for name, loss in losses.items() if name in self._asked}
        self.log_dict(asked, batch_size=items, sync_dist=devices > 1)
        return total

    def on_validation_epoch_start(self) -> None:
        """Begin the sums over the whole validation set."""
        self._validation = torch.zeros(2, len(HEADS), device=self.device)

    def validation_step(self, batch: Batch, batch_index: int) -> None:
        """Add the losses of this device's items."""
        self._validation += torch.stack(self.summed_losses(batch))

    def on_validation_epoch_end(self) -> None:
        """Mean loss of each head over the items of all devices, and their sum, which chooses the best checkpoint."""
        sums, counts = self.trainer.strategy.reduce(self._validation, reduce_op="sum")
        losses = sums / counts.clamp_min(1.0)
        # Every device has the same values already.
        self.log_dict({f"val/{name}": loss for name, loss in zip(HEADS, losses, strict=True)})
        self.log("val/loss", losses.sum(), prog_bar=True)

    def configure_gradient_clipping(
        self,
        optimizer: Optimizer,
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        """Clip by the norm; Lightning refuses to for any fused optimiser, though only half precision asks for that."""
        if gradient_clip_val:
            parameters = [value for group in optimizer.param_groups for value in group["params"]]
            torch.nn.utils.clip_grad_norm_(parameters, gradient_clip_val)

    def configure_optimizers(self) -> Any:
        """AdamW, fused on CUDA, with the schedule stepped every batch."""
        decayed = [p for p in self.parameters() if p.ndim > 1]
        others = [p for p in self.parameters() if p.ndim <= 1]
        optimiser = torch.optim.AdamW(
            [{"params": decayed, "weight_decay": self.optimiser.weight_decay}, {"params": others, "weight_decay": 0.0}],
            lr=self.optimiser.learning_rate,
            fused=self.device.type == "cuda" and not self._scales_losses(),
        )
        schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, self.optimiser.rate_factor)
        return {"optimizer": optimiser, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def _scales_losses(self) -> bool:
        """Whether the trainer computes in half precision, whose small gradients are scaled up before the optimiser."""
        return (
            self._trainer is not None
            and "16" in str(self.trainer.precision)
            and "bf" not in str(self.trainer.precision)
        )
