"""Settings from configs: a wrong key or value is named, whatever part it belongs to."""

from __future__ import annotations

import dataclasses
import re

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from unwritten.cli import main
from unwritten.config import settings_from, whole_number
from unwritten.decoding.settings import DecodingSettings
from unwritten.errors import UnwrittenError, UsageError
from unwritten.evaluation.log import AnswerLog
from unwritten.features.extract import FeatureSettings
from unwritten.features.kinematics import KinematicsSettings
from unwritten.features.spectrogram import SpectrogramSettings
from unwritten.files import project_root
from unwritten.models.fusion import ModelSettings
from unwritten.models.module import OptimiserSettings
from unwritten.run import refuse_other_settings
from unwritten.scoring.intervals import IntervalSettings
from unwritten.simulation.camera import CameraSettings
from unwritten.simulation.pen import PenSettings
from unwritten.simulation.sound_settings import SoundSettings
from unwritten.tracking.settings import TrackerSettings
from unwritten.training.data import LoaderSettings
from unwritten.training.handwriting import HandwritingSettings
from unwritten.training.samples import MixSettings, SoundAugmentSettings
from unwritten.training.trainer import TrainerSettings

SETTINGS = (
    HandwritingSettings,
    MixSettings,
    SoundAugmentSettings,
    LoaderSettings,
    ModelSettings,
    OptimiserSettings,
    TrainerSettings,
    FeatureSettings,
    KinematicsSettings,
    SpectrogramSettings,
    PenSettings,
    CameraSettings,
    SoundSettings,
    TrackerSettings,
    DecodingSettings,
    IntervalSettings,
)


@pytest.mark.parametrize("value", ["abc", float("nan"), True])
def test_what_is_no_number_is_refused_where_a_number_is_needed(value):
    with pytest.raises(UsageError, match=r"camera\.jitter_px="):
        settings_from(CameraSettings, {"jitter_px": value}, "camera")


def test_words_are_taken_where_words_are_allowed():
    assert settings_from(TrainerSettings, {"devices": "auto", "threads": None}).devices == "auto"
    with pytest.raises(UsageError, match=r"trainer\.max_epochs=abc"):
        settings_from(TrainerSettings, {"max_epochs": "abc"}, "trainer")


@pytest.mark.parametrize("value", ["x", 1.5, True, None, -1])
def test_a_whole_number_is_one(value):
    with pytest.raises(UsageError, match="seed="):
        whole_number(value, "seed")
    assert whole_number(3, "seed") == 3


def composed(name, *overrides):
    with initialize_config_dir(str(project_root() / "conf"), version_base="1.3"):
        return compose(name, list(overrides))


@pytest.mark.parametrize(
    ("cls", "part", "derived"),
    [
        (HandwritingSettings, "data", {"mix", "augment", "loader"}),
        (MixSettings, "data.mix", set()),
        (SoundAugmentSettings, "data.augment", set()),
        (LoaderSettings, "data.loader", set()),
        (ModelSettings, "model", {"kinematic_inputs", "spectrogram_inputs"}),
        (OptimiserSettings, "optimiser", {"total_steps"}),
        (TrainerSettings, "trainer", set()),
    ],
)
def test_conf_names_every_setting_with_the_default_of_its_class(cls, part, derived):
    node = OmegaConf.to_container(OmegaConf.select(composed("train"), part))
    named = {key: tuple(value) if isinstance(value, list) else value for key, value in node.items()}
    defaults = vars(cls())
    assert {key: value for key, value in named.items() if key not in derived} == {
        key: value for key, value in defaults.items() if key not in derived
    }


@pytest.mark.parametrize(
    ("cls", "name", "part"),
    [
        (KinematicsSettings, "train", "features.kinematics"),
        (SpectrogramSettings, "train", "features.spectrogram"),
        (PenSettings, "train", "simulation.pen"),
        (CameraSettings, "train", "simulation.camera"),
        (TrackerSettings, "evaluate", "tracking"),
        (IntervalSettings, "evaluate", "intervals"),
    ],
)
def test_where_conf_names_some_settings_they_have_the_default_of_the_class(cls, name, part):
    node = OmegaConf.to_container(OmegaConf.select(composed(name), part), resolve=True)
    assert settings_from(cls, node, part) == cls()


def test_the_default_decoding_is_the_default_of_its_class():
    node = OmegaConf.load(project_root() / "conf" / "decoding" / "default.yaml")
    assert settings_from(DecodingSettings, node) == DecodingSettings()


@pytest.mark.parametrize("cls", SETTINGS)
def test_every_setting_is_documented(cls):
    for field in dataclasses.fields(cls):
        assert re.search(rf"\b{field.name}\b[^:]*:", cls.__doc__), f"{cls.__name__}.{field.name}"


@pytest.mark.parametrize(
    ("program", "override", "named"),
    [
        ("train", "protocol=foo", "protocol=foo: known are transfer"),
        ("train", "+foo=1", "foo: no such setting; known are data"),
        ("train", "data.simulated_writers={standard: -2}", "simulated_writers.standard=-2: give 0 or more"),
        ("train", "data.simulated_writers={standard: many}", "data.simulated_writers="),
        ("train", "data.loader=null", "data.loader=null: give its settings"),
        ("train", "data.loader.workers=null", "data.loader.workers=null: give a whole number"),
        ("train", "model=null", "model=null: give one of base, large, tiny"),
        ("train", "model.channels=2.5", "model.channels=2.5: give a whole number"),
        ("train", "model.dilations=3", "model.dilations=3: give a list"),
        ("train", "trainer=null", "trainer=null: give one of auto, cpu"),
        ("train", "optimiser=null", "optimiser=null: give one of default"),
        ("train", "trainer.devices=-7", "trainer: devices=-7: give 1 or more"),
        (
            "train",
            "hparams_search.space={model.dropout: {low: 1, high: 0}}",
            "model.dropout.low=1: give at most high=0",
        ),
        ("train", "hparams_search.space={model.dropout: {low: a, high: b}}", "space.model.dropout.low=a"),
        ("evaluate", "+foo=1", "foo: no such setting; known are answers"),
        ("evaluate", "+benchmark.foo=1", "benchmark.foo: no such setting; known are category"),
        ("train", "+logger.foo=1", "logger.foo: no such setting; known are kind"),
        ("evaluate", "benchmark=null", "benchmark=null: give one of handwriting"),
        ("evaluate", "reader.ctc=null", "reader.ctc=null: give its settings"),
        ("evaluate", "reader=null", "reader=null: give one of blind-constant"),
        ("evaluate", "reader=[nosuch]", "blind-constant"),
        ("evaluate", "tracking.kind=eye", "reader.ctc.tracker.kind=eye: give one of auto, nib, mediapipe"),
    ],
)
def test_what_nobody_can_run_is_named_in_one_line(tmp_path, capsys, program, override, named):
    search = ["hparams_search=optuna"] if "hparams_search" in override else []
    status = main([program, *search, override, f"hydra.run.dir={tmp_path}", f"hydra.sweep.dir={tmp_path}"])
    said = capsys.readouterr().err
    assert status == 2
    assert said.count("\n") == 1 and named in said, said


@pytest.mark.parametrize("content", [b"\xff\xfe", b"seed: [1", b"a: ${nowhere}\nb: ${"])
def test_a_damaged_config_of_a_run_directory_is_one_line(tmp_path, content):
    (tmp_path / "scores.json").write_text("[]")
    (tmp_path / "config.yaml").write_bytes(content)
    with pytest.raises(UnwrittenError, match=r"config\.yaml: cannot be read as a configuration") as caught:
        refuse_other_settings(OmegaConf.create({"seed": 0}), tmp_path, "scores.json")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("answer", ["3", "null", '{"candidates": 3}', '{"candidates": [1]}', "{}"])
def test_a_damaged_line_of_answers_is_named(tmp_path, answer):
    (tmp_path / "answers.jsonl").write_text(f'{{"settings": "x", "answer": {answer}}}\n')
    with pytest.raises(UnwrittenError, match="line 1 is not a stored answer"):
        AnswerLog(tmp_path / "answers.jsonl")
