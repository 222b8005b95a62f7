"""Readers: the baseline, multimodal models, blind guesses, recorded people. All give Answers."""
