"""Training data: the student's own tokens, and the number of the text's row in the knowledge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import datasets
import torch

from alloykit.data import Texts
from alloykit.rows import Source
from alloykit.teachers.encoder import encode
from alloykit.training.module import STUDENT_INPUTS


def tokenize(texts: Texts, tokenizer: Any, max_length: int) -> datasets.Dataset:
    """Columns input_ids (and what else the tokenizer gives) and `row`, the text's position in the table."""

    def tokens(batch: dict[str, list[Any]], rows: list[int]) -> dict[str, Any]:
        encoded = encode(tokenizer, batch["text"], batch["text_pair"] if texts.is_pair else None, max_length)
        return {k: [e[k] for e in encoded] for k in STUDENT_INPUTS if k in encoded[0]} | {"row": rows}

    progress = datasets.utils.logging.is_progress_bar_enabled()
    datasets.disable_progress_bars()
    try:
        return texts.table.map(
            tokens,
            batched=True,
            with_indices=True,
            remove_columns=texts.table.column_names,
            keep_in_memory=True,
            new_fingerprint=f"{texts.fingerprint()[:32]}-tokens",
        )
    finally:
        if progress:
            datasets.enable_progress_bars()


class Collator:
    """Pads the student's tokens to the longest of the batch and joins each text with its knowledge."""

    def __init__(self, tokenizer: Any, source: Source) -> None:
        self.tokenizer, self.source = tokenizer, source

    def __call__(self, features: Sequence[dict[str, Any]]) -> dict[str, Any]:
        inputs = {k: [f[k] for f in features] for k in features[0] if k != "row"}
        rows = torch.tensor([f["row"] for f in features])
        return dict(self.tokenizer.pad(inputs, return_tensors="pt")) | {
            "row": rows,
            "rows": self.source.rows(rows).to_batch(),
        }


def split_held_out(n: int, share: float, seed: int) -> tuple[list[int], list[int]]:
    """Positions for training and for checking, disjoint, ascending. At least 50 to check by, but never over a fifth."""
    if share == 0:
        return list(range(n)), []
    size = min(max(round(n * share), 50), n // 5)
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed)).tolist()
    return sorted(order[size:]), sorted(order[:size])


def subset(dataset: datasets.Dataset, positions: Sequence[int]) -> datasets.Dataset:
    return dataset.select(positions, keep_in_memory=True)
