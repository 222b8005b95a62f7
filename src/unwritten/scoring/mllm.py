"""Did not answer is not answered wrongly: measures for readers that may refuse, collapse or ramble.

Definitions; N is the number of items.

- *Input failure rate*: the share of items that never reached the reader's judgement (state ``failed``).
- *Presence*, of a usable answer where one is due: an item is due when there is something to read in it. An answer is
  *given* when the reader said something that is no refusal, *usable* when it is one word of the right length. True
  positives are usable answers to items that are due, false positives all other given answers, false negatives items
  that are due and have no usable answer.
- *Pass rate*: each criterion is atomic, self-contained and checkable from the answer alone; an item passes when all
  hold.
- *Mode collapse*: the share of the most frequent answers, the entropy of the answers in bits (over the most that N
  answers could have), and the share of answers among the most frequent words of the language, beside that of the true
  words. A reader that looks at nothing can reach the floor with one word for each length.

Failure, presence and pass rates after the Modality Maturity Index (arXiv 2608.26317).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import pandas as pd

from unwritten.errors import UnwrittenError
from unwritten.scoring.metrics import normalise, ordered_letter_accuracy
from unwritten.scoring.table import to_answers
from unwritten.types import STATES, Answer, State

FREQUENT = 1000
"""So many of the most frequent English words of 2 to 5 letters count as frequent."""

_SAID = ("answered", "malformed")


@dataclass(frozen=True)
class Presence:
    """Precision, recall and F1 of a usable answer, each in [0, 1]; None where nothing was given, or nothing due."""

    precision: float | None
    recall: float | None
    f1: float | None


@dataclass(frozen=True)
class Collapse:
    """How narrow a reader's answers are.

    Attributes:
        answers: N answers looked at.
        distinct: how many of them differ.
        top_share: share of the most frequent answer.
        top_10_share: share of the ten most frequent answers.
        entropy_bits: entropy of the answers.
        entropy_share: that entropy over log2(N), in [0, 1]; 1 when no answer repeats.
        frequent_share: share of answers among the frequent words given, None without such words.
        frequent_truths: share of the true words among them, None without such words.
        most_frequent: the ten most frequent answers with their shares.
    """

    answers: int
    distinct: int
    top_share: float
    top_10_share: float
    entropy_bits: float
    entropy_share: float
    frequent_share: float | None
    most_frequent: tuple[tuple[str, float], ...]
    frequent_truths: float | None = None


@dataclass(frozen=True)
class Answering:
    """How a reader answered a set of items.

    Attributes:
        n: items asked.
        states: how many items ended in each state.
        input_failure_rate: share of ``failed``.
        presence: of a usable answer.
        ola_all: OLA over all items with a truth, a missing answer counting 0.
        ola_answered: OLA over answered ones alone; None when there are none.
        pass_rate: share of items that meet every criterion.
        criteria: share of items that meet each.
        collapse: of the answered words; None when there are none.
    """

    n: int
    states: Mapping[State, int]
    input_failure_rate: float
    presence: Presence
    ola_all: float
    ola_answered: float | None
    pass_rate: float
    criteria: Mapping[str, float] = field(default_factory=dict)
    collapse: Collapse | None = None


Criterion = Callable[[Answer, str], bool]


def usable(answer: Answer, truth: str) -> bool:
    """One word of letters a to z, as long as the truth."""
    word = normalise(answer.word)
    return answer.state == "answered" and word.isascii() and word.isalpha() and len(word) == len(normalise(truth))


def is_right(answer: Answer, truth: str) -> bool:
    """The word itself."""
    return answer.state == "answered" and normalise(answer.word) == normalise(truth)


CRITERIA: Mapping[str, Criterion] = {
    "replied": lambda answer, _: answer.state in _SAID,
    "one_word": lambda answer, _: answer.state in _SAID and normalise(answer.word).isalpha(),
    "right_length": usable,
    "first_letter": lambda answer, truth: usable(answer, truth) and normalise(answer.word)[0] == normalise(truth)[0],
    "right_word": is_right,
}


def presence(answers: Sequence[Answer], truths: Sequence[str], due: Sequence[bool] | None = None) -> Presence:
    """Precision, recall and F1 of a usable answer.

    Args:
        answers: N answers.
        truths: N words.
        due: N flags, whether there is anything to read; None means that there always is.
    """
    _same_length(answers, truths)
    wanted = [True] * len(answers) if due is None else list(due)
    _same_length(answers, wanted)
    hits = sum(want and usable(answer, truth) for answer, truth, want in zip(answers, truths, wanted, strict=True))
    given = sum(answer.state in _SAID for answer in answers)
    precision = hits / given if given else None
    recall = hits / sum(wanted) if any(wanted) else None
    if precision is None or recall is None:
        return Presence(precision, recall, None)
    return Presence(precision, recall, 2 * precision * recall / (precision + recall) if hits else 0.0)


def pass_rates(
    answers: Sequence[Answer], truths: Sequence[str], criteria: Mapping[str, Criterion] = CRITERIA
) -> tuple[float, dict[str, float]]:
    """Share of items that meet every criterion, and the share that meets each.

    Raises:
        UnwrittenError: no items, or as many truths as answers are not there.
    """
    _same_length(answers, truths)
    met = np.array(
        [
            [criterion(answer, truth) for criterion in criteria.values()]
            for answer, truth in zip(answers, truths, strict=True)
        ]
    ).reshape(len(answers), len(criteria))
    return float(met.all(axis=1).mean()), {
        name: float(share) for name, share in zip(criteria, met.mean(axis=0), strict=True)
    }


def collapse(
    words: Sequence[str], frequent: Collection[str] | None = None, truths: Sequence[str] | None = None
) -> Collapse:
    """How narrow a set of answers is.

    Args:
        words: N answers, at least one.
        frequent: the most frequent words of the language.
        truths: the true words, to tell how many of them are frequent.

    Raises:
        UnwrittenError: there are no answers.
    """
    if not words:
        raise UnwrittenError("mode collapse: there are no answers to look at")
    counts = Counter(normalise(word) for word in words)
    shares = np.array([count for _, count in counts.most_common()]) / len(words)
    entropy = float(-(shares * np.log2(shares)).sum()) + 0.0
    return Collapse(
        answers=len(words),
        distinct=len(counts),
        top_share=float(shares[0]),
        top_10_share=float(shares[:10].sum()),
        entropy_bits=entropy,
        entropy_share=entropy / float(np.log2(len(words))) if len(words) > 1 else 1.0,
        frequent_share=_share_of(words, frequent),
        most_frequent=tuple((word, count / len(words)) for word, count in counts.most_common(10)),
        frequent_truths=_share_of(truths, frequent),
    )


def _share_of(words: Sequence[str] | None, among: Collection[str] | None) -> float | None:
    if not words or among is None:
        return None
    return sum(normalise(word) in among for word in words) / len(words)


def answering(
    answers: Sequence[Answer],
    truths: Sequence[str],
    frequent: Collection[str] | None = None,
    due: Sequence[bool] | None = None,
    criteria: Mapping[str, Criterion] = CRITERIA,
) -> Answering:
    """All of the above for one reader.

    Args:
        answers: N answers.
        truths: N words.
        frequent: the most frequent words of the language, for ``collapse``.
        due: N flags, whether there is anything to read; None means that there always is.
        criteria: of the pass rate.

    Raises:
        UnwrittenError: no items, or as many truths as answers are not there.
    """
    _same_length(answers, truths)
    states = {state: sum(answer.state == state for answer in answers) for state in STATES}
    scores = [
        ordered_letter_accuracy(truth, answer.word) if answer.state == "answered" else 0.0
        for answer, truth in zip(answers, truths, strict=True)
    ]
    answered = [score for score, answer in zip(scores, answers, strict=True) if answer.state == "answered"]
    words = [answer.word for answer in answers if answer.state == "answered"]
    passed, each = pass_rates(answers, truths, criteria)
    return Answering(
        n=len(answers),
        states=states,
        input_failure_rate=states["failed"] / len(answers),
        presence=presence(answers, truths, due),
        ola_all=float(np.mean(scores)),
        ola_answered=float(np.mean(answered)) if answered else None,
        pass_rate=passed,
        criteria=each,
        collapse=collapse(words, frequent, truths) if words else None,
    )


def answering_of(rows: pd.DataFrame) -> Answering | None:
    """How one reader answered the items of a table; None where that is not in question.

    It is for readers that can fail to answer (the multimodal ones, whose answers name their rung), and for any other
    that left an item without a usable answer.

    Args:
        rows: of a cleaned answers table, one reader's in one modality, all with a truth.
    """
    asked_a_model = rows["details"].map(lambda text: '"rung": ' in (text or "")).any()
    if not asked_a_model and (rows["state"] == "answered").all():
        return None
    return answering(to_answers(rows), list(rows["truth"]), _frequent_words())


def served_of(rows: pd.DataFrame) -> str:
    """Which model answered as its server names it; that it is not the asked one, or changed, is said there.

    Args:
        rows: of an answers table, one reader's in one modality.
    """
    named = rows[rows["served_model"] != ""]
    counts = named["served_model"].value_counts()
    if counts.empty:
        return ""
    details = [json.loads(text or "{}") for text in named["details"]]
    asked = [str(one.get("asked_model", "")) for one in details if one.get("other_model")]
    said = str(counts.index[0])
    if len(counts) > 1:
        said = "changed: " + ", ".join(f"{name} ({count})" for name, count in counts.items())
    return said + "".join(f", not the asked {name}" for name in dict.fromkeys(asked))


@lru_cache(maxsize=1)
def _frequent_words() -> frozenset[str]:
    from unwritten.words.lists import word_list

    return frozenset(word_list("english").words[:FREQUENT])


def _same_length(answers: Sequence[object], others: Sequence[object]) -> None:
    if not answers:
        raise UnwrittenError("there are no answers to measure")
    if len(answers) != len(others):
        raise UnwrittenError(f"{len(answers)} answers stand against {len(others)} items; give one for each")
