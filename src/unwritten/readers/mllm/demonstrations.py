"""Solved items that are shown before the question: other words, and no letter clip that the item is made of."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np

from unwritten.errors import UnwrittenError
from unwritten.types import Clip, Modality


def demonstrations(clip: Clip, pool: Sequence[Clip], k: int, modality: Modality, seed: int) -> list[Clip]:
    """Items to show before one item; the same ones whenever it is asked.

    Args:
        clip: the item.
        pool: all items of the benchmark in this modality.
        k: how many.
        modality: what they are shown in.
        seed: of the choice.

    Raises:
        UnwrittenError: the benchmark has too few that share neither word nor letter clips with the item.
    """
    own = set(clip.letter_clips)
    usable = [
        other
        for other in sorted(pool, key=lambda other: other.id)
        if other.word and other.word != clip.word and modality in other.modalities and not own & set(other.letter_clips)
    ]
    same_style = [other for other in usable if other.style == clip.style]
    usable = same_style if len(same_style) >= k else usable
    if len(usable) < k:
        raise UnwrittenError(
            f"{clip.id}: only {len(usable)} items of other words and letter clips to show; set "
            f"demonstrations={len(usable)}"
        )
    rng = np.random.default_rng([seed, zlib.crc32(clip.id.encode())])
    return [usable[index] for index in rng.choice(len(usable), size=k, replace=False)]
