"""How good one answer is. N is the number of answers, L the longest word among them.

Definitions, for a truth of n letters. Case and surrounding blanks do not count; accents are compared composed (NFC).

- *Ordered letter accuracy* (OLA): the share of the n positions where the answer has the truth's letter. Letters of the
  answer beyond the n-th are ignored; positions that a short answer lacks count 0; a character that is no letter matches
  nothing. "cat" against "bot" is 1/3.
- *Letter errors*: the Levenshtein distance. *Letter error rate*: their sum over the sum of n; it can exceed 1.
- *Edit similarity*: 1 - distance / max(n, length of the answer), in [0, 1]; an early shift costs one letter, not all.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from unwritten.errors import UnwrittenError


def normalise(word: str) -> str:
    """The word as it is compared: lower case, NFC, no blanks around it."""
    word = word.strip().lower()
    return word if word.isascii() else unicodedata.normalize("NFC", word)


def ordered_letter_accuracy(truth: str, answer: str) -> float:
    """Share of the truth's positions where the answer has the same letter, in [0, 1].

    Raises:
        UnwrittenError: the truth is empty, so nothing can be right or wrong.
    """
    truth, answer = normalise(truth), normalise(answer)
    if not truth:
        raise UnwrittenError("ordered letter accuracy: the truth is empty; give the word that was written")
    # A blank or a hyphen in both is still no letter that somebody read.
    return sum(a == b and a.isalpha() for a, b in zip(truth, answer, strict=False)) / len(truth)


@lru_cache(maxsize=200_000)
def edit_distance(truth: str, answer: str) -> int:
    """Levenshtein distance: insertions, deletions and substitutions that turn one word into the other."""
    return _distance(normalise(truth), normalise(answer))


def edit_similarity(truth: str, answer: str) -> float:
    """1 - distance / length of the longer word, in [0, 1]; 1 for two empty words."""
    longest = max(len(normalise(truth)), len(normalise(answer)))
    return 1.0 - edit_distance(truth, answer) / longest if longest else 1.0


def letter_codes(words: Sequence[str]) -> NDArray[np.int32]:
    """Int32 ``[N, L]`` code points of the letters, 0 after a word's end and -1 for a character that is no letter."""
    words = [normalise(word) for word in words]
    longest = max((len(word) for word in words), default=0)
    codes = np.zeros((len(words), longest), dtype=np.int32)
    for row, word in enumerate(words):
        codes[row, : len(word)] = [ord(letter) if letter.isalpha() else -1 for letter in word]
    return codes


def letter_hits(truths: Sequence[str], answers: Sequence[str]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Where the answers are right: bool ``[N, L]`` hits and bool ``[N, L]`` mask of the truths' positions."""
    truth, answer = letter_codes(truths), letter_codes(answers)
    answer = answer[:, : truth.shape[1]]
    answer = np.pad(answer, ((0, 0), (0, truth.shape[1] - answer.shape[1])))
    return (truth == answer) & (truth > 0), truth != 0


def chance_ola(truths: Sequence[str], answers: Sequence[str]) -> float:
    """OLA that the same answers would have if they were dealt out at random among items of the same length.

    The mean over all pairs of a truth and *another* item's answer, so that a reader that says one word for each length
    scores exactly its own chance in expectation. An item that is alone in its length counts 1/26. This is the expected
    agreement of Cohen's kappa (J. Cohen, Educational and Psychological Measurement 20, 1960), per position and length.
    """
    hits, mask = letter_hits(truths, answers)
    truth, answer = letter_codes(truths), letter_codes(answers)
    answer = np.pad(answer, ((0, 0), (0, max(0, truth.shape[1] - answer.shape[1]))))
    lengths = mask.sum(axis=1)
    total = 0.0
    for length in np.unique(lengths[lengths > 0]):
        rows = np.flatnonzero(lengths == length)
        count = len(rows)
        if count == 1:
            total += 1 / 26
            continue
        agreeing = 0.0
        for position in range(length):
            letters, places = np.unique(
                np.concatenate([truth[rows, position], answer[rows, position]]), return_inverse=True
            )
            in_truth = np.bincount(places[:count], minlength=len(letters))
            in_answer = np.bincount(places[count:], minlength=len(letters))
            agreeing += float((in_truth * in_answer)[letters > 0].sum())
        # The pairs of an item with itself are what was really answered, not chance.
        agreeing -= float(hits[rows].sum())
        total += agreeing / (length * (count - 1))
    scored = int((lengths > 0).sum())
    return total / scored if scored else float("nan")


def chance_corrected_ola(ola: float, chance: float) -> float:
    """(OLA - chance) / (1 - chance): 0 for answers that know nothing of their items, 1 for perfect ones."""
    return (ola - chance) / (1.0 - chance) if chance < 1.0 else 0.0


def is_text(truth: str) -> bool:
    """Whether a truth is more than a word of small letters, so that case, signs and spaces tell something."""
    return not (truth.isalpha() and truth == truth.lower())


def text_errors(truth: str, answer: str) -> tuple[int, int, int, int]:
    """Errors of a text and what they are shares of, for the character error rate (CER) and the word error rate (WER).

    Case and signs count here; white space of any length is one space, and none around the text.

    Returns:
        Levenshtein distance in characters, characters of the truth, the same in words.
    """
    ours, theirs = (unicodedata.normalize("NFC", text).split() for text in (truth, answer))
    one, other = " ".join(ours), " ".join(theirs)
    return _distance(one, other), len(one), _distance(ours, theirs), len(ours)


def _distance(truth: Sequence[str], answer: Sequence[str]) -> int:
    """Levenshtein distance between two sequences."""
    previous = list(range(len(answer) + 1))
    for row, own in enumerate(truth, start=1):
        current = [row]
        for column, other in enumerate(answer, start=1):
            current.append(min(previous[column] + 1, current[-1] + 1, previous[column - 1] + (own != other)))
        previous = current
    return previous[-1]
