"""MP3 whose frames stand alone, so that files can be joined frame by frame and still be heard whole.

An encoder normally lets a frame borrow bits from earlier ones and delays the sound by more than a thousand samples.
Here no frame borrows (no bit reservoir), every frame's sound starts where the frame starts, and one Info frame at the
head says how many samples to skip. Its layout is that of LAME's tag
(http://gabriel.mp3-tech.org/mp3infotag.html).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from av.audio.codeccontext import AudioCodecContext
from av.audio.frame import AudioFrame
from numpy.typing import NDArray

from unwritten.media import mpeg

SAMPLE_RATE_HZ = 48_000
FRAME_SAMPLES = 1_152
_BITRATE = 96_000
_DECODER_DELAY = 529
_ENCODER_DELAY = 576
_LEAD_FRAMES = 2  # dropped: the encoder's delay, filled up to whole frames


def encode_frames(waveform: NDArray[np.float32]) -> list[bytes]:
    """MP3 frames of mono sound at ``SAMPLE_RATE_HZ``, none of which needs another's bits.

    Returns:
        a frame of pre-roll, then one frame for every started 1,152 samples; frame 1 + k decodes to the samples from
        1,152 k on, provided that any frame was decoded before it.
    """
    frames_wanted = -(-len(waveform) // FRAME_SAMPLES)
    lead = _LEAD_FRAMES * FRAME_SAMPLES - _ENCODER_DELAY - _DECODER_DELAY
    padded = np.zeros((frames_wanted + _LEAD_FRAMES + 2) * FRAME_SAMPLES, np.float32)
    padded[lead : lead + len(waveform)] = np.clip(waveform, -1.0, 1.0)
    context = AudioCodecContext.create("libmp3lame", "w")
    context.sample_rate, context.layout, context.format = SAMPLE_RATE_HZ, "mono", "fltp"
    context.bit_rate = _BITRATE
    context.options = {"reservoir": "0"}
    packets = []
    for start in range(0, len(padded), FRAME_SAMPLES):
        frame = AudioFrame.from_ndarray(padded[None, start : start + FRAME_SAMPLES], format="fltp", layout="mono")
        frame.sample_rate, frame.pts = SAMPLE_RATE_HZ, start
        packets += context.encode(frame)
    packets += context.encode(None)
    return [bytes(packet) for packet in packets][_LEAD_FRAMES - 1 : _LEAD_FRAMES + frames_wanted]


def file_of(frames: Sequence[bytes], samples: int) -> bytes:
    """A whole MP3 file of frames as ``encode_frames`` gives them, the first being pre-roll.

    Args:
        frames: pre-roll and frames that hold at least ``samples`` samples.
        samples: exact length of the sound.
    """
    skip = FRAME_SAMPLES - _DECODER_DELAY
    padding = len(frames) * FRAME_SAMPLES + _DECODER_DELAY - FRAME_SAMPLES - samples
    return _info_frame(frames, skip, padding) + b"".join(frames)


def _info_frame(frames: Sequence[bytes], delay: int, padding: int) -> bytes:
    header = mpeg.parse_header(frames[0][:4])
    if header is None:
        raise ValueError("not an MPEG audio frame")
    size = header.size + sum(map(len, frames))
    seek_table = bytes(min(255, 256 * step // 100) for step in range(100))
    tag = b"Info" + (15).to_bytes(4, "big") + len(frames).to_bytes(4, "big") + size.to_bytes(4, "big")
    tag += seek_table + (0).to_bytes(4, "big")
    # The version's name makes decoders believe the delays; 1 is "constant bit rate".
    tag += b"LAME3.100" + bytes([1]) + bytes(9) + bytes([0, _BITRATE // 1000])
    tag += (delay << 12 | padding).to_bytes(3, "big") + bytes(4) + size.to_bytes(4, "big") + bytes(2)
    frame = frames[0][:4] + bytes(header.info_offset - 4) + tag
    frame += _crc16(frame).to_bytes(2, "big")
    return frame.ljust(header.size, b"\0")


def _crc16(data: bytes) -> int:
    """CRC-16 with the polynomial 0x8005, reflected, as the tag wants it."""
    value = 0
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0xA001 if value & 1 else 0)
    return value
