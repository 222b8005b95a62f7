"""Training on real clips keeps to its protocol. The clips are simulated; their files only have names."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from hydra import compose, initialize_config_dir

# What names a function that ``files`` replaces: first imported under the patch, it would keep it.
import unwritten.readers.ctc
import unwritten.recordings.shots  # noqa: F401
from unwritten.errors import UnwrittenError, UsageError
from unwritten.features.extract import FeatureSettings, extract
from unwritten.files import project_root
from unwritten.handwriting.corpus import from_strokes
from unwritten.handwriting.writers import SimulatedWriter
from unwritten.models.checkpoint import default_checkpoint, load_model, save_small
from unwritten.simulation.clips import live_clips
from unwritten.simulation.severity import severity
from unwritten.store import Store
from unwritten.training.clip_bank import AS_THEY_ARE, UNCHANGED, compose_clips, levelled, load_bank
from unwritten.training.clips import ClipPlanner, ClipSettings, chosen_fold
from unwritten.training.fit import fit, prepare
from unwritten.training.samples import MixSettings, PlannedItem

LETTERS = "abehinostv"
WORDS = ("above", "vase", "host", "nest", "oven", "have", "bath", "this", "shoe", "tea", "sea", "the", "bone", "save")
LIVE = ("stone", "haven")
ALPHABET = "abcdefghijklmnopqrstuvwxyz"


@pytest.fixture(scope="module")
def recordings():
    """Recording by style and word."""
    made = {}
    for number, style in enumerate(("standard", "cursive")):
        writer = SimulatedWriter(number, style)
        words = (*WORDS, *LIVE) if style == "standard" else ()
        strokes = [*map(writer.write_letter, LETTERS), *map(writer.write, words)]
        for clip in live_clips(from_strokes(strokes, "test"), severity("mild"), None, 0, style):
            made[style, clip.word] = clip.recording
    return made


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("clips")
    for style, mark in (("standard", "1"), ("cursive", "2c")):
        names = [f"letters/{style}/{letter}-{mark}.mp4" for letter in LETTERS]
        if style == "standard":
            names += [f"words/{style}/{word}.mp4" for word in WORDS] + [f"live/{style}/{word}-1.mp4" for word in LIVE]
        for name in names:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(name)
    return root


@pytest.fixture
def files(monkeypatch, recordings, folder):
    """The folder, whose files read as the recordings of their names."""

    def recording_of(path):
        return recordings[path.parent.name, path.stem.split("-")[0]]

    def features_of(path, modality, settings, tracker, store):
        return extract(recording_of(path), settings)

    monkeypatch.setattr("unwritten.recordings.record.stored_features", features_of)
    monkeypatch.setattr("unwritten.recordings.clips.stored_features", features_of)
    monkeypatch.setattr("unwritten.recordings.tracks.stored_track", lambda path, *_: recording_of(path).track)
    return folder


def composed(folder, *overrides):
    small = (
        "data.loader.items_per_epoch=24",
        "data.loader.max_items=8",
        "data.loader.validation_items=4",
        "data.loader.workers=0",
        "trainer.max_epochs=1",
        "optimiser.warmup_steps=2",
        "score_items=2",
        "processes=1",
    )
    with initialize_config_dir(str(project_root() / "conf"), version_base="1.3"):
        return compose("train", ["data=clips", "model=tiny", "trainer=cpu", f"data.clips={folder}", *small, *overrides])


def words_of(data, epochs=6):
    """All words of some training epochs."""
    return {item.word for epoch in range(epochs) for item in data.training.planner.plan(epoch, 300)}


def test_live_words_are_neither_filmed_nor_joined_in_training(files, tmp_path):
    data, module = prepare(composed(files, f"store={tmp_path}"))
    seen = words_of(data)
    assert seen & set(LETTERS)
    assert seen & set(WORDS)
    assert len(seen - set(LETTERS) - set(WORDS)) > 50, "words are joined, too"
    assert not seen & set(LIVE)
    assert not seen & {str(word) for word in data.validation.bank.labels}
    assert module.hparams["about"]["protocol"] == "live"
    assert module.hparams["about"]["whole"] == ["word", "letter clip"]


def test_closed_training_holds_no_tested_word_but_its_letter_clips(files, tmp_path):
    settings = ClipSettings(clips=str(files), protocol="closed", validation=0.1)
    fold = chosen_fold(settings, 0)
    tested = {clip.word for clip in fold.test}
    assert tested
    assert tested < set(WORDS)
    data, module = prepare(composed(files, f"store={tmp_path}", "data.protocol=closed"))
    assert not words_of(data) & tested
    assert module.hparams["about"]["shared"] == ["letter clip", "writer"]


def test_cross_style_never_sees_the_held_style(files, tmp_path):
    data, module = prepare(composed(files, f"store={tmp_path}", "data.protocol=cross-style", "data.held_style=cursive"))
    assert set(data.training.bank.styles) == {"standard"}
    assert module.hparams["about"]["protocol"] == "cross-style cursive"
    with pytest.raises(UsageError, match=r"held_style=gothic: the clips have cursive, standard"):
        prepare(composed(files, f"store={tmp_path}", "data.protocol=cross-style", "data.held_style=gothic"))


def test_random_spellings_never_hit_a_held_word(files, tmp_path):
    bank = load_bank(
        chosen_fold(ClipSettings(clips=str(files)), 0).train, FeatureSettings(), Store(tmp_path), 1, ALPHABET
    )
    held = frozenset({"at", "as", "be", "he", "so", "to", "no", "it", "is", "in"})
    mix = MixSettings(spelled=1.0, letters=0.0, random_spelling=1.0, longest_spelled=2)
    arguments = (bank, ("ve",), np.ones(1), mix, 0)
    free, kept = (ClipPlanner(*arguments, held=words) for words in (frozenset(), held))
    assert {item.word for item in free.plan(0, 500)} & held
    assert not {item.word for item in kept.plan(0, 500)} & held


def test_a_joined_word_is_its_clips_one_after_the_other_on_one_scale(files, tmp_path):
    features = FeatureSettings()
    bank = load_bank(chosen_fold(ClipSettings(clips=str(files)), 0).train, features, Store(tmp_path), 1, ALPHABET)
    standard = {str(bank.labels[n]): n for n in range(len(bank)) if bank.styles[n] == "standard"}
    chosen = (standard["b"], standard["e"])
    item = compose_clips(PlannedItem(chosen, "be", 5), bank, AS_THEY_ARE, UNCHANGED, features)
    frames = [len(bank.mel[n]) for n in chosen]
    assert abs(len(item.kinematics) - sum(frames)) <= 1
    alone = [compose_clips(PlannedItem((n,), "", 5), bank, AS_THEY_ARE, UNCHANGED, features) for n in chosen]
    np.testing.assert_array_equal(item.energies[: frames[0]], alone[0].energies[: frames[0]])
    np.testing.assert_array_equal(item.spectrogram_mask[: frames[0]], alone[0].spectrogram_mask[: frames[0]])
    # Column 11 marks the first frames of a shot; column 10 is the height above the shot's middle.
    assert item.kinematics[frames[0], 11] == 1.0
    heights = [np.ptp(levelled(bank.tracks[n])[bank.tracks[n].visible][:, 1]) for n in chosen]
    parts = item.kinematics[: frames[0], 10], item.kinematics[frames[0] :, 10]
    assert np.ptp(parts[0]) / np.ptp(parts[1]) == pytest.approx(heights[0] / heights[1], rel=0.2)


def test_an_item_is_a_function_of_its_seed_and_differs_between_seeds(files, tmp_path):
    features, simulation = FeatureSettings(), severity("measured")
    bank = load_bank(chosen_fold(ClipSettings(clips=str(files)), 0).train, features, Store(tmp_path), 1, ALPHABET)
    sound = replace(UNCHANGED, gain=0.3)
    one, again, other = (
        compose_clips(PlannedItem((0, 1), "xy", seed), bank, simulation.camera, sound, features) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one.kinematics, again.kinematics)
    assert one.change.gain == again.change.gain
    assert not np.array_equal(one.kinematics, other.kinematics)
    assert one.change.gain != other.change.gain


def test_a_run_is_scored_on_what_its_protocol_tests_and_says_so(files, tmp_path):
    fit(composed(files, f"store={tmp_path / 'store'}"), tmp_path / "run")
    scores = json.loads((tmp_path / "run" / "scores.json").read_text())
    assert {entry["protocol"] for entry in scores} == {"live"}
    assert {entry["reader"] for entry in scores} >= {"ctc", "ctc-letters", "ctc-free", "blind-constant"}
    answers = pd.read_parquet(tmp_path / "run" / "answers.parquet")
    assert set(answers["truth"]) == set(LIVE)
    about = load_model(tmp_path / "run" / "checkpoints" / "best.ckpt").about
    assert about["protocol"] == "live"
    assert about["training"]["letters"] == 2 * len(LETTERS)


def test_training_begins_with_the_shipped_weights_and_says_whose_they_are(files, tmp_path):
    shipped = default_checkpoint()
    still = ("model=base", "start_from=shipped", "optimiser.learning_rate=0", "score_items=0")
    fit(composed(files, f"store={tmp_path / 'store'}", *still), tmp_path / "run")
    mine, theirs = load_model(tmp_path / "run" / "checkpoints" / "best.ckpt"), load_model(shipped)
    for name, weight in theirs.network.state_dict().items():
        torch.testing.assert_close(mine.network.state_dict()[name], weight, rtol=1e-5, atol=1e-6)
    assert mine.about["protocol"] == "live"
    digest = hashlib.sha256(shipped.read_bytes()).hexdigest()
    assert mine.about["started_from"] == {"sha256": digest, "protocol": "transfer"}


def test_a_beginning_that_does_not_fit_is_refused_in_one_line(files, tmp_path):
    store = f"store={tmp_path / 'store'}"
    shipped = default_checkpoint()
    with pytest.raises(
        UnwrittenError, match=r"unwritten\.ckpt: has model\.audio_channels=\d+, this run has 48; give the same"
    ):
        fit(composed(files, store, f"start_from={shipped}"), tmp_path / "tiny")
    with pytest.raises(UnwrittenError, match=r"has features\.rotate=True, this run has False"):
        fit(composed(files, store, "model=base", "features.rotate=false", f"start_from={shipped}"), tmp_path / "turned")
    with pytest.raises(UnwrittenError, match=r"nowhere\.ckpt: no such checkpoint"):
        fit(composed(files, store, "start_from=nowhere.ckpt"), tmp_path / "nowhere")
    shipped = load_model()
    save_small(shipped.network, shipped.features, {"protocol": "live"}, tmp_path / "live.ckpt")
    with pytest.raises(UnwrittenError, match=r"live\.ckpt: learned under protocol=live"):
        fit(composed(files, store, "model=base", f"start_from={tmp_path / 'live.ckpt'}"), tmp_path / "again")
    assert not any((tmp_path / name / "config.yaml").exists() for name in ("tiny", "turned", "nowhere", "again"))


def test_a_clip_that_cannot_be_read_is_named_and_left_out(files, tmp_path, monkeypatch, capsys):
    from unwritten.recordings import record

    whole = record.stored_features

    def broken(path, *arguments):
        if path.stem == "vase":
            raise UnwrittenError(f"{path}: is cut short")
        return whole(path, *arguments)

    monkeypatch.setattr(record, "stored_features", broken)
    data, _ = prepare(composed(files, f"store={tmp_path}"))
    banks = (data.training.bank, data.validation.bank)
    assert sum(len(bank.failed) for bank in banks) == 1
    assert "vase.mp4: is cut short" in capsys.readouterr().out
    assert torch.isfinite(data.training[(0, 0)].kinematics).all()


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (("data.protocol=transfer",), "transfer learns from none"),
        (("data.protocol=cross-style",), "held_style belongs to protocol=cross-style"),
        (("data.clips=null",), "needs data.clips=DIR"),
        (("+data.takes=3",), r"data\.takes"),
    ],
)
def test_settings_that_mean_nothing_are_refused(files, tmp_path, overrides, message):
    with pytest.raises(UsageError, match=message):
        prepare(composed(files, f"store={tmp_path}", *overrides))


@pytest.mark.slow
def test_real_clips_train_across_styles(tmp_path, sample_clips):
    overrides = ("data.protocol=cross-style", "data.held_style=cursive", f"store={tmp_path / 'store'}")
    fit(composed(sample_clips, *overrides), tmp_path / "run")
    answers = pd.read_parquet(tmp_path / "run" / "answers.parquet")
    assert set(answers["style"]) == {"cursive"}
    assert set(answers["protocol"]) == {"cross-style"}
