"""γ for SmolLM2, chosen on 5Abstracts' classes: no student of its texts is trained on that set with this γ.

The rule: of the values whose perplexity is at most 1.5 times that of the same way without a teacher, the one with the highest control; of
equal ones the smaller.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from alloykit.generation.generation_options import GenerationOptions
from alloykit.generation.quality import text_quality
from alloykit.generation.writer import TOKENS_PER_BATCH, Writer
from alloykit.progress import log_line
from alloykit.teachers.hugging_face import HuggingFaceSpec, HuggingFaceTeacher, read_teacher_info
from alloykit.teachers.protocol import Reading
from benchmarks.harness.profiles import SMALL
from benchmarks.harness.settings import split
from benchmarks.speed.measure import Measurement, device
from benchmarks.stratanet import table3
from benchmarks.stratanet.fig5 import PROMPTS
from benchmarks.stratanet.smollm2 import WAYS, asked

SET = "abstracts5"
EACH = 12  # texts of each class
STRENGTHS = (1.0, 3.0, 10.0)
WITHOUT = {"teacher": "none", "both": "prompt"}  # the same way without a teacher
MOST = 1.5  # times its perplexity


def run(data: Path, work: Path) -> dict[str, Any]:
    stages = table3.TABLE.stages(split(SET, 2), 0, data, work.parent)
    teachers = [
        read_teacher_info(HuggingFaceSpec(model=str(folder)), folder.name).load(Reading(max_length=SMALL.max_length, device=device(), tokens_per_batch=TOKENS_PER_BATCH))
        for folder in stages.teacher_folders("shared")
    ]  # fmt: skip
    found: dict[str, Any] = {}
    for way in WAYS:
        for strength in STRENGTHS if way in WITHOUT else (0.0,):
            found[name(way, strength)] = _written(teachers, asked(way, PROMPTS[SET], strength))
            log_line(f"{name(way, strength)}: {found[name(way, strength)]}")
    return {"settings": found, "chosen": {way: chosen(found, way) for way in WITHOUT}, "most": MOST}


def name(way: str, strength: float) -> str:
    return f"{WAYS[way]}, γ = {strength:g}" if way in WITHOUT else WAYS[way]


def chosen(found: dict[str, Any], way: str) -> float:
    """The γ that the rule chooses."""
    most = MOST * found[name(WITHOUT[way], 0.0)]["perplexity"]
    allowed = [s for s in STRENGTHS if found[name(way, s)]["perplexity"] <= most] or [min(STRENGTHS)]
    return max(allowed, key=lambda s: (found[name(way, s)]["control"], -s))


def _written(teachers: list[HuggingFaceTeacher], options: dict[str, Any]) -> dict[str, Any]:
    """Quality of the texts of all classes, and CPU seconds and reads for each text."""
    writer = Writer(GenerationOptions.model_validate(options), device())
    begun, texts = time.process_time(), []
    for teacher in teachers:
        for n, label in enumerate(teacher.info.labels):
            texts += writer.write(teacher, label, EACH, seed=n)
    seconds = time.process_time() - begun
    return text_quality(texts) | {
        "cpu_seconds_per_text": round(seconds / len(texts), 3),
        "reads_per_text": round(writer.reads / len(texts)),
    }


TABLE = Measurement("strength", "γ for SmolLM2 by control and perplexity, on 5Abstracts' classes", run, "stratanet")
