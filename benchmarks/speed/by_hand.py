"""MUKA-Soft written directly from the paper, without alloykit: the baseline of the speed comparison.

16 passes with dropout over batches in file order, then teachers' forward passes in every training step of every epoch.
`pad_to`: a fixed length, as the authors' code has it, or None for each batch's longest text.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from transformers import AutoModelForSequenceClassification, AutoTokenizer, get_linear_schedule_with_warmup

from benchmarks.speed.measure import device

PASSES, TAU, BATCH, EPOCHS, RATE = 16, 0.2, 32, 3, 2e-4


@dataclass
class Finished:
    student: Any
    tokenizer: Any
    passes_seconds: float
    training_seconds: float


def amalgamate(
    teachers: list[Path], texts: list[str], student: Any, tokenizer: Any, *, pad_to: int | None, longest: int, seed: int
) -> Finished:
    """Train `student` in place from teachers with disjoint labels, given in the order of the union."""
    torch.manual_seed(seed)
    begun = time.perf_counter()
    models = [AutoModelForSequenceClassification.from_pretrained(folder).to(device()) for folder in teachers]
    student.to(device())
    tokenizers = [AutoTokenizer.from_pretrained(folder) for folder in teachers]
    kept = [passes(m, t, texts, pad_to, longest) for m, t in zip(models, tokenizers, strict=True)]
    w, v = weights(kept)
    middle = time.perf_counter()
    train(student, tokenizer, models, tokenizers, texts, w, v, pad_to, longest, seed)
    return Finished(student, tokenizer, middle - begun, time.perf_counter() - middle)


def passes(model: Any, tokenizer: Any, texts: list[str], pad_to: int | None, longest: int) -> Tensor:
    """p̄ over the passes. [n, C_i]"""
    model.train()
    found = []
    with torch.no_grad():
        for start in range(0, len(texts), BATCH):
            batch = tokens(tokenizer, texts[start : start + BATCH], pad_to, longest)
            found.append(torch.stack([model(**batch).logits.softmax(-1) for _ in range(PASSES)]).mean(0))
    return torch.cat(found)


def weights(kept: list[Tensor]) -> tuple[Tensor, Tensor]:
    """w [n, N] (Eqs. 9, 12, 13) and v [n] (Eq. 15) from each teacher's p̄."""
    c = torch.stack([1 + (p * p.clamp(min=1e-12).log()).sum(-1) / math.log(p.shape[-1]) for p in kept], -1)
    top = c.sort(-1, descending=True).values
    return (c / TAU).softmax(-1), top[:, 0] - top[:, 1] + 1e-6


def train(
    student: Any, tokenizer: Any, models: list[Any], tokenizers: list[Any], texts: list[str], w: Tensor, v: Tensor,
    pad_to: int | None, longest: int, seed: int,
) -> None:  # fmt: skip
    for model in models:
        model.eval()
    student.train()
    steps = math.ceil(len(texts) / BATCH) * EPOCHS
    optimizer = torch.optim.AdamW(student.parameters(), lr=RATE, weight_decay=0.01)
    schedule = get_linear_schedule_with_warmup(optimizer, math.ceil(0.1 * steps), steps)
    generator = torch.Generator().manual_seed(seed)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(texts), generator=generator).split(BATCH):
            some, rows = [texts[i] for i in rows.tolist()], rows.to(device())
            with torch.no_grad():
                p = [
                    m(**tokens(t, some, pad_to, longest)).logits.softmax(-1)
                    for m, t in zip(models, tokenizers, strict=True)
                ]
            target = torch.cat([w[rows, i, None] * p_i for i, p_i in enumerate(p)], -1)
            logits = student(**tokens(tokenizer, some, pad_to, longest)).logits
            each = functional.kl_div(logits.log_softmax(-1), target, reduction="none").sum(-1)
            (v[rows] * each).mean().backward()
            torch.nn.utils.clip_grad_norm_(student.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
    student.eval()


def tokens(tokenizer: Any, texts: list[str], pad_to: int | None, longest: int) -> Any:
    how = {"padding": "max_length", "max_length": pad_to} if pad_to else {"padding": True, "max_length": longest}
    return tokenizer(texts, truncation=True, return_tensors="pt", **how).to(device())
