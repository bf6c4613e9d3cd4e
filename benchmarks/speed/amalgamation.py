"""(b) A whole amalgamation against the papers' procedure written by hand, at equal accuracy, and what each idea contributes."""

from __future__ import annotations

import shutil
import statistics
import time
from pathlib import Path
from typing import Any

import torch

from alloykit.knowledge.store.reader import StoredKnowledge
from alloykit.labels import LabelSpace
from alloykit.planning.plan_run import plan_recipe
from alloykit.progress import log_line, set_quiet
from alloykit.recipe.read_recipe import parse
from alloykit.recipe.recipe import Recipe
from alloykit.recipe.teacher_recipes import TeachRecipe
from alloykit.serving.predictor import Predictor
from alloykit.stages.amalgamation import run_recipe
from alloykit.stages.prepare import prepare
from alloykit.teaching.teach_recipes import teach_recipe
from alloykit.training.dataset import Collator, tokenize
from alloykit.training.sampler import LengthSampler
from alloykit.training.student import build_student
from alloykit.training.training_options import StudentSpec
from benchmarks.harness.data import read
from benchmarks.harness.sets import AG_NEWS
from benchmarks.speed import by_hand
from benchmarks.speed.ladder import ladder
from benchmarks.speed.measure import Measurement, in_turns

TEXTS, TEST, LENGTH, SEEDS = 600, 1000, 128, (0, 1, 2)
ENCODER = {"model": "bundled:minilm", "layers": 3, "keep": "even"}
GROUPS = AG_NEWS.split(2)
SPACE = LabelSpace.union(GROUPS, teacher_names=["1", "2"])


def run(data: Path, work: Path) -> dict[str, Any]:
    folder = work / "amalgamation"
    teachers = [teacher(data, folder / f"teacher{i}", labels) for i, labels in enumerate(GROUPS)]
    texts = list(read(data / AG_NEWS.name / "train.parquet")[:TEXTS]["text"])
    ways: dict[str, list[dict[str, float]]] = {}
    for seed in SEEDS:
        if seed == SEEDS[0]:  # the same computation as the next, but for padding: once is enough
            ways["by hand, padded to 128"] = [_by_hand(data, teachers, texts, seed, LENGTH)]
            ways["alloykit, K = 16, float32"] = [_ours(data, folder, teachers, seed, 16, "float32")]
        for name, do in {
            "by hand, padded to each batch's longest": lambda s=seed: _by_hand(data, teachers, texts, s, None),
            "alloykit, K = 16": lambda s=seed: _ours(data, folder, teachers, s, 16),
        }.items():
            ways.setdefault(name, []).append(do())
            log_line(f"{name}, seed {seed}: {ways[name][-1]}")
    first = {name: found[0]["seconds"] for name, found in ways.items()}
    slow, better = (name for name in first if name.startswith("by hand"))
    ours = ["alloykit, K = 16", "alloykit, K = 16, float32"]
    predicted = plan_recipe(_recipe(data, folder, teachers, 0, 16))["seconds"]
    real = ways[ours[0]][0]
    return {
        "settings": {"texts": TEXTS, "test": TEST, "length": LENGTH, "encoder": ENCODER, "passes": by_hand.PASSES},
        "ways": ways,
        "ratios": {f"{hand} / {mine}": round(first[hand] / first[mine], 2) for hand in (slow, better) for mine in ours},
        "accuracy": {
            name: {"mean": statistics.mean(a := [x["accuracy"] for x in found]), "spread": [min(a), max(a)]}
            for name, found in ways.items()
        },
        "collator": _collator(_recipe(data, folder, teachers, 0, 16), real["training"]),
        "ladder": ladder(teachers, texts, ENCODER, SPACE),
        "plan": {
            "predicted": predicted,
            "measured": {"sweep": real["sweep"], "training": real["training"]},
        },
    }


def teacher(data: Path, folder: Path, labels: list[str]) -> Path:
    source = {
        "path": str(data / AG_NEWS.name / "train.parquet"),
        "label": "label",
        "label_names": list(AG_NEWS.labels),
        "limit": 1500,
    }
    training = {"epochs": 3, "learning_rate": 2e-4, "batch_size": 32, "select": "last", "held_out": 0.0}
    values = {"model": ENCODER, "data": source, "labels": labels, "training": training, "output": str(folder)}
    return teach_recipe(parse(values, TeachRecipe))


def _by_hand(data: Path, teachers: list[Path], texts: list[str], seed: int, pad_to: int | None) -> dict[str, float]:
    begun = time.perf_counter()
    student, tokenizer = build_student(StudentSpec.model_validate(ENCODER), SPACE, seed)
    done = by_hand.amalgamate(teachers, texts, student, tokenizer, pad_to=pad_to, longest=LENGTH, seed=seed)
    seconds = time.perf_counter() - begun
    return {
        "seconds": round(seconds, 1),
        "sweep": round(done.passes_seconds, 1),
        "training": round(done.training_seconds, 1),
        "accuracy": accuracy(data, Predictor(student, tokenizer, LENGTH)),
    }


def _ours(
    data: Path, folder: Path, teachers: list[Path], seed: int, passes: int, precision: str = "auto"
) -> dict[str, float]:
    recipe = _recipe(data, folder, teachers, seed, passes, precision)
    shutil.rmtree(recipe.output, ignore_errors=True)
    set_quiet(True)
    begun = time.perf_counter()
    done = run_recipe(recipe)  # from nothing to the written report
    seconds = time.perf_counter() - begun
    set_quiet(False)
    parts = done.metrics["seconds"]
    return {
        "seconds": round(seconds, 1),
        "sweep": round(sum(parts["sweep"].values()), 1),
        "training": parts["training"],
        "accuracy": accuracy(data, Predictor.load(done.student, LENGTH)),
    }


def _recipe(data: Path, folder: Path, teachers: list[Path], seed: int, passes: int, precision: str = "auto") -> Recipe:
    training = {
        "epochs": by_hand.EPOCHS,
        "learning_rate": by_hand.RATE,
        "batch_size": by_hand.BATCH,
        "select": "last",
        "held_out": 0.0,
        "seed": seed,
        "precision": precision,
    }
    values = {
        "teachers": [str(t) for t in teachers],
        "texts": {"path": str(data / AG_NEWS.name / "train.parquet"), "limit": TEXTS},
        "student": ENCODER,
        "method": {"name": "muka", "passes": passes},
        "training": training,
        "inference": {"seed": seed, "precision": precision},
        "output": str(folder / f"run-{passes}"),
    }
    return parse(values, Recipe)


def _collator(recipe: Recipe, training: float) -> dict[str, float]:
    """Milliseconds to read and pad a batch and to add the teachers' outputs, and the share of a training step."""
    prepared = prepare(recipe)
    source = StoredKnowledge(prepared.store(), prepared.names, prepared.texts.ids(), passes=by_hand.PASSES)
    _, tokenizer = build_student(StudentSpec.model_validate(ENCODER), SPACE, 0)
    dataset = tokenize(prepared.texts, tokenizer, LENGTH)
    order = list(LengthSampler(dataset.lengths, by_hand.BATCH, 0))
    batches = [order[i : i + by_hand.BATCH] for i in range(0, len(order), by_hand.BATCH)]
    collate = Collator(tokenizer, source)
    times = in_turns({"collate": lambda: [collate([dataset[i] for i in rows]) for rows in batches]}, 5)["collate"]
    batch = min(times) / len(batches)
    return {
        "milliseconds": round(1000 * batch, 2),
        "of_a_step": round(batch * len(batches) * by_hand.EPOCHS / training, 4),
    }


def accuracy(data: Path, classifier: Predictor) -> float:
    test = read(data / AG_NEWS.name / "test.parquet").shuffle(seed=0).select(range(TEST))
    names = [AG_NEWS.labels[i] for i in test["label"]]
    set_quiet(True)
    predicted = classifier.probabilities(list(test["text"])).argmax(-1)
    set_quiet(False)
    right = torch.tensor([classifier.labels[int(p)] == name for p, name in zip(predicted, names, strict=True)])
    return round(float(right.double().mean()), 4)


TABLE = Measurement("amalgamation", "a whole amalgamation against the same written by hand", run)
