"""Texts joined from one hand, and a network that learns more letters than the one it begins with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from unwritten.errors import UnwrittenError
from unwritten.features.canonical import canonical_xy
from unwritten.features.extract import FeatureSettings
from unwritten.models.checkpoint import load_model, save_small
from unwritten.models.fusion import FusionModel, ModelSettings
from unwritten.models.module import CtcModule
from unwritten.training.joins import Join, draw_join, placed
from unwritten.training.resume import last_checkpoint, save_state
from unwritten.training.start import begin_with
from unwritten.types import Track

SMALL = ModelSettings(
    alphabet="ab", channels=8, audio_channels=8, fused_channels=8, dilations=(1, 2), audio_dilations=(1,), dropout=0.0,
    guess_halfway=True,
)  # fmt: skip


def square(width_mm: float, bottom_mm: float = 0.0) -> np.ndarray:
    """A square's outline far from the origin."""
    corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]], dtype=float) * width_mm
    return corners + np.array([700.0, 300.0 + bottom_mm])


@pytest.mark.parametrize(("space", "below"), [("", False), (" ", False), ("\n", True)])
def test_what_follows_lies_to_the_right_or_on_a_line_below(space: str, below: bool) -> None:
    join = draw_join(space, np.random.default_rng(0))
    paths, contacts = placed([square(10), square(10, 5)], [np.ones(5, bool)] * 2, ["m", "m"], [join], 10.0)
    first, travel, second = paths
    assert len(travel) == join.samples and not contacts[1].any()
    assert bool(second[:, 0].min() > first[:, 0].max()) is not below
    assert bool(second[:, 1].max() < first[:, 1].min()) is below
    if not below:
        assert second[:, 1].min() == pytest.approx(first[:, 1].min())


def test_a_tail_hangs_below_the_line_and_an_apostrophe_over_it() -> None:
    paths, _ = placed([square(10)] * 3, [np.ones(5, bool)] * 3, ["m", "g", "'"], [Join("", 0.2, 8)] * 2, 10.0)
    line = paths[0][:, 1].min()
    assert paths[2][:, 1].min() < line - 2.0 and paths[4][:, 1].min() > line + 2.0


def test_a_network_of_more_letters_begins_as_the_narrower_one_reads(tmp_path: Path) -> None:
    narrow = FusionModel(SMALL)
    save_small(narrow, FeatureSettings().as_mapping(), {"protocol": "transfer"}, tmp_path / "narrow.ckpt")
    wide = CtcModule(replace(SMALL, alphabet="xb a"))
    begun = load_model(tmp_path / "narrow.ckpt")
    begin_with(begun, tmp_path / "narrow.ckpt", wide)
    frames = torch.randn(1, 40, 15), torch.ones(1, 40, dtype=torch.bool)
    heard = torch.randn(1, 40, 40), torch.ones(1, 40, dtype=torch.bool)
    with torch.no_grad():
        before = begun.network.eval().video_head(begun.network.video_encoder.norm(torch.ones(1, 1, 8)))
        after = wide.network.eval().video_head(wide.network.video_encoder.norm(torch.ones(1, 1, 8)))
        assert torch.isfinite(wide.network(*frames, *heard, torch.tensor([40]))[2]).all()
    assert torch.equal(after[..., [0, 4, 2]], before)
    assert (after[..., [1, 3]] == begun.network.video_head.bias.min()).all()


def test_a_run_without_the_letters_of_its_beginning_is_refused(tmp_path: Path) -> None:
    save_small(FusionModel(SMALL), FeatureSettings().as_mapping(), {"protocol": "transfer"}, tmp_path / "narrow.ckpt")
    with pytest.raises(UnwrittenError, match=r"reads b, which model\.alphabet lacks"):
        begin_with(load_model(tmp_path / "narrow.ckpt"), "narrow.ckpt", CtcModule(replace(SMALL, alphabet="acd")))


def slanted(seconds: float, slope: float) -> Track:
    """Loops of one height along a line that rises."""
    time_s = np.arange(0.0, seconds, 1 / 30)
    x = 40.0 * time_s
    xy = np.stack((x + 10 * np.cos(9 * time_s), -(slope * x + 10 * np.sin(9 * time_s))), axis=1)
    full = np.ones(len(time_s))
    return Track(
        time_s, xy, full > 0, full, np.zeros(len(time_s), np.int64), 0 * full, full, (1.0, 1.0), writing_rad=0.0
    )


def test_letters_of_a_long_slanted_line_keep_the_size_that_they_have_in_a_short_one() -> None:
    short, long = (np.ptp(canonical_xy(slanted(seconds, 0.0), piece_s=10.0)[:40, 1]) for seconds in (5.0, 60.0))
    slant = np.ptp(canonical_xy(slanted(60.0, 0.1), piece_s=10.0)[:40, 1])
    assert long == pytest.approx(short, rel=0.05)
    assert slant > short / 2.5  # as one piece it would be a tenth


def test_a_state_is_less_than_half_of_a_checkpoint_and_goes_on_with_more_handwriting(tmp_path: Path) -> None:
    module = CtcModule(SMALL, {"total_steps": 100}, about={"seed": 0})
    adam = torch.optim.AdamW(module.parameters())
    sum(value.square().sum() for value in module.parameters()).backward()
    adam.step()
    weights = module.state_dict()
    content = {
        "state_dict": weights,
        "current_model_state": {name: value + 1 for name, value in weights.items()},
        "averaging_state": {"n_averaged": torch.tensor(1)},
        "optimizer_states": [adam.state_dict()],
        "hyper_parameters": dict(module.hparams),
    }
    torch.save(content, tmp_path / "last.ckpt")
    save_state(tmp_path / "last.ckpt", tmp_path / "state.ckpt")
    kept = torch.load(tmp_path / "state.ckpt", weights_only=True)
    assert all(torch.allclose(kept["state_dict"][name].float(), weights[name], atol=1e-3) for name in weights)
    longer = CtcModule(SMALL, {"total_steps": 900}, about={"seed": 0})
    assert last_checkpoint(tmp_path / "new", longer, tmp_path / "state.ckpt") == tmp_path / "state.ckpt"
    adam.load_state_dict(kept["optimizer_states"][0])
    assert {value.dtype for state in adam.state.values() for value in state.values()} == {torch.float32}
    with pytest.raises(UnwrittenError, match="no such state"):
        last_checkpoint(tmp_path / "new", longer, tmp_path / "nothing.ckpt")


def test_a_small_checkpoint_has_no_state_to_go_on_from(tmp_path: Path) -> None:
    save_small(FusionModel(SMALL), FeatureSettings().as_mapping(), {}, tmp_path / "small.ckpt")
    with pytest.raises(UnwrittenError, match="is no training checkpoint"):
        save_state(tmp_path / "small.ckpt", tmp_path / "state.ckpt")
