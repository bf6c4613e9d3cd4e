"""Teachers in bfloat16 and in int8: speed, and agreement with float32."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from alloykit.data import load_texts
from alloykit.models.compute_format import ComputeFormat
from alloykit.progress import log_line
from alloykit.stats.entropy import confidence
from alloykit.teachers.forward import Budget, plain_pass
from alloykit.teachers.hugging_face import HuggingFaceSpec, HuggingFaceTeacher, read_teacher_info
from alloykit.teachers.mc_dropout import ByteDropout, StockDropout
from alloykit.teachers.protocol import Reading
from benchmarks.harness.profiles import SMALL
from benchmarks.harness.sets import AG_NEWS
from benchmarks.harness.settings import split
from benchmarks.harness.stages import Stages
from benchmarks.speed.measure import Measurement, device, in_turns, ratio

Times = dict[str, list[float]]
TEXTS, TIMED, ROUNDS = 2000, 128, 5
FORMATS = [ComputeFormat(), ComputeFormat("bfloat16")] + ([ComputeFormat(int8=True)] if device() == "cpu" else [])


def run(data: Path, work: Path) -> dict[str, Any]:
    folders = Stages(data, work.parent, split(AG_NEWS.name, 2), SMALL, 0).teacher_folders("shared")
    texts = load_texts(str(data / AG_NEWS.name / "test.parquet"), limit=TEXTS).table["text"]
    found = {}
    for folder in folders:
        info = read_teacher_info(HuggingFaceSpec(model=str(folder)), folder.name)
        each = {n.name: info.load(Reading(device=device(), compute_format=n)) for n in FORMATS}
        p = {}
        for name, teacher in each.items():
            logits = plain_pass(teacher, teacher.encode(texts), Budget(4096), lambda n: None)
            p[name] = logits.softmax(-1)
        plain, passes = _times(each, sorted(texts, key=len)[len(texts) // 2 :][:TIMED])
        found[folder.name] = {
            name: _agreement(p["float32"], p[name])
            | {
                "speed_of_plain_pass": ratio(plain, "float32", name),
                "speed_of_monte_carlo_pass": ratio(passes, "float32", name),
            }
            for name in list(each)[1:]
        }
        log_line(f"{folder.name}: {found[folder.name]}")
    return {"texts": TEXTS, "teachers": found}


def _agreement(exact: Tensor, other: Tensor) -> dict[str, float]:
    """Of probabilities, [n, C_i] each."""
    return {
        "same_label": round(float((exact.argmax(-1) == other.argmax(-1)).double().mean()), 4),
        "mean_probability_difference": round(float((exact - other).abs().mean()), 5),
        "largest_probability_difference": round(float((exact - other).abs().max()), 4),
        "mean_confidence_difference": round(float((confidence(exact) - confidence(other)).abs().mean()), 5),
    }


def _times(each: dict[str, HuggingFaceTeacher], texts: list[str]) -> tuple[Times, Times]:
    """Of a plain and of a Monte-Carlo pass, in each format."""
    batch = each["float32"].batch(each["float32"].encode(texts))
    sampler = ByteDropout() if device() == "cpu" else StockDropout()
    with torch.inference_mode():
        plain = in_turns({n: lambda t=t: t.model(**batch) for n, t in each.items()}, ROUNDS)
        passes = in_turns({n: lambda t=t: sampler.sample(t.model, batch, 1) for n, t in each.items()}, ROUNDS)
    return plain, passes


TABLE = Measurement("formats", "bfloat16 and int8 teachers: speed and agreement", run)
