"""A small run directory as ``evaluate.py`` leaves it, with readers that are right, wrong, dear and hostile."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from unwritten.scoring.analysis import analyse, write_analysis
from unwritten.scoring.intervals import IntervalSettings
from unwritten.scoring.scores import score_table, write_scores
from unwritten.scoring.table import answers_table, write_answers
from unwritten.types import Answer, Clip, Recording, Track

ATTACK = "</script><script>document.body.dataset.attacked=1</script><img src=x onerror=alert(1)>"
WORDS = ("above", "cat", "dog", "heron", "sun", "map")
CONFIG = """
seed: 0
benchmark: {kind: simulated, name: bench}
reader:
  ctc: {kind: ctc, name: ctc, mode: ctc, lexicon: english, length_known: true, decoding: {frequency_weight: 0.3}}
  ctc-free: {kind: ctc, name: ctc-free, mode: ctc-free}
  blind-constant: {kind: blind, name: blind-constant, words: english}
  talker: {kind: mllm, name: talker}
"""


def moving_pen(seconds: float = 2.0) -> Track:
    """A pen that draws two circles, one in each shot."""
    time_s = np.arange(0, seconds, 1 / 30)
    tip = np.stack([200 + 80 * np.cos(7 * time_s), 200 + 80 * np.sin(7 * time_s)], axis=1)
    count = len(time_s)
    return Track(
        time_s=time_s, tip_px=tip, visible=np.ones(count, bool), confidence=np.ones(count),
        shot=(np.arange(count) > count // 2).astype(int), shaft_rad=np.zeros(count),
        contact=np.r_[np.ones(count - 9), np.zeros(9)], size_px=(640.0, 480.0), writing_rad=0.0,
    )  # fmt: skip


def make_clips() -> list[Clip]:
    sound = np.random.default_rng(0).normal(0, 0.1, 32_000).astype(np.float32)
    styles = ("standard", "cursive")
    return [
        Clip(f"item/{word}", style=styles[k % 2], word=word, source="simulated", writer=f"w{k % 2}",
             recording=Recording(moving_pen(), sound))
        for k, word in enumerate(WORDS)
    ]  # fmt: skip


def make_run(folder: Path, clips: list[Clip], right: float = 1.0) -> Path:
    """A run whose ``ctc`` is right on a share of items, whose ``talker`` attacks, refuses and costs."""
    answers = []
    for k, clip in enumerate(clips):
        for modality in ("audio", "video", "av"):
            said = clip.word if k < right * len(clips) else "zzzzz"
            candidates = ((said or "", 0.9), ("other", 0.1))
            answers.append(Answer(clip.id, "ctc", modality, said or "", said or "", candidates, seconds=0.5))
            answers.append(Answer(clip.id, "ctc-free", modality, "cut", "cut"))
            answers.append(Answer(clip.id, "blind-constant", modality, "car", "car"))
            answers.append(Answer(clip.id, "talker+ink", modality, "cat", "cat", tokens_in=10, tokens_out=1, cost=0.25))
            refused = Answer(clip.id, "talker", modality, ATTACK, state="refused", error=ATTACK)
            answers.append(refused if k else Answer(clip.id, "talker", modality, ATTACK, ATTACK))
    table, problems = answers_table(answers, clips, "bench", "transfer")
    intervals = IntervalSettings(replicates=100)
    scores = score_table(table, intervals)
    write_answers(table, folder / "answers.parquet")
    write_scores(scores, folder / "scores.json")
    write_analysis(analyse(table, problems, intervals, scores=scores), folder / "analysis.json")
    (folder / "config.yaml").write_text(CONFIG, encoding="utf-8")
    about = {"command": ["evaluate.py", "seed=0"], "git": {"revision": "abc123", "changed": True}, "python": "3"}
    (folder / "provenance.json").write_text(json.dumps(about), encoding="utf-8")
    return folder
