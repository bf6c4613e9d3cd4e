"""(a) A Monte-Carlo pass against a plain forward pass of the same model, and against stock dropout."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForSequenceClassification

from alloykit.knowledge.sampling import ByteDropout, StockDropout
from alloykit.teachers.encoder import bundled_minilm
from benchmarks.speed.measure import Measurement, device, in_turns, ratio

LENGTHS = (32, 64, 128)
TOKENS = 4096 if device() == "cpu" else 65_536  # per batch: what the sweep uses
ROUNDS = 9


def run(data: Path, work: Path) -> dict[str, Any]:
    model = AutoModelForSequenceClassification.from_pretrained(str(bundled_minilm()), num_labels=4).eval().to(device())
    if device() == "cuda":
        model = model.to(torch.bfloat16)
    rows = []
    for length in LENGTHS:
        texts = TOKENS // length
        batch = {
            "input_ids": torch.randint(1000, 20_000, (texts, length), device=device()),
            "attention_mask": torch.ones(texts, length, dtype=torch.long, device=device()),
        }
        samplers = {"stock": StockDropout()} | ({"ours": ByteDropout()} if device() == "cpu" else {})
        with torch.inference_mode():
            runs: dict[str, Any] = {"plain": lambda b=batch: model(**b)}
            runs |= {name: lambda s=s, b=batch: s.sample(model, b, 1) for name, s in samplers.items()}
            times = in_turns(runs, ROUNDS)
        rows.append(
            {
                "tokens": length,
                "texts_per_second_plain": round(texts / min(times["plain"]), 1),
                **{name: ratio(times, "plain", name) for name in samplers},
            }
        )
    return {"model": "MiniLM, 6 layers", "tokens_per_batch": TOKENS, "rounds": ROUNDS, "lengths": rows}


TABLE = Measurement("passes", "a Monte-Carlo pass against a plain pass", run)
