"""What there is to see of one item: first frame, recovered ink, sound, and what the network makes of it over time.

Everything is small text or a data URI, so that a page holds many items and needs no other file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unwritten.errors import UnwrittenError
from unwritten.report.html import data_uri
from unwritten.types import Clip, Track

if TYPE_CHECKING:
    from unwritten.readers.network import CtcNetwork

_FRAME_PX = 300  # longest side of a thumbnail
_BLACK = 16.0  # mean brightness below which a frame shows nothing
_LOOK_FOR = 60  # frames to look through for one that shows something
_WIDE_PX = 640  # columns of a spectrogram at most
_WEAK = 0.08  # a letter that never gets likelier than this is left out
_STRONG = 0.3  # one that does gets its name at the peak
_VIEW = (600.0, 72.0)  # of the emissions, in SVG units


@dataclass(frozen=True)
class Evidence:
    """Of one item; empty where there is none.

    Attributes:
        frame: data URI of a JPEG, the first frame that is not black.
        ink: SVG.
        sound: data URI of a PNG, log-mel energies, low bands at the bottom.
        emissions: SVG by modality.
        duration_s: of the clip.
        missing: one line on what could not be made.
    """

    frame: str = ""
    ink: str = ""
    sound: str = ""
    emissions: dict[str, str] = field(default_factory=dict)
    duration_s: float = 0.0
    missing: str = ""


def gather(clip: Clip, network: CtcNetwork | None) -> Evidence:
    """Make all that a clip allows; what fails is told in ``missing`` and does not stop the report.

    Args:
        clip: with files or a simulated recording.
        network: for the emissions; None leaves them out.
    """
    from unwritten.recordings.clips import record_clip
    from unwritten.store import Store

    troubles: list[str] = []
    frame, ink, sound, duration_s = "", "", "", 0.0
    emissions: dict[str, str] = {}
    pictures = next((clip.files[m] for m in ("video", "av") if m in clip.files), None)
    if pictures is not None and not clip.shot:  # a later shot begins elsewhere in the file
        try:
            frame = first_frame(pictures)
        except UnwrittenError as error:
            troubles.append(_without_folder(error, pictures))
    for modality in clip.modalities:
        try:
            recording = record_clip(clip, modality, None, Store())
            if recording.track is not None and not ink:
                ink = ink_svg(recording.track)
                duration_s = max(duration_s, float(recording.track.time_s[-1]))
            if recording.waveform is not None and not sound:
                sound = spectrogram(recording.waveform, recording.sample_rate_hz)
                duration_s = max(duration_s, len(recording.waveform) / recording.sample_rate_hz)
            if network is not None:
                log_probs = network.log_probs(network.features_of(recording), modality)
                emissions[modality] = emissions_svg(
                    np.exp(log_probs), network.alphabet, network.emission_rate_hz, modality
                )
        except (UnwrittenError, ValueError) as error:
            troubles.append(_without_folder(error, clip.files.get(modality)))
    return Evidence(frame, ink, sound, emissions, duration_s, "; ".join(dict.fromkeys(troubles)))


def _without_folder(error: Exception, path: Path | None) -> str:
    """The message with the file's name alone: a report travels, folders do not."""
    line = " ".join(str(error).split())
    return line.replace(str(path), path.name) if path is not None else line


def first_frame(path: Path) -> str:
    """Data URI of the first frame that is not black, in square pixels.

    Raises:
        UnwrittenError: the file cannot be read.
    """
    import cv2

    from unwritten.media import read_frames

    image, aspect = None, 1.0
    for place, frame in enumerate(read_frames(path)):
        image, aspect = frame.image, frame.sample_aspect_ratio
        if float(image.mean()) > _BLACK or place >= _LOOK_FOR:
            break
    assert image is not None  # read_frames raises when there is none
    height, width = image.shape[0], image.shape[1] * aspect
    scale = _FRAME_PX / max(height, width)
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    small = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
    return jpeg_uri(small, 72)


def jpeg_uri(image: NDArray[np.uint8], quality: int) -> str:
    """Data URI of an RGB picture as JPEG."""
    import cv2

    _, data = cv2.imencode(".jpg", cv2.cvtColor(image, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, quality])
    return data_uri("image/jpeg", data.tobytes())


def ink_svg(track: Track) -> str:
    """The recovered ink in few paths, one for pieces of about equal width and opacity, in the page's ink colour."""
    from unwritten.tracking.ink import recover_ink

    ink = recover_ink(track)
    width, height = ink.size
    dividers = "".join(f"<path d='M{left:.0f} 12V{height - 12}' class='divider'/>" for left, _ in ink.panels[1:])
    widths = np.round(ink.width).astype(int)
    opacities = np.ceil(ink.opacity * 4).clip(1, 4).astype(int)
    opacities[ink.opacity <= 0.17] = 0  # travel with the pen up
    parts = []
    for opacity in np.unique(opacities):
        for stroke in np.unique(widths[opacities == opacity]):
            chosen = np.flatnonzero((opacities == opacity) & (widths == stroke))
            path = _path(np.rint(ink.start[chosen]).astype(int), np.rint(ink.end[chosen]).astype(int))
            shown = 0.16 if opacity == 0 else opacity / 4
            parts.append(f"<path d='{path}' stroke-width='{stroke}' stroke-opacity='{shown:.2f}'/>")
    return (
        f"<svg viewBox='0 0 {width} {height}' role='img' class='ink'"
        " preserveAspectRatio='xMinYMid'><title>Recovered ink, one panel for each shot"
        f"</title>{dividers}<g>{''.join(parts)}</g></svg>"
    )


def _path(start: NDArray[np.int_], end: NDArray[np.int_]) -> str:
    steps = []
    before: tuple[int, int] | None = None
    for (x0, y0), (x1, y1) in zip(start.tolist(), end.tolist(), strict=True):
        steps.append(f"L{x1} {y1}" if before == (x0, y0) else f"M{x0} {y0}L{x1} {y1}")
        before = (x1, y1)
    return "".join(steps)


def spectrogram(waveform: NDArray[np.floating], sample_rate_hz: int) -> str:
    """Data URI of a grey PNG of log-mel energies over each band's floor: dark is loud."""
    import cv2

    from unwritten.features.spectrogram import log_mel

    mel = log_mel(waveform, sample_rate_hz)
    picture = 255 - np.clip(mel.T[::-1] / 3.0, 0, 1) * 255
    if picture.shape[1] > _WIDE_PX:
        picture = cv2.resize(picture, (_WIDE_PX, picture.shape[0]), interpolation=cv2.INTER_AREA)
    _, data = cv2.imencode(".png", picture.astype(np.uint8), [cv2.IMWRITE_PNG_COMPRESSION, 9])
    return data_uri("image/png", data.tobytes())


def emissions_svg(
    probability: NDArray[np.floating], alphabet: Sequence[str], rate_hz: float, modality: str = "av"
) -> str:
    """Letters' probabilities over time as filled curves, each named at its peak.

    Args:
        probability: ``[U, C]``, the blank first, then the alphabet.
        alphabet: names of columns 1 to C - 1.
        rate_hz: emissions a second.
        modality: chooses the colour.
    """
    frames = len(probability)
    width, height = _VIEW
    base, top = height - 4, 16.0
    # A long clip is thinned by its maxima, which is what one looks for.
    step = max(1, frames // 400)
    areas, labels = [], list[tuple[float, float, str]]()
    for place, letter in enumerate(alphabet, start=1):
        values = np.asarray(probability[:, place], dtype=float)
        if values.max(initial=0.0) < _WEAK:
            continue
        thinned = np.maximum.reduceat(values, np.arange(0, frames, step))
        x = (np.arange(len(thinned)) * step + step / 2) / frames * width
        y = base - thinned * (base - top)
        for first, last in _runs(thinned > 0.02):
            points = "".join(f"L{x[i]:.0f} {y[i]:.0f}" for i in range(first, last))
            left, right = max(0.0, x[first] - width / frames * step), min(width, x[last - 1] + width / frames * step)
            areas.append(f"<path d='M{left:.0f} {base:.0f}{points}L{right:.0f} {base:.0f}Z'/>")
            peak = first + int(thinned[first:last].argmax())
            if thinned[peak] >= _STRONG:
                labels.append((float(x[peak]), float(y[peak]), letter))
    names = "".join(f"<text x='{x:.0f}' y='{y - 3:.0f}'>{escape(letter)}</text>" for x, y, letter in labels)
    if not areas:
        names = f"<text x='{width / 2:.0f}' y='{height / 2:.0f}' class='soft'>no letter above {_WEAK:.0%}</text>"
    spelled = " ".join(letter for _, _, letter in sorted(labels)) or "no letter above 30 %"
    seconds = frames / rate_hz
    ticks = "".join(
        f"<path d='M{at / seconds * width:.0f} {base:.0f}v4' class='tick'/>" for at in range(1, int(seconds) + 1)
    )
    return (
        f"<svg viewBox='0 0 {width:.0f} {height:.0f}' role='img' class='emissions m-{modality}'>"
        f"<title>Letter probabilities over {seconds:.1f} s</title><desc>Peaks in order: {escape(spelled)}</desc>"
        f"<path d='M0 {base:.0f}H{width:.0f}' class='tick'/>{ticks}{''.join(areas)}{names}</svg>"
    )


def _runs(mask: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """First and one past the last index of each stretch of True."""
    edges = np.flatnonzero(np.diff(mask, prepend=False, append=False))
    return [(int(first), int(last)) for first, last in edges.reshape(-1, 2)]
