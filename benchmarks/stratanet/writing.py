"""CPU seconds for each text that SmolLM2 writes: what each part of the generator's speed gains. 5Abstracts' second teacher, one class."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from transformers import TopPLogitsWarper

from alloykit.generation import writer as module
from alloykit.generation.generation_options import GenerationOptions
from alloykit.generation.writer import TOKENS_PER_BATCH, Writer
from alloykit.progress import log_line
from alloykit.teachers.hugging_face import HuggingFaceSpec, HuggingFaceTeacher, read_teacher_info
from alloykit.teachers.protocol import Reading
from benchmarks.harness.profiles import SMALL
from benchmarks.harness.settings import split
from benchmarks.speed.measure import Measurement, device
from benchmarks.stratanet import table3
from benchmarks.stratanet.fig5 import PROMPTS
from benchmarks.stratanet.smollm2 import asked

TEXTS = 16
SORTED = "sorted"  # nucleus sampling that sorts the whole vocabulary, as transformers does
PLAIN: dict[str, Any] = {"precision": "float32", "candidates_top_p": 1.0, SORTED: True}
STEPS: dict[str, tuple[str, dict[str, Any]]] = {  # what differs from the setting of the tables
    "steered: as before": ("teacher", PLAIN),
    "steered: nucleus without a sort": ("teacher", PLAIN | {SORTED: False}),
    "steered: and bfloat16": ("teacher", PLAIN | {SORTED: False, "precision": "bfloat16"}),
    "steered: and candidates of the nucleus only": ("teacher", {}),
    "not steered: as before": ("none", PLAIN),
    "not steered": ("none", {}),
    "prompted": ("prompt", {}),
    "prompted and steered": ("both", {}),
}


def run(data: Path, work: Path) -> dict[str, Any]:
    stages = table3.TABLE.stages(split("abstracts5", 2), 0, data, work.parent)
    folder = stages.teacher_folders("shared")[1]
    teacher = read_teacher_info(HuggingFaceSpec(model=str(folder)), folder.name).load(Reading(max_length=SMALL.max_length, device=device(), tokens_per_batch=TOKENS_PER_BATCH))  # fmt: skip
    found = {}
    for title, (way, change) in STEPS.items():
        found[title] = _measured(teacher, asked(way, PROMPTS["abstracts5"], 3.0) | change)
        log_line(f"{title}: {found[title]}")
    return {"texts": TEXTS, "settings": found}


def _measured(teacher: HuggingFaceTeacher, options: dict[str, Any]) -> dict[str, Any]:
    is_sorted = options.pop(SORTED, False)
    writer, sampling = Writer(GenerationOptions.model_validate(options), device()), module.Sampling
    if is_sorted:
        module.Sampling = lambda temperature, top_k, top_p: TopPLogitsWarper(top_p)
    try:
        wall, begun = time.perf_counter(), time.process_time()
        writer.write(teacher, teacher.info.labels[0], TEXTS, seed=0)
        used, passed = time.process_time() - begun, time.perf_counter() - wall
    finally:
        module.Sampling = sampling
    return {
        "cpu_seconds_per_text": round(used / TEXTS, 3),
        "seconds_per_text": round(passed / TEXTS, 3),
        "reads_per_text": round(writer.reads / TEXTS),
    }


TABLE = Measurement("writing", "CPU seconds for each text of SmolLM2, by what makes it faster", run, "stratanet")
