"""What each idea contributes: the same work, with one idea added at a time."""

from __future__ import annotations

import copy
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from alloykit.labels import LabelSpace
from alloykit.models.batches import token_batches
from alloykit.models.compute_format import ComputeFormat, in_compute_format
from alloykit.models.fast_dropout import FastMasks
from alloykit.models.last_layer import LeanLastLayer
from alloykit.precision import native_bfloat16
from alloykit.teachers.mc_dropout import ByteDropout, StockDropout
from alloykit.training.sampler import LengthSampler
from alloykit.training.student import build_student
from alloykit.training.training_options import StudentSpec
from benchmarks.speed import by_hand
from benchmarks.speed.measure import device, in_turns, ratio

TEXTS, LENGTH, ROUNDS = 256, 128, 3


def ladder(teachers: list[Path], texts: list[str], encoder: dict[str, Any], space: LabelSpace) -> dict[str, Any]:
    """Seconds for one pass over some texts, and for training on them once; each step against the one before it."""
    texts = texts[:TEXTS]
    models = [AutoModelForSequenceClassification.from_pretrained(t).eval().to(device()) for t in teachers]
    tokenizer = AutoTokenizer.from_pretrained(teachers[0])
    lengths = [len(ids) for ids in tokenizer(texts, truncation=True, max_length=LENGTH).input_ids]
    in_file = [list(range(s, min(s + by_hand.BATCH, len(texts)))) for s in range(0, len(texts), by_hand.BATCH)]
    sorted_ = token_batches(lengths, 4096)
    order = list(LengthSampler(lengths, by_hand.BATCH, 0))
    similar = [order[s : s + by_hand.BATCH] for s in range(0, len(order), by_hand.BATCH)]

    native = native_bfloat16(device())
    low = in_compute_format(copy.deepcopy(models[0]), ComputeFormat("bfloat16" if native else "float32"))

    def sweep(
        sampler: Any, batches: list[list[int]], pad_to: int | None, model: Any = models[0], lean: Any = None
    ) -> None:
        with torch.inference_mode(), lean or nullcontext():
            for rows in batches:
                batch = by_hand.tokens(tokenizer, [texts[i] for i in rows], pad_to, LENGTH)
                sampler.sample(model, batch, 1)

    student, _ = build_student(StudentSpec.model_validate(encoder), space, 0)
    student.to(device()).train()
    optimizer = torch.optim.AdamW(student.parameters(), lr=1e-9)

    def train(
        batches: list[list[int]], pad_to: int | None, asks: bool, fast: bool, low: bool = False, lean: Any = None
    ) -> None:
        for rows in batches:
            batch = by_hand.tokens(tokenizer, [texts[i] for i in rows], pad_to, LENGTH)
            with torch.no_grad():
                for model in models if asks else []:
                    model(**batch)
            with FastMasks(0) if fast and device() == "cpu" else nullcontext():
                with torch.autocast(device(), torch.bfloat16, enabled=low), lean or nullcontext():
                    logits = student(**batch).logits
                logits.float().logsumexp(-1).mean().backward()
            optimizer.step()
            optimizer.zero_grad()

    stock, ours = StockDropout(), ByteDropout() if device() == "cpu" else StockDropout()
    passes = in_turns(
        {
            "padded to 128": lambda: sweep(stock, in_file, LENGTH),
            "padded to each batch's longest": lambda: sweep(stock, in_file, None),
            "batches of similar length": lambda: sweep(stock, sorted_, None),
            "masks from bytes": lambda: sweep(ours, sorted_, None),
            "bfloat16": lambda: sweep(ours, sorted_, None, low),
            "the last layer for the first token": lambda: sweep(ours, sorted_, None, low, LeanLastLayer(low)),
        },
        ROUNDS,
    )
    training = in_turns(
        {
            "padded to 128": lambda: train(in_file, LENGTH, True, False),
            "padded to each batch's longest": lambda: train(in_file, None, True, False),
            "teachers not asked again": lambda: train(in_file, None, False, False),
            "batches of similar length": lambda: train(similar, None, False, False),
            "masks from bytes": lambda: train(similar, None, False, True),
            "bfloat16": lambda: train(similar, None, False, True, native),
            "the last layer for the first token": lambda: train(
                similar, None, False, True, native, LeanLastLayer(student)
            ),
        },
        ROUNDS,
    )
    return {"texts": TEXTS, "rounds": ROUNDS, "a pass": _steps(passes), "training": _steps(training)}


def _steps(times: dict[str, list[float]]) -> list[dict[str, Any]]:
    names = list(times)
    return [
        {"with": name, "seconds": round(min(times[name]), 3)} | (ratio(times, names[n - 1], name) if n else {})
        for n, name in enumerate(names)
    ]
