"""Temperatures of the heads, folded into their weights: emissions are then as sure as they should be."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping

import torch
from torch import nn

from unwritten.models.fusion import FusionModel
from unwritten.types import Modality


def divide_logits(network: FusionModel, temperatures: Mapping[Modality, float]) -> FusionModel:
    """A copy of a network whose heads' logits are divided by their temperatures (C. Guo et al., ICML 2017).

    Args:
        network: any fusion.
        temperatures: of ``video``, ``audio`` and ``av``; above 1 for a head that is too sure.

    Raises:
        ValueError: a temperature is not positive.
    """
    if any(not (value > 0 and math.isfinite(value)) for value in temperatures.values()):
        raise ValueError(f"temperatures {dict(temperatures)}: each must be positive and finite")
    network = copy.deepcopy(network)
    with torch.no_grad():
        heads: dict[Modality, nn.Linear] = {"video": network.video_head, "audio": network.audio_head}
        if network.settings.fusion == "early":
            heads["av"] = network.fused_head
        else:
            # What is added up comes out of heads that are divided already.
            own = torch.tensor([temperatures["video"], temperatures["audio"]])
            wanted = torch.nn.functional.softplus(network.weights) * own / temperatures["av"]
            network.weights.copy_(torch.log(torch.expm1(wanted)))
        for name, head in heads.items():
            head.weight.div_(temperatures[name])
            head.bias.div_(temperatures[name])
    return network
