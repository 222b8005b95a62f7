"""What a loader sends and what the device makes of it."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unwritten.features.spectrogram import SpectrogramSettings
from unwritten.training.data import collate
from unwritten.training.pool import quantise
from unwritten.training.samples import (
    ComposedItem,
    PlannedItem,
    SoundAugmentSettings,
    SoundChange,
    letter_shots,
    sound_change,
)

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


@given(lengths=st.lists(st.floats(1.0, 90.0), min_size=1, max_size=6), cut=st.integers(0, 5))
def test_frames_of_a_spelled_word_belong_to_its_letters_in_order(lengths: list[float], cut: int) -> None:
    item = PlannedItem(tuple(range(len(lengths))), "letter"[: len(lengths)], 0)
    frames = int(sum(lengths)) + 1 - min(cut, int(sum(lengths)))
    shot = letter_shots(item, np.array(lengths), frames)
    assert (np.diff(shot) >= 0).all() and shot[0] == 0 and shot[-1] < len(lengths)
    for number, end in enumerate(np.cumsum(lengths)):
        count = (shot <= number).sum()
        assert abs(count - min(frames, end)) <= 1.0 or number == len(lengths) - 1


def test_frames_of_a_word_in_one_take_belong_to_no_letter_and_shots_count_through_a_batch() -> None:
    assert (letter_shots(PlannedItem((3,), "word", 0), np.array([50.0]), 50) == -1).all()
    one = item(np.zeros((64, BANDS.n_mels), np.float32), np.ones(64, np.bool_), unchanged(64))
    spelled = one._replace(shot=np.repeat(np.arange(4), 16))
    batch = collate([spelled, one, spelled], "abcdefghijklmnopqrstuvwxyz", BANDS)
    found = [sorted(set(row.tolist())) for row in batch.shots]
    assert found == [[0, 1, 2, 3], [-1], [8, 9, 10, 11]]
    assert batch.shots.shape == (3, 16)
