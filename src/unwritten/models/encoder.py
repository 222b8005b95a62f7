"""Convolutional encoders of one stream. B is the batch, T frames at the features' rate, U emission frames, C channels.

Emissions come at a quarter of the features' rate: 15 a second leave the quickest hands three frames a letter.

Dilated residual convolutions instead of recurrence: they learn this task several times faster on a CPU, and see a
letter and its neighbours: in the base size 2.1 s to either side. Gates add what the whole
item has in common.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

SUBSAMPLING = 4
"""Feature frames per emission frame."""


class WholeItemGate(nn.Module):
    """Weigh the channels by what all frames of the item have in common: whose hand writes, how large, how fast.

    A convolution sees a letter and its neighbours; a hand shows in all its letters. Squeeze and excitation (J. Hu et
    al., CVPR 2018), over time as in ContextNet (W. Han et al., Interspeech 2020). It begins as no gate at all.
    """

    def __init__(self, channels: int, reduction: int) -> None:
        super().__init__()
        self.squeeze = nn.Linear(channels, max(1, channels // reduction))
        self.excite = nn.Linear(max(1, channels // reduction), channels)
        nn.init.zeros_(self.excite.weight)
        nn.init.zeros_(self.excite.bias)

    def forward(self, x: Tensor, inside: Tensor) -> Tensor:
        """``x [B, U, C]``, ``inside [B, U, 1]`` 1 up to the item's length -> ``[B, U, C]``."""
        mean = (x * inside).sum(dim=1, keepdim=True) / inside.sum(dim=1, keepdim=True).clamp_min(1.0)
        return x * (2.0 * torch.sigmoid(self.excite(F.silu(self.squeeze(mean)))))


class ResidualBlock(nn.Module):
    """Normalise, convolve three frames ``dilation`` apart, mix the channels, add.

    The convolution is one matrix product over three shifted copies: a fifth quicker in bf16 on a CPU than the dilated
    kernel. Frames beyond the end of an item are zeroed before it, so that a result does not depend on what an item was
    batched with. Dropout takes whole channels of an item: neighbouring frames tell the same, so that single ones would
    be guessed from them, and drawing a number for each costs a CPU a seventh of the step.
    """

    def __init__(self, channels: int, dilation: int, dropout: float, gate_reduction: int) -> None:
        super().__init__()
        self.dilation = dilation
        self.norm = nn.LayerNorm(channels)
        self.conv = nn.Linear(3 * channels, channels)
        self.mix = nn.Linear(channels, channels)
        self.dropout = nn.Dropout(dropout)
        self.gate = WholeItemGate(channels, gate_reduction) if gate_reduction else None

    def forward(self, x: Tensor, inside: Tensor) -> Tensor:
        """``x [B, U, C]``, ``inside [B, U, 1]`` 1 up to the item's length -> ``[B, U, C]``."""
        y = self.norm(x) * inside
        frames, step = y.shape[1], self.dilation
        padded = F.pad(y, (0, 0, step, step))
        y = self.conv(torch.cat((padded[:, :frames], y, padded[:, 2 * step :]), dim=-1))
        y = self.mix(F.gelu(y))
        if self.gate is not None:
            y = self.gate(y, inside)
        return x + y * self.dropout(y.new_ones(len(y), 1, y.shape[2]))


class StreamEncoder(nn.Module):
    """One modality's features to hidden states at a quarter of the features' rate.

    With ``guess_halfway`` it is asked for its letters once already, and what it guesses is added to the hidden states:
    later blocks read with their neighbours' letters in sight (self-conditioned CTC, J. Nozaki and T. Komatsu,
    Interspeech 2021).
    """

    def __init__(
        self,
        inputs: int,
        channels: int,
        dilations: Sequence[int],
        dropout: float,
        gate_reduction: int,
        labels: int,
        guess_halfway: bool,
    ) -> None:
        super().__init__()
        self.guess_after = len(dilations) // 2 if guess_halfway else 0
        # The mask is one more input: a missing frame differs from one that holds zeros.
        self.stem = nn.Conv1d(inputs + 1, channels // 2, kernel_size=5, stride=2, padding=2)
        self.widen = nn.Conv1d(channels // 2, channels, kernel_size=5, stride=2, padding=2)
        self.blocks = nn.ModuleList(
            ResidualBlock(channels, dilation, dropout, gate_reduction) for dilation in dilations
        )
        self.norm = nn.LayerNorm(channels)
        if self.guess_after:
            self.guess_norm = nn.LayerNorm(channels)
            self.guess = nn.Linear(channels, labels)
            self.recall = nn.Linear(labels, channels)

    def forward(self, x: Tensor, present: Tensor, halved: Tensor, inside: Tensor) -> tuple[Tensor, Tensor | None]:
        """Hidden states ``[B, U, C]`` with U = ceil(T / 4), and the logits of the guess ``[B, U, A]``.

        Args:
            x: ``[B, T, K]``.
            present: bool ``[B, T]``.
            halved: ``[B, ceil(T / 2), 1]`` 1 up to the item's length at half the features' rate.
            inside: ``[B, U, 1]`` the same at a quarter.
        """
        mask = present.unsqueeze(-1).to(x.dtype)
        hidden = F.gelu(self.stem(torch.cat((x * mask, mask), dim=-1).transpose(1, 2)))
        hidden = hidden * halved.transpose(1, 2)  # as if nothing were behind the item's end
        hidden = F.gelu(self.widen(hidden)).transpose(1, 2)
        guess = None
        for number, block in enumerate(self.blocks):
            if self.guess_after and number == self.guess_after:
                guess = self.guess(self.guess_norm(hidden))
                hidden = hidden + self.recall(F.softmax(guess.float(), dim=-1).to(hidden.dtype))
            hidden = block(hidden, inside)
        return self.norm(hidden), guess
