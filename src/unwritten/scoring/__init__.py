"""Scores as pure functions over the answers table."""

from unwritten.scoring.metrics import edit_distance, edit_similarity, ordered_letter_accuracy

__all__ = ["edit_distance", "edit_similarity", "ordered_letter_accuracy"]
