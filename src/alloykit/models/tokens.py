"""Texts as token ids: encoded, padded, and how many tokens a model can take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor


def encode(
    tokenizer: Any, texts: Sequence[str], pairs: Sequence[str | None] | None, max_length: int
) -> list[dict[str, list[int]]]:
    """Token ids of each text, truncated, not padded. A text whose pair is None is read alone, whatever stands beside it."""
    found: list[dict[str, list[int]]] = [{} for _ in texts]
    seconds = list(pairs) if pairs is not None else [None] * len(texts)
    for alone in (True, False):
        at = [i for i, second in enumerate(seconds) if (second is None) == alone]
        if at:
            second = None if alone else [seconds[i] for i in at]
            encoded = tokenizer([texts[i] for i in at], second, truncation=True, max_length=max_length)
            for n, i in enumerate(at):
                found[i] = {key: encoded[key][n] for key in encoded}
    return found


def pad(tokenizer: Any, encodings: Sequence[Mapping[str, list[int]]]) -> dict[str, Tensor]:
    """A batch of int64 tensors, padded to its longest text on the tokenizer's side: `tokenizer.pad`, at a tenth of its time."""
    fills = {
        "input_ids": tokenizer.pad_token_id,
        "attention_mask": 0,
        "token_type_ids": getattr(tokenizer, "pad_token_type_id", 0),
    }
    if tokenizer.pad_token_id is None or not encodings[0].keys() <= fills.keys():
        return dict(tokenizer.pad({key: [e[key] for e in encodings] for key in encodings[0]}, return_tensors="pt"))
    lengths = [len(e["input_ids"]) for e in encodings]
    longest, left, found = max(lengths), tokenizer.padding_side == "left", {}
    for key in encodings[0]:
        values = np.full((len(encodings), longest), fills[key], dtype=np.int64)
        for row, encoding, n in zip(values, encodings, lengths, strict=True):
            row[longest - n if left else 0 :][:n] = encoding[key]
        found[key] = torch.from_numpy(values)
    return found


def usable_length(model: Any, tokenizer: Any, wanted: int) -> int:
    """Tokens per text that both model and tokenizer can take, at most `wanted`.

    RoBERTa-style models count positions from padding_idx + 1, so that a table of 514 holds 512 tokens.
    """
    limits = [wanted, tokenizer.model_max_length]
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and hasattr(module, "num_embeddings"):
            limits.append(module.num_embeddings - (0 if module.padding_idx is None else module.padding_idx + 1))
    return int(min(limits))
