"""The network: what its emissions may depend on."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from unwritten.models.encoder import WholeItemGate
from unwritten.models.fusion import FusionModel, ModelSettings
from unwritten.models.shot_letters import ShotLetters

SMALL = ModelSettings(
    channels=16,
    audio_channels=16,
    fused_channels=16,
    dilations=(1, 4),
    audio_dilations=(1, 2),
    gate_reduction=4,
    guess_halfway=True,
)


def network(seed: int = 0, **changes) -> FusionModel:
    """A small network whose gates are no longer what they begin as."""
    torch.manual_seed(seed)
    made = FusionModel(replace(SMALL, **changes)).eval()
    for module in made.modules():
        if isinstance(module, WholeItemGate):
            torch.nn.init.normal_(module.excite.weight)
    return made


def inputs(batch: int, frames: int, lengths: list[int]) -> tuple[torch.Tensor, ...]:
    inside = torch.arange(frames)[None] < torch.tensor(lengths)[:, None]
    kinematics = torch.randn(batch, frames, SMALL.kinematic_inputs) * inside[:, :, None]
    spectrogram = torch.randn(batch, frames, SMALL.spectrogram_inputs) * inside[:, :, None]
    return kinematics, inside, spectrogram, inside.clone(), torch.tensor(lengths)


@settings(max_examples=20, deadline=None)
@given(first=st.integers(8, 60), more=st.integers(1, 70), seed=st.integers(0, 100))
def test_an_item_is_read_alike_whatever_it_is_batched_with(first: int, more: int, seed: int) -> None:
    made = network(seed)
    both = inputs(2, first + more, [first, first + more])
    alone = tuple(stream[:1, :first] if stream.ndim > 1 else stream[:1] for stream in both)
    with torch.no_grad():
        for together, single in zip(made(*both), made(*alone), strict=True):
            torch.testing.assert_close(together[:1, : single.shape[1]], single, rtol=1e-4, atol=1e-5)


def test_a_gate_sees_the_whole_item_and_begins_as_none() -> None:
    torch.manual_seed(0)
    x, inside = torch.randn(1, 30, 16), torch.ones(1, 30, 1)
    assert torch.equal(WholeItemGate(16, 4)(x, inside), x)
    far = inputs(1, 400, [400])
    changed = (far[0].clone(), *far[1:])
    changed[0][:, -1] += 5.0
    with torch.no_grad():
        for reduction, depends in ((4, True), (0, False)):
            made = network(gate_reduction=reduction)
            first = [made(*streams)[0][0, 0] for streams in (far, changed)]
            assert torch.equal(*first) != depends


@pytest.mark.parametrize("halfway", [True, False])
def test_what_only_training_asks_comes_after_the_heads(halfway: bool) -> None:
    made, streams = network(guess_halfway=halfway), inputs(2, 40, [40, 30])
    plain, asked = made(*streams), made(*streams, training_too=True)
    assert len(plain) == 3 and len(asked) == 3 + 1 + halfway
    assert asked[3].shape == (2, 10, SMALL.audio_channels)
    for one, other in zip(plain, asked[:3], strict=True):
        assert torch.equal(one, other)


def test_a_guess_is_halfway_and_later_blocks_know_it() -> None:
    made, streams = network(), inputs(1, 40, [40])
    *heads, _, guess = made(*streams, training_too=True)
    guess.sum().backward()
    blocks = made.video_encoder.blocks
    assert blocks[0].conv.weight.grad is not None and blocks[1].conv.weight.grad is None
    with torch.no_grad():
        made.video_encoder.guess.bias[5] += 20.0
        assert not torch.allclose(made(*streams)[0], heads[0])


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 100), first=st.integers(2, 8), more=st.integers(2, 8))
def test_a_shot_is_named_from_its_own_frames_alone(seed: int, first: int, more: int) -> None:
    torch.manual_seed(seed)
    naming = ShotLetters(channels=12, letters=5)
    with torch.no_grad():
        naming.attention.weight.mul_(20.0)  # some shots' frames then score far below those of others
    hidden = torch.randn(1, first + more + 3, 12)
    shots = torch.tensor([[0] * first + [-1] * 3 + [1] * more])
    both = naming(hidden, shots, 3)
    order = torch.cat((torch.randperm(first), torch.arange(first, first + more + 3)))
    torch.testing.assert_close(naming(hidden[:, order], shots, 3)[:2], both[:2], rtol=1e-4, atol=1e-5)
    changed = hidden.clone()
    changed[:, first:] += 1.0
    other = naming(changed, shots, 3)
    torch.testing.assert_close(other[0], both[0], rtol=1e-4, atol=1e-5)
    assert not torch.allclose(other[1], both[1])


def test_a_setting_that_means_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="gate_reduction"):
        ModelSettings(gate_reduction=-1)
