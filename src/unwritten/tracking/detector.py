"""A small network that finds the tip of any pen in one picture: a heatmap over the picture, and how sure it is.

It looks at the whole picture at a diagonal of 320 pixels, so it costs the same at any size, and says where to look, not
where the tip is to a fraction of a pixel: that is for refinement at full resolution. Heatmap cells are logits of one
softmax together with a logit for "no tip in view", so that the weight around the peak is a probability.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from unwritten.errors import UnwrittenError
from unwritten.tracking.settings import nib_weights

DIAGONAL_PX = 320.0
STRIDE = 2  # input pixels per heatmap cell
_MULTIPLE = 16  # input sizes are padded to this
_CHANNELS = (24, 48, 96, 128)  # at strides 2, 4, 8 and 16
_LEAST_WEIGHT = 0.005  # of a further peak
_COARSE_DILATIONS = (1, 2, 4, 1)  # they see the hand around the tip


def _convolution(inputs: int, outputs: int, stride: int = 1, dilation: int = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, stride, dilation, dilation, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(inplace=True),
    )


class _Residual(nn.Module):
    def __init__(self, channels: int, dilation: int = 1) -> None:
        super().__init__()
        self.body = _convolution(channels, channels, 1, dilation)

    def forward(self, features: Tensor) -> Tensor:
        return features + self.body(features)


class NibNetwork(nn.Module):
    """RGB in [0, 1] ``[B, 3, H, W]`` (H, W multiples of 16) -> logits ``[B, H / 2 * W / 2 + 1]``, last: no tip."""

    def __init__(self) -> None:
        super().__init__()
        stem, fine, middle, coarse = _CHANNELS
        self.stem = _convolution(3, stem, 2)
        self.fine = nn.Sequential(_convolution(stem, fine, 2), _Residual(fine))
        self.middle = nn.Sequential(_convolution(fine, middle, 2), _Residual(middle), _Residual(middle, 2))
        self.coarse = nn.Sequential(
            _convolution(middle, coarse, 2), *(_Residual(coarse, dilation) for dilation in _COARSE_DILATIONS)
        )
        self.to_middle = nn.Conv2d(coarse, middle, 1)
        self.to_fine, self.to_stem = nn.Conv2d(middle, fine, 1), nn.Conv2d(fine, stem, 1)
        self.merge_middle, self.merge_fine, self.merge_stem = _Residual(middle), _Residual(fine), _Residual(stem)
        self.peak = nn.Conv2d(stem, 1, 1)
        self.nothing = nn.Linear(coarse, 1)

    def forward(self, picture: Tensor) -> Tensor:
        def enlarge(features: Tensor) -> Tensor:
            return nn.functional.interpolate(features, scale_factor=2, mode="bilinear", align_corners=False)

        stem = self.stem(picture * 4 - 2)
        fine = self.fine(stem)
        middle = self.middle(fine)
        coarse = self.coarse(middle)
        middle = self.merge_middle(middle + enlarge(self.to_middle(coarse)))
        fine = self.merge_fine(fine + enlarge(self.to_fine(middle)))
        stem = self.merge_stem(stem + enlarge(self.to_stem(fine)))
        nothing = self.nothing(coarse.amax(dim=(2, 3)))
        return torch.cat([self.peak(stem).flatten(1), nothing], dim=1)


@dataclass(frozen=True)
class Detection:
    """Where the network sees a tip, the most probable place first. K is at least one.

    Attributes:
        tip: ``[K, 2]`` column and row in the picture that was given.
        weight: ``[K]`` probability that the tip lies within about 1.5 % of the diagonal of each.
    """

    tip: NDArray[np.float64]
    weight: NDArray[np.float64]


class NibDetector:
    """Finds tips with trained weights.

    Args:
        weights: file of the network's state; None takes ``checkpoints/nib.pt``.

    Raises:
        UnwrittenError: the file is missing or holds something else.
    """

    def __init__(self, weights: Path | str | None = None) -> None:
        path = Path(weights) if weights is not None else nib_weights()
        self._network = NibNetwork()
        try:
            state = torch.load(path, map_location="cpu", weights_only=True)
            self._network.load_state_dict({name: value.float() for name, value in state.items()})
        except (OSError, RuntimeError, AttributeError, ValueError) as error:
            raise UnwrittenError(f"{path}: no weights of the nib detector; train them or name another file") from error
        self._network.eval()

    def find(self, picture: NDArray[np.uint8], most: int = 1) -> Detection:
        """The most probable tips in an RGB picture ``[H, W, 3]`` with square pixels, at most ``most``."""
        height, width = picture.shape[:2]
        scale = DIAGONAL_PX / float(np.hypot(width, height))
        size = max(8, round(width * scale)), max(8, round(height * scale))
        small = cv2.resize(picture, size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR)
        pad = (-size[1]) % _MULTIPLE, (-size[0]) % _MULTIPLE
        padded = cv2.copyMakeBorder(small, 0, pad[0], 0, pad[1], cv2.BORDER_CONSTANT)
        with torch.inference_mode():
            tensor = torch.from_numpy(np.ascontiguousarray(padded)).permute(2, 0, 1)[None].float() / 255
            share = torch.softmax(self._network(tensor)[0], 0)[:-1].numpy()
        cells, weight = peaks_of(share.reshape(padded.shape[0] // STRIDE, padded.shape[1] // STRIDE), most)
        at = (cells + 0.5) * STRIDE - 0.5
        return Detection((at + 0.5) * np.array([width, height]) / np.array(size) - 0.5, weight)


def peaks_of(heat: NDArray[np.floating], most: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Column and row ``[K, 2]`` of a heatmap's highest peaks, each the mean over the 5x5 cells around it; their weight.

    Peaks lie apart: what belongs to one is taken away before the next is looked for. All but the first weigh
    something.
    """
    heat = np.array(heat, np.float64)
    places: list[NDArray[np.float64]] = []
    weights: list[float] = []
    while len(places) < most:
        row, column = (int(index) for index in np.unravel_index(int(heat.argmax()), heat.shape))
        top, left = max(0, row - 2), max(0, column - 2)
        window = heat[top : row + 3, left : column + 3]
        weight = float(window.sum())
        if places and weight < _LEAST_WEIGHT:
            break
        rows, columns = (np.arange(size) + first for size, first in zip(window.shape, (top, left), strict=True))
        places.append(np.array([window.sum(0) @ columns, window.sum(1) @ rows]) / max(weight, 1e-12))
        weights.append(weight)
        heat[max(0, row - 4) : row + 5, max(0, column - 4) : column + 5] = 0.0
    return np.array(places), np.array(weights)
