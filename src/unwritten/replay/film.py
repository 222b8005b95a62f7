"""A video of a reading: the clip, the ink that grows, the sound, the letters, and the words that they leave possible.

The network has seen the whole clip before the replay begins; what grows with time is how much of its emissions counts.
A word's probability after some frames is that of the paths that have spelled one of its prefixes so far
(``decoding.posterior_over_time``). T is the number of pictures, U of emission frames, R of words followed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unwritten.errors import UnwrittenError, UsageError
from unwritten.replay import drawing as draw
from unwritten.replay.belief import LETTER, ROWS, belief_over_time, greedy_runs
from unwritten.replay.drawing import Box, Picture
from unwritten.replay.ink import InkOverTime
from unwritten.types import Frame, Track

if TYPE_CHECKING:
    from unwritten.readers.ctc import Reading

WIDTH_PX, HEIGHT_PX = 1280, 720
_MARGIN = 16
_BARS_PX = 268  # width of the column of words
_CURVES = 5  # words with a line over time
_WINDOW_S = 6.0  # time that the lanes show
_NOW = 0.8  # where "now" stands in them once they scroll
_FRAME_RATE_HZ = 30.0  # of a clip without pictures


def write_replay(path: Path | str, reading: Reading) -> Path:
    """Write the replay of a reading as a video at the clip's own times, with the sound that was heard.

    Args:
        path: ``.mp4`` or ``.webm``.
        reading: of a clip that has both a file, whose pictures are shown, and the recording that was made of it.

    Raises:
        UsageError: another suffix, or the clip's own path.
        UnwrittenError: the clip cannot be read any more or the place cannot be written.
    """
    path = Path(path)
    clip, recording = reading.clip.files[reading.modality], reading.clip.recording
    assert recording is not None
    check_replay_path(path, clip)
    from unwritten.media import write_video

    waveform = None if recording.waveform is None else recording.aligned_waveform()
    rate_hz = recording.sample_rate_hz
    if recording.track is not None:
        times = np.asarray(recording.track.time_s, dtype=np.float64)
    else:
        assert waveform is not None
        times = np.arange(max(1, int(len(waveform) / rate_hz * _FRAME_RATE_HZ))) / _FRAME_RATE_HZ
    pictures = _Replay(reading, recording.track, times, waveform, rate_hz).pictures()
    return write_video(path, pictures, times, waveform=waveform, sample_rate_hz=rate_hz, crf=20)


def check_replay_path(path: Path, clip: Path) -> None:
    """Refuse, before any work is done, a place that no replay can be written to.

    Raises:
        UsageError: the suffix is no video's, or the file is the clip itself.
    """
    if path.suffix.lower() not in (".mp4", ".webm"):
        raise UsageError(f"--replay {path}: a replay is a video; give a name that ends in .mp4 or .webm")
    if path.exists() and clip.exists() and path.samefile(clip):
        raise UsageError(f"--replay {path}: is the clip itself; give another name")


class _Replay:
    """Everything that does not change from picture to picture, and the ink and rows that do."""

    def __init__(
        self,
        reading: Reading,
        track: Track | None,
        times: NDArray[np.float64],
        waveform: NDArray[np.float32] | None,
        rate_hz: int,
    ) -> None:
        self.reading, self.track, self.times = reading, track, times
        self.end_s = float(times[-1]) + 1e-6
        self.belief = belief_over_time(reading, self.end_s)
        self.probability = np.exp(np.asarray(reading.emissions, dtype=np.float64))
        self.letter_s = np.arange(len(self.probability)) / reading.decoding.rate_hz
        self.runs = greedy_runs(self.probability)
        self._lay_out(waveform is not None)
        self.span_s = min(_WINDOW_S, max(self.end_s, 1.0))
        self.scale = self.lanes["letters"].width / self.span_s  # pixels a second
        self.envelope = None if waveform is None else _envelope(waveform, rate_hz, self.scale)
        self.spectrum = None if waveform is None or self.track is not None else _spectrum(waveform, rate_hz)
        self.row_y = np.full(len(self.belief.words), float(ROWS))
        if self.track is not None:
            self.ink = InkOverTime(self.track, self.top)
        self.base = self._background()

    def _lay_out(self, has_sound: bool) -> None:
        """Places of the panes: the clip left or top left, ink beside it, lanes and words below."""
        self.clip: Box | None = None
        left, right = _MARGIN, WIDTH_PX - _MARGIN
        top, lanes_left = _MARGIN, _MARGIN
        lanes_top = 304
        if self.track is not None:
            width, height = self.track.size_px
            if height >= width:
                scale = min(HEIGHT_PX / height, 480 / width)
                size = (round(width * scale), round(height * scale))
                self.clip = Box(0, (HEIGHT_PX - size[1]) // 2, *size)
                left = lanes_left = size[0] + _MARGIN
            else:
                scale = min(560 / width, 340 / height)
                size = (round(width * scale), round(height * scale))
                self.clip = Box(_MARGIN, _MARGIN, *size)
                left = _MARGIN + size[0] + _MARGIN
                lanes_top = max(lanes_top, 2 * _MARGIN + size[1])
        self.top = Box(left, top, right - left, lanes_top - _MARGIN - top)
        self.bars = Box(right - _BARS_PX, lanes_top, _BARS_PX, HEIGHT_PX - _MARGIN - lanes_top)
        names = ["sound", "letters", "candidates"] if has_sound else ["letters", "candidates"]
        lanes_width = self.bars.left - _MARGIN - lanes_left
        each = (self.bars.height - (len(names) - 1) * 12) // len(names)
        self.lanes = {
            name: Box(lanes_left, lanes_top + number * (each + 12), lanes_width, each)
            for number, name in enumerate(names)
        }

    def _background(self) -> Picture:
        base: Picture = np.empty((HEIGHT_PX, WIDTH_PX, 3), np.uint8)
        base[:] = draw.DESK
        for box in (self.top, self.bars, *self.lanes.values()):
            draw.bar(base, box, draw.PAPER)
        title = "ink, upright" if self.track is not None else "sound, low to high"
        draw.write(self.top.of(base), title, (10, 6), 13, draw.GREY)
        for name, box in self.lanes.items():
            draw.write(box.of(base), name, (10, 6), 13, draw.GREY)
        draw.write(self.bars.of(base), "letters so far", (12, 6), 13, draw.GREY)
        draw.write(self.bars.of(base), "candidates", (12, 76), 13, draw.GREY)
        if self.track is not None:
            self.ink.rule(self.top.of(base))
        return base

    def pictures(self) -> Iterator[Picture]:
        """The pictures, one at a time."""
        for index, frame in enumerate(self._frames()):
            now_s = float(self.times[index]) if index + 1 < len(self.times) else self.end_s
            picture = self.base.copy()
            if frame is not None and self.clip is not None:
                self._show_clip(picture, frame, index)
            if self.track is not None:
                self.ink.grow(self.top.of(picture), index)
            elif self.spectrum is not None:
                self._show_spectrum(self.top.of(picture), now_s)
            start_s = float(np.clip(now_s - _NOW * self.span_s, 0.0, max(0.0, self.end_s - self.span_s)))
            if "sound" in self.lanes:
                self._show_wave(self.lanes["sound"].of(picture), now_s, start_s)
            self._show_letters(self.lanes["letters"].of(picture), now_s, start_s)
            self._show_words(self.lanes["candidates"].of(picture), now_s, start_s)
            self._show_bars(self.bars.of(picture), now_s)
            yield picture

    def _frames(self) -> Iterator[Frame | None]:
        if self.track is None:
            yield from (None for _ in self.times)
            return
        from unwritten.media import read_frames

        count = 0
        path = self.reading.clip.files[self.reading.modality]
        for frame in read_frames(path):
            if count == len(self.times):
                return
            yield frame
            count += 1
        if count < len(self.times):
            raise UnwrittenError(f"{path}: has fewer pictures than when it was tracked; read it again")

    def _show_clip(self, picture: Picture, frame: Frame, index: int) -> None:
        assert self.clip is not None and self.track is not None
        pane = self.clip.of(picture)
        pane[:] = draw.fitted(frame.image, self.clip.width, self.clip.height)
        if self.track.visible[index]:
            tip = self.track.tip_px[index] * (self.clip.width / self.track.size_px[0])
            draw.disc(pane, tip, 9.0, (255, 255, 255), 3)
            draw.disc(pane, tip, 9.0, draw.ACCENT, 2)

    def _show_spectrum(self, pane: Picture, now_s: float) -> None:
        assert self.spectrum is not None
        body = pane[30:-10, 10:-10]
        start_s = float(np.clip(now_s - _NOW * self.span_s, 0.0, max(0.0, self.end_s - self.span_s)))
        columns = start_s + np.arange(body.shape[1]) * self.span_s / body.shape[1]
        frames = np.minimum((columns * _SPECTRUM_HZ).astype(int), self.spectrum.shape[1] - 1)
        wide = draw.fitted(np.ascontiguousarray(self.spectrum[:, frames]), body.shape[1], body.shape[0])
        past = columns <= now_s
        body[:, past] = wide[:, past]

    def _x(self, time_s: NDArray[np.floating] | float, start_s: float) -> NDArray[np.float64]:
        return (np.asarray(time_s, dtype=np.float64) - start_s) * self.scale

    def _cursor(self, pane: Picture, now_s: float, start_s: float) -> None:
        x = int(np.clip(self._x(now_s, start_s), 0, pane.shape[1] - 2))
        pane[:, x : x + 2] = draw.ACCENT

    def _show_wave(self, pane: Picture, now_s: float, start_s: float) -> None:
        assert self.envelope is not None
        first = round(start_s * self.scale)
        part = self.envelope[first : first + pane.shape[1]]
        middle, reach = pane.shape[0] / 2 + 6, pane.shape[0] / 2 - 16
        now = int(self._x(now_s, start_s))
        y = np.arange(pane.shape[0])[:, None]
        filled = np.abs(y - middle) <= np.maximum(part * reach, 0.6)[None, :]
        past = np.arange(len(part)) <= now
        pane[:, : len(part)][filled & ~past] = draw.PALE
        pane[:, : len(part)][filled & past] = draw.INK
        self._cursor(pane, now_s, start_s)

    def _show_letters(self, pane: Picture, now_s: float, start_s: float) -> None:
        base, reach = pane.shape[0] - 10.0, pane.shape[0] - 54.0
        pane[round(base), :] = draw.PALE
        shown = (self.letter_s >= start_s - 0.3) & (self.letter_s <= now_s)
        if shown.any():
            first, last = np.flatnonzero(shown)[[0, -1]]
            x = self._x(self.letter_s[first : last + 1], start_s)
            raised_labels = np.flatnonzero(self.probability[first : last + 1, 1:].max(axis=0) > LETTER) + 1
            for label in raised_labels.tolist():
                height = self.probability[first : last + 1, label]
                points = np.stack((x, base - reach * height), axis=1)
                raised = np.convolve(height > 0.02, np.ones(3), "same") > 0
                edges = np.flatnonzero(np.diff(raised, prepend=False, append=False))
                for low, high in zip(edges[::2], edges[1::2], strict=True):
                    draw.hill(pane, points[low:high], base, _colour_of(label))
        for label, peak in self.runs:
            if start_s - 0.3 <= self.letter_s[peak] <= now_s:
                y = base - reach * self.probability[peak, label] - 27
                letter = self.reading.decoding.alphabet[label - 1]
                x_px = float(self._x(self.letter_s[peak], start_s))
                draw.write(pane, letter, (x_px, y), 20, _colour_of(label), True, "middle")
        self._cursor(pane, now_s, start_s)

    def _show_words(self, pane: Picture, now_s: float, start_s: float) -> None:
        belief = self.belief
        base, reach = pane.shape[0] - 10.0, pane.shape[0] - 40.0
        pane[round(base), :] = draw.PALE
        shown = np.flatnonzero(belief.time_s <= now_s)
        current = belief.at(now_s)
        time_s = np.append(belief.time_s[shown], now_s)
        for row in range(min(_CURVES, len(belief.words)) - 1, -1, -1):
            values = np.append(belief.probability[shown, row], current[row])
            points = np.stack((self._x(time_s, start_s), base - reach * values), axis=1)
            draw.line(pane, points[max(0, int((points[:, 0] < 0).sum()) - 1) :], _word_colour(row), 2 + (row == 0))
        self._cursor(pane, now_s, start_s)

    def _show_bars(self, pane: Picture, now_s: float) -> None:
        alphabet = self.reading.decoding.alphabet
        letters = "".join(alphabet[label - 1] for label, peak in self.runs if self.letter_s[peak] <= now_s)
        draw.write(pane, letters[-13:] or "…", (12, 24), 30, draw.INK if letters else draw.PALE, True)
        probability = self.belief.at(now_s)
        rank = np.empty(len(probability))
        rank[np.argsort(-probability, kind="stable")] = np.arange(len(probability))
        # Rows glide to their new places, and wait below the pane when they are not among the first.
        glide = 0.3 if now_s < self.end_s else 1.0
        self.row_y += glide * (np.minimum(rank, ROWS + 0.2) - self.row_y)
        body = pane[98:]
        step = (body.shape[0] - 4) / ROWS
        full = body.shape[1] - 24
        for row in np.argsort(probability):
            if self.row_y[row] > ROWS - 0.1:
                continue
            top = self.row_y[row] * step
            leads = rank[row] == 0
            colour = _word_colour(row) if row < _CURVES else draw.GREY
            foot = round(top + step) - 9
            draw.bar(body, Box(12, round(top), full, round(step)), draw.PAPER)
            draw.bar(body, Box(12, foot, full, 4), draw.DESK)
            draw.bar(body, Box(12, foot, max(2, round(full * probability[row])), 4), colour)
            text = draw.INK if leads else draw.GREY
            draw.write(body, self.belief.words[row][:14], (12, foot - 30), 22, text, bool(leads))
            percent = f"{100 * probability[row]:.{0 if probability[row] > 0.0095 else 1}f} %"
            draw.write(body, percent, (12 + full, foot - 24), 16, text, align="right")


_SPECTRUM_HZ = 60.0


def _colour_of(label: int) -> draw.Colour:
    return draw.LETTERS[label % len(draw.LETTERS)]


def _word_colour(row: int) -> draw.Colour:
    return draw.ACCENT if row == 0 else draw.LETTERS[(row - 1) % len(draw.LETTERS)]


def _envelope(waveform: NDArray[np.float32], rate_hz: int, scale: float) -> NDArray[np.float64]:
    """Loudness in [0, 1] of every pixel of the sound's lane: peaks, the loudest one in a hundred cut off."""
    count = max(1, int(np.ceil(len(waveform) / rate_hz * scale)))
    edges = np.minimum((np.arange(count) * rate_hz / scale).astype(np.int64), len(waveform) - 1)
    # Hum and handling below the scratch would fill the lane: first differences leave the scratch.
    peaks = np.maximum.reduceat(np.abs(np.diff(waveform, prepend=waveform[:1])), edges)
    loud = float(np.quantile(peaks, 0.99))
    return np.clip(peaks / max(loud, 1e-9), 0.0, 1.0)


def _spectrum(waveform: NDArray[np.float32], rate_hz: int) -> Picture:
    """Log-mel picture ``[M, frames, 3]`` from paper to ink, high bands on top."""
    from unwritten.features.spectrogram import SpectrogramSettings, log_mel

    mel = log_mel(waveform, rate_hz, SpectrogramSettings(rate_hz=_SPECTRUM_HZ))
    dark = np.clip(mel.T[::-1] / 2.5, 0.0, 1.0)[..., None]
    return np.asarray(np.array(draw.PAPER) * (1 - dark) + np.array(draw.INK) * dark, dtype=np.uint8)
