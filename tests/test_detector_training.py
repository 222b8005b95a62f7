"""How the nib detector learns: from rendered tips that stay where they are however a picture is cropped."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
import torch

from unwritten.studies.detector_training import augment, main, render_examples, target_of
from unwritten.tracking.detector import STRIDE, NibDetector, NibNetwork, peaks_of


@pytest.fixture(scope="module")
def examples():
    return render_examples(3)


def test_a_scene_shows_one_pen_in_several_places_and_once_none(examples):
    tips = [example.tip for example in examples]
    assert tips[-1] is None and all(tip is not None for tip in tips[:-1])
    assert len({tuple(tip) for tip in tips[:-1]}) == len(tips) - 1
    for example in examples[:-1]:
        height, width = example.picture.shape[:2]
        assert (example.tip >= 0).all() and (example.tip < (width, height)).all()


def test_the_tip_moves_with_its_crop(examples):
    """A dot put at the tip is where the augmented tip says, whatever crop, mirror image and scale were drawn."""
    rng, seen = np.random.default_rng(0), 0
    for example in examples[:-1]:
        height, width = example.picture.shape[:2]
        y, x = np.mgrid[:height, :width]
        dot = np.hypot(x - example.tip[0], y - example.tip[1]) < 5
        marked = type(example)(cv2.imencode(".png", (255 * dot).astype(np.uint8))[1], example.tip)
        crop, tip = augment(marked, rng)
        if tip is None:
            continue
        grey = crop.mean(axis=2)
        if grey.max() < 3 * np.median(grey) + 0.2:
            continue  # the dot lies on the crop's border
        bright = np.argwhere(grey > 0.5 * (grey.max() + np.median(grey)))
        assert np.hypot(*(bright.mean(axis=0)[::-1] - tip)) < 3
        seen += 1
    assert seen >= 4


@pytest.mark.parametrize("tip", [(20.3, 77.8), (3.0, 140.0)])
def test_the_target_peaks_at_the_tip_and_sums_to_one(tip):
    target = target_of(np.array(tip))
    assert target.sum() == pytest.approx(1.0, abs=1e-5) and target[-1] == 0
    cells = round(np.sqrt(len(target) - 1))
    row, column = divmod(int(target[:-1].argmax()), cells)
    assert np.abs((np.array([column, row]) + 0.5) * STRIDE - 0.5 - tip).max() <= STRIDE
    assert target_of(None)[-1] == 1 and target_of(None)[:-1].sum() == 0


def test_a_network_learns_where_tips_are_from_one_scene(examples):
    torch.manual_seed(0)
    rng, network = np.random.default_rng(0), NibNetwork()
    drawn = [augment(example, rng) for example in (*examples, *examples)]
    pictures = torch.from_numpy(np.stack([picture for picture, _ in drawn])).permute(0, 3, 1, 2).contiguous()
    targets = torch.from_numpy(np.stack([target_of(tip) for _, tip in drawn]))
    optimiser = torch.optim.AdamW(network.parameters(), lr=3e-3)
    losses = []
    for _ in range(12):
        loss = torch.nn.functional.cross_entropy(network(pictures), targets)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.8 * losses[0]


@pytest.mark.slow
def test_a_short_training_writes_weights_that_the_tracker_loads(tmp_path):
    weights = tmp_path / "nib.pt"
    assert main(["--steps", "3", "--batch", "2", "-o", str(weights)]) == 0
    assert not weights.with_suffix(".state").exists()
    picture = render_examples(5)[0].picture
    found = NibDetector(weights).find(picture)
    assert np.isfinite(found.tip).all()
    assert peaks_of(np.eye(4, dtype=np.float32) / 4, 1)[1][0] <= 1
