"""The trained baseline as a reader: recording, features, emissions, decoding."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from unwritten.decoding.alphabet import Alphabet
from unwritten.decoding.decode import Decoded, decode
from unwritten.decoding.lexicon import Lexicon
from unwritten.decoding.settings import DecodingSettings
from unwritten.decoding.times import whole_spans_s
from unwritten.errors import UnwrittenError, UsageError
from unwritten.features.extract import FeatureSettings, extract
from unwritten.files import digest_file
from unwritten.models.checkpoint import default_checkpoint, load_model
from unwritten.models.encoder import SUBSAMPLING
from unwritten.models.fusion import HEADS
from unwritten.readers.base import Reader, failed_answer, number_of_letters
from unwritten.readers.emissions import EmissionCache
from unwritten.recordings.prepared import stored_features
from unwritten.recordings.record import record_clip
from unwritten.store import Store
from unwritten.tracking.settings import TrackerSettings
from unwritten.types import MODALITIES, Answer, Clip, Features, Modality, Recording
from unwritten.words.lists import NAMED, word_list

MODES = ("ctc", "ctc-letters", "ctc-free")
"""What a reader is told: n and a lexicon; n; nothing."""


class CtcNetwork:
    """A checkpoint that turns recordings into emissions."""

    def __init__(self, checkpoint: Path | str | None = None) -> None:
        """
        Args:
            checkpoint: a checkpoint file; None takes the one that the project ships.

        Raises:
            UnwrittenError: it cannot be read.
        """
        self.path = Path(checkpoint) if checkpoint else default_checkpoint()
        loaded = load_model(self.path)
        self.network = loaded.network
        self.about = loaded.about
        self.features = FeatureSettings.from_mapping(loaded.features)
        self.alphabet = loaded.network.settings.alphabet
        self.emission_rate_hz = self.features.kinematics.rate_hz / SUBSAMPLING

    def features_of(self, recording: Recording) -> Features:
        """Features as the network was trained on."""
        return extract(recording, self.features)

    def log_probs(self, features: Features, modality: Modality) -> NDArray[np.float32]:
        """Emissions float32 ``[U, A]`` of the modality's head: log probabilities, the blank first."""
        with torch.inference_mode():
            logits = self.network(
                torch.from_numpy(features.kinematics)[None],
                torch.from_numpy(features.kinematics_mask)[None],
                torch.from_numpy(features.spectrogram)[None],
                torch.from_numpy(features.spectrogram_mask)[None],
                torch.tensor([len(features)]),
            )[HEADS.index(modality)]
            return logits[0].float().log_softmax(-1).numpy()


class CtcReader(Reader):
    """Reads clips with a trained network.

    Args:
        name: the reader's name in tables.
        checkpoint: a checkpoint file; None takes the one that the project ships.
        mode: ``ctc`` (n given, words of a lexicon), ``ctc-letters`` (n given, any letters), ``ctc-free`` (neither).
        lexicon: ``benchmark`` or ``english``, for mode ``ctc``.
        length_known: False lets words of the lexicon have any length.
        decoding: settings of the decoder.
        tracker: settings of the tracker.
        store: where tracks are kept between runs; None takes the user's own.
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
        if mode not in MODES:
            raise UsageError(f"reader mode {mode!r}: known are {', '.join(MODES)}")
        if lexicon not in NAMED:
            raise UsageError(f"lexicon {lexicon!r}: known are {', '.join(NAMED)}")
        self.name = name or mode
        self.mode = mode
        path = Path(checkpoint) if checkpoint else default_checkpoint()
        # A file that is missing has no digest; loading says so in the words that a user needs.
        self.fingerprint = digest_file(path) if path.is_file() else ""
        self.network = _network(str(path), self.fingerprint)
        self.length_known = length_known and mode != "ctc-free"
        self.decoding = replace(
            decoding or DecodingSettings(answer="expected_ola", frequency_weight=0.0),
            alphabet=self.network.alphabet,
            rate_hz=self.network.emission_rate_hz,
        )
        self.lexicon = lexicon if mode == "ctc" else None
        self.tracker = tracker
        self.store = store or Store()

    def modalities(self) -> tuple[Modality, ...]:
        """All three."""
        return MODALITIES

    def read(self, clips: Sequence[Clip], modality: Modality) -> Iterator[Answer]:
        """One answer for each clip, in order."""
        for clip in clips:
            start_s = time.perf_counter()
            try:
                emissions = self.emissions_of(clip, modality)
                n = number_of_letters(clip) if self.length_known else None
                decoded = self.decode_emissions(emissions, n, clip.word)
            except (UnwrittenError, ValueError) as error:
                yield failed_answer(clip, self.name, modality, error, time.perf_counter() - start_s)
                continue
            end_s = len(emissions) / self.network.emission_rate_hz
            yield self.answer(clip, modality, decoded, end_s, time.perf_counter() - start_s)

    def answer(self, clip: Clip, modality: Modality, decoded: Decoded, end_s: float, seconds: float) -> Answer:
        """What was decoded as the answer to a clip of ``end_s`` seconds.

        Its ``details`` hold when each letter was written (``letter_spans_s``) and when the network was sure of it
        (``letter_peaks_s``), and where the truth stands in the lexicon.
        """
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
        return Answer(
            item=clip.id,
            reader=self.name,
            modality=modality,
            raw=decoded.letters,
            word=decoded.word,
            candidates=decoded.candidates,
            state="answered" if decoded.word else "empty",
            seconds=seconds,
            details=details,
        )

    def decode(self, recording: Recording, modality: Modality, n: int | None) -> Decoded:
        """Read one recording; ``n`` letters when known."""
        return self.decode_emissions(self.network.log_probs(self.network.features_of(recording), modality), n)

    def recording_of(self, clip: Clip, modality: Modality) -> Recording:
        """What a camera and a microphone gave of a clip, as this reader tracks it."""
        return record_clip(clip, modality, self.tracker, self.store)

    def features_of(self, clip: Clip, modality: Modality) -> Features:
        """Features of a clip in one modality; a file's are kept in the store."""
        if clip.recording is None and clip.shot is None and modality in clip.files:
            return stored_features(clip.files[modality], modality, self.network.features, self.tracker, self.store)
        return self.network.features_of(self.recording_of(clip, modality))

    def emissions_of(self, clip: Clip, modality: Modality) -> NDArray[np.float32]:
        """Emissions of a clip in one modality ``[U, A]``, shared with the other readers of this checkpoint."""

        def compute() -> NDArray[np.float32]:
            return self.network.log_probs(self.features_of(clip, modality), modality)

        return _EMISSIONS.get_or_compute(clip, modality, self.fingerprint, self.tracker, compute)

    def decode_emissions(self, emissions: NDArray[np.float32], n: int | None, truth: str | None = None) -> Decoded:
        """Read one clip's emissions; ``n`` letters when known; ``truth`` only tells where it stands."""
        return decode(emissions, self.decoding, self.lexicon_of(n), n, truth)

    def lexicon_of(self, n: int | None) -> Lexicon | None:
        """The words that may be, of ``n`` letters when that is known; None for any string."""
        if self.lexicon is None or n == 1:
            return None
        return named_lexicon(self.lexicon, self.network.alphabet, n if n is not None and n > 5 else None)


_EMISSIONS = EmissionCache()


@lru_cache(maxsize=4)
def _network(checkpoint: str, digest: str) -> CtcNetwork:
    """One network for all readers of a file, as long as its content stays the same."""
    return CtcNetwork(checkpoint)


@lru_cache(maxsize=16)
def named_lexicon(name: str, alphabet: str, length: int | None = None) -> Lexicon:
    """The named word list as a lexicon over an alphabet; words with other letters are left out.

    Args:
        name: ``benchmark`` or ``english``.
        alphabet: the network's letters.
        length: the words of this length from the same source; None takes the list itself, of two to five letters.
    """
    settings = NAMED[name] if length is None else replace(NAMED[name], shortest=length, longest=length)
    words = word_list(settings=settings)
    usable = words.only(word for word in words if set(word) <= set(alphabet))
    return Lexicon.build(usable.words, usable.frequency, Alphabet(alphabet))
