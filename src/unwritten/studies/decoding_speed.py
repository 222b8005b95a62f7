"""How long exact decoding takes on this machine: ``python -m unwritten.studies.decoding_speed``.

One clip of 500 frames and 27 labels, read with the benchmark's list and with all English, in seconds of one core's time
(the smallest of several runs, so that other programs hardly count), and beside it ``ctc_loss`` over
the same words, timed on a thousand of them (its time is proportional to their number) after checking that both agree.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray

from unwritten.decoding.decode import decode
from unwritten.decoding.lexicon import Lexicon
from unwritten.decoding.likelihood import word_log_likelihoods
from unwritten.decoding.settings import DecodingSettings
from unwritten.words.lists import word_list

CLASSES = 27


def emissions_like(kind: str, frames: int, seed: int = 0) -> NDArray[np.float32]:
    """Log probabilities ``[T, 27]``: ``flat`` as before training, ``peaked`` as after it (the word "above")."""
    logits = np.random.default_rng(seed).normal(size=(frames, CLASSES))
    if kind == "peaked":
        logits[:, 0] += 12
        for position, label in enumerate((1, 2, 15, 22, 5)):
            start = int((position + 0.5) * frames / 5)
            logits[start : start + 4, label] += 18
    return torch.from_numpy(logits).log_softmax(-1).float().numpy()


def core_time_s(action: Callable[[], object], runs: int) -> float:
    """Seconds of processor time of the quickest of ``runs`` runs, after one that compiles."""
    action()
    times = []
    for _ in range(runs):
        start = time.process_time()
        action()
        times.append(time.process_time() - start)
    return min(times)


def ctc_loss_of_every_word(log_probs: NDArray[np.float32], lexicon: Lexicon) -> torch.Tensor:
    """``-log P(word)`` ``[W]`` by PyTorch, all words in one batch."""
    words = len(lexicon)
    return torch.nn.functional.ctc_loss(
        torch.from_numpy(log_probs)[:, None].expand(-1, words, -1),
        torch.from_numpy(lexicon.labels).long(),
        torch.full((words,), len(log_probs)),
        torch.from_numpy(lexicon.lengths).long(),
        reduction="none",
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frames", type=int, default=500)
    parser.add_argument("--runs", type=int, default=7)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print(f"{arguments.frames} frames, {CLASSES} labels, one core, quickest of {arguments.runs} runs, in milliseconds")
    print(f"{'list':<10} {'words':>6} {'emissions':<9} {'likelihoods':>11} {'decode':>7} {'ctc_loss':>8} {'ratio':>6}")
    for name in ("benchmark", "english"):
        words = word_list(name)
        lexicon = Lexicon.build(words.words, words.frequency)
        for kind in ("flat", "peaked"):
            log_probs = emissions_like(kind, arguments.frames)
            found = word_log_likelihoods(log_probs, lexicon)
            own_ms = 1e3 * core_time_s(partial(word_log_likelihoods, log_probs, lexicon), arguments.runs)
            whole_ms = 1e3 * core_time_s(partial(decode, log_probs, DecodingSettings(), lexicon), arguments.runs)
            some = Lexicon.build(lexicon.words[:: max(1, len(lexicon) // 1000)])
            wanted = -ctc_loss_of_every_word(log_probs, some).numpy()
            np.testing.assert_allclose(found[[lexicon.number[word] for word in some.words]], wanted, rtol=1e-4)
            loss_ms = 1e3 * core_time_s(partial(ctc_loss_of_every_word, log_probs, some), 2)
            loss_ms *= len(lexicon) / len(some)
            print(
                f"{name:<10} {len(lexicon):>6} {kind:<9} {own_ms:>11.1f} {whole_ms:>7.1f} {loss_ms:>8.0f} "
                f"{loss_ms / own_ms:>6.0f}"
            )


if __name__ == "__main__":
    main()
