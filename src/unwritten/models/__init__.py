"""Encoders, fusion and the Lightning module; knows nothing of clips."""
