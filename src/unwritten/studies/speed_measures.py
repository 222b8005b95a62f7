"""What is measured: each function times the two sides of its pairs in one process, on the threads that it was given.

Small work is timed as the quickest of several runs, so that other programs hardly count; long work once.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Row:
    """One pair.

    Attributes:
        name: what is measured.
        against: what it is compared with.
        own: seconds, or units of work a second; other: the same of what it is compared with.
        unit: of ``own`` and ``other``.
        ratio: how many times better ``own`` is.
        note: sizes, and what was checked.
    """

    name: str
    against: str
    own: float
    other: float
    unit: str
    ratio: float
    note: str = ""


def quickest_s(action: Callable[[], object], runs: int) -> float:
    """Wall seconds of the quickest of ``runs`` runs, after one that compiles."""
    action()
    times = []
    for _ in range(runs):
        start_s = time.perf_counter()
        action()
        times.append(time.perf_counter() - start_s)
    return min(times)


def faster(name: str, against: str, own_s: float, other_s: float, note: str) -> Row:
    """A pair of times."""
    return Row(name, against, own_s, other_s, "s", other_s / own_s, note)


def tracks_of(count: int, seed: int = 0) -> list[tuple[NDArray, NDArray, NDArray, NDArray, NDArray]]:
    """Smooth paths of two to six shots, some frames unseen: time, xy, visible, shot and contact of each."""
    rng = np.random.default_rng(seed)
    tracks = []
    for _ in range(count):
        frames = int(rng.integers(150, 500))
        time_s = np.arange(frames) / float(rng.choice([30.0, 59.94])) + rng.uniform(0, 2e-4, frames)
        xy = np.cumsum(rng.normal(size=(frames, 2)), axis=0)
        for _ in range(3):
            xy = (np.roll(xy, 1, 0) + 2 * xy + np.roll(xy, -1, 0)) / 4
        cuts = np.sort(rng.integers(1, frames, size=int(rng.integers(1, 6))))
        shot = np.searchsorted(cuts, np.arange(frames), side="right").astype(np.int64)
        tracks.append((time_s - time_s[0], 0.1 * xy, rng.random(frames) > 0.08, shot, rng.random(frames)))
    return tracks


def kinematics(quick: bool) -> list[Row]:
    """Numba against the same formulas in NumPy for all tracks at once, which is the quicker way there."""
    from unwritten.features.kinematics import KinematicsSettings, differentiate, kinematic_channels
    from unwritten.studies import kinematics_numpy

    settings = KinematicsSettings()
    tracks = tracks_of(8 if quick else 64)

    def numba_one(track: tuple[NDArray, NDArray, NDArray, NDArray, NDArray]) -> NDArray[np.float32]:
        time_s, xy, visible, shot, contact = track
        motion = differentiate(time_s, xy, visible, shot, settings)
        return kinematic_channels(motion, np.interp(motion.time_s, time_s, contact), settings)

    for own, other in zip(map(numba_one, tracks), kinematics_numpy.kinematics(tracks, settings), strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-5, atol=1e-5)
    runs = 2 if quick else 5
    own_s = quickest_s(lambda: [numba_one(track) for track in tracks], runs)
    batched_s = quickest_s(lambda: kinematics_numpy.kinematics(tracks, settings), runs)
    note = f"{len(tracks)} tracks, results equal to 1e-5"
    return [faster("kinematics, numba", "NumPy, all tracks at once", own_s, batched_s, note)]


def tracker(quick: bool) -> list[Row]:
    """Tracking a rendered clip, decoding included, against decoding it alone."""
    from unwritten.media import read_frames, write_video
    from unwritten.simulation.scene import SceneSettings, render
    from unwritten.studies.conditions import Condition, make_truth
    from unwritten.tracking import track

    rng = np.random.default_rng(0)
    truth = make_truth(Condition("dark nib", longest_s=0.5 if quick else 3.0, letters=2), rng)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "clip.mp4"
        write_video(path, (frame.image for frame in render(truth, SceneSettings(), rng)), truth.time_s)
        frames = sum(1 for _ in read_frames(path))
        runs = 1 if quick else 3
        decoding_s = quickest_s(lambda: sum(1 for _ in read_frames(path)), runs)
        tracking_s = quickest_s(lambda: track(path), runs)
    width, height = (round(side) for side in truth.size_px)
    note = f"{frames} frames of {width}x{height}"
    own, other = frames / tracking_s, frames / decoding_s
    return [Row("decoding and tracking", "decoding the video alone", own, other, "frames/s", own / other, note)]


def lexicon(quick: bool) -> list[Row]:
    """Exact posteriors of all words against PyTorch's CTC loss of each, and a whole answer against a beam search."""
    from unwritten.decoding.decode import decode
    from unwritten.decoding.lexicon import Lexicon
    from unwritten.decoding.likelihood import word_log_likelihoods
    from unwritten.decoding.settings import DecodingSettings
    from unwritten.studies.decoding_speed import ctc_loss_of_every_word, emissions_like
    from unwritten.words.lists import word_list

    frames, runs = (60, 1) if quick else (150, 5)
    words = word_list("benchmark")
    whole = Lexicon.build(words.words, words.frequency)
    log_probs = emissions_like("flat", frames)
    some = Lexicon.build(whole.words[:: 50 if quick else 6])
    found = word_log_likelihoods(log_probs, whole)
    wanted = -ctc_loss_of_every_word(log_probs, some).numpy()
    np.testing.assert_allclose(found[[whole.number[word] for word in some.words]], wanted, rtol=1e-4)
    own_s = quickest_s(partial(word_log_likelihoods, log_probs, whole), runs)
    loss_s = quickest_s(partial(ctc_loss_of_every_word, log_probs, some), runs) * len(whole) / len(some)
    note = f"{len(whole)} words, {frames} emission frames, likelihoods equal to 1e-4"
    rows = [faster("lexicon likelihoods, exact", "ctc_loss of every word", own_s, loss_s, note)]
    beam = beam_search(whole.words, 500)
    if beam is not None:
        answer_s = quickest_s(partial(decode, log_probs, DecodingSettings(), whole), runs)
        beam_s = quickest_s(partial(beam, log_probs), runs)
        note = f"{len(whole)} words, {frames} emission frames, beam of 500"
        rows.append(faster("lexicon answer, exact", "torchaudio ctc_decoder, pruned", answer_s, beam_s, note))
    return rows


def beam_search(words: tuple[str, ...], width: int) -> Callable[[NDArray[np.float32]], object] | None:
    """torchaudio's lexicon beam search, None where flashlight-text is not installed."""
    import torch

    try:
        from torchaudio.models.decoder import ctc_decoder
    except (ImportError, RuntimeError):
        return None
    tokens = ["-", *"abcdefghijklmnopqrstuvwxyz", "|"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lexicon.txt"
        path.write_text("".join(f"{word} {' '.join(word)} |\n" for word in words))
        decoder = ctc_decoder(lexicon=str(path), tokens=tokens, beam_size=width, blank_token="-", sil_token="|")

    def run(log_probs: NDArray[np.float32]) -> object:
        # The word's end is a label of its own there; it is as likely as the blank.
        padded = np.concatenate([log_probs, log_probs[:, :1]], axis=1)
        return decoder(torch.from_numpy(padded)[None])

    return run


def simulation(quick: bool) -> list[Row]:
    """Simulated clips and training items, in seconds of writing for each second of one core."""
    from unwritten.handwriting.corpus import from_strokes
    from unwritten.handwriting.writers import SimulatedWriter
    from unwritten.simulation.clips import live_clips
    from unwritten.simulation.severity import SimulationSettings

    words = ["above", "the", "quick", "brown", "letter"][: 2 if quick else 5]
    writers = [SimulatedWriter(number, "standard") for number in range(1 if quick else 4)]
    corpus = from_strokes([writer.write(word) for writer in writers for word in words], "bench")
    settings = SimulationSettings()
    clips = live_clips(corpus, settings, None, 0)
    seconds = sum(float(clip.recording.track.time_s[-1]) for clip in clips if clip.recording and clip.recording.track)
    clips_s = quickest_s(lambda: live_clips(corpus, settings, None, 0), 1 if quick else 3)
    own = seconds / clips_s
    rows = [Row("film and sound of words", "the time they last", own, 1.0, "s/s", own, f"{len(clips)} clips")]
    with simulated_training(quick) as (data, _, _):
        batches = len(data.training.batches(0))
        frames = items = 0
        start_s = time.perf_counter()
        for number in range(batches):
            batch = data.training[(0, number)]
            frames, items = frames + int(batch.lengths.sum()), items + len(batch.lengths)
        spent_s = time.perf_counter() - start_s
    own = frames / 60.0 / spent_s
    note = f"{items} items, {items / spent_s:.0f} a second, from performed handwriting in the store"
    return [*rows, Row("training items", "the time they last", own, 1.0, "s/s", own, note)]


@contextmanager
def simulated_training(quick: bool) -> Iterator[tuple]:
    """Data, module and settings of a small training run from simulated writers, in a store of its own."""
    from unwritten.store import Store
    from unwritten.studies.gpu import FULL, QUICK, WORDS
    from unwritten.training.data import LoaderSettings
    from unwritten.training.handwriting import HandwritingSettings
    from unwritten.training.setup import TrainingSettings, assemble

    settings = TrainingSettings(
        max_epochs=2,
        handwriting=HandwritingSettings(simulated_writers={"standard": 1 if quick else 4, "cursive": 1}, takes=1),
        loader=LoaderSettings(items_per_epoch=48 if quick else 640, validation_items=16, workers=1),
        model=(QUICK if quick else FULL).model,
    )
    with tempfile.TemporaryDirectory() as folder:
        words = (WORDS, [1.0] * len(WORDS))
        data, module = assemble(settings, Store(folder), words=words, quiet=True)
        yield data, module, settings


def training(quick: bool) -> list[Row]:
    """Items a second of training from the store, one process composing batches, against the model's steps alone."""
    import torch

    from unwritten.studies.gpu import EpochClock, fresh, step_rate, train
    from unwritten.training.trainer import TrainerSettings, precision

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    wanted = precision("auto", device.type)
    with simulated_training(quick) as (data, module, settings), tempfile.TemporaryDirectory() as folder:
        batches = [data.training[(0, number)] for number in range(min(6, len(data.training.batches(0))))]
        clock = EpochClock(device)
        trainer = TrainerSettings(accelerator=device.type, devices=1, precision=wanted, max_epochs=2)
        alone = step_rate(fresh(module), batches, device, wanted, 2 if quick else 12)
        train(settings, trainer, data, Path(folder), fresh(module), [clock])
    own = clock.items_per_s
    note = f"{sum(value.numel() for value in module.parameters()) / 1e6:.1f} M parameters, {wanted}, {device.type}"
    return [Row("training from the store", "forward and backward alone", own, alone, "items/s", own / alone, note)]


MEASURES: dict[str, Callable[[bool], list[Row]]] = {
    "kinematics": kinematics,
    "tracker": tracker,
    "lexicon": lexicon,
    "simulation": simulation,
    "training": training,
}
"""By name, in the order of the table."""
