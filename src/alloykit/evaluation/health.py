"""Checks of a teacher without labels: variance over the passes, confidence, and statistics of its tokenizer on the texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

SATURATED = 0.999  # a maximum probability above it
FEW_PASSES_DIFFER = 1e-6  # mean variance of a probability over the passes
UNKNOWN_TOKENS = 0.05  # share of the tokens
TRUNCATED = 0.5  # share of the texts
PIECES_PER_CHARACTER = 0.6  # of scripts whose words have many characters
PIECES_PER_WIDE_CHARACTER = 1.5  # of scripts that are cut character by character anyway
WIDE = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
ONE_LABEL = 0.95  # share of the texts
READ_OF = {"head": "the beginning", "tail": "the end", "head_tail": "beginning and end"}


def tokenizer_statistics(
    encodings: Sequence[Any], texts: Sequence[str], tokenizer: Any, max_length: int, long_texts: str = "head"
) -> dict[str, Any]:
    """Statistics of a tokenizer on some texts.

    `unknown_tokens`: share of [UNK] among all pieces; None for tokenizers without one (byte-level). `truncated_texts`: share
    of texts longer than the teacher reads. `lost_tokens`: share of all pieces that it does not read. `tokens`: mean per text.
    `pieces_per_character`; `spelled_out`: whether there are so many that the tokenizer probably does not know the language.

    encodings: token ids of the whole texts, without special tokens and not truncated.
    """
    lengths = torch.tensor([len(ids) for ids in encodings], dtype=torch.float64)
    special = int(tokenizer.num_special_tokens_to_add())
    room = max(1, max_length - special)
    total = float(lengths.sum())
    characters = sum(sum(not c.isspace() for c in text) for text in texts) or 1
    wide = sum(len(WIDE.findall(text)) for text in texts) > characters / 2
    limit = PIECES_PER_WIDE_CHARACTER if wide else PIECES_PER_CHARACTER
    unknown = tokenizer.unk_token_id
    byte_level = unknown is None or unknown in (tokenizer.eos_token_id, tokenizer.bos_token_id)
    return {
        "unknown_tokens": None
        if byte_level
        else sum(ids.count(unknown) for ids in map(list, encodings)) / max(total, 1),
        "truncated_texts": 0.0 if long_texts == "mean" else float((lengths > room).double().mean()),
        "lost_tokens": 0.0 if long_texts == "mean" else float((lengths - room).clamp(min=0).sum() / max(total, 1)),
        "long_texts": long_texts,
        "tokens": float(lengths.mean()) + special,
        "pieces_per_character": total / characters,
        "spelled_out": total / characters > limit,
    }


def output_statistics(probabilities: Tensor, pass_variance: float | None, labels: Sequence[str]) -> dict[str, Any]:
    """How confident a teacher is on the pool. probabilities: [n, C_i] of the plain pass.

    `excess`: mean maximum probability − 1/C_i, which is 0 for a teacher that guesses. `pass_variance`: mean over texts and
    labels of the variance of a probability over the Monte-Carlo passes; None without passes.
    """
    if not len(probabilities):
        probabilities = torch.full((1, len(labels)), 1 / len(labels))  # of a teacher without any answer here
    top = probabilities.double().max(-1).values
    counts = torch.bincount(probabilities.argmax(-1), minlength=len(labels))
    return {
        "max_probability": float(top.mean()),
        "excess": float(top.mean()) - 1 / len(labels),
        "saturated_texts": float((top > SATURATED).double().mean()),
        "pass_variance": pass_variance,
        "predicted": {label: int(n) for label, n in zip(labels, counts.tolist(), strict=True)},
    }


def health_warnings(teachers: dict[str, dict[str, Any]]) -> list[str]:
    """One sentence for each sign that a teacher does not suit this pool."""
    found = []
    for name, t in teachers.items():
        if t.get("unanswered"):
            found.append(
                f"teacher '{name}' has no answer to {100 * t['unanswered']:.1f} % of the texts: the other teachers teach these, and a text that no "
                "teacher answers is left out of the training."
            )
        if t["saturated_texts"] > 0.99:
            found.append(
                f"teacher '{name}' gives one label a probability above {SATURATED} on {100 * t['saturated_texts']:.1f} % of the texts: its "
                "outputs are saturated, so its confidence says little about which texts it knows."
            )
        if t["pass_variance"] is not None and t["pass_variance"] < FEW_PASSES_DIFFER:
            found.append(
                f"teacher '{name}' gives almost the same probabilities in all Monte-Carlo passes (variance {t['pass_variance']:.1e}). "
                "Set `method: {dropout: 0.1}`, or skip the passes with `passes: 0`."
            )
        elif t["pass_variance"] is None and t.get("dropout") == 0 and "truncated_texts" in t:
            found.append(
                f"teacher '{name}' was saved with dropout rates of 0. This method does not use dropout; a method with Monte-Carlo passes "
                "needs `dropout: 0.1`."
            )
        unknown = t.get("unknown_tokens")
        if unknown is not None and unknown > UNKNOWN_TOKENS:
            found.append(
                f"teacher '{name}' does not know {100 * unknown:.0f} % of the tokens ([UNK]). Check that it knows the language and the script "
                "of the texts."
            )
        elif t.get("spelled_out"):
            found.append(
                f"teacher '{name}' splits the texts into very short tokens ({t['pieces_per_character']:.2f} tokens per character). Check "
                "that it knows their language."
            )
        if t.get("truncated_texts", 0) > TRUNCATED:
            found.append(
                f"teacher '{name}' reads only {READ_OF.get(t.get('long_texts', 'head'))} of {100 * t['truncated_texts']:.0f} % of the texts and misses "
                f"{100 * t['lost_tokens']:.0f} % of all tokens. If the rest matters, raise `training: {{max_length: …}}`, or read all of it with `inference: {{long_texts: mean}}`."
            )
        counts = t["predicted"]
        total = sum(counts.values())
        most = max(counts, key=lambda label: counts[label])
        if total and counts[most] > ONE_LABEL * total:
            found.append(
                f"teacher '{name}' predicts '{most}' on {100 * counts[most] / total:.0f} % of the texts. Check that the pool has texts of its other "
                "labels."
            )
    return found
