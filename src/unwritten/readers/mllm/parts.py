"""What is sent to a model: turns of text, pictures, sound and video, and digests of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Text:
    """Words."""

    text: str


@dataclass(frozen=True)
class Picture:
    """An image file."""

    data: bytes
    mime: str = "image/jpeg"


@dataclass(frozen=True)
class Sound:
    """A sound file without pictures."""

    data: bytes
    format: Literal["wav", "mp3"]
    seconds: float

    @property
    def mime(self) -> str:
        """Its media type."""
        return {"wav": "audio/wav", "mp3": "audio/mpeg"}[self.format]


@dataclass(frozen=True)
class Video:
    """An MP4 file of square pixels; ``sound_s`` is 0 without a sound track."""

    data: bytes
    fps: float
    frames: int
    seconds: float
    sound_s: float = 0.0
    mime: str = "video/mp4"


Part = Text | Picture | Sound | Video


@dataclass(frozen=True)
class Turn:
    """What one side says."""

    role: Literal["user", "assistant"]
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Request:
    """A conversation that ends with the user's question.

    Attributes:
        turns: demonstrations first.
        max_tokens: most tokens of the reply.
    """

    turns: tuple[Turn, ...]
    max_tokens: int

    def parts(self) -> Iterator[Part]:
        """All parts in order."""
        for turn in self.turns:
            yield from turn.parts

    @property
    def text(self) -> str:
        """All that is said in words, with the sides' names."""
        said = (f"{turn.role}: {part.text}" for turn in self.turns for part in turn.parts if isinstance(part, Text))
        return "\n".join(said)

    @property
    def prompt_digest(self) -> str:
        """SHA-256 of the words."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def media_digest(self) -> str:
        """SHA-256 over the media in order; of nothing for words alone."""
        return media_digest(tuple(self.parts()))


def media_digest(parts: Sequence[Part]) -> str:
    """SHA-256 over the media among the parts, in order, with the rate that each video is shown at."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, Text):
            continue
        digest.update(f"{part.mime} {len(part.data)} {getattr(part, 'fps', '')}\n".encode())
        digest.update(part.data)
    return digest.hexdigest()
