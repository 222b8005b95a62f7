"""Temperatures of the heads."""

import numpy as np
import pytest
import torch

from unwritten.cli import main
from unwritten.features.extract import FeatureSettings
from unwritten.models.checkpoint import load_model, save_small
from unwritten.models.export import example_inputs
from unwritten.models.fusion import FusionModel, ModelSettings
from unwritten.models.temperature import divide_logits
from unwritten.readers.ctc import CtcReader
from unwritten.readers.temperature import fit_temperatures

SMALL = {"channels": 16, "audio_channels": 16, "fused_channels": 16, "dilations": (1,), "audio_dilations": (1,)}


@pytest.mark.parametrize("fusion", ["early", "late"])
def test_every_head_is_divided_by_its_own_temperature(fusion: str, tmp_path) -> None:
    torch.manual_seed(0)
    network = FusionModel(ModelSettings(**SMALL, fusion=fusion)).eval()
    save_small(network, FeatureSettings().as_mapping(), {}, tmp_path / "small.ckpt")
    inputs = example_inputs(load_model(tmp_path / "small.ckpt"))
    temperatures = {"video": 1.5, "audio": 0.8, "av": 1.2}
    with torch.no_grad():
        before, after = network(*inputs), divide_logits(network, temperatures)(*inputs)
    for name, plain, divided in zip(temperatures, before, after, strict=True):
        torch.testing.assert_close(divided * temperatures[name], plain, rtol=1e-4, atol=1e-5)


def test_a_temperature_must_be_positive() -> None:
    with pytest.raises(ValueError, match="positive"):
        divide_logits(FusionModel(ModelSettings(**SMALL)), {"video": 0.0, "audio": 1.0, "av": 1.0})


def test_a_head_that_was_made_too_sure_is_found_out(tmp_path, unipen) -> None:
    """Sharpened twofold, heads ask for twice the temperature. On hard clips: a head that never errs asks for none."""
    from unwritten.simulation.clips import load_handwriting_benchmark

    clips = load_handwriting_benchmark(unipen / "letters.npz", "shots", 12, "harsh", 7, 0.1)
    shipped = load_model()
    sharp = divide_logits(shipped.network, {"video": 0.5, "audio": 0.5, "av": 0.5})
    save_small(sharp, shipped.features, shipped.about, tmp_path / "sharp.ckpt")
    plain, found = (fit_temperatures(CtcReader(path), clips) for path in (None, tmp_path / "sharp.ckpt"))
    for modality in ("video", "audio", "av"):
        assert 0.55 < plain[modality] < 1.9
        assert found[modality] == pytest.approx(2.0 * plain[modality], rel=0.05)


def test_the_exported_checkpoint_holds_the_temperatures_it_says(tmp_path, unipen, capsys) -> None:
    target = tmp_path / "calibrated.ckpt"
    shipped = load_model()
    save_small(shipped.network, shipped.features, {"seed": 0}, tmp_path / "own.ckpt")
    corpus = str(unipen / "letters.npz")
    assert main(["export", str(tmp_path / "own.ckpt"), "-o", str(target), "--calibrate", corpus, "--limit", "6"]) == 0
    assert "temperatures of the heads" in capsys.readouterr().out
    exported = load_model(target)
    heads = exported.network.video_head.bias, shipped.network.video_head.bias
    ratio = (heads[1] / heads[0]).detach().numpy()
    np.testing.assert_allclose(np.median(ratio), exported.about["temperatures"]["video"], rtol=1e-2)
