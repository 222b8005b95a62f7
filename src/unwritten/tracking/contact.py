"""When the pen touches the paper: the nib's shadow, the tip's speed, and, when there is sound, the scratch.

Each cue gives log odds for every frame; a two-state chain (down, up) that rarely switches turns them into
probabilities. T is the number of frames.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unwritten.types import FloatArray, Track

_FORGETS_PER_S = 8.0  # gives 2.6 lifts and landings a second; UNIPEN's words with hover have 4.5, many of them brief
_DOWN = 0.8  # share of the time that the pen is down in handwriting with its hover (UNIPEN: 0.83)


def smooth_log_odds(log_odds: FloatArray, time_s: FloatArray) -> NDArray[np.float64]:
    """Probability ``[T]`` of "down" from independent log odds ``[T]``, by forward-backward over a two-state chain."""
    count = len(log_odds)
    if not count:
        return np.zeros(0)
    usual = np.array([1 - _DOWN, _DOWN])
    emission = np.stack([np.ones(count), np.exp(np.clip(log_odds, -12, 12))], 1)
    # Over a step the state stays as it is with this weight and is drawn afresh, as is usual, with the rest.
    stay = np.exp(-_FORGETS_PER_S * np.diff(time_s, prepend=time_s[0]))
    # Forward-backward (Rabiner 1989): P(state_t | all) is proportional to forward_t times backward_t.
    forward, backward = np.zeros((count, 2)), np.ones((count, 2))
    state = usual
    for index in range(count):
        state = (stay[index] * state + (1 - stay[index]) * usual) * emission[index]
        state = state / state.sum()
        forward[index] = state
    message = np.ones(2)
    for index in range(count - 1, 0, -1):
        message = message * emission[index]
        message = stay[index] * message + (1 - stay[index]) * float(usual @ message)
        message = message / message.sum()
        backward[index - 1] = message
    both = forward * backward
    return both[:, 1] / both.sum(1)


def shadow_log_odds(reach: FloatArray) -> NDArray[np.float64]:
    """Log odds of "down" from the reach of the nib's shadow beyond the tip, 0 where it tells nothing.

    A pen that touches meets its shadow: the reach then is short and always the same. When it lifts, the shadow moves
    away. A lamp that throws no such shadow shows no tight cluster of short reaches, and nothing is concluded.

    Args:
        reach: ``[T]`` fine pixels, negative where unknown.
    """
    log_odds = np.zeros(len(reach))
    known = reach >= 0
    if known.sum() < 8:
        return log_odds
    values = np.sort(reach[known])
    near = np.searchsorted(values, values + 2.01) - np.arange(len(values))  # how many lie in [value, value + 2]
    enough = np.flatnonzero(near >= max(4, 0.12 * len(values)))
    if not len(enough):
        return log_odds
    touching = float(values[enough[0]]) + 1
    tight = float(np.mean(np.abs(values - touching) <= 1.5))
    if touching > 14 or tight < 0.25:
        return log_odds
    log_odds[known] = np.clip((2.0 - (reach[known] - touching)) * 1.2, -3, 2)
    return log_odds


def speed_px_s(track: Track) -> NDArray[np.float64]:
    """Speed of the tip ``[T]`` in square pixels a second, within shots, 0 where it is not known."""
    speed = np.zeros(len(track))
    for number in np.unique(track.shot):
        frames = np.flatnonzero((track.shot == number) & track.visible)
        if len(frames) > 2:
            time_s = track.time_s[frames]
            velocity = np.gradient(track.tip_px[frames], time_s, axis=0)
            speed[frames] = np.hypot(*velocity.T)
    return speed


def _usual_speed(speed: NDArray[np.float64]) -> float:
    moving = speed[speed > 0.1 * np.percentile(speed, 95)] if len(speed) and speed.any() else np.ones(1)
    return max(float(np.median(moving)), 1e-6)


def contact_from_motion(track: Track, reach: FloatArray) -> NDArray[np.float64]:
    """Probability ``[T]`` that the pen is down, from the nib's shadow and the tip's speed; 0 where not visible.

    Args:
        track: the track.
        reach: ``[T]`` as in ``shadow_log_odds``.
    """
    speed = speed_px_s(track)
    octaves = np.log2(np.maximum(speed / _usual_speed(speed[track.visible]), 1e-3))
    # UNIPEN at 60 Hz: travel in the air is somewhat faster; log odds -0.4 at twice the usual speed, -1.3 at four times.
    by_speed = np.where(track.visible, -0.5 * np.maximum(octaves - 0.4, 0), 0.0)
    # Neighbouring frames say nearly the same, of speed more than of the shadow: only part of their evidence counts.
    step_s = np.median(np.diff(track.time_s)) if len(track) > 1 else 1 / 30
    weight = min(1.0, 30.0 * float(step_s))
    log_odds = weight * (0.15 * by_speed + np.where(track.visible, shadow_log_odds(reach), 0.0))
    return np.where(track.visible, _by_shot(track, log_odds), 0.0)


def contact_from_sound(
    track: Track, waveform: FloatArray, sample_rate_hz: int = 16_000, audio_offset_s: float = 0.0
) -> NDArray[np.float64]:
    """Probability ``[T]`` that the pen is down, from the scratch above 2 kHz together with what the track knows.

    Level, noise floor and the sound's lag are taken within each shot, because they step at the joins of a synthetic
    word.

    Args:
        track: the track; its ``contact`` is what video alone says.
        waveform: ``[N]`` mono sound.
        sample_rate_hz: its rate.
        audio_offset_s: time of the first sample on the track's clock.
    """
    level_db, at_s = scratch_level_db(waveform, sample_rate_hz)
    if not len(level_db) or not len(track):
        return np.array(track.contact, np.float64)
    speed = speed_px_s(track)
    # The sound of a frame: so much later on the sound's own clock.
    heard_s = np.asarray(track.time_s) - audio_offset_s + sound_lag_s(track, level_db, at_s + audio_offset_s)
    level = np.interp(heard_s, at_s, level_db)
    heard = (heard_s >= at_s[0] - 0.05) & (heard_s <= at_s[-1] + 0.05)
    usual = _usual_speed(speed[track.visible])
    log_odds = np.zeros(len(track))
    for number in np.unique(track.shot):
        frames = np.flatnonzero((track.shot == number) & heard & (level > -110))
        if len(frames) < 8:
            continue
        floor, top = np.percentile(level[frames], (8, 92))
        if top - floor < 6:
            continue
        odds = np.clip((level[frames] - floor - max(4.0, 0.4 * (top - floor))) / 2, -3, 3)
        # Silence says "up" only of a tip that moves: a pen at rest on the paper is silent too.
        resting = (odds < 0) & (speed[frames] < 0.25 * usual)
        log_odds[frames] = np.where(resting, 0.1 * odds, odds)
    step_s = np.median(np.diff(track.time_s)) if len(track) > 1 else 1 / 30
    prior = np.clip(np.asarray(track.contact, np.float64), 0.02, 0.98)
    known = 0.4 * np.log(prior / (1 - prior) * (1 - _DOWN) / _DOWN)
    log_odds = min(1.0, 30.0 * float(step_s)) * (log_odds + np.where(track.visible, known, 0.0))
    return np.where(track.visible, _by_shot(track, log_odds), 0.0)


def sound_lag_s(track: Track, level_db: FloatArray, at_s: FloatArray) -> NDArray[np.float64]:
    """How much later than the pictures the sound of each frame's shot comes, ``[T]`` seconds, 0 where it is not clear.

    The scratch is loud when the tip moves on the paper: the lag is where level and motion agree best.

    Args:
        track: tip and contact as video tells them.
        level_db: ``[N]`` level of the scratch.
        at_s: ``[N]`` its times on the track's clock.
    """
    motion = np.sqrt(speed_px_s(track)) * np.asarray(track.contact)
    lags = np.arange(-0.15, 0.1501, 0.01)
    best = np.zeros(len(track))
    for number in np.unique(track.shot):
        frames = np.flatnonzero((track.shot == number) & track.visible)
        if len(frames) < 20 or np.std(motion[frames]) < 1e-9:
            continue
        agreement = np.zeros(len(lags))
        for index, lag in enumerate(lags):
            level = np.clip(np.interp(track.time_s[frames] + lag, at_s, level_db), -100, None)
            if np.std(level) > 1e-6:
                agreement[index] = np.corrcoef(level, motion[frames])[0, 1]
        # Without a clear best the sound is taken as it comes.
        agreement -= 0.8 * np.abs(lags)
        if agreement.max() > 0.45:
            best[track.shot == number] = lags[agreement.argmax()]
    return best


def scratch_level_db(waveform: FloatArray, sample_rate_hz: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Energy between 2 and 7.6 kHz in dB every 5 ms, over windows of 25 ms, and the windows' middles in seconds."""
    size, hop = int(0.025 * sample_rate_hz), int(0.005 * sample_rate_hz)
    if len(waveform) < size:
        return np.zeros(0), np.zeros(0)
    windows = np.lib.stride_tricks.sliding_window_view(np.asarray(waveform, np.float32), size)[::hop]
    shape = np.hanning(size).astype(np.float32)
    frequency = np.fft.rfftfreq(size, 1 / sample_rate_hz)
    band = (frequency >= 2000) & (frequency <= min(7600, 0.48 * sample_rate_hz))
    energy = np.concatenate(
        [(np.abs(np.fft.rfft(block * shape, axis=1)[:, band]) ** 2).sum(1) for block in _blocks(windows, 4096)]
    )
    level = 10 * np.log10(energy.astype(np.float64) + 1e-12)
    return level, (np.arange(len(level)) * hop + size / 2) / sample_rate_hz


def _blocks(windows: NDArray[np.float32], size: int) -> list[NDArray[np.float32]]:
    return [windows[first : first + size] for first in range(0, len(windows), size)]


def _by_shot(track: Track, log_odds: NDArray[np.float64]) -> NDArray[np.float64]:
    probability = np.zeros(len(track))
    for number in np.unique(track.shot):
        frames = np.flatnonzero(track.shot == number)
        probability[frames] = smooth_log_odds(log_odds[frames], track.time_s[frames])
    return probability
