"""The Lightning module: CTC losses of the three heads, optimiser, schedule."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import lightning
import torch
from torch import Tensor
from torch.nn import functional as F

from unwritten.config import settings_from
from unwritten.models.fusion import HEADS, FusionModel, ModelSettings


class Batch(NamedTuple):
    """Padded items. B items, T frames of the longest, L labels in all.

    Attributes:
        kinematics: float32 ``[B, T, K]``; kinematics_mask: bool ``[B, T]``.
        spectrogram: float32 ``[B, T, M]``; spectrogram_mask: bool ``[B, T]``.
        lengths: int64 ``[B]`` frames of each item.
        targets: int64 ``[L]`` labels of all items, one after the other; target_lengths: int64 ``[B]``.
    """

    kinematics: Tensor
    kinematics_mask: Tensor
    spectrogram: Tensor
    spectrogram_mask: Tensor
    lengths: Tensor
    targets: Tensor
    target_lengths: Tensor


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
    """

    learning_rate: float = 2e-3
    final_share: float = 0.02
    warmup_steps: int = 200
    total_steps: int = 10_000
    weight_decay: float = 0.01
    video_weight: float = 1.0
    audio_weight: float = 0.5
    av_weight: float = 1.0

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
        self.save_hyperparameters(
            {
                "model": asdict(model),
                "optimiser": asdict(optimiser),
                "features": dict(features or {}),
                "about": dict(about or {}),
            },
            logger=False,
        )

    def losses(self, batch: Batch) -> dict[str, Tensor]:
        """Mean CTC loss per letter of each head, over the items that have its modality."""
        logits = self.network(*batch[:5])
        frames = FusionModel.emission_lengths(batch.lengths)
        has = {
            "video": batch.kinematics_mask.any(dim=1),
            "audio": batch.spectrogram_mask.any(dim=1),
        }
        has["av"] = has["video"] | has["audio"]
        result = {}
        for name, stream in zip(HEADS, logits, strict=True):
            log_probs = F.log_softmax(stream.float(), dim=-1).transpose(0, 1)
            loss = F.ctc_loss(
                log_probs, batch.targets, frames, batch.target_lengths, blank=0, reduction="none", zero_infinity=True
            )
            weight = has[name].to(loss.dtype)
            result[name] = (loss * weight / batch.target_lengths).sum() / weight.sum().clamp_min(1.0)
        return result

    def training_step(self, batch: Batch, batch_index: int) -> Tensor:
        """Weighted sum of the three losses."""
        losses = self.losses(batch)
        total = (
            self.optimiser.video_weight * losses["video"]
            + self.optimiser.audio_weight * losses["audio"]
            + self.optimiser.av_weight * losses["av"]
        )
        self.log("train/loss", total, prog_bar=True, batch_size=len(batch.lengths))
        self.log_dict({f"train/{name}": loss for name, loss in losses.items()}, batch_size=len(batch.lengths))
        return total

    def validation_step(self, batch: Batch, batch_index: int) -> None:
        """Losses and greedy accuracy of each head."""
        losses = self.losses(batch)
        self.log_dict(
            {f"val/{name}": loss for name, loss in losses.items()}, batch_size=len(batch.lengths), sync_dist=True
        )
        total = losses["video"] + losses["audio"] + losses["av"]
        self.log("val/loss", total, prog_bar=True, batch_size=len(batch.lengths), sync_dist=True)

    def configure_optimizers(self) -> Any:
        """AdamW, fused on CUDA, with the schedule stepped every batch."""
        decayed = [p for p in self.parameters() if p.ndim > 1]
        others = [p for p in self.parameters() if p.ndim <= 1]
        optimiser = torch.optim.AdamW(
            [{"params": decayed, "weight_decay": self.optimiser.weight_decay}, {"params": others, "weight_decay": 0.0}],
            lr=self.optimiser.learning_rate,
            fused=self.device.type == "cuda",
        )
        schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, self.optimiser.rate_factor)
        return {"optimizer": optimiser, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}
