"""The student's tokens: of all texts in temporary files, or of the texts that come next in training."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from alloykit.data import Texts
from alloykit.models.long_texts import LongTexts, encode_long, in_training
from alloykit.temporary.row_file import RowFile
from alloykit.temporary.rows_at import Array
from alloykit.training.module import STUDENT_INPUTS

WHAT = "the tokens"
READ = 1000  # texts that are read at a time
Encoded = Mapping[str, Sequence[int]]


class StoredTokens(Protocol):
    """The tokens of texts, by their positions in the table."""

    def read(self, text: int) -> dict[str, list[int]]:
        """The token ids, attention mask and token types of one text."""

    def lengths(self, texts: Array) -> Array:
        """How many tokens each text has, [n] int64. texts: those that are read next, in any order."""

    def some(self, texts: Array) -> StoredTokens:
        """The tokens of these texts only."""


@dataclass(frozen=True)
class Encoder:
    """Makes the student's tokens of texts, truncated. With `long_texts: mean` those of their beginning."""

    tokenizer: Any
    max_length: int
    long_texts: LongTexts = "head"

    def __call__(self, batch: Mapping[str, Any]) -> Sequence[Encoded]:
        """batch: the columns `text` and, for pairs, `text_pair`."""
        long_texts = in_training(self.long_texts)
        return encode_long(self.tokenizer, batch["text"], batch.get("text_pair"), self.max_length, long_texts)


@dataclass(frozen=True)
class TokenFile:
    """Tokens of all texts, one after another. `starts`: n + 1 int64, counted in tokens.

    `ids`: int32; `types`: uint8, None where the tokenizer does not tell first and second text apart.
    """

    ids: RowFile
    types: RowFile | None
    starts: RowFile

    def read(self, text: int) -> dict[str, list[int]]:
        start, end = self.starts.between(text, text + 2).tolist()
        found = {"input_ids": self.ids.between(start, end).tolist(), "attention_mask": [1] * (end - start)}
        return found | ({} if self.types is None else {"token_type_ids": self.types.between(start, end).tolist()})

    def lengths(self, texts: Array) -> Array:
        found: Array = self.starts.read(texts + 1) - self.starts.read(texts)
        return found

    def some(self, texts: Array) -> StoredTokens:
        return self


class TokenWriter:
    """Writes a `TokenFile`."""

    def __init__(self) -> None:
        """AlloyError where no file can be made."""
        self.ids, self.starts = RowFile(WHAT), RowFile(WHAT)
        self.types: RowFile | None = None
        self.starts.append(np.zeros(1, np.int64))
        self.tokens = 0

    def add(self, encoded: Sequence[Encoded]) -> None:
        """Add some texts. AlloyError where the disk is full."""
        self.ids.append(_joined(encoded, "input_ids", np.int32))
        if "token_type_ids" in encoded[0] and "token_type_ids" in STUDENT_INPUTS:
            self.types = self.types or RowFile(WHAT)
            self.types.append(_joined(encoded, "token_type_ids", np.uint8))
        ends = self.tokens + np.cumsum([len(e["input_ids"]) for e in encoded], dtype=np.int64)
        self.starts.append(ends)
        self.tokens = int(ends[-1])

    def file(self) -> TokenFile:
        """What was written."""
        return TokenFile(self.ids, self.types, self.starts)


@dataclass(frozen=True)
class SomeTokens:
    """Tokens of some texts. `texts`: their positions, ascending, [m] int64; `file`: their tokens in this order."""

    texts: Array
    file: TokenFile

    def __contains__(self, text: int) -> bool:
        at = int(np.searchsorted(self.texts, text))
        return at < len(self.texts) and int(self.texts[at]) == text

    def read(self, text: int) -> dict[str, list[int]]:
        return self.file.read(int(np.searchsorted(self.texts, text)))

    def lengths(self, texts: Array) -> Array:
        return self.file.lengths(np.searchsorted(self.texts, texts))

    def some(self, texts: Array) -> StoredTokens:
        return self


class TokensInParts:
    """The tokens of the texts whose `lengths` were asked for last are in a temporary file; those of other texts are made when they are read."""

    def __init__(self, tables: Sequence[Texts], encoder: Encoder) -> None:
        """tables: one after another."""
        self.tables, self.encoder, self._part = (
            list(tables),
            encoder,
            SomeTokens(np.empty(0, np.int64), TokenWriter().file()),
        )
        self._starts = np.cumsum([0, *map(len, tables)])

    def read(self, text: int) -> dict[str, list[int]]:
        return (self._part if text in self._part else self._made(np.array([text]))).read(text)

    def lengths(self, texts: Array) -> Array:
        wanted = np.unique(texts)
        for table, mine in self._by_table(wanted):
            table.table.hold(mine, table.text_columns)
        self._part = self._made(wanted)
        return self._part.lengths(texts)

    def some(self, texts: Array) -> SomeTokens:
        return self._made(np.unique(texts))

    def _made(self, texts: Array) -> SomeTokens:
        writer = TokenWriter()
        for table, mine in self._by_table(texts):
            for start in range(0, len(mine), READ):
                writer.add(self.encoder(table.table.take(mine[start : start + READ], table.text_columns)))
        return SomeTokens(texts, writer.file())

    def _by_table(self, texts: Array) -> Iterator[tuple[Texts, Array]]:
        for table, start, end in zip(self.tables, self._starts, self._starts[1:], strict=False):
            yield table, texts[(texts >= start) & (texts < end)] - start


def _joined(encoded: Sequence[Encoded], name: str, dtype: type) -> Array:
    return np.concatenate([np.asarray(text[name], dtype) for text in encoded])
