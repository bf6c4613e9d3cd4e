"""(a) A Monte-Carlo pass against a plain forward pass of the same model, and against stock dropout."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForSequenceClassification

from alloykit.models.compute_format import ComputeFormat, in_compute_format
from alloykit.models.location import bundled_minilm
from alloykit.precision import Precision, native_bfloat16
from alloykit.teachers.mc_dropout import ByteDropout, StockDropout
from benchmarks.speed.measure import Measurement, device, in_turns, ratio

LENGTHS = (32, 64, 128)
TOKENS = 4096 if device() == "cpu" else 65_536  # per batch: what the sweep uses
ROUNDS = 9
PRECISIONS: list[Precision] = ["float32"] * (device() == "cpu") + ["bfloat16"] * native_bfloat16(device())


def run(data: Path, work: Path) -> dict[str, Any]:
    rows = []
    for precision, length in itertools.product(PRECISIONS, LENGTHS):
        model = AutoModelForSequenceClassification.from_pretrained(str(bundled_minilm()), num_labels=4)
        model = in_compute_format(model.eval().to(device()), ComputeFormat(precision))
        texts = TOKENS // length
        batch = {
            "input_ids": torch.randint(1000, 20_000, (texts, length), device=device()),
            "attention_mask": torch.ones(texts, length, dtype=torch.long, device=device()),
        }
        samplers = {"stock": StockDropout()} | ({"ours": ByteDropout()} if device() == "cpu" else {})
        with torch.inference_mode():
            runs: dict[str, Any] = {"plain": lambda m=model, b=batch: m(**b)}
            runs |= {name: lambda m=model, s=s, b=batch: s.sample(m, b, 1) for name, s in samplers.items()}
            times = in_turns(runs, ROUNDS)
        rows.append(
            {
                "precision": precision,
                "tokens": length,
                "texts_per_second_plain": round(texts / min(times["plain"]), 1),
                **{name: ratio(times, "plain", name) for name in samplers},
            }
        )
    return {"model": "MiniLM, 6 layers", "tokens_per_batch": TOKENS, "rounds": ROUNDS, "lengths": rows}


TABLE = Measurement("passes", "a Monte-Carlo pass against a plain pass", run)
