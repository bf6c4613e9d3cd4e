"""int8 teachers on a CPU: how fast, and how far their answers are from float32's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from alloykit.data import load_texts
from alloykit.knowledge.compute import Budget, plain_pass
from alloykit.knowledge.sampling import ByteDropout
from alloykit.progress import say
from alloykit.teachers.numbers import Numbers
from alloykit.teachers.teacher import Teacher, TeacherSpec, describe
from alloykit.uncertainty.entropy import confidence
from benchmarks.harness.data import AG_NEWS
from benchmarks.harness.profiles import SMALL
from benchmarks.harness.stages import Stages
from benchmarks.speed.measure import Measurement, in_turns, ratio

Times = dict[str, list[float]]
TEXTS, TIMED, ROUNDS = 2000, 128, 5


def run(data: Path, work: Path) -> dict[str, Any]:
    folders = Stages(data, work.parent, AG_NEWS, SMALL, 0).teacher_folders("shared")
    texts = load_texts(str(data / AG_NEWS.name / "test.parquet"), limit=TEXTS).table["text"]
    found = {}
    for folder in folders:
        info = describe(TeacherSpec(model=str(folder)), folder.name)
        both = {n.name: Teacher.load(info, numbers=n) for n in (Numbers(), Numbers(int8=True))}
        p = {}
        for name, teacher in both.items():
            logits = plain_pass(teacher, teacher.encode(texts), Budget(4096), lambda n: None)
            p[name] = logits.softmax(-1)
        plain, passes = _times(both, sorted(texts, key=len)[len(texts) // 2 :][:TIMED])
        a, b = p["float32"], p["int8"]
        found[folder.name] = {
            "same_label": round(float((a.argmax(-1) == b.argmax(-1)).double().mean()), 4),
            "mean_probability_difference": round(float((a - b).abs().mean()), 5),
            "largest_probability_difference": round(float((a - b).abs().max()), 4),
            "mean_confidence_difference": round(float((confidence(a) - confidence(b)).abs().mean()), 5),
            "speed_of_plain_pass": ratio(plain, "float32", "int8"),
            "speed_of_monte_carlo_pass": ratio(passes, "float32", "int8"),
        }
        say(f"{folder.name}: {found[folder.name]}")
    return {"texts": TEXTS, "teachers": found}


def _times(both: dict[str, Teacher], texts: list[str]) -> tuple[Times, Times]:
    """Of a plain and of a Monte-Carlo pass, in each format."""
    batch, sampler = both["float32"].batch(both["float32"].encode(texts)), ByteDropout()
    with torch.inference_mode():
        plain = in_turns({n: lambda t=t: t.model(**batch) for n, t in both.items()}, ROUNDS)
        passes = in_turns({n: lambda t=t: sampler.sample(t.model, batch, 1) for n, t in both.items()}, ROUNDS)
    return plain, passes


TABLE = Measurement("int8", "int8 teachers: speed and agreement", run)
