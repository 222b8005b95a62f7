"""Every reply that was ever paid for, and every call that was ever sent, in one SQLite file.

A reply is written in the moment it arrives, so that a process killed at any point loses only what was in flight. Calls
are noted before they are sent with the most that they may cost: the budget of a run holds over its restarts.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

from unwritten.errors import UnwrittenError
from unwritten.readers.mllm.provider import Reply
from unwritten.readers.mllm.settings import BudgetSettings

_TABLES = """
CREATE TABLE IF NOT EXISTS replies (
    key TEXT PRIMARY KEY, reader TEXT, model TEXT, prompt TEXT, sampling TEXT, media TEXT, item TEXT, modality TEXT,
    purpose TEXT, outcome TEXT, raw TEXT, finish TEXT, reason TEXT, tokens_in INTEGER, tokens_out INTEGER, cost REAL,
    seconds REAL, error TEXT, reply TEXT, sent TEXT, at REAL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS calls (
    id INTEGER PRIMARY KEY, run TEXT, reader TEXT, item TEXT, usd REAL, state TEXT, error TEXT, at REAL, seconds REAL
);
CREATE INDEX IF NOT EXISTS calls_of_run ON calls (run);
"""


class BudgetSpentError(Exception):
    """The next call might pass what the run may spend."""


class ReplyStore:
    """Replies by what was asked, and the calls of runs.

    Args:
        path: the SQLite file; made when missing.

    Raises:
        UnwrittenError: it cannot be opened.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(self.path, timeout=60, check_same_thread=False, isolation_level=None)
            # What is committed survives a killed process; a power cut may cost the last replies, never the file.
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.executescript(_TABLES)
        except (OSError, sqlite3.Error) as error:
            raise UnwrittenError(
                f"{self.path}: cannot hold replies ({error}); choose another reader store=FILE"
            ) from error

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._db.close()

    def get(self, key: str) -> tuple[str, Reply, Mapping[str, Any]] | None:
        """Outcome (``reply`` or ``too_large``), the reply, and cost, seconds, error and what was sent; None if new."""
        columns = ("outcome", "reply", "cost", "seconds", "error", "sent")
        with self._lock, closing(self._db.cursor()) as cursor:
            row = cursor.execute(f"SELECT {', '.join(columns)} FROM replies WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        values = dict(zip(columns, row, strict=True))
        stored = json.loads(values["reply"])
        stored["candidates"] = tuple((word, float(share)) for word, share in stored["candidates"])
        return values["outcome"], Reply(**stored), {**values, "sent": json.loads(values["sent"])}

    def put(
        self,
        key: str,
        about: Mapping[str, Any],
        outcome: str,
        reply: Reply,
        cost: float | None,
        seconds: float,
        error: str = "",
        sent: Mapping[str, object] | None = None,
    ) -> None:
        """Keep one reply; ``about`` holds reader, model, prompt, sampling, media, item, modality and purpose."""
        row = {
            **about,
            "key": key,
            "outcome": outcome,
            "raw": reply.text,
            "finish": reply.finish,
            "reason": reply.reason,
            "tokens_in": reply.tokens_in,
            "tokens_out": reply.tokens_out,
            "cost": cost,
            "seconds": seconds,
            "error": error,
            "reply": json.dumps(asdict(reply), default=str),
            "sent": json.dumps(dict(sent or {}), default=str),
            "at": time.time(),
        }
        names = ", ".join(row)
        marks = ", ".join("?" * len(row))
        self._execute(f"INSERT OR REPLACE INTO replies ({names}) VALUES ({marks})", tuple(row.values()))

    def reserve(self, run: str, reader: str, item: str, usd: float | None, budget: BudgetSettings) -> int:
        """Note a call that is about to be sent; returns its number.

        Args:
            run: the run that pays.
            reader: who asks.
            item: about what.
            usd: the most that it may cost, None when unknown.
            budget: what the run may spend in all.

        Raises:
            BudgetSpentError: the call might pass the budget.
        """
        with self._lock:
            try:
                self._db.execute("BEGIN IMMEDIATE")
                calls, spent = self._spent(run)
                if budget.calls is not None and calls + 1 > budget.calls:
                    raise BudgetSpentError(f"the run's budget of {budget.calls} calls is used up")
                if budget.usd is not None and spent + (usd or 0.0) > budget.usd:
                    raise BudgetSpentError(
                        f"the run has spent ${spent:.4f} of its budget of ${budget.usd:g}, and the next call might "
                        f"cost ${usd or 0.0:.4f}"
                    )
                cursor = self._db.execute(
                    "INSERT INTO calls (run, reader, item, usd, state, error, at) VALUES (?, ?, ?, ?, 'sent', '', ?)",
                    (run, reader, item, usd, time.time()),
                )
                number = cursor.lastrowid
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
        assert number is not None
        return number

    def settle(self, call: int, usd: float | None, state: str, seconds: float, error: str = "") -> None:
        """Note what a call really cost and how it went."""
        self._execute(
            "UPDATE calls SET usd = ?, state = ?, seconds = ?, error = ? WHERE id = ?",
            (usd, state, seconds, error, call),
        )

    def spent(self, run: str) -> tuple[int, float]:
        """Calls and US dollars of a run; a call whose end nobody saw counts as the most that it may have cost."""
        with self._lock:
            return self._spent(run)

    def _spent(self, run: str) -> tuple[int, float]:
        query = "SELECT COUNT(*), COALESCE(SUM(usd), 0) FROM calls WHERE run = ?"
        calls, usd = self._db.execute(query, (run,)).fetchone()
        return int(calls), float(usd)

    def _execute(self, statement: str, values: tuple[Any, ...]) -> None:
        with self._lock:
            try:
                self._db.execute(statement, values)
            except sqlite3.Error as error:
                raise UnwrittenError(
                    f"{self.path}: cannot be written ({error}); free some space and run again"
                ) from error


def reply_key(about: Mapping[str, Any]) -> str:
    """Digest of reader, model, prompt, sampling and media: the same question to the same model."""
    asked = {name: about[name] for name in ("reader", "model", "prompt", "sampling", "media", "purpose")}
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()
