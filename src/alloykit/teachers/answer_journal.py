"""Keep answers that cost money in files, so that a killed run does not ask for them again."""

from __future__ import annotations

import json
import math
import os
import threading
import uuid
from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from alloykit.errors import AlloyError
from alloykit.file_errors import file_errors
from alloykit.files import check_writing

Probabilities = Sequence[float] | None
"""Of one text; None: no answer."""


class AnswerJournal:
    """One line of JSON for each finished request: how many requests were sent since the last line, and the answers by key.

    Every process appends to a file of its own and reads those of all earlier ones. A line that a kill has cut off does not count. A key is
    an id of a text, so the files hold no texts. Memory: about 150 bytes for each answer and 8 for each label. Several threads may use it.
    """

    def __init__(self, folder: str | None, identity: str, teacher: str, allowed: int | None, *, labels: int) -> None:
        """folder: None to keep nothing. identity: of the teacher; answers of another one are not read. allowed: requests in all.
        labels: numbers in an answer."""
        self._teacher, self._allowed, self._labels, self._lock = teacher, allowed, labels, threading.Lock()
        self._answers: dict[str, array[float] | None] = {}
        self.requests, self._unwritten = 0, 0
        self._path = Path(folder) / f"{identity[:16]}-{uuid.uuid4().hex[:8]}.jsonl" if folder is not None else None
        if folder is not None:
            with file_errors(folder):
                found = sorted(Path(folder).glob(f"{identity[:16]}-*.jsonl"))
                for path in (path for path in found if path.is_file()):  # a pipe would wait for a writer
                    with path.open("rb") as file:
                        for line in file:
                            self._read(line)

    def __contains__(self, key: str) -> bool:
        return key in self._answers

    def __getitem__(self, key: str) -> Probabilities:
        return self._answers[key]

    def spend(self) -> None:
        """Count one request before it is sent. AlloyError if no more are allowed."""
        with self._lock:
            if self._allowed is not None and self.requests >= self._allowed:
                raise AlloyError(
                    expected=f"at most {self._allowed:,} requests to teacher '{self._teacher}', as its limits say",
                    got="texts that still have no answer",
                    hint="Finished answers are kept. Raise `max_requests` or `max_cost` and run again.",
                )
            self.requests += 1
            self._unwritten += 1

    def record(self, answers: Mapping[str, Probabilities]) -> None:
        """Keep answers, and write them with the requests since the last line. When it returns, they are on the disk. AlloyError."""
        with self._lock:
            for key, answer in answers.items():
                self._answers[key] = None if answer is None else array("d", answer)
            if self._path is None or not (answers or self._unwritten):
                return
            line: dict[str, Any] = {
                "requests": self._unwritten,
                "answers": {k: v and list(v) for k, v in answers.items()},
            }
            with file_errors(self._path):
                check_writing(self._path)
                self._path.parent.mkdir(parents=True, exist_ok=True)
                with self._path.open("ab") as file:  # a request takes far longer than to open it again
                    file.write(json.dumps(line).encode() + b"\n")
                    file.flush()
                    os.fsync(file.fileno())
            self._unwritten = 0

    def _read(self, line: bytes) -> None:
        try:
            found = json.loads(line)
            requests, answers = int(found["requests"]), dict(found["answers"])
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            return  # a kill cut it off, or it is damaged
        self.requests += max(0, requests)
        for key, answer in answers.items():
            if answer is None:
                self._answers[key] = None
            elif (kept := self._probabilities(answer)) is not None:
                self._answers[key] = kept

    def _probabilities(self, answer: Any) -> array[float] | None:
        """An answer of a file; None for a damaged one, which is asked for again."""
        try:
            kept = array("d", answer)
        except (TypeError, ValueError, OverflowError):
            return None
        right = len(kept) == self._labels and all(math.isfinite(p) and p >= 0 for p in kept) and sum(kept) > 0
        return kept if right else None
