"""Training data: the student's tokens of each text, and the text's row in the cached outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from alloykit.data import Texts
from alloykit.models.long_texts import LongTexts
from alloykit.models.tokens import pad
from alloykit.outputs import Source
from alloykit.progress import bar
from alloykit.stats.sampled_positions import sampled_positions
from alloykit.temporary.copied import COPIED
from alloykit.training.all_but import AllBut, Positions
from alloykit.training.stored_tokens import Encoder, StoredTokens, TokensInParts, TokenWriter

TOKEN = 4  # bytes
SAMPLE = 20_000  # texts, from which the number of all tokens is estimated
MAX_HELD_OUT = 2_000  # the standard error is then much smaller than the differences between checks


class Tokens(torch.utils.data.Dataset[dict[str, Any]]):
    """Item i: token ids and `row`, the text's position in the table. `positions`: of the texts."""

    def __init__(self, stored: StoredTokens, positions: Positions | AllBut) -> None:
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
        rows = self.positions[np.asarray(positions, dtype=np.int64)]
        return Tokens(self.stored.some(rows), rows)


class TokenLengths:
    """How many tokens each item has: `lengths[items]`, [n] int64 for an array of n items. Ask for the items that are read next, all at once."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    def __len__(self) -> int:
        return len(self._tokens)

    def __getitem__(self, items: Positions) -> Positions:
        return self._tokens.stored.lengths(self._tokens.positions[items])


def tokenize(texts: Texts, tokenizer: Any, max_length: int, *more: Texts, long_texts: LongTexts = "head") -> Tokens:
    """The student's tokens of every text, truncated; those of `more` tables follow. With `long_texts: mean` their beginning.

    If a file of them would have more than `COPIED` bytes, they are made during training, for some texts after another."""
    tables, encoder, writer, done = (texts, *more), Encoder(tokenizer, max_length, long_texts), TokenWriter(), 0
    n = sum(len(table) for table in tables)
    with bar("tokens of the student", n if n > 50_000 else 0) as advance:
        for table in tables:
            for batch in table.table.batches(table.text_columns):
                writer.add(encoder(batch))
                done += len(batch["text"])
                all_tokens = writer.tokens if done < SAMPLE else writer.tokens * n // done
                if TOKEN * all_tokens > COPIED:
                    return Tokens(TokensInParts(tables, encoder), AllBut(n))
                advance(len(batch["text"]) if n > 50_000 else 0)
    return Tokens(writer.file(), AllBut(n))


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
