"""One encoder per modality, a CTC head on each, and a fused stream that sees both.

What is missing is masked and replaced by a learned vector, never by zeros that could be mistaken for silence or rest.
Each modality's own head keeps its encoder useful alone; dropping modalities while training keeps the fused head from
leaning on one of them. B is the batch, T frames, U emission frames, A the number of labels with the blank first.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from unwritten.config import INFINITE, bounded
from unwritten.models.encoder import SUBSAMPLING, ResidualBlock, StreamEncoder

HEADS = ("video", "audio", "av")
"""Names of the emissions, as the modalities that each of them reads."""
LABELLED = ("video_head", "audio_head", "fused_head", "video_encoder.guess")
RECALL = "video_encoder.recall"
"""Layers whose outputs are labels, and the one whose inputs are."""


@dataclass(frozen=True)
class ModelSettings:
    """Size and kind of the network; stored in every checkpoint. What a checkpoint does not say is as it is here.

    Attributes:
        alphabet: letters of labels 1, 2, ...; label 0 is the blank.
        kinematic_inputs: K, columns of the kinematics.
        spectrogram_inputs: M, mel bands.
        channels: width of the kinematic encoder.
        audio_channels: width of the spectrogram encoder.
        fused_channels: width of the fused stream.
        dilations: of the blocks of the kinematic encoder, in emission frames, one block each.
        audio_dilations: of the blocks of the spectrogram encoder.
        fused_dilations: of the blocks after fusion.
        dropout: share of the channels of an item that a residual block leaves out while training.
        gate_reduction: channels of a block over those that its gate squeezes the whole item into; 0 has no gates.
        guess_halfway: ask the kinematic encoder for its letters once already after half of its blocks. Not the other:
            with a guess of its own, sound had the same loss and read fewer letters.
        fusion: ``early`` (hidden states join, then blocks) or ``late`` (the two heads' logits are weighted and added).
        video_dropout, audio_dropout: probability that the fused stream is denied a modality while training.
    """

    alphabet: str = "abcdefghijklmnopqrstuvwxyz"
    kinematic_inputs: int = 15
    spectrogram_inputs: int = 40
    channels: int = 224
    audio_channels: int = 128
    fused_channels: int = 160
    dilations: tuple[int, ...] = (1, 2, 4, 8, 1, 2, 4, 8)
    audio_dilations: tuple[int, ...] = (1, 2, 4, 8, 1, 2, 4, 8)
    fused_dilations: tuple[int, ...] = (1, 2)
    dropout: float = 0.1
    gate_reduction: int = 8
    guess_halfway: bool = True
    fusion: str = "early"
    video_dropout: float = 0.1
    audio_dropout: float = 0.2

    def __post_init__(self) -> None:
        if self.fusion not in ("early", "late"):
            raise ValueError(f"fusion must be early or late, not {self.fusion}")
        if len(set(self.alphabet)) != len(self.alphabet) or not self.alphabet:
            raise ValueError("alphabet must hold each letter once")
        wide, share = (2, INFINITE), (0.0, 1.0)
        bounded(self, channels=wide, audio_channels=wide, fused_channels=wide, gate_reduction=(0, INFINITE))
        bounded(self, dropout=share, video_dropout=share, audio_dropout=share)
        if not (self.dilations and self.audio_dilations) or min(*self.dilations, *self.audio_dilations, 1) < 1:
            raise ValueError("dilations, audio_dilations: give at least one each, each 1 or more")


class FusionModel(nn.Module):
    """Kinematics and spectrogram to three streams of CTC logits."""

    def __init__(self, settings: ModelSettings) -> None:
        super().__init__()
        self.settings = settings
        labels = len(settings.alphabet) + 1
        self.video_encoder = StreamEncoder(
            settings.kinematic_inputs,
            settings.channels,
            settings.dilations,
            settings.dropout,
            settings.gate_reduction,
            labels,
            settings.guess_halfway,
        )
        self.audio_encoder = StreamEncoder(
            settings.spectrogram_inputs,
            settings.audio_channels,
            settings.audio_dilations,
            settings.dropout,
            settings.gate_reduction,
            labels,
            guess_halfway=False,
        )
        self.video_head = nn.Linear(settings.channels, labels)
        self.audio_head = nn.Linear(settings.audio_channels, labels)
        self.no_video = nn.Parameter(torch.zeros(settings.channels))
        self.no_audio = nn.Parameter(torch.zeros(settings.audio_channels))
        if settings.fusion == "early":
            self.join = nn.Linear(settings.channels + settings.audio_channels, settings.fused_channels)
            self.fused_blocks = nn.ModuleList(
                ResidualBlock(settings.fused_channels, dilation, settings.dropout, settings.gate_reduction)
                for dilation in settings.fused_dilations
            )
            self.fused_head = nn.Linear(settings.fused_channels, labels)
        else:
            self.weights = nn.Parameter(torch.tensor([1.0, 1.0]))

    def forward(
        self,
        kinematics: Tensor,
        kinematics_mask: Tensor,
        spectrogram: Tensor,
        spectrogram_mask: Tensor,
        lengths: Tensor,
        training_too: bool = False,
    ) -> tuple[Tensor, ...]:
        """Logits of the video, audio and fused heads.

        Args:
            kinematics: ``[B, T, K]``.
            kinematics_mask: bool ``[B, T]``.
            spectrogram: ``[B, T, M]``.
            spectrogram_mask: bool ``[B, T]``.
            lengths: int ``[B]`` frames of each item.
            training_too: also give what only training asks about.

        Returns:
            Three tensors ``[B, U, A]`` with U = ceil(T / 4); with ``training_too`` also sound's hidden states
            ``[B, U, C]`` and, of a network that guesses halfway, the guess ``[B, U, A]``.
        """
        halved = self._inside(kinematics, (lengths + 1) // 2, (kinematics.shape[1] - 1) // 2 + 1)
        # ceil(T / 4), written as the convolutions count it, so that exporters can prove both equal.
        inside = self._inside(kinematics, self.emission_lengths(lengths), (kinematics.shape[1] - 1) // SUBSAMPLING + 1)
        video, video_guess = self.video_encoder(kinematics, kinematics_mask, halved, inside)
        audio, _ = self.audio_encoder(spectrogram, spectrogram_mask, halved, inside)
        further = (audio, *(() if video_guess is None else (video_guess,))) if training_too else ()
        has_video = kinematics_mask.any(dim=1)
        has_audio = spectrogram_mask.any(dim=1)
        if self.training:
            has_video, has_audio = self._drop_modalities(has_video, has_audio)
        has_video, has_audio = has_video[:, None, None], has_audio[:, None, None]
        video_logits, audio_logits = self.video_head(video), self.audio_head(audio)
        if self.settings.fusion == "late":
            weights = F.softplus(self.weights)
            fused = weights[0] * video_logits * has_video + weights[1] * audio_logits * has_audio
            return video_logits, audio_logits, fused, *further
        hidden = torch.cat(
            (torch.where(has_video, video, self.no_video), torch.where(has_audio, audio, self.no_audio)), dim=-1
        )
        hidden = self.join(hidden)
        for block in self.fused_blocks:
            hidden = block(hidden, inside)
        return video_logits, audio_logits, self.fused_head(hidden), *further

    @staticmethod
    def _inside(like: Tensor, lengths: Tensor, frames: int) -> Tensor:
        """``[B, frames, 1]``, 1 up to each item's length."""
        return (torch.arange(frames, device=like.device)[None, :] < lengths[:, None]).unsqueeze(-1).to(like.dtype)

    @staticmethod
    def emission_lengths(lengths: Tensor) -> Tensor:
        """Emission frames of items of so many feature frames."""
        return torch.div(lengths + SUBSAMPLING - 1, SUBSAMPLING, rounding_mode="floor")

    def _drop_modalities(self, has_video: Tensor, has_audio: Tensor) -> tuple[Tensor, Tensor]:
        """Deny the fused stream one modality of some items that have both; never both."""
        draw = torch.rand(has_video.shape, device=has_video.device)
        both = has_video & has_audio
        no_video = both & (draw < self.settings.video_dropout)
        no_audio = both & (draw > 1.0 - self.settings.audio_dropout)
        return has_video & ~no_video, has_audio & ~no_audio
