"""A pool of performed handwriting: what a pen did and how it sounded, once or a few times per sample of a corpus.

Performing and sounding are the dear half of the simulation and are done beforehand; filming, tracker noise and the
choice of letters for a word are cheap and are drawn anew in every epoch. S is the number of entries, N the number of
motion samples at ``MOTION_RATE_HZ`` in all, F of spectrogram frames in all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unwritten.features.spectrogram import SpectrogramSettings, frame_count, log_mel
from unwritten.handwriting.corpus import HandwritingCorpus
from unwritten.parallel import run_jobs
from unwritten.simulation.motion import MOTION_RATE_HZ
from unwritten.simulation.pen import PenSettings
from unwritten.simulation.sound import simulate_sound
from unwritten.simulation.sound_settings import SoundSettings
from unwritten.simulation.writing import letter_heights_mm, perform_sample
from unwritten.sources import code_digest
from unwritten.store import Arrays, Store

_SHARD = 500  # entries computed together: what a killed run loses at most per process


_Job = tuple[HandwritingCorpus, NDArray[np.float64], str, tuple[int, int, int], dict[str, Any]]
"""A shard's corpus, heights ``[S]``, style, seeds (of the performance, the corpus, the first entry) and key."""


@dataclass(frozen=True)
class PoolSettings:
    """What an entry was made with.

    Attributes:
        pen: pace and habits.
        sound: the microphone's side, None for a silent pool.
        spectrogram: the bands; each entry's floor is its own.
        seed: every choice of the first performance follows from it and the entry's number; later ones count on.
    """

    pen: PenSettings
    sound: SoundSettings | None
    spectrogram: SpectrogramSettings
    seed: int = 0


@dataclass(frozen=True)
class Pool:
    """Performed samples as flat arrays.

    Attributes:
        xy_centimm: int16 ``[N, 2]`` hundredths of a millimetre from the entry's first point, y up.
        pen_down: bool ``[N]``.
        starts: int64 ``[S + 1]`` into the motion samples.
        mel: uint8 ``[F, M]`` quantised log-mel energies over the floor; F = 0 in a silent pool.
        mel_starts: int64 ``[S + 1]`` into the frames.
        labels, writers, styles: str ``[S]``.
        heights_mm: ``[S]`` the writer's letter height.
    """

    xy_centimm: NDArray[np.int16]
    pen_down: NDArray[np.bool_]
    starts: NDArray[np.int64]
    mel: NDArray[np.uint8]
    mel_starts: NDArray[np.int64]
    labels: NDArray[np.str_]
    writers: NDArray[np.str_]
    styles: NDArray[np.str_]
    heights_mm: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def durations_s(self) -> NDArray[np.float64]:
        """``[S]`` seconds."""
        return np.diff(self.starts) / MOTION_RATE_HZ


def quantise(mel: NDArray[np.float32], settings: SpectrogramSettings) -> NDArray[np.uint8]:
    """Normalised energies ``[F, M]`` as bytes: steps of 0.24 dB, far below the noise of a frame.

    ``models.batch.LoadedBatch`` turns them back.
    """
    span = settings.highest - settings.lowest
    return np.clip(np.round((mel - settings.lowest) * (255.0 / span)), 0, 255).astype(np.uint8)


def build_pool(
    corpora: Sequence[tuple[HandwritingCorpus, str]],
    settings: PoolSettings,
    store: Store,
    processes: int = 1,
    progress: bool = True,
    performances: int = 1,
) -> Pool:
    """Perform every sample of the corpora, reusing what the store already holds.

    A hand that writes a letter again writes it at another pace, rests elsewhere and sounds different. A network that
    meets one performance only learns that by heart.

    Args:
        corpora: each with the style that its samples count as.
        settings: how to perform and sound them.
        store: where shards of ``_SHARD`` entries are kept.
        processes: how many to work with.
        progress: show a bar.
        performances: how often each sample is performed, each time an entry of its own.
    """
    parts: list[tuple[HandwritingCorpus, NDArray[np.float64], str, str, int, dict[str, Any]]] = []
    for corpus, style in corpora:
        relevant = asdict(settings)
        if (np.char.str_len(corpus.labels) > 1).all():
            # Words have no hops, so their settings must not make them anew.
            del relevant["pen"]["hop_probability"], relevant["pen"]["hop_reach"]
        heights_mm = letter_heights_mm(corpus)
        digest = corpus_digest(corpus)
        for first in range(0, len(corpus), _SHARD):
            chosen = np.arange(first, min(first + _SHARD, len(corpus)))
            parts.append((corpus.subset(chosen), heights_mm[chosen], style, digest, first, relevant))
    jobs: list[_Job] = []
    code = code_digest(__name__)
    for seed in range(settings.seed, settings.seed + performances):
        for part, heights_mm, style, digest, first, relevant in parts:
            key = {"code": code, "corpus": digest, "style": style, "first": first, **relevant, "seed": seed}
            jobs.append((part, heights_mm, style, (seed, int(digest[:8], 16), first), key))
    sizes = dict(
        run_jobs(partial(_sizes, settings=settings, root=store.root), jobs, processes, "performing", "shard", progress)
    )
    starts, mel_starts = (
        np.concatenate(([0], *(np.asarray(sizes[number][which]) for number in range(len(jobs))))).cumsum()
        for which in (0, 1)
    )
    pool = Pool(
        xy_centimm=np.empty((starts[-1], 2), dtype=np.int16),
        pen_down=np.empty(starts[-1], dtype=np.bool_),
        starts=starts,
        mel=np.empty((mel_starts[-1], settings.spectrogram.n_mels), dtype=np.uint8),
        mel_starts=mel_starts,
        labels=np.concatenate([job[0].labels for job in jobs]).astype(np.str_),
        writers=np.concatenate([job[0].writers for job in jobs]).astype(np.str_),
        styles=np.concatenate([np.full(len(job[0]), job[2]) for job in jobs]),
        heights_mm=np.concatenate([job[1] for job in jobs]),
    )
    # One shard after the other into its place: all of them beside the pool would be as much memory again.
    entry = 0
    for job in jobs:
        shard, after = _shard(job, settings, store.root), entry + len(job[0])
        for name, bounds in (("xy_centimm", starts), ("pen_down", starts), ("mel", mel_starts)):
            getattr(pool, name)[bounds[entry] : bounds[after]] = shard[name]
        entry = after
    return pool


def corpus_digest(corpus: HandwritingCorpus) -> str:
    """Digest of what is performed: positions, contact, rates, labels and writers."""
    digest = hashlib.sha256()
    for array in (corpus.xy_mm, corpus.pen_down, corpus.offsets, corpus.rate_hz, corpus.labels, corpus.writers):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _sizes(job: _Job, settings: PoolSettings, root: Any) -> tuple[list[int], list[int]]:
    """Motion samples and frames of each of a shard's entries, which then are in the store."""
    shard = _shard(job, settings, root)
    return shard["lengths"].tolist(), shard["mel_lengths"].tolist()


def _shard(job: _Job, settings: PoolSettings, root: Any) -> Arrays:
    corpus, heights_mm, style, seeds, key = job

    def perform_all() -> Arrays:
        import torch

        threads = torch.get_num_threads()
        torch.set_num_threads(1)  # the other cores have shards of their own
        try:
            return _perform_all(corpus, heights_mm, style, seeds, settings)
        finally:
            torch.set_num_threads(threads)

    return Store(root).get_or_compute("performed", key, perform_all)


def _perform_all(
    corpus: HandwritingCorpus,
    heights_mm: NDArray[np.float64],
    style: str,
    seeds: tuple[int, int, int],
    settings: PoolSettings,
) -> Arrays:
    xy, down, mels = [], [], []
    bands = settings.spectrogram
    for index in range(len(corpus)):
        rng = np.random.default_rng([*seeds[:2], seeds[2] + index])
        motion = perform_sample(corpus, index, heights_mm[index], settings.pen, int(rng.integers(2**31)), style)
        xy.append(np.clip(np.round((motion.xy_mm - motion.xy_mm[0]) * 100), -32768, 32767).astype(np.int16))
        down.append(motion.pen_down)
        if settings.sound is None:
            mels.append(np.zeros((0, bands.n_mels), dtype=np.uint8))
            continue
        waveform = simulate_sound(motion, settings.sound, rng, bands.sample_rate_hz)
        frames = frame_count(len(waveform), bands.sample_rate_hz, bands.rate_hz)
        floor_at = [0.0] if len(corpus.labels[index]) == 1 else None
        mel = log_mel(waveform, bands.sample_rate_hz, bands, n_frames=frames, shot_starts_s=floor_at)
        mels.append(quantise(mel, bands))
    return {
        "xy_centimm": np.concatenate(xy),
        "pen_down": np.concatenate(down),
        "lengths": np.array([len(part) for part in xy], dtype=np.int64),
        "mel": np.concatenate(mels),
        "mel_lengths": np.array([len(part) for part in mels], dtype=np.int64),
    }
