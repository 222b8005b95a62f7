"""Readers: the baseline, multimodal models, blind guesses, recorded people. All give Answers."""

from unwritten.readers.base import Reader

__all__ = ["Reader"]
