"""Checks of a teacher without labels: variance over the passes, confidence, and what its tokenizer makes of the texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from alloykit.evaluation.tokenizer_statistics import language_doubt

SATURATED = 0.999  # a maximum probability above it
FEW_PASSES_DIFFER = 1e-6  # mean variance of a probability over the passes
TRUNCATED = 0.5  # share of the texts
ONE_LABEL = 0.95  # share of the texts
READ_OF = {"head": "the beginning", "tail": "the end", "head_tail": "beginning and end"}


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
        if doubt := language_doubt(t):
            found.append(
                f"teacher '{name}' {doubt}. Check that the teacher knows the language and the script of the texts."
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
