"""The trained baseline as a reader.

The way from a clip to its answer, the same for ``unwritten read``, ``evaluate.py`` and training's scores: the
recording (``recordings.clips``: files are tracked and heard, or a shot of them is cut), the features, the emissions
(``readers.network``), the words that may be (:func:`named_lexicon`), decoding with its prior and its rule for the
answer (``decoding.decode``). On this way two things are kept, both under what they were made of: tracks and features
of files in the store, by the digest of the file and the settings; emissions in memory, by the same digest, for the next
reader. ``evaluation.log`` keeps the answers of a run so that it can go on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from unwritten.decoding.alphabet import Alphabet
from unwritten.decoding.decode import Decoded, decode
from unwritten.decoding.emissions import restricted
from unwritten.decoding.lexicon import Lexicon
from unwritten.decoding.settings import DecodingSettings
from unwritten.decoding.text import ReadWord, decode_text
from unwritten.decoding.times import whole_spans_s
from unwritten.errors import UsageError
from unwritten.files import digest_file
from unwritten.readers.base import ClipReader, number_of_letters
from unwritten.readers.network import Emissions, shared_network
from unwritten.recordings.clips import record_clip
from unwritten.store import Store
from unwritten.tracking.settings import TrackerSettings
from unwritten.types import Answer, Clip, Modality, Recording
from unwritten.words.lists import LATIN, NAMED, WordListSettings, read_words, word_list

MODES = ("ctc", "ctc-letters", "ctc-free")
"""What a reader of words is told: n and a lexicon; n; nothing. It reads a to z, where its network does."""
TEXT_MODES = ("ctc-text", "ctc-text-free")
"""What a reader of text is told: that it is English; nothing. It reads all letters of its network."""
ANY_LENGTH = "any-length"
"""Lexicon for clips of unknown length: words of up to twelve letters from the benchmark's source, and each letter."""

_LONGEST = 12
_WORDS = DecodingSettings(answer="expected_ola", frequency_weight=0.0)
_TEXT = DecodingSettings(open_vocabulary=True, outside_prior=0.1, candidates=5)


@dataclass(frozen=True)
class Reading:
    """A clip as a trained network read it, with all that the answer follows from.

    Attributes:
        clip: what was read.
        modality: what of it was used.
        emissions: ``[U, A]`` log probabilities, the blank first.
        decoding: settings that ``decoded`` was made with; their rate is the emissions'.
        decoded: the answer.
        lexicon: words that were possible, None for any string.
        length: number of letters that was given, None when it was not.
        words: those of a text, with their times and candidates.
    """

    clip: Clip
    modality: Modality
    emissions: Emissions
    decoding: DecodingSettings
    decoded: Decoded
    lexicon: Lexicon | None = None
    length: int | None = None
    words: tuple[ReadWord, ...] = ()

    def answer(self, reader: str) -> Answer:
        """What a reader of this name says.

        Its ``details`` hold when each letter was written (``letter_spans_s``) and when the network was sure of it
        (``letter_peaks_s``), and where the truth stands in the lexicon.
        """
        decoded, end_s = self.decoded, len(self.emissions) / self.decoding.rate_hz
        details: dict[str, object] = {
            "letter_spans_s": whole_spans_s(decoded.letter_spans_s, end_s).round(4).tolist(),
            "letter_peaks_s": [list(span) for span in decoded.letter_spans_s],
            "unsure": decoded.unsure,
        }
        if decoded.standing is not None:
            details |= {
                "rank": decoded.standing.rank,
                "rank_of": decoded.standing.of,
                "probability": decoded.standing.probability,
            }
        if self.words:
            details["words"] = [[one.word, *np.round(one.span_s, 3).tolist()] for one in self.words]
        return Answer(
            item=self.clip.id,
            reader=reader,
            modality=self.modality,
            raw=decoded.letters,
            word=decoded.word,
            candidates=decoded.candidates,
            state="answered" if decoded.word else "empty",
            details=details,
        )


class CtcReader(ClipReader):
    """Reads clips with a trained network.

    Args:
        checkpoint: a checkpoint file; None takes the one that the project ships.
        mode: ``ctc`` (n given, words of a lexicon), ``ctc-letters`` (n given, any letters), ``ctc-free`` (neither);
            ``ctc-text`` (English text), ``ctc-text-free`` (any text).
        name: the reader's name in tables; None takes the mode.
        lexicon: for mode ``ctc``: a list of :func:`named_lexicon`, or a file with a word a line.
        length_known: False lets words of the lexicon have any length.
        decoding: settings of the decoder.
        tracker: settings of the tracker.
        store: where tracks and features of files are kept between runs; None computes anew.

    Raises:
        UsageError: a mode or a lexicon that is not known.
        UnwrittenError: the checkpoint or the file of words cannot be read.
    """

    reads_shots = True

    def __init__(
        self,
        checkpoint: Path | str | None = None,
        mode: str = "ctc",
        name: str | None = None,
        lexicon: str = "benchmark",
        length_known: bool = True,
        decoding: DecodingSettings | None = None,
        tracker: TrackerSettings | None = None,
        store: Store | None = None,
    ) -> None:
        if mode not in (*MODES, *TEXT_MODES):
            raise UsageError(f"reader mode {mode!r}: known are {', '.join((*MODES, *TEXT_MODES))}")
        listed = lexicon in (*NAMED, ANY_LENGTH)
        if not listed and not Path(lexicon).is_file():
            raise UsageError(f"lexicon {lexicon!r}: known are {', '.join(NAMED)}, or a file with a word a line")
        self.name = name or mode
        self.mode = mode
        self.network, self.fingerprint = shared_network(checkpoint)
        self.length_known = length_known and mode in ("ctc", "ctc-letters")
        all_letters = self.network.alphabet
        self.alphabet = LATIN if mode in MODES and set(LATIN) <= set(all_letters) else all_letters
        self.decoding = replace(
            decoding or (_TEXT if mode in TEXT_MODES else _WORDS),
            alphabet=self.alphabet,
            rate_hz=self.network.emission_rate_hz,
        )
        self.lexicon: str | Lexicon | None = lexicon if mode in ("ctc", "ctc-text") else None
        if self.lexicon and not listed:
            self.lexicon = Lexicon.build(read_words(lexicon), alphabet=Alphabet(self.alphabet))
            self.fingerprint += digest_file(lexicon)
        self.tracker = tracker
        self.store = store

    def answer(self, clip: Clip, modality: Modality) -> Answer:
        """Read one clip."""
        return self.reading(clip, modality).answer(self.name)

    def reading(self, clip: Clip, modality: Modality) -> Reading:
        """Read one clip, and keep what the answer follows from.

        Raises:
            UnwrittenError: there is nothing to read, or no word that may be.
        """
        reading = self.decoded(clip, modality, self.emissions_of(clip, modality))
        trust = self.network.trust_of(clip, modality, self.tracker, self.store)
        if trust >= self.decoding.unsure_below:
            return reading
        return replace(reading, decoded=replace(reading.decoded, unsure=True))

    def recording_of(self, clip: Clip, modality: Modality) -> Recording:
        """What a camera and a microphone gave of a clip, as this reader tracks it."""
        return record_clip(clip, modality, self.tracker, self.store)

    def emissions_of(self, clip: Clip, modality: Modality) -> Emissions:
        """Emissions ``[U, A]`` of a clip in one modality over the reader's alphabet.

        They are computed once for all readers of this checkpoint.
        """
        emissions = self.network.emissions_of(clip, modality, self.tracker, self.store)
        return restricted(emissions, self.network.alphabet, self.alphabet).astype(np.float32, copy=False)

    def decoded(self, clip: Clip, modality: Modality, emissions: Emissions) -> Reading:
        """The reading that emissions ``[U, A]`` of a clip give; the true word only tells where it stands."""
        length = number_of_letters(clip) if self.length_known else None
        lexicon = self.lexicon_of(length)
        if self.mode in TEXT_MODES:
            text = decode_text(emissions, self.decoding, lexicon)
            return Reading(clip, modality, emissions, self.decoding, text.whole, lexicon, None, text.words)
        decoded = decode(emissions, self.decoding, lexicon, length, clip.word)
        return Reading(clip, modality, emissions, self.decoding, decoded, lexicon, length)

    def lexicon_of(self, n: int | None) -> Lexicon | None:
        """The words that may be, of ``n`` letters when that is known; None for any string."""
        if self.lexicon is None or n == 1:
            return None
        if isinstance(self.lexicon, Lexicon):
            return self.lexicon
        if self.mode in TEXT_MODES:
            return cased_lexicon(self.alphabet)
        return named_lexicon(self.lexicon, self.alphabet, n if n is not None and n > 5 else None)


@lru_cache(maxsize=16)
def named_lexicon(name: str, alphabet: str, length: int | None = None) -> Lexicon:
    """The named word list as a lexicon over an alphabet; words of a named list with other letters are left out.

    Args:
        name: ``benchmark`` or ``english``; or ``any-length``, to which every letter belongs too, as likely as a
            middling word.
        alphabet: the network's letters.
        length: the words of this length from the same source; None takes the list itself, of two to five letters.
            ``any-length`` has words of all lengths to twelve whatever is given.
    """
    if name == ANY_LENGTH:
        settings = WordListSettings(longest=_LONGEST)
    else:
        settings = NAMED[name] if length is None else replace(NAMED[name], shortest=length, longest=length)
    words = word_list(settings=settings)
    usable = words.only(word for word in words if set(word) <= set(alphabet))
    singles = [letter for letter in alphabet if letter not in usable] if name == ANY_LENGTH else []
    frequency = [*usable.frequency, *[sorted(usable.frequency)[len(usable) // 2]] * len(singles)]
    return Lexicon.build((*usable.words, *singles), frequency, Alphabet(alphabet))


@lru_cache(maxsize=2)
def cased_lexicon(alphabet: str) -> Lexicon:
    """The words of ``any-length`` as a text has them: some begin with a capital, a few are capitals throughout."""
    words = word_list(settings=WordListSettings(longest=_LONGEST))
    share: dict[str, float] = {}
    for word, frequency in zip(words.words, words.frequency, strict=True):
        for form, part in ((word, 0.88), (word.capitalize(), 0.1), (word.upper(), 0.02)):
            if set(form) <= set(alphabet):
                share[form] = share.get(form, 0.0) + part * float(frequency)
    return Lexicon.build(tuple(share), tuple(share.values()), Alphabet(alphabet))
