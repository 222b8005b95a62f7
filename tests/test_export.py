"""A small checkpoint and ONNX give what the network gives."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from unwritten.cli import main
from unwritten.features.extract import FeatureSettings
from unwritten.models.checkpoint import LoadedModel, load_model
from unwritten.models.export import INPUTS, OUTPUTS, example_inputs, export_onnx
from unwritten.models.fusion import FusionModel, ModelSettings
from unwritten.models.module import CtcModule

SMALL = {"channels": 16, "audio_channels": 8, "fused_channels": 8, "dilations": (1, 2), "audio_dilations": (1,)}


def a_model(fusion="early"):
    torch.manual_seed(0)
    settings = ModelSettings(fusion=fusion, fused_dilations=(1,), **SMALL)
    return LoadedModel(FusionModel(settings).eval(), FeatureSettings().as_mapping(), {"seed": 3})


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A checkpoint as training writes it."""
    path = tmp_path_factory.mktemp("run") / "best.ckpt"
    torch.manual_seed(1)
    module = CtcModule(ModelSettings(fused_dilations=(1,), **SMALL), None, FeatureSettings().as_mapping(), {"seed": 3})
    content = {
        "state_dict": module.state_dict(),
        "hyper_parameters": dict(module.hparams),
        "optimizer": [0.0] * 100_000,
    }
    torch.save(content, path)
    return path


@pytest.fixture(scope="module", params=["early", "late"])
def exported(request, tmp_path_factory):
    """A model and a session of its ONNX file."""
    onnxruntime = pytest.importorskip("onnxruntime")
    model = a_model(request.param)
    path = export_onnx(model, tmp_path_factory.mktemp("onnx") / "model.onnx")
    return model, onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])


def test_onnx_gives_the_same_logits_for_any_batch_and_time(exported):
    model, session = exported
    assert [value.name for value in session.get_inputs()] == list(INPUTS)
    for batch, frames in ((1, 8), (2, 64), (3, 97), (1, 602), (5, 43)):
        inputs = example_inputs(model, batch, frames)
        with torch.no_grad():
            wanted = model.network(*inputs)
        given = session.run(list(OUTPUTS), {k: v.numpy() for k, v in zip(INPUTS, inputs, strict=True)})
        for one, other in zip(wanted, given, strict=True):
            assert one.shape == other.shape
            np.testing.assert_allclose(other, one.numpy(), atol=1e-4)
    metadata = session.get_modelmeta().custom_metadata_map
    assert json.loads(metadata["alphabet"]) == model.network.settings.alphabet
    assert FeatureSettings.from_mapping(json.loads(metadata["features"])) == FeatureSettings()


def test_onnx_knows_what_is_missing(exported):
    model, session = exported
    kinematics, known, spectrogram, heard, lengths = example_inputs(model)
    inputs = (kinematics, torch.zeros_like(known), spectrogram, heard, lengths)
    with torch.no_grad():
        wanted = model.network(*inputs)[2]
    given = session.run([OUTPUTS[2]], {k: v.numpy() for k, v in zip(INPUTS, inputs, strict=True)})[0]
    np.testing.assert_allclose(given, wanted.numpy(), atol=1e-4)


def test_a_small_checkpoint_is_small_and_reads_the_same(tmp_path, trained, capsys):
    small = tmp_path / "small.ckpt"
    assert main(["export", str(trained), "-o", str(small)]) == 0
    assert "parameters" in capsys.readouterr().out
    assert small.stat().st_size < 0.7 * trained.stat().st_size
    one, other = load_model(trained), load_model(small)
    assert other.about == one.about
    assert FeatureSettings.from_mapping(other.features) == FeatureSettings.from_mapping(one.features)
    inputs = example_inputs(one)
    with torch.no_grad():
        for logits, again in zip(one.network(*inputs), other.network(*inputs), strict=True):
            np.testing.assert_allclose(again.numpy(), logits.numpy(), atol=0.02)


def test_a_suffix_that_means_nothing_is_bad_usage(tmp_path, trained, capsys):
    assert main(["export", str(trained), "-o", str(tmp_path / "model.pt")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "model.pt").exists()


def test_without_the_extra_onnx_is_refused_in_one_line(tmp_path, trained, capsys, monkeypatch):
    import importlib.util

    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == "onnx" else find(name, *a))
    assert main(["export", str(trained), "-o", str(tmp_path / "model.onnx")]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "unwritten[onnx]" in error
    assert not (tmp_path / "model.onnx").exists()
