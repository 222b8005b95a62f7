"""What the emissions say about the word: probabilities over a lexicon, over all strings, or over both."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unwritten.decoding.alphabet import Alphabet
from unwritten.decoding.emissions import Emissions
from unwritten.decoding.exact_length import length_log_posterior, letter_posteriors_of_length
from unwritten.decoding.expected_ola import letter_weights
from unwritten.decoding.letter_order import english_prior
from unwritten.decoding.lexicon import Lexicon
from unwritten.decoding.likelihood import word_log_likelihoods
from unwritten.decoding.prefix_search import likeliest_strings, string_log_likelihood
from unwritten.decoding.settings import DecodingSettings
from unwritten.errors import UnwrittenError

Candidates = tuple[tuple[str, float], ...]
LEAST_SHARE = 1e-3
"""Share of the strings found that makes a string count for expected OLA."""


@dataclass(frozen=True)
class Belief:
    """Probabilities of words.

    Attributes:
        candidates: the likeliest words with their probabilities, best first.
        weights: ``[L, C]`` the matrix of expected OLA, see ``expected_ola``.
        log_evidence: log of the sum over words of prior times probability of the frames spelling the word.
        outside: probability that the word is none of the lexicon's; 0 without a lexicon.
        log_joint: ``[W]`` log of prior times probability of each word of the lexicon; None without one.
    """

    candidates: Candidates
    weights: NDArray[np.float64]
    log_evidence: float
    outside: float = 0.0
    log_joint: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class Standing:
    """Where a word stands among those of a lexicon.

    Attributes:
        rank: 1 for the likeliest; a word as likely as others stands behind them.
        of: how many words there are.
        probability: the word's own, normalised over the lexicon.
    """

    rank: int
    of: int
    probability: float


def standing_of(word: str | None, lexicon: Lexicon, log_joint: NDArray[np.float64]) -> Standing | None:
    """Where ``word`` stands by ``log_joint`` ``[W]``, exactly; None when it is not in the lexicon."""
    number = None if word is None else lexicon.number.get(word)
    if number is None:
        return None
    own = log_joint[number]
    return Standing(int((log_joint >= own).sum()), len(lexicon), float(np.exp(own - np.logaddexp.reduce(log_joint))))


@dataclass(frozen=True)
class FreeStrings:
    """All strings of a lexicon's lengths, equally likely within a length: the open vocabulary.

    Attributes:
        log_length: log posterior of each length, given that the word is such a string; ``[N + 1]``.
        log_evidence: log of the sum over strings of prior times probability.
        log_share: what to add to a string's log likelihood for its log posterior, by its length; ``[N + 1]``.
    """

    log_length: NDArray[np.float64]
    log_evidence: float
    log_share: NDArray[np.float64]

    @classmethod
    def of(cls, emissions: Emissions, log_length_prior: NDArray[np.float64], letters: int) -> FreeStrings:
        """Sum over all strings, exactly.

        Args:
            emissions: ``[T, C]`` log probabilities.
            log_length_prior: ``[N + 1]`` log prior of 0, 1, ... N letters.
            letters: letters in the alphabet.
        """
        log_prior = log_length_prior - np.arange(len(log_length_prior)) * math.log(letters)
        log_joint = log_prior + length_log_posterior(emissions, len(log_length_prior) - 1)
        log_evidence = float(np.logaddexp.reduce(log_joint))
        if log_evidence == -math.inf:
            return cls(log_joint, log_evidence, log_joint)
        return cls(log_joint - log_evidence, log_evidence, log_prior - log_evidence)


def over_lexicon(
    emissions: Emissions, lexicon: Lexicon, settings: DecodingSettings
) -> tuple[Belief, NDArray[np.float64], FreeStrings | None]:
    """Belief over a lexicon's words, exact, with the probability that the word is none of them.

    Args:
        emissions: ``[T, C]`` log probabilities.
        lexicon: the words that may be.
        settings: weight of frequency, prior of a word outside the lexicon, number of candidates.

    Returns:
        The belief, whose probabilities are normalised over the lexicon; the posterior ``[W]``; the open vocabulary,
        None where ``outside_prior`` is 0.

    Raises:
        UnwrittenError: no word of the lexicon fits in the frames.
    """
    log_prior = lexicon.log_prior(settings.frequency_weight)
    log_joint = word_log_likelihoods(emissions, lexicon) + log_prior
    log_evidence = float(np.logaddexp.reduce(log_joint))
    if log_evidence == -math.inf:
        raise UnwrittenError(
            f"log_probs of {len(emissions)} frames are shorter than every word of the lexicon; "
            "check the clip's frame rate or give more frames"
        )
    posterior = np.exp(log_joint - log_evidence)
    posterior /= posterior.sum()
    few = min(settings.candidates, len(lexicon))
    best = np.argpartition(-log_joint, few - 1)[:few]
    best = best[np.lexsort((best, -log_joint[best]))]
    candidates = tuple((lexicon.words[index], float(posterior[index])) for index in best)
    free, outside = None, 0.0
    if settings.outside_prior > 0:
        length_prior = np.bincount(lexicon.lengths, weights=np.exp(log_prior))
        with np.errstate(divide="ignore"):
            free = FreeStrings.of(emissions, np.log(length_prior), len(lexicon.alphabet))
        log_odds = (
            math.log(settings.outside_prior) + free.log_evidence - math.log1p(-settings.outside_prior) - log_evidence
        )
        outside = 1 / (1 + math.exp(-log_odds)) if log_odds > -700 else 0.0
    return Belief(candidates, letter_weights(posterior, lexicon), log_evidence, outside, log_joint), posterior, free


def with_open_vocabulary(
    emissions: Emissions,
    lexicon: Lexicon,
    inside: Belief,
    posterior: NDArray[np.float64],
    free: FreeStrings,
    n: int | None,
    settings: DecodingSettings,
) -> Belief:
    """Mix the lexicon's words with all strings of their lengths: names and other words that no list holds.

    Each word's probability is P(inside) P(word | inside) + P(outside) P(word | outside), where outside every string of
    n letters is as likely as any other beforehand.
    """
    probability = {word: (1 - inside.outside) * value for word, value in inside.candidates}
    lengths = [n] if n is not None else np.flatnonzero(np.exp(free.log_length) > 1e-6).tolist()
    weights = (1 - inside.outside) * inside.weights
    for length in lengths:
        strings = likeliest_strings(emissions, length, settings.candidates, settings.search_width)
        for labels in strings.labels:
            word = lexicon.alphabet.decode(labels)
            known = lexicon.number.get(word)
            probability.setdefault(word, 0.0 if known is None else (1 - inside.outside) * float(posterior[known]))
        letters = letter_posteriors_of_length(emissions, length)
        weights[:length] += inside.outside * math.exp(free.log_length[length]) * letters / length
    for word in probability:
        log_posterior = string_log_likelihood(emissions, lexicon.alphabet.encode(word)) + free.log_share[len(word)]
        probability[word] += inside.outside * math.exp(log_posterior)
    ranked = sorted(probability.items(), key=lambda item: (-item[1], item[0]))[: settings.candidates]
    log_evidence = float(
        np.logaddexp(
            math.log1p(-settings.outside_prior) + inside.log_evidence,
            math.log(settings.outside_prior) + free.log_evidence,
        )
    )
    return Belief(tuple(ranked), weights, log_evidence, inside.outside, inside.log_joint)


def over_strings(emissions: Emissions, alphabet: Alphabet, n: int | None, settings: DecodingSettings) -> Belief:
    """Belief over all strings of ``n`` letters, or of any number of letters for None; no lexicon.

    Without a letter order the candidates' probabilities are exact, and for a given n so are the weights of expected
    OLA; without n these are sums over the candidates. With a letter order, prior times probability of every string
    found is exact too, and its probability is that divided by an estimate of the sum over all strings (exact for what
    the search reached). The weights are then sums over the strings found that hold ``LEAST_SHARE`` of it or more.

    Raises:
        UnwrittenError: n letters do not fit in the frames, or no English word is spelled with the alphabet.
    """
    prior = english_prior(alphabet, settings.letter_order, settings.letter_order_weight)
    strings = likeliest_strings(
        emissions, n, settings.candidates, settings.search_width, prior, LEAST_SHARE if prior else None
    )
    letters = emissions.shape[1] - 1
    # Without n the strings of all lengths share the whole probability; with it each has 1 / letters ** n beforehand.
    log_evidence = strings.log_total - (n or 0) * math.log(letters)
    posterior = np.exp(np.array(strings.log_joint) - strings.log_total)
    candidates = tuple(
        (alphabet.decode(labels), float(probability))
        for labels, probability in zip(strings.labels[: settings.candidates], posterior, strict=False)
    )
    if n is not None and prior is None:
        return Belief(candidates, letter_posteriors_of_length(emissions, n) / max(n, 1), log_evidence)
    weights = np.zeros((max([1, *map(len, strings.labels)]), letters + 1))
    for labels, probability in zip(strings.labels, posterior, strict=True):
        weights[np.arange(len(labels)), list(labels)] += probability / max(len(labels), 1)
    return Belief(candidates, weights, log_evidence)
