"""From CTC emissions to words: greedy, exact length, lexicon.

Emissions are natural log probabilities ``[T, C]``: T frames, C = the blank (column 0) and the letters of the alphabet.
``decode`` reads one clip; everything that it is made of can be used by itself.
"""

from unwritten.decoding.alphabet import Alphabet
from unwritten.decoding.decode import Decoded, decode
from unwritten.decoding.exact_length import BestPath, best_path_of_length, length_log_posterior
from unwritten.decoding.greedy import greedy
from unwritten.decoding.in_spans import decode_in_spans, span_log_likelihoods
from unwritten.decoding.letter_order import LetterOrder, LetterPrior, english_prior
from unwritten.decoding.lexicon import Lexicon
from unwritten.decoding.likelihood import word_log_likelihoods
from unwritten.decoding.over_time import posterior_over_time
from unwritten.decoding.prefix_search import likeliest_strings, string_log_likelihood
from unwritten.decoding.settings import DecodingSettings
from unwritten.decoding.times import letter_spans_s

__all__ = [
    "Alphabet",
    "BestPath",
    "Decoded",
    "DecodingSettings",
    "LetterOrder",
    "LetterPrior",
    "Lexicon",
    "best_path_of_length",
    "decode",
    "decode_in_spans",
    "english_prior",
    "greedy",
    "length_log_posterior",
    "letter_spans_s",
    "likeliest_strings",
    "posterior_over_time",
    "span_log_likelihoods",
    "string_log_likelihood",
    "word_log_likelihoods",
]
