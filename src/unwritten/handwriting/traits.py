"""What sets one simulated writer apart from another: the traits of a hand, and what they are drawn from."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class WriterSettings:
    """What simulated writers are drawn from; medians, and spreads as standard deviations of a logarithm or a normal.

    The medians of duration, speed and pen-up share are those of English words on tablets (UNIPEN); the spreads are
    wider than one collection site, as writers in front of a camera differ more.

    Attributes:
        rate_hz: positions a second.
        x_height_mm, x_height_spread: size of a small letter.
        pace_s, pace_spread: seconds that a unit of the hand's relative time takes; larger is slower.
        cursive_pace: pace of cursive relative to print.
        isolated_pace: pace of a letter written alone relative to one in a word.
        travel_pace: pace of the lifted pen relative to the pen on paper.
        stop_cost: relative time that a full stop, or a start from one, costs.
        slant_spread_rad: slant to the right (positive) or left.
        aspect_spread: width of letters at equal height.
        spacing_spread: gap between letters.
        personal_jitter: how far a writer's letters lie from the model letters, in x-heights.
        careless_jitter: how far one letter lies from the same writer's usual one, in x-heights.
        tremor_mm: amplitude of the physiological tremor of 6 to 12 Hz.
        timing_spread: unevenness of the pace within a word, standard deviation of a logarithm.
        pause_share: share of lifts at which the writer hesitates.
        break_share: upper end of the share of cursive joins that a writer leaves out.
        lifter_share: share of print writers who draw letters stroke by stroke: they lift the pen where others turn.
        restart_jitter: how far such a stroke begins from where the last one ended, in x-heights.
    """

    rate_hz: float = 200.0
    x_height_mm: float = 3.3
    x_height_spread: float = 0.3
    pace_s: float = 0.06
    pace_spread: float = 0.28
    cursive_pace: float = 0.88
    isolated_pace: float = 1.35
    travel_pace: float = 0.85
    stop_cost: float = 0.3
    slant_spread_rad: float = 0.16
    aspect_spread: float = 0.14
    spacing_spread: float = 0.25
    personal_jitter: float = 0.035
    careless_jitter: float = 0.022
    tremor_mm: float = 0.012
    timing_spread: float = 0.1
    pause_share: float = 0.05
    break_share: float = 0.2
    lifter_share: float = 0.4
    restart_jitter: float = 0.07


@dataclass(frozen=True)
class Hand:
    """The traits of one writer; see ``WriterSettings``."""

    slant: float
    slope: float
    x_height_mm: float
    aspect: float
    tall: float
    deep: float
    roundness: float
    pace_s: float
    travel_pace: float
    spacing: float
    tremor_mm: float
    stops_at_lifts: float
    break_share: float
    delays_dots: bool
    lifts_at_corners: float


def draw_hand(rng: np.random.Generator, settings: WriterSettings) -> Hand:
    """Draw the traits of a writer."""
    return Hand(
        slant=math.tan(float(np.clip(rng.normal(0.06, settings.slant_spread_rad), -0.35, 0.5))),
        slope=float(rng.normal(0.0, 0.025)),
        x_height_mm=settings.x_height_mm * math.exp(rng.normal(0.0, settings.x_height_spread)),
        aspect=math.exp(rng.normal(0.0, settings.aspect_spread)),
        tall=float(rng.uniform(0.8, 1.12)),
        deep=float(rng.uniform(0.8, 1.15)),
        roundness=float(rng.uniform(-0.06, 0.1)),
        pace_s=settings.pace_s * math.exp(rng.normal(0.0, settings.pace_spread)),
        travel_pace=settings.travel_pace * math.exp(rng.normal(0.0, 0.15)),
        spacing=math.exp(rng.normal(0.0, settings.spacing_spread)),
        tremor_mm=settings.tremor_mm * math.exp(rng.normal(0.0, 0.4)),
        stops_at_lifts=float(rng.uniform(0.4, 1.0)),
        break_share=float(rng.uniform(0.0, settings.break_share)),
        delays_dots=bool(rng.random() < 0.85),
        lifts_at_corners=float(rng.uniform(0.4, 1.0)) if rng.random() < settings.lifter_share else 0.0,
    )
