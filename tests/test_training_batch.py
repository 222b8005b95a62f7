"""What a loader sends and what the device makes of it."""

import numpy as np
import pytest
import torch

from unwritten.features.spectrogram import SpectrogramSettings
from unwritten.training.data import collate
from unwritten.training.pool import quantise
from unwritten.training.samples import ComposedItem, SoundAugmentSettings, SoundChange, sound_change

BANDS = SpectrogramSettings()
FRAMES = 150


def item(mel: np.ndarray, heard: np.ndarray, change: SoundChange) -> ComposedItem:
    kinematics, known = np.zeros((len(mel), 15), np.float32), np.ones(len(mel), np.bool_)
    return ComposedItem(kinematics, known, quantise(mel, BANDS), heard, change, np.full(len(mel), -1), "word")


def unchanged(frames: int) -> SoundChange:
    return SoundChange(
        1.0, np.zeros(BANDS.n_mels, np.float32), np.zeros(frames, np.float32), np.ones(BANDS.n_mels, bool)
    )


@pytest.fixture
def mel() -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.uniform(BANDS.lowest, BANDS.highest, (FRAMES, BANDS.n_mels)).astype(np.float32)


def test_unchanged_sound_comes_back_to_half_a_step_and_is_zero_where_unheard(mel: np.ndarray) -> None:
    heard = np.arange(FRAMES) % 7 != 0
    batch = collate([item(mel, heard, unchanged(FRAMES))], "abcdefghijklmnopqrstuvwxyz", BANDS).varied()
    found = batch.spectrogram[0].numpy()
    half_step = 0.5 * (BANDS.highest - BANDS.lowest) / 255.0
    assert np.abs(found[:FRAMES][heard] - mel[heard]).max() <= half_step + 1e-5
    assert (found[:FRAMES][~heard] == 0).all()
    assert (found[FRAMES:] == 0).all()


def test_loudness_and_tilt_change_the_scratch_and_leave_the_floor(mel: np.ndarray) -> None:
    tilt = np.linspace(-0.1, 0.1, BANDS.n_mels).astype(np.float32)
    change = unchanged(FRAMES)._replace(gain=1.3, tilt=tilt)
    heard = np.ones(FRAMES, np.bool_)
    alphabet = "abcdefghijklmnopqrstuvwxyz"
    plain = collate([item(mel, heard, unchanged(FRAMES))], alphabet, BANDS).varied().spectrogram
    varied = collate([item(mel, heard, change)], alphabet, BANDS).varied().spectrogram
    over = plain > 0
    wanted = (1.3 * plain + torch.from_numpy(tilt)).clamp(BANDS.lowest, BANDS.highest)
    torch.testing.assert_close(varied[:, :FRAMES][over[:, :FRAMES]], wanted[:, :FRAMES][over[:, :FRAMES]])
    torch.testing.assert_close(varied[~over], plain[~over])


def test_items_of_one_batch_keep_their_own_changes(mel: np.ndarray) -> None:
    rng = np.random.default_rng(1)
    heard = np.ones(FRAMES, np.bool_)
    settings = SoundAugmentSettings(band_masks=3, band_width=10)
    items = [item(mel, heard, sound_change(settings, BANDS, FRAMES, rng)) for _ in range(3)]
    items[1].change.floor[:50] = 0.7
    alphabet = "abcdefghijklmnopqrstuvwxyz"
    together = collate(items, alphabet, BANDS).varied().spectrogram
    for row, one in enumerate(items):
        torch.testing.assert_close(together[row], collate([one], alphabet, BANDS).varied().spectrogram[0])
        assert (together[row][:, ~torch.from_numpy(one.change.kept)] == 0).all()
    assert not torch.equal(together[0], together[1])
