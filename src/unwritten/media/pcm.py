"""One stream of sound to mono samples at one rate: averaging, resampling, and damage turned into silence."""

from __future__ import annotations

from typing import Any

import av
import av.error
import numpy as np
from av.audio.frame import AudioFrame
from av.audio.stream import AudioStream
from av.container import InputContainer
from av.packet import Packet
from numpy.typing import NDArray

from unwritten.media.source import has_sane_rate

# Timestamps of sound jitter by a frame or so; a longer hole is missing sound.
_SHORTEST_HOLE_S = 0.06
# After a decoding error no hole is jitter.
_SHORTEST_LOSS_S = 0.005
# Blocks that overlap by more than this were joined badly; by more than the other, the clock was restarted.
_SHORTEST_OVERLAP_S, _LONGEST_OVERLAP_S = 0.01, 0.2
# A hole longer than this is a broken clock, not silence.
_LONGEST_HOLE_S = 600.0
# Independent channels leave 1 / n of a channel's power in the mean of n. A hundredth of that (20 dB below) means that
# they cancel each other: two microphones wired the wrong way round, or an inverted copy.
_CANCELLED = 0.01
# Samples beyond this are no sound of full scale 1, nor 32-bit integers written as floats.
_LARGEST = 2.0**31


class StreamDecoder:
    """Decodes one stream to mono at one rate, hole by hole and run by run.

    Args:
        rate_hz: rate of the result.
        channel: the channel to take, None for the mean of all.
    """

    def __init__(self, rate_hz: int, channel: int | None = None) -> None:
        self.rate_hz = rate_hz
        self._channel = channel
        self._power = np.zeros(0)  # sum of squares of each channel, of frames with the same channels
        self._mean_power = 0.0
        self._filled_s = 0.0
        self._not_numbers = 0
        self.first_s: float | None = None
        self.hole_after_error_s = 0.0
        self.source_rate_hz = 0
        self.channels = 0
        self._blocks: list[NDArray[np.float32]] = []
        self._resampler: Resampler | None = None
        self._next_s = 0.0
        self._late_s = 0.0
        self._held = np.zeros(0, np.float32)

    def run(self, container: InputContainer, stream: AudioStream) -> str:
        """Decode everything that decodes; returns the first fault, empty when there was none."""
        fault, after_error = "", False
        # MP3 and ADTS frames carry no time: where bytes between two of them are no frame, sound is missing.
        is_bare = container.format.name in ("mp3", "aac")
        end_of_last: int | None = None
        packet: Packet | None = None
        pace = _Pace()
        packets = container.demux(stream)
        while True:
            try:
                packet = next(packets, None)
                if packet is None:
                    break
                gap = 0 if end_of_last is None or packet.pos is None else packet.pos - end_of_last
                end_of_last = None if packet.pos is None else packet.pos + packet.size
                if is_bare and gap > 0:
                    self._late_s += pace.seconds(gap)
                    fault, after_error = fault or f"{gap} damaged bytes", True
                for frame in packet.decode():
                    if not has_sane_rate(frame.sample_rate):
                        fault, after_error = fault or f"a rate of {frame.sample_rate} Hz within", True
                        continue
                    self._add(frame, after_error)
                    after_error = False
                pace.count(packet)
            except (av.error.EOFError, StopIteration):
                break
            except av.error.FFmpegError as error:
                fault, after_error = fault or "damaged data", True
                if packet is None or isinstance(error, OSError):
                    break
                if is_bare:  # the parser hands on the damage as one frame that is too long
                    self._late_s += max(0.0, pace.seconds(packet.size) - pace.frame_s)
        if self._not_numbers and not fault:
            fault = f"{self._not_numbers} samples are not numbers; taken as silence"
        return fault

    def louder_of_cancelling(self) -> int | None:
        """The channel with the most power where the mean of the channels cancels; None where it does not."""
        count = len(self._power)
        if count < 2 or self._mean_power >= _CANCELLED * self._power.mean() / count:
            return None
        return int(self._power.argmax())

    def _mono(self, frame: AudioFrame) -> NDArray[np.float32]:
        channels = channels_of(frame)
        if len(channels) == 0 or channels.shape[1] == 0:
            return np.zeros(0, np.float32)
        if channels.dtype.kind == "f":
            bad = ~(np.abs(channels) <= _LARGEST)  # NaN compares as False
            if bad.any():
                self._not_numbers += int(bad.any(axis=0).sum())
                channels = np.where(bad, 0, channels)
        mono = mean_of(channels if self._channel is None else channels[min(self._channel, len(channels) - 1)][None])
        if len(channels) > 1 and self._channel is None:
            if len(channels) != len(self._power):
                self._power, self._mean_power = np.zeros(len(channels)), 0.0
            scaled = np.stack([mean_of(channel[None]) for channel in channels])
            self._power += np.einsum("ct,ct->c", scaled, scaled, dtype=np.float64)
            self._mean_power += float(np.dot(mono, mono))
        return mono

    def _add(self, frame: AudioFrame, after_error: bool) -> None:
        mono = self._mono(frame)
        if len(mono) == 0:
            return
        if self._resampler is None or self._resampler.source_hz != frame.sample_rate:
            self._flush()
            self._resampler = Resampler(frame.sample_rate, self.rate_hz)
        self.source_rate_hz, self.channels = frame.sample_rate, frame.layout.nb_channels
        time_s = None
        if frame.pts is not None and frame.time_base is not None:
            time_s = float(frame.pts * frame.time_base) + self._late_s
        if self.first_s is None:
            self.first_s = self._next_s = time_s or 0.0
        hole_s = 0.0 if time_s is None else time_s - self._next_s
        shortest_s = _SHORTEST_LOSS_S if after_error else _SHORTEST_HOLE_S
        if shortest_s < hole_s < _LONGEST_HOLE_S - self._filled_s:
            self._filled_s += hole_s
            self._push(np.zeros(round(hole_s * frame.sample_rate), np.float32))
            self._next_s += hole_s
            self.hole_after_error_s += hole_s if after_error else 0.0
        elif -_LONGEST_OVERLAP_S < hole_s < -_SHORTEST_OVERLAP_S:
            # The older block gives way: where films were joined it ends in the next encoder's run-in.
            kept = max(0, len(self._held) + round(hole_s * frame.sample_rate))
            self._next_s -= (len(self._held) - kept) / frame.sample_rate
            self._held = self._held[:kept]
        elif hole_s > shortest_s or hole_s <= -_LONGEST_HOLE_S:
            self._next_s += hole_s
        self._push(mono)
        self._next_s += len(mono) / frame.sample_rate

    def _push(self, samples: NDArray[np.float32]) -> None:
        """Hold back one block: the next one's time stamp may cut it short."""
        assert self._resampler is not None
        self._blocks.append(self._resampler.push(self._held))
        self._held = samples

    def _flush(self) -> None:
        if self._resampler is not None:
            self._blocks.append(self._resampler.push(self._held))
            self._blocks.append(self._resampler.finish())
            self._held = np.zeros(0, np.float32)
            self._resampler = None

    def finish(self, trim_at_s: float | None) -> NDArray[np.float32]:
        """The waveform, cut where the container's edit list ends it: what follows is the encoder's padding."""
        self._flush()
        waveform = np.concatenate(self._blocks) if self._blocks else np.zeros(0, np.float32)
        self._blocks.clear()
        if trim_at_s is not None and self.first_s is not None:
            waveform = waveform[: max(0, round((trim_at_s - self.first_s) * self.rate_hz))]
        return waveform


class _Pace:
    """Bytes a second of the frames that decoded."""

    def __init__(self) -> None:
        self.frame_s = 0.0
        self._bytes = self._seconds = 0.0

    def count(self, packet: Packet) -> None:
        if packet.size and packet.duration and packet.time_base:
            self.frame_s = float(packet.duration * packet.time_base)
            self._bytes += packet.size
            self._seconds += self.frame_s

    def seconds(self, size: int) -> float:
        """How long so many bytes sound."""
        return size * self._seconds / self._bytes if self._bytes else 0.0


def channels_of(frame: AudioFrame) -> NDArray[Any]:
    """Samples ``[channels, samples]`` of a frame in its own format."""
    samples: NDArray[Any] = frame.to_ndarray()
    if not frame.format.is_planar:
        samples = samples.reshape(-1, frame.layout.nb_channels).T
    return samples


def mean_of(samples: NDArray[Any]) -> NDArray[np.float32]:
    """Mean over the channels of ``[channels, samples]``, float32 ``[samples]`` in [-1, 1]."""
    if samples.dtype == np.uint8:
        return ((samples.astype(np.float32) - 128.0) / 128.0).mean(axis=0, dtype=np.float32)
    if np.issubdtype(samples.dtype, np.integer):
        full_scale = np.float32(-float(np.iinfo(samples.dtype).min))
        return (samples.mean(axis=0, dtype=np.float64) / full_scale).astype(np.float32)
    return samples.mean(axis=0, dtype=np.float64).astype(np.float32)


class Resampler:
    """libswresample over mono blocks; the total comes out at the rounded ratio of lengths, without delay."""

    def __init__(self, source_hz: int, target_hz: int) -> None:
        self.source_hz, self.target_hz = source_hz, target_hz
        self._pushed = self._given = 0
        same = source_hz == target_hz
        self._inner = None if same else av.AudioResampler(format="fltp", layout="mono", rate=target_hz)

    def push(self, samples: NDArray[np.float32]) -> NDArray[np.float32]:
        if self._inner is None or len(samples) == 0:
            return samples
        frame = AudioFrame.from_ndarray(np.ascontiguousarray(samples[None]), format="fltp", layout="mono")
        frame.sample_rate, frame.pts = self.source_hz, self._pushed
        self._pushed += len(samples)
        return self._take(self._inner.resample(frame))

    def finish(self) -> NDArray[np.float32]:
        if self._inner is None or self._pushed == 0:
            return np.zeros(0, np.float32)
        tail = self._take(self._inner.resample(None))
        wanted = round(self._pushed * self.target_hz / self.source_hz) - (self._given - len(tail))
        return tail[:wanted] if wanted <= len(tail) else np.pad(tail, (0, wanted - len(tail)))

    def _take(self, frames: list[AudioFrame]) -> NDArray[np.float32]:
        blocks = [frame.to_ndarray()[0] for frame in frames]
        joined = np.concatenate(blocks) if blocks else np.zeros(0, np.float32)
        self._given += len(joined)
        return joined
