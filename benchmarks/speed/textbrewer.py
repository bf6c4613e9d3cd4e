"""TextBrewer's multi-teacher distiller against `distill`, on TextBrewer's task: several teachers of one task, and labels.

Both have the same texts, teachers, first student, epochs, batch size, rate, temperature and shares of the losses. TextBrewer averages the
teachers' logits, `u_ensemble` their probabilities. Batches are padded to their longest text; TextBrewer's examples pad to the full length,
which takes longer. TextBrewer is measured as it is by default, which asks the teachers in every step, and with its cache of logits, which keeps the
batches of the first epoch. One thread; CPU seconds, because other programs run on this machine. Needs the package textbrewer.
"""

from __future__ import annotations

import json
import math
import os
import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer, get_linear_schedule_with_warmup

from alloykit.json_files import write_json
from alloykit.labels import LabelSpace
from alloykit.progress import log_line, set_quiet
from alloykit.recipe.read_recipe import parse
from alloykit.recipe.recipe import DistillRecipe
from alloykit.recipe.teacher_recipes import TeachRecipe
from alloykit.serving.predictor import Predictor
from alloykit.stages.distillation import distill_recipe
from alloykit.teaching.teach_recipes import teach_recipe
from alloykit.training.student import build_student
from alloykit.training.training_options import StudentSpec
from benchmarks.harness.data import read
from benchmarks.harness.sets import AG_NEWS
from benchmarks.speed.measure import Measurement

TEACHERS, TEACHER_TEXTS, TEXTS, TEST, LENGTH, SEEDS = 3, 400, 512, 500, 128, (0,)
BATCH, EPOCHS, RATE, ALPHA, TEMPERATURE = 32, 3, 2e-4, 0.5, 2.0
STUDENT = {"model": "bundled:minilm", "layers": 3, "keep": "even"}
SPACE = LabelSpace.union([list(AG_NEWS.labels)], teacher_names=["1"])


def run(data: Path, work: Path) -> dict[str, Any]:
    torch.set_num_threads(1)
    folder = work / "textbrewer"
    teachers = [_teacher(data, folder / f"teacher{n}", n) for n in range(TEACHERS)]
    texts = read(data / AG_NEWS.name / "train.parquet").select(range(TEXTS))
    ways: dict[str, list[dict[str, float]]] = {}
    for seed in SEEDS:
        for name, do in {
            "TextBrewer": lambda s=seed: _textbrewer(teachers, texts, s, folder, cached=False),
            "TextBrewer, logits cached": lambda s=seed: _textbrewer(teachers, texts, s, folder, cached=True),
            "alloykit, float32": lambda s=seed: _ours(data, teachers, s, folder, "float32"),
            "alloykit": lambda s=seed: _ours(data, teachers, s, folder, "auto"),
        }.items():
            kept = folder / f"{name}-{seed}.json"  # a run that was stopped goes on with the next way
            if not kept.exists():
                write_json(kept, _measured(data, do))
            ways.setdefault(name, []).append(json.loads(kept.read_text()))
            log_line(f"{name}, seed {seed}: {ways[name][-1]}")
    cpu = {name: sum(f["cpu_seconds"] for f in found) / len(found) for name, found in ways.items()}
    settings = {
        "teachers": TEACHERS, "texts": TEXTS, "test": TEST, "length": LENGTH, "epochs": EPOCHS, "batch": BATCH, "alpha": ALPHA,
        "temperature": TEMPERATURE, "student": STUDENT, "textbrewer": _version(),
    }  # fmt: skip
    ratios = {
        f"{theirs} / {mine}": round(cpu[theirs] / cpu[mine], 2)
        for theirs in ("TextBrewer", "TextBrewer, logits cached")
        for mine in ("alloykit", "alloykit, float32")
    }
    for kept in folder.glob("*.json"):
        kept.unlink()
    return {"settings": settings, "ways": ways, "ratios": ratios}


def _version() -> str:
    from importlib.metadata import version

    return version("textbrewer")


def _teacher(data: Path, folder: Path, seed: int) -> Path:
    source = {
        "path": str(data / AG_NEWS.name / "validation.parquet"),
        "label": "label",
        "label_names": list(AG_NEWS.labels),
        "limit": TEACHER_TEXTS,
    }
    training = {"epochs": 2, "learning_rate": 2e-4, "select": "last", "held_out": 0.0, "seed": seed}
    values = {"model": {"model": "bundled:minilm"}, "data": source, "training": training, "output": str(folder)}
    return teach_recipe(parse(values, TeachRecipe))


def _measured(data: Path, do: Callable[[], tuple[Any, Any]]) -> dict[str, float]:
    """Time from the teachers' folders to the trained student, and its accuracy."""
    set_quiet(True)
    begun, cpu = time.perf_counter(), time.process_time()
    student, tokenizer = do()
    seconds, cpu = time.perf_counter() - begun, time.process_time() - cpu
    classifier = Predictor(student.eval(), tokenizer, LENGTH)
    test = read(data / AG_NEWS.name / "test.parquet").shuffle(seed=0).select(range(TEST))
    predicted = classifier.probabilities(list(test["text"])).argmax(-1).tolist()
    set_quiet(False)
    right = sum(classifier.labels[p] == AG_NEWS.labels[y] for p, y in zip(predicted, test["label"], strict=True))
    return {"cpu_seconds": round(cpu, 1), "seconds": round(seconds, 1), "accuracy": round(right / TEST, 4)}


def _ours(data: Path, teachers: list[Path], seed: int, folder: Path, precision: str) -> tuple[Any, Any]:
    shutil.rmtree(folder / "run", ignore_errors=True)
    values = {
        "teachers": [str(teacher) for teacher in teachers],
        "texts": {
            "path": str(data / AG_NEWS.name / "train.parquet"),
            "label": "label",
            "label_names": list(AG_NEWS.labels),
            "limit": TEXTS,
        },
        "student": STUDENT,
        "method": {"name": "u_ensemble", "alpha": ALPHA, "temperature": TEMPERATURE},
        "training": {
            "epochs": EPOCHS, "learning_rate": RATE, "batch_size": BATCH, "max_length": LENGTH, "select": "last", "held_out": 0.0, "seed": seed,
            "precision": precision,
        },
        "inference": {"precision": precision},
        "output": str(folder / "run"),
    }  # fmt: skip
    done = distill_recipe(parse(values, DistillRecipe))
    student = AutoModelForSequenceClassification.from_pretrained(done.student)
    return student, AutoTokenizer.from_pretrained(done.student)


def _textbrewer(teachers: list[Path], texts: Any, seed: int, folder: Path, *, cached: bool) -> tuple[Any, Any]:
    from textbrewer import DistillationConfig, MultiTeacherDistiller, TrainingConfig

    random.seed(seed)
    torch.manual_seed(seed)
    models = [AutoModelForSequenceClassification.from_pretrained(teacher) for teacher in teachers]
    student, tokenizer = build_student(StudentSpec.model_validate(STUDENT), SPACE, seed)

    def collate(rows: list[dict[str, Any]]) -> dict[str, Any]:
        batch = tokenizer(
            [row["text"] for row in rows], truncation=True, max_length=LENGTH, padding=True, return_tensors="pt"
        )
        return dict(batch) | {"labels": torch.tensor([row["label"] for row in rows])}

    loader = torch.utils.data.DataLoader(texts, BATCH, shuffle=True, collate_fn=collate)
    steps = math.ceil(len(texts) / BATCH) * EPOCHS
    distiller = MultiTeacherDistiller(
        TrainingConfig(device="cpu", output_dir=str(folder / "textbrewer"), ckpt_epoch_frequency=EPOCHS),
        DistillationConfig(
            temperature=TEMPERATURE,
            kd_loss_weight=ALPHA * TEMPERATURE**2,
            hard_label_weight=1 - ALPHA,
            is_caching_logits=cached,
        ),
        models,
        student,
        lambda batch, out: {"logits": out.logits},
        lambda batch, out: {"logits": out.logits, "losses": out.loss},
    )
    os.makedirs(folder / "textbrewer", exist_ok=True)
    with distiller:
        distiller.train(
            torch.optim.AdamW(student.parameters(), lr=RATE, weight_decay=0.01),
            loader,
            EPOCHS,
            scheduler_class=get_linear_schedule_with_warmup,
            scheduler_args={"num_warmup_steps": math.ceil(0.1 * steps), "num_training_steps": steps},
            max_grad_norm=1.0,
        )
    return student, tokenizer


TABLE = Measurement("textbrewer", "TextBrewer's multi-teacher distiller against `distill`", run)
