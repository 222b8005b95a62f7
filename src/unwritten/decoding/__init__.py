"""From CTC emissions to words: greedy, exact length, lexicon."""
