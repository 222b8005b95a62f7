"""What may be chosen about decoding."""

from __future__ import annotations

import math
import string
from dataclasses import dataclass
from typing import Literal, get_args

from unwritten.decoding.times import TimesMethod

AnswerRule = Literal["likeliest", "expected_ola", "expected_ola_letters"]

LARGEST_ORDER = 5  # of letters: the table of probabilities has (letters + 1) ** order entries


@dataclass(frozen=True)
class DecodingSettings:
    """Settings of ``decode``.

    Attributes:
        alphabet: the letters of the emissions, in the order of their columns after the blank.
        rate_hz: frames a second of the emissions, for letter times.
        temperature: emissions are divided by it and normalised again; above 1 for a model that is too sure.
        frequency_weight: weight of log word frequency in the prior: 0 every word of the lexicon is equally likely, 1 as
            in running text.
        answer: which word is given. ``likeliest``; ``expected_ola``, the word whose expected ordered letter accuracy is
            largest (without a lexicon any n letters are a word); ``expected_ola_letters``, the letters whose expected
            accuracy is largest, a word or not.
        candidates: how many words with probabilities are kept.
        outside_prior: probability, before anything is seen, that the word is not in the lexicon but any string of such
            a length. It says how far an answer from the lexicon is to be believed; 0 to trust the lexicon.
        open_vocabulary: whether words outside the lexicon may be the answer (names); needs ``outside_prior`` above 0.
        unsure_below: the answer is unsure when the likeliest word's probability, counting that the word may be outside
            the lexicon, is below this, or the probability that the tip was found.
        letter_times: ``viterbi`` (the likeliest alignment) or ``posterior`` (the mean of all alignments).
        search_width: prefixes of each length that the search without lexicon follows at most.
        letter_order: letters that are looked at together to say which strings without a lexicon are likely in English,
            see ``letter_order``; 0 all strings of a length are alike.
        letter_order_weight: weight of the log probability by ``letter_order``: 0 all alike, 1 as in English words.
    """

    alphabet: str = string.ascii_lowercase
    rate_hz: float = 60.0
    temperature: float = 1.0
    frequency_weight: float = 0.3
    answer: AnswerRule = "likeliest"
    candidates: int = 10
    outside_prior: float = 0.01
    open_vocabulary: bool = False
    unsure_below: float = 0.5
    letter_times: TimesMethod = "viterbi"
    search_width: int = 64
    letter_order: int = 0
    letter_order_weight: float = 0.5

    def __post_init__(self) -> None:
        for name in ("rate_hz", "temperature"):
            value = getattr(self, name)
            if not (value > 0 and math.isfinite(value)):
                raise ValueError(f"{name} {value}: it must be positive and finite")
        if not (self.frequency_weight >= 0 and math.isfinite(self.frequency_weight)):
            raise ValueError(f"frequency_weight {self.frequency_weight}: it must be 0 or more and finite")
        if not 0 <= self.letter_order <= LARGEST_ORDER:
            raise ValueError(f"letter_order {self.letter_order}: it must lie in [0, {LARGEST_ORDER}]; 0 for none")
        if not (self.letter_order_weight >= 0 and math.isfinite(self.letter_order_weight)):
            raise ValueError(f"letter_order_weight {self.letter_order_weight}: it must be 0 or more and finite")
        if not 0 <= self.outside_prior < 1:
            raise ValueError(f"outside_prior {self.outside_prior}: it must lie in [0, 1)")
        if self.open_vocabulary and self.outside_prior == 0:
            raise ValueError("open_vocabulary: it needs an outside_prior above 0")
        if not 0 <= self.unsure_below <= 1:
            raise ValueError(f"unsure_below {self.unsure_below}: it must lie in [0, 1]")
        if self.candidates < 1 or self.search_width < 1:
            raise ValueError("candidates and search_width must be 1 or more")
        for name, known in (("answer", get_args(AnswerRule)), ("letter_times", get_args(TimesMethod))):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} {getattr(self, name)!r}: known are {', '.join(known)}")
