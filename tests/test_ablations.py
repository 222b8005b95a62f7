"""Every ablation composes with the debug run, trains, and changes what its name says."""

from __future__ import annotations

import pytest
import torch
from hydra import compose, initialize_config_dir

from unwritten.features.extract import FeatureSettings
from unwritten.files import project_root
from unwritten.models.checkpoint import load_model
from unwritten.training.fit import fit, prepare

ABLATIONS = (
    "audio_only",
    "late_fusion",
    "mediapipe_ctc",
    "no_contact",
    "no_modality_dropout",
    "no_rotation",
    "no_shot_letters",
    "no_shot_marks",
    "scale_per_shot",
    "video_only",
)
SMALLEST = ("data.loader.items_per_epoch=6", "data.loader.validation_items=3", "trainer.max_epochs=1", "score_items=0")


def composed(*overrides):
    with initialize_config_dir(str(project_root() / "conf"), version_base="1.3"):
        return compose("train", ["debug=fast", "trainer=cpu", *overrides])


@pytest.fixture
def store(tmp_path_factory):
    return f"store={tmp_path_factory.getbasetemp() / 'store'}"


@pytest.fixture
def batch(store):
    """A function from an experiment's name to a training batch of it."""

    def make(name):
        data, _ = prepare(composed(*SMALLEST, store, *([f"experiment={name}"] if name else [])))
        return data.training[(0, 0)]

    return make


@pytest.mark.parametrize("name", ABLATIONS)
def test_it_trains_and_its_checkpoint_says_so(name, tmp_path, store):
    fit(composed(*SMALLEST, store, f"experiment={name}"), tmp_path)
    loaded = load_model(tmp_path / "checkpoints" / "best.ckpt")
    features, model = FeatureSettings.from_mapping(loaded.features), loaded.network.settings
    assert features.rotate == (name != "no_rotation")
    assert features.scale_per_shot == (name == "scale_per_shot")
    assert features.kinematics.shot_marks == (name != "no_shot_marks")
    assert features.kinematics.contact == (name not in ("no_contact", "mediapipe_ctc"))
    assert (model.fusion == "late") == (name == "late_fusion")
    assert (model.audio_dropout == 0.0) == (name == "no_modality_dropout")
    trained = torch.load(tmp_path / "checkpoints" / "best.ckpt", weights_only=True)["state_dict"]
    assert any(key.startswith("shot_letters.") for key in trained) == (name != "no_shot_letters")
    assert (loaded.about["simulation"] == "mediapipe") == (name == "mediapipe_ctc")


def test_a_model_of_one_modality_never_sees_the_other(batch):
    assert not batch("video_only").spectrogram_mask.any()
    assert not batch("audio_only").kinematics_mask.any()
    both = batch(None)
    assert both.kinematics_mask.any()
    assert both.spectrogram_mask.any()


def test_contact_is_seen_only_where_asked_for(batch):
    hidden, shown = batch("no_contact").kinematics, batch(None).kinematics
    assert (hidden[..., 14] == 0).all()
    assert shown[..., 14].std() > 0.1
    assert torch.equal(hidden[..., :14], shown[..., :14])


def test_the_rivals_tip_is_far_noisier_than_the_nib(batch):
    nib, finger = batch("video_only"), batch("mediapipe_ctc")
    assert torch.equal(nib.lengths, finger.lengths)
    speed = [item.kinematics[..., 2][item.kinematics_mask].mean() for item in (nib, finger)]
    assert speed[1] > speed[0] + 0.3
