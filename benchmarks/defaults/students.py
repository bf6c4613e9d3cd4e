"""One student of a grid: trained by alloykit's own training, then asked about the test texts."""

from __future__ import annotations

import copy
import json
import shutil
import time
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from alloykit.blocks import ModelSpec
from alloykit.data import Texts
from alloykit.methods.protocol import Context, Method, Step
from alloykit.models.loading import load_tokenizer
from alloykit.models.tokens import encode, pad
from alloykit.outputs import Source
from alloykit.run_folder.run_folder import RunFolder
from alloykit.serving.predictor import Predictor
from alloykit.stages.prepared import Prepared
from alloykit.stages.train_student import train_student
from alloykit.stats.temperature import fit_temperature
from alloykit.training.dataset import held_out_size, split_held_out
from alloykit.training.schedule import Schedule, with_defaults
from benchmarks.defaults.world import World

WATCHED = 300  # test texts that are asked about at every check
PART = 64


def student(
    world: World, size: int, layers: int, training: dict[str, Any], *, watch: bool = False, encoder: str = ""
) -> dict[str, Any]:
    """Train one and return how good it is. `watch`: also how good it was at every check, and its held-out texts' losses.
    `encoder`: see `World.model`."""
    prepared, source, context = world.known(size)
    begun = time.perf_counter()
    folder = world.folder / "run"
    shutil.rmtree(folder, ignore_errors=True)  # a killed run begins anew: it takes a minute
    folder.mkdir(parents=True)
    model = world.model(encoder)
    width = json.loads((model / "config.json").read_text(encoding="utf-8"))["hidden_size"]
    recipe = world.recipe(size, {"model": str(model), "layers": layers}, training, folder)
    n = size - held_out_size(size, recipe.training.held_out)
    recipe = recipe.model_copy(update={"training": with_defaults(recipe.training, n, len(world.labels), layers, width)})
    prepared = replace(prepared, recipe=recipe)
    seen: list[dict[str, Any]] = []
    if watch:
        prepared = replace(prepared, method=watched(prepared, world, source, context, seen))
    train_student(prepared, RunFolder(folder), source, context, None)
    took = time.perf_counter() - begun
    found = RunFolder(folder).training
    checks = [e for e in found["history"] if "eval_criterion" in e]
    answers = _answers(Predictor.load(folder / "student", world.about.tokens), world.test)
    targets, labels = world.targets(size), prepared.labels(world.test)
    _, held = split_held_out(size, recipe.training.held_out, recipe.training.seed)
    about = prepared.method.supervise(source.rows(held.tolist()), context)
    assert about is not None
    own = _answers(Predictor.load(folder / "student", world.about.tokens), _some(prepared.texts, held))
    shutil.rmtree(folder)
    return {
        **_scores(answers, targets, labels),
        "steps": found["steps"],
        "selected_step": found["selected_step"],
        "learning_rate": recipe.training.learning_rate,
        "epochs": recipe.training.epochs,
        "tolerance": recipe.training.tolerance,
        "checks": [[e["step"], round(e["eval_criterion"], 5), round(e["eval_standard_error"], 5)] for e in checks],
        "temperature": round(fit_temperature(own, about.targets, about.weights.double()), 3),
        "held_out": {
            "texts": len(held),
            "agreement": _agreement(own, about.targets),
            "confidence": round(float(own.max(-1).values.mean()), 4),
            "target_confidence": round(float(about.targets.max(-1).values.mean()), 4),
        },
        "losses": _losses(found["history"]),
        "seconds": round(took, 1),
    } | ({"seen": seen} if watch else {})


def watched(prepared: Prepared, world: World, source: Source, context: Context, seen: list[dict[str, Any]]) -> Method:
    """The same method, which at every check also notes the held-out texts' losses and the answers to some test texts."""
    recipe = prepared.recipe
    options, n = recipe.training, len(prepared.texts)
    positions, held = split_held_out(n, options.held_out, options.seed)
    every = Schedule.of(len(positions), options).every
    total = Schedule.of(len(positions), options).total
    tokenizer = load_tokenizer(ModelSpec(model=str(world.encoder)))
    tests = world.test.table.select(list(range(min(WATCHED, len(world.test)))))
    own = prepared.texts.table.select(held.tolist())
    asked = [_encoded(tokenizer, part, world) for part in (own, tests)]
    target = prepared.method.supervise(source.rows(held.tolist()), context)
    assert target is not None
    labels = prepared.labels(world.test)[: len(tests)]

    def look(step: Step) -> None:
        look.steps += 1  # type: ignore[attr-defined]
        if look.steps % every and look.steps != total:  # type: ignore[attr-defined]
            return
        logits = [_logits(step, tokenizer, part) for part in asked]
        log = logits[0].double().log_softmax(-1)
        p = target.targets.double()
        losses = target.weights.double() * (torch.special.xlogy(p, p) - p * log).sum(-1)
        right = float((logits[1].argmax(-1) == labels).double().mean())
        seen.append({"step": look.steps, "right": right, "losses": [float(f"{v:.4g}") for v in losses.tolist()]})  # type: ignore[attr-defined]

    look.steps = 0  # type: ignore[attr-defined]
    kind = type(prepared.method)
    found = copy.copy(prepared.method)
    found.__class__ = type(kind.__name__, (kind,), {"after_step": lambda self, step: look(step)})
    return found


def _logits(step: Step, tokenizer: Any, encodings: list[Any]) -> Tensor:
    parts = [step.eval_logits(pad(tokenizer, encodings[i : i + PART])) for i in range(0, len(encodings), PART)]
    return torch.cat(parts)


def _encoded(tokenizer: Any, table: Any, world: World) -> list[Any]:
    pairs = list(table["text_pair"]) if world.about.pairs else None
    return list(encode(tokenizer, list(table["text"]), pairs, world.about.tokens))


def _some(texts: Texts, at: np.ndarray[Any, Any]) -> Texts:
    return Texts(texts.table.select(at.tolist()), texts.dropped, texts.total)


def _answers(classifier: Predictor, texts: Texts) -> Tensor:
    pairs = list(texts.table["text_pair"]) if texts.is_pair else None
    return classifier.probabilities(texts.table["text"], pairs, calibrated=False)


def _scores(answers: Tensor, targets: Tensor, labels: Tensor) -> dict[str, float]:
    """Shares of the test texts: right, right in the mean over labels, and the same as the target; and how often the target is right."""
    found = {"accuracy": _balanced(answers, labels, even=False), "balanced_accuracy": _balanced(answers, labels)}
    found |= {"routing": _balanced(targets, labels, even=False), "balanced_routing": _balanced(targets, labels)}
    return found | {"agreement": _agreement(answers, targets)}


def _balanced(answers: Tensor, labels: Tensor, *, even: bool = True) -> float:
    right = (answers.argmax(-1) == labels).double()
    each = [right[labels == label].mean() for label in labels.unique()] if even else [right.mean()]
    return round(float(torch.stack(each).mean()), 4)


def _agreement(answers: Tensor, targets: Tensor) -> float:
    return round(float((answers.argmax(-1) == targets.argmax(-1)).double().mean()), 4)


def _losses(history: list[dict[str, Any]]) -> list[float]:
    """Means of the training loss over ten equal parts of the training."""
    values = [e["loss"] for e in history if "loss" in e]
    return [round(float(np.mean(part)), 5) for part in np.array_split(values, min(10, len(values)))]
