"""One path per shot through the candidates of its frames, then the smoothest tip that detections and flow agree on.

The choice is global (Viterbi over candidates and "no tip"), so one good stretch decides a whole shot and nothing
drifts. The position is the robust least-squares solution of a chain: every detection pulls its frame, every flow vector
ties a frame to the next. Flow carries the shape of corners, detections carry the position, so nothing lags and nothing
is rounded.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solveh_banded

from unwritten.tracking.settings import TrackerSettings
from unwritten.types import BoolArray


class Candidate(NamedTuple):
    """One place in a frame where the tip may be, working pixels; see ``Sighting``, which holds those of a frame."""

    score: float
    x: float
    y: float
    axis_x: float
    axis_y: float
    sigma: float
    width: float = 0.0
    shadow: float = -1.0
    fade: float = np.nan


@dataclass(frozen=True)
class Sighting:
    """What one frame offers to the path, working pixels.

    Attributes:
        tip: ``[K, 2]`` refined positions.
        axis: ``[K, 2]`` unit vectors up the shaft.
        score: ``[K]`` evidence in nats.
        sigma: ``[K]`` uncertainty of ``tip``.
        width: ``[K]`` width of the nib, fine pixels, 0 where no cone was fitted.
        shadow: ``[K]`` reach of the nib's shadow beyond the tip, fine pixels, negative where unknown.
        fade: ``[K]`` length over which the dark end fades, fine pixels, NaN where no cone was fitted.
        flow: ``[K, 2]`` displacement to the next frame.
        flow_error: ``[K]`` its forward-backward error, infinite where lost.
    """

    tip: NDArray[np.float64]
    axis: NDArray[np.float64]
    score: NDArray[np.float64]
    sigma: NDArray[np.float64]
    width: NDArray[np.float64]
    shadow: NDArray[np.float64]
    fade: NDArray[np.float64]
    flow: NDArray[np.float64]
    flow_error: NDArray[np.float64]

    @classmethod
    def of(cls, candidates: Sequence[Candidate]) -> Sighting:
        """All candidates of a frame; the flow to the next frame is not known."""
        table = np.array(candidates, np.float64).reshape(-1, len(Candidate._fields))
        count = len(table)
        nowhere = np.full(count, np.inf)
        score, sigma, width, shadow, fade = (table[:, column] for column in (0, 5, 6, 7, 8))
        return cls(table[:, 1:3], table[:, 3:5], score, sigma, width, shadow, fade, np.zeros((count, 2)), nowhere)

    def with_more(self, other: Sighting) -> Sighting:
        """These candidates and those of ``other``."""
        pairs = ((getattr(self, field.name), getattr(other, field.name)) for field in fields(self))
        return Sighting(*(np.concatenate(pair) for pair in pairs))


def _transition(before: Sighting, after: Sighting, settings: TrackerSettings, turning: float) -> NDArray[np.float64]:
    """Cost ``[K, L]`` of going from each candidate of one frame to each of the next, capped at ``settings.jump``."""
    known = np.isfinite(before.flow_error) & (before.flow_error < 2.0)
    flow = np.where(known[:, None], before.flow, 0.0)
    miss = np.hypot(*np.moveaxis(after.tip[None] - (before.tip + flow)[:, None], 2, 0))
    # Where flow is lost the tip may go some way: the cost grows more slowly.
    scale = np.where(known, 2.0, 8.0)[:, None]
    turn = 1 - np.clip(before.axis @ after.axis.T, -1, 1)
    return np.minimum(0.5 * (miss / scale) ** 2 + turning * turn, settings.jump)


def choose(sightings: list[Sighting], settings: TrackerSettings, turning: float = 8.0) -> NDArray[np.int64]:
    """Index of the chosen candidate in each frame of one shot, -1 for none.

    Args:
        sightings: one per frame, in order.
        settings: costs.
        turning: cost of a shaft that turns by a quarter turn; 0 where shafts are not known.

    Returns:
        ``[T]``; maximises the sum of the scores less the costs of transitions and of missing frames.
    """
    if not sightings:
        return np.zeros(0, np.int64)
    # Viterbi: the best total of a path that ends in each state, and where it came from.
    # The last state of each column is "no tip".
    totals = np.append(np.minimum(sightings[0].score, 6.0), -settings.missing)
    back: list[NDArray[np.int64]] = []
    for before, after in itertools.pairwise(sightings):
        steps = np.full((len(totals), len(after.score) + 1), -settings.missing)
        steps[:-1, :-1] = np.minimum(after.score, 6.0) - _transition(before, after, settings, turning)
        steps[-1, :-1] = np.minimum(after.score, 6.0) - settings.jump / 2
        steps[:-1, -1] -= settings.jump / 2
        everything = totals[:, None] + steps
        back.append(everything.argmax(0))
        totals = everything.max(0)
    state = int(totals.argmax())
    states = [state]
    for pointers in reversed(back):
        state = int(pointers[state])
        states.append(state)
    chosen = np.array(states[::-1], np.int64)
    counts = np.array([len(sighting.score) for sighting in sightings])
    return np.where(chosen == counts, -1, chosen)


def fuse(
    detected: NDArray[np.float64],
    sigma: NDArray[np.float64],
    flow: NDArray[np.float64],
    flow_sigma: NDArray[np.float64],
    rounds: int = 6,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Positions that agree best with detections and with flow, by reweighted least squares (Huber at 1.5 sigma).

    Args:
        detected: ``[T, 2]`` positions; anything where ``sigma`` is infinite.
        sigma: ``[T]`` their uncertainty, infinite where there is none.
        flow: ``[T - 1, 2]`` displacement to the next frame.
        flow_sigma: ``[T - 1]`` its uncertainty, infinite where lost.
        rounds: of reweighting.

    Returns:
        Positions ``[T, 2]`` and their standard deviation ``[T]``.
    """
    count = len(detected)
    pull = np.where(np.isfinite(sigma), 1 / np.square(sigma), 0.0)
    tie = np.where(np.isfinite(flow_sigma), 1 / np.square(flow_sigma), 1e-6)
    measured = np.where(pull[:, None] > 0, detected, 0.0)
    shift = np.where(np.isfinite(flow_sigma)[:, None], flow, 0.0)
    weight_pull, weight_tie = pull.copy(), tie.copy()
    position = measured
    # Minimise sum_t |x_t - z_t|^2 / sigma_t^2 + sum_t |x_(t+1) - x_t - f_t|^2 / phi_t^2 with z detections and f flow: a
    # tridiagonal system. Huber's loss is reached by weights 1 / max(1, r / 1.5) on residuals r in standard deviations.
    for _ in range(rounds):
        diagonal = weight_pull + 1e-12
        diagonal[:-1] += weight_tie
        diagonal[1:] += weight_tie
        banded = np.vstack([np.r_[0.0, -weight_tie], diagonal])
        right = weight_pull[:, None] * measured
        right[:-1] -= weight_tie[:, None] * shift
        right[1:] += weight_tie[:, None] * shift
        position = solveh_banded(banded, right) if count > 1 else right / diagonal[:, None]
        off_pull = np.hypot(*(position - measured).T) * np.sqrt(pull)
        off_tie = np.hypot(*(np.diff(position, axis=0) - shift).T) * np.sqrt(tie)
        weight_pull = pull / np.maximum(off_pull / 1.5, 1.0)
        weight_tie = tie / np.maximum(off_tie / 1.5, 1.0)
    return position, _deviation(weight_pull, weight_tie)


def _deviation(pull: NDArray[np.float64], tie: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard deviation of each position of the chain: information from its left, itself and its right."""

    def passed_on(pulls: NDArray[np.float64], ties: NDArray[np.float64]) -> NDArray[np.float64]:
        incoming = np.zeros(len(pulls))
        for index in range(1, len(pulls)):
            information = incoming[index - 1] + pulls[index - 1]
            incoming[index] = information * ties[index - 1] / max(information + ties[index - 1], 1e-12)
        return incoming

    total = pull + passed_on(pull, tie) + passed_on(pull[::-1], tie[::-1])[::-1]
    return 1 / np.sqrt(np.maximum(total, 1e-12))


def gaps(visible: BoolArray) -> list[tuple[int, int]]:
    """Runs of False between True frames as (first, end) pairs."""
    edges = np.flatnonzero(np.diff(np.r_[True, visible, True].astype(int)))
    return [
        (int(first), int(end))
        for first, end in zip(edges[::2], edges[1::2], strict=True)
        if first > 0 and end < len(visible)
    ]
