"""Control, diversity and time of faster settings of the generator, and of the loop that reads one candidate at a time."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import torch

from alloykit.generation.generation_options import GenerationOptions
from alloykit.generation.quality import text_quality
from alloykit.generation.writer import Writer
from alloykit.progress import log_line
from alloykit.teachers.hugging_face import HuggingFaceSpec, HuggingFaceTeacher, read_teacher_info
from alloykit.teachers.protocol import Reading
from benchmarks.harness.profiles import SMALL
from benchmarks.harness.settings import split
from benchmarks.speed.measure import Measurement, device
from benchmarks.stratanet import table3
from benchmarks.stratanet.methods import GENERATION, NARROW

TEXTS = 50  # per class and setting
CHANGES: dict[str, dict[str, Any]] = {
    "m = 64, every 8th token": {},
    "m = 64, every 4th token": {"every": 4},
    "m = 64, every 16th token": {"every": 16},
    "m = 16, every 4th token": {"candidates": 16, "every": 4},
    "m = 16, every token": {"candidates": 16, "every": 1},
    "m = 200, k = 40, every token (the paper)": {"candidates": 200, "top_k": 40, "top_p": 0.9, "every": 1},
    "m = 16, k = 8, every 4th token (the first run)": NARROW,
    "γ = 1": {"strength": 1.0},
    "γ = 3": {"strength": 3.0},
    "not steered": {"steer": "none"},
    "prompted, not steered": {"steer": "prompt", "prompt": "Generate a {label} news article:"},
}
FEWER = {"m = 200, k = 40, every token (the paper)": 15}  # per class: four fifths of all reads would be its
LOOP = {"max_tokens": 16, "min_tokens": 12, "every": 1}  # the plain loop is slow: shorter texts, and one batch of four


def run(data: Path, work: Path) -> dict[str, Any]:
    stages = table3.TABLE.stages(split("ag_news", 2), 0, data, work.parent)  # Table 3's teachers
    folder = stages.teacher_folders("shared")[0]
    teacher = read_teacher_info(HuggingFaceSpec(model=str(folder)), folder.name).load(
        Reading(max_length=SMALL.max_length, device=device())
    )
    found = {}
    for name, change in CHANGES.items():
        writer = Writer(GenerationOptions.model_validate(GENERATION | change), device())
        begun, texts = time.perf_counter(), []
        for n, label in enumerate(teacher.info.labels):
            texts += writer.write(teacher, label, FEWER.get(name, TEXTS), seed=n)
        seconds = time.perf_counter() - begun
        found[name] = text_quality(texts) | {
            "seconds_per_text": round(seconds / len(texts), 3),
            "reads_per_text": round(writer.reads / len(texts)),
        }
        log_line(f"{name}: {found[name]}")
    return {
        "generation": GENERATION,
        "settings": found,
        "loop": _loop(teacher),
    }


def _loop(teacher: HuggingFaceTeacher) -> dict[str, Any]:
    """The same four texts written by batches, and with every candidate read by itself."""
    options = GenerationOptions.model_validate(GENERATION | LOOP)
    seconds, texts = {}, {}
    for way in ("batched", "one at a time"):
        writer = Writer(options, device())
        begun = time.perf_counter()
        texts[way] = [
            t.text
            for t in (writer.write if way == "batched" else _one_by_one(writer))(teacher, teacher.info.labels[0], 4, 0)
        ]
        seconds[way] = round(time.perf_counter() - begun, 2)
    same = sum(a == b for a, b in zip(*texts.values(), strict=True))
    return {"seconds": seconds, "ratio": round(seconds["one at a time"] / seconds["batched"], 1), "same_texts": same}


def _one_by_one(writer: Writer) -> Any:
    """`write` with a judge that reads one text per call."""
    from alloykit.generation import writer as module

    def write(teacher: HuggingFaceTeacher, label: str, n: int, seed: int) -> Any:
        whole = module.log_probabilities
        module.log_probabilities = lambda t, texts: torch.cat([whole(t, [text]) for text in texts])
        try:
            return writer.write(teacher, label, n, seed)
        finally:
            module.log_probabilities = whole

    return write


TABLE = Measurement("generator", "the steerable generator: control, diversity, time", run, "stratanet")
