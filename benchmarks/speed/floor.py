"""(d, e) Where the time goes, compared with a lower bound: FLOPs over the machine's rate of large matrix products."""

from __future__ import annotations

import copy
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from alloykit.labels import LabelSpace
from alloykit.methods.protocol import Needs
from alloykit.models.batches import token_batches
from alloykit.models.compute_format import ComputeFormat, in_compute_format
from alloykit.models.last_layer import LeanLastLayer
from alloykit.models.tokens import encode, pad
from alloykit.precision import choose_precision
from alloykit.teachers.mc_dropout import ByteDropout, StockDropout
from alloykit.training.steps import StepProbe
from alloykit.training.student import build_student
from alloykit.training.training_options import StudentSpec, TrainingOptions
from benchmarks.harness.data import read
from benchmarks.harness.sets import AG_NEWS
from benchmarks.speed.measure import Measurement, device, encoder_flops, in_turns, matmul_rate

TEXTS, LENGTH, ROUNDS = 256, 128, 5
KINDS = {
    "matrix products": ("mm", "bmm", "addmm", "baddbmm", "scaled_dot_product", "flash", "mkldnn"),
    "softmax, normalisation, activations": ("softmax", "layer_norm", "gelu", "tanh", "relu"),
    "element by element (masks and their backward included)": ("mul", "add", "div", "to", "copy_", "sub", "where", "fill", "sum"),
    "optimiser": ("adamw", "norm", "foreach"),
}  # fmt: skip


def run(data: Path, work: Path) -> dict[str, Any]:
    texts = list(read(data / AG_NEWS.name / "train.parquet")[:TEXTS]["text"])
    space = LabelSpace.union(AG_NEWS.split(2), teacher_names=["1", "2"])
    model, tokenizer = build_student(StudentSpec(model="bundled:minilm"), space, 0)
    encodings = encode(tokenizer, texts, None, LENGTH)
    lengths = [len(e["input_ids"]) for e in encodings]
    plan = token_batches(lengths, 4096 if device() == "cpu" else 65_536)
    steps = token_batches(lengths, 32 * max(lengths))
    precision = choose_precision("auto", device())
    teacher = in_compute_format(copy.deepcopy(model).to(device()).eval(), ComputeFormat(precision))
    sampler, lean = ByteDropout() if device() == "cpu" else StockDropout(), LeanLastLayer(teacher)
    options = TrainingOptions(batch_size=len(texts))
    probe = StepProbe(model, tokenizer, options, Needs(), device())

    @torch.inference_mode()
    def plain() -> None:
        for rows in plan:
            with lean:
                teacher(**_batch(tokenizer, encodings, rows))

    @torch.inference_mode()
    def sampled() -> None:
        for rows in plan:
            with lean:
                sampler.sample(teacher, _batch(tokenizer, encodings, rows), 1)

    def training() -> None:
        for rows in steps:
            probe.step([encodings[i] for i in rows])

    runs = {"plain pass": (plain, plan, 1), "Monte-Carlo pass": (sampled, plan, 1), "training": (training, steps, 3)}
    times = in_turns({name: do for name, (do, _, _) in runs.items()}, ROUNDS)
    shares = {name: _profile(do) for name, (do, _, _) in runs.items()}
    rate = matmul_rate(precision)
    found = {}
    for name, (_, batches, passes) in runs.items():
        flops = passes * sum(encoder_flops(model.config, len(b), max(lengths[i] for i in b)) for b in batches)
        padded = sum(len(b) * max(lengths[i] for i in b) for b in batches)
        found[name] = {
            "seconds": round(min(times[name]), 4),
            "floor_seconds": round(flops / rate, 4),
            "times_the_floor": round(min(times[name]) * rate / flops, 2),
            "padding": round(1 - sum(lengths) / padded, 3),
            "shares": shares[name],
        }
    return {
        "precision": precision,
        "matmul_gflops": round(rate / 1e9, 1),
        "texts": TEXTS,
        "model": "MiniLM, 6 layers",
        "work": found,
    }


def _batch(tokenizer: Any, encodings: list[Any], rows: list[int]) -> dict[str, torch.Tensor]:
    return {k: v.to(device()) for k, v in pad(tokenizer, [encodings[i] for i in rows]).items()}


def _profile(do: Callable[[], None]) -> dict[str, float]:
    """Share of the time by kind of operation; the rest is Python, random bytes, and what no operation of torch accounts for."""
    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if device() == "cuda" else [])
    do()
    begun = time.perf_counter()
    with profile(activities=activities) as profiler:
        do()
        if device() == "cuda":
            torch.cuda.synchronize()
    wall = (time.perf_counter() - begun) * 1e6
    spent: dict[str, float] = defaultdict(float)
    for event in profiler.key_averages():
        used = event.self_device_time_total if device() == "cuda" else event.self_cpu_time_total
        kind = next((k for k, words in KINDS.items() if any(w in event.key.lower() for w in words)), "other operations")
        spent[kind] += used
    total = max(wall, sum(spent.values()))
    shares = {kind: round(used / total, 3) for kind, used in sorted(spent.items(), key=lambda item: -item[1])}
    return shares | {"outside of torch's operations": round(max(0.0, 1 - sum(shares.values())), 3)}


TABLE = Measurement("floor", "where the time goes, and the floor", run)
