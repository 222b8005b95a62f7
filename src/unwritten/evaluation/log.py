"""Answers on disk as they come, so that a run that is cut short goes on where it stopped."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, fields
from pathlib import Path
from typing import IO

from unwritten.errors import UnwrittenError
from unwritten.types import Answer, Modality


class AnswerLog:
    """A file of one JSON object a line; a killed run loses one answer at most.

    Args:
        path: the ``.jsonl`` file; it is read when it exists, and appended to.

    A last line that was cut short is dropped and counted in ``torn``.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.torn = 0
        self._entries: dict[tuple[str, str, str], tuple[str, Answer]] = {}
        self._stream: IO[str] | None = None
        if self.path.exists():
            self._load()

    def _load(self) -> None:
        content = self.path.read_bytes()
        whole, _, rest = content.rpartition(b"\n")
        if rest:
            self.torn = 1
            # What was cut must go, or the next answer would be glued to it.
            with self.path.open("r+b") as stream:
                stream.truncate(len(content) - len(rest))
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                record = json.loads(line)
                answer = answer_from_record(record["answer"])
                settings = str(record["settings"])
            except (ValueError, KeyError, TypeError, AttributeError, AssertionError) as error:
                raise UnwrittenError(
                    f"{self.path}: line {number} is not a stored answer ({error}); delete the line or the file"
                ) from error
            self._entries[answer.reader, answer.item, answer.modality] = (settings, answer)

    def __enter__(self) -> AnswerLog:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._stream = self.path.open("a", encoding="utf-8")
        return self

    def __exit__(self, *_: object) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def append(self, answer: Answer, settings: str) -> None:
        """Write one answer through to the system; ``settings`` is the digest of what it was made with."""
        if self._stream is None:
            raise RuntimeError("open the log with a with-statement before appending")
        record = {"settings": settings, "answer": asdict(answer)}
        try:
            self._stream.write(json.dumps(record, ensure_ascii=False, default=str) + "\n")
            self._stream.flush()
        except OSError as error:
            reason = error.strerror or str(error)
            raise UnwrittenError(f"{self.path}: cannot be written ({reason}); free some space and run again") from error
        self._entries[answer.reader, answer.item, answer.modality] = (settings, answer)

    def stored(self, reader: str, modality: Modality, settings: str) -> dict[str, Answer]:
        """Answers by item, given under the same settings; failed ones are left out, to be tried again."""
        return {
            item: answer
            for (name, item, given), (digest, answer) in self._entries.items()
            if (name, given, digest) == (reader, modality, settings) and answer.state != "failed"
        }


def answer_from_record(record: dict[str, object]) -> Answer:
    """Build an answer from a JSON object; keys that are not known are ignored, so that old logs stay readable.

    Raises:
        TypeError: a key that every answer needs is missing.
    """
    known = {field.name for field in fields(Answer)}
    values = {key: value for key, value in record.items() if key in known}
    candidates = values.get("candidates") or ()
    assert isinstance(candidates, Iterable)
    values["candidates"] = tuple((str(word), float(probability)) for word, probability in candidates)
    return Answer(**values)  # type: ignore[arg-type]
