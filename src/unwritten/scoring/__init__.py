"""Scores as pure functions over the answers table."""
