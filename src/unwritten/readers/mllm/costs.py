"""What a call costs: at most, before it is sent, and truly, from what the provider counted."""

from __future__ import annotations

from unwritten.readers.mllm.parts import Picture, Request, Sound, Text, Video
from unwritten.readers.mllm.provider import Reply
from unwritten.readers.mllm.settings import PriceSettings

_LETTERS_PER_TOKEN = 3.0  # of English text; real tokens hold four and more
_TURN_TOKENS = 20  # roles, separators and the provider's own words


def estimate_tokens_in(request: Request, prices: PriceSettings) -> float:
    """Tokens of a request, rounded up rather than down."""
    text, media, sound = _tokens(request, prices)
    return text + media + sound


def most_cost(request: Request, prices: PriceSettings) -> float | None:
    """US dollars that a call may cost, its reply as long as it may be; None when prices are unknown."""
    if prices.input is None or prices.output is None:
        return None
    text, media, sound = _tokens(request, prices)
    audio_price = prices.input if prices.audio_input is None else prices.audio_input
    return ((text + media) * prices.input + sound * audio_price + request.max_tokens * prices.output) / 1e6


def cost_of(reply: Reply, prices: PriceSettings) -> float | None:
    """US dollars of a reply as counted; None when prices or counts are unknown."""
    if prices.input is None or prices.output is None or reply.tokens_in is None:
        return None
    audio_price = prices.input if prices.audio_input is None else prices.audio_input
    sound = min(reply.audio_tokens_in or 0, reply.tokens_in)
    text = reply.tokens_in - sound
    return (text * prices.input + sound * audio_price + (reply.tokens_out or 0) * prices.output) / 1e6


def _tokens(request: Request, prices: PriceSettings) -> tuple[float, float, float]:
    text, media, sound = 0.0, 0.0, 0.0
    text += _TURN_TOKENS * len(request.turns)
    for part in request.parts():
        if isinstance(part, Text):
            text += len(part.text) / _LETTERS_PER_TOKEN + 1
        elif isinstance(part, Picture):
            media += prices.tokens_per_image
        elif isinstance(part, Sound):
            sound += part.seconds * prices.tokens_per_audio_s
        elif isinstance(part, Video):
            media += part.frames * prices.tokens_per_video_frame
            sound += part.sound_s * prices.tokens_per_audio_s
    return text, media, sound
