"""Training data: the student's tokens of each text, and the text's row in the cached outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from alloykit.data import Texts
from alloykit.models.long_texts import LongTexts, encode_long, in_training
from alloykit.models.tokens import pad
from alloykit.outputs import Source
from alloykit.progress import bar
from alloykit.stats.sampled_positions import sampled_positions
from alloykit.temporary.row_file import RowFile
from alloykit.training.all_but import AllBut, Positions
from alloykit.training.module import STUDENT_INPUTS

MAX_HELD_OUT = 2_000  # the standard error is then much smaller than the differences between checks


@dataclass(frozen=True)
class TokenFile:
    """Tokens of all texts, one after another. `starts`: n + 1 int64, counted in tokens.

    `ids`: int32; `types`: uint8, None where the tokenizer does not tell first and second text apart.
    """

    ids: RowFile
    types: RowFile | None
    starts: RowFile

    def read(self, text: int) -> dict[str, list[int]]:
        """The token ids, attention mask and token types of one text."""
        start, end = self.starts.between(text, text + 2).tolist()
        found = {"input_ids": self.ids.between(start, end).tolist(), "attention_mask": [1] * (end - start)}
        return found | ({} if self.types is None else {"token_type_ids": self.types.between(start, end).tolist()})


class Tokens(torch.utils.data.Dataset[dict[str, Any]]):
    """Item i: token ids and `row`, the text's position in the table. `positions`: of the texts.

    The tokens are read from a temporary file.
    """

    def __init__(self, stored: TokenFile, positions: Positions | AllBut) -> None:
        self.stored, self.positions = stored, positions

    def __len__(self) -> int:
        return len(self.positions)

    def __getitem__(self, i: int) -> dict[str, Any]:
        row = int(self.positions[i])
        return self.stored.read(row) | {"row": row}

    @property
    def rows(self) -> Positions:
        """The position of each item's text in the table, [n] int64."""
        found: Positions = self.positions[np.arange(len(self))]
        return found

    @property
    def lengths(self) -> TokenLengths:
        return TokenLengths(self)

    def select(self, positions: Sequence[int] | Positions | AllBut) -> Tokens:
        """The items at these positions. `AllBut`: of all texts."""
        if isinstance(positions, AllBut):
            return Tokens(self.stored, positions)
        return Tokens(self.stored, self.positions[np.asarray(positions, dtype=np.int64)])


class TokenLengths:
    """How many tokens each item has, read from the file: `lengths[items]`, [n] int64 for an array of n items."""

    def __init__(self, tokens: Tokens) -> None:
        self._starts, self._positions = tokens.stored.starts, tokens.positions

    def __len__(self) -> int:
        return len(self._positions)

    def __getitem__(self, items: Positions) -> Positions:
        at = self._positions[items]
        found: Positions = self._starts.read(at + 1) - self._starts.read(at)
        return found


def tokenize(texts: Texts, tokenizer: Any, max_length: int, *more: Texts, long_texts: LongTexts = "head") -> Tokens:
    """The student's tokens of every text, truncated; those of `more` tables follow. With `long_texts: mean` their beginning."""
    ids, types = RowFile("the tokens"), None
    n = sum(len(table) for table in (texts, *more))
    starts, done = RowFile("the tokens"), 0
    starts.append(np.zeros(1, np.int64))
    with bar("tokens of the student", n if n > 50_000 else 0) as advance:
        for table in (texts, *more):
            for batch in table.table.batches(table.text_columns):
                encoded = encode_long(
                    tokenizer, batch["text"], batch.get("text_pair"), max_length, in_training(long_texts)
                )
                ids.append(_joined(encoded, "input_ids", np.int32))
                if "token_type_ids" in encoded[0] and "token_type_ids" in STUDENT_INPUTS:
                    types = types or RowFile("the tokens")
                    types.append(_joined(encoded, "token_type_ids", np.uint8))
                ends = done + np.cumsum([len(e["input_ids"]) for e in encoded], dtype=np.int64)
                starts.append(ends)
                done = int(ends[-1])
                advance(len(encoded) if n > 50_000 else 0)
    return Tokens(TokenFile(ids, types, starts), AllBut(n))


def _joined(encoded: Sequence[Mapping[str, Sequence[int]]], name: str, dtype: type) -> Positions:
    return np.concatenate([np.asarray(text[name], dtype) for text in encoded])


class Collator:
    """Pads the student's tokens to the longest text of the batch and adds the teachers' outputs for each text."""

    def __init__(self, tokenizer: Any, source: Source) -> None:
        self.tokenizer, self.source = tokenizer, source

    def __call__(self, features: Sequence[dict[str, Any]]) -> dict[str, Any]:
        rows = torch.tensor([f["row"] for f in features])
        tokens = [{k: v for k, v in f.items() if k != "row"} for f in features]
        return pad(self.tokenizer, tokens) | {"row": rows, "rows": self.source.rows(rows).to_batch()}


def held_out_size(n: int, share: float) -> int:
    """How many of n texts `split_held_out` holds out for checks."""
    return min(max(round(n * share), 50), n // 5, MAX_HELD_OUT) if share else 0


def split_held_out(n: int, share: float, seed: int) -> tuple[AllBut, Positions]:
    """Positions for training and for checks, which are [.] int64: disjoint, ascending. At least 50 texts are held out for checks, but
    never more than a fifth, and at most 2,000."""
    held_out = np.sort(sampled_positions(n, held_out_size(n, share), seed))
    return AllBut(n, held_out), held_out
