"""What would run: labels, passes, bytes, time. Loads no weights and writes nothing."""

from __future__ import annotations

import math
import time
from typing import Any

import torch

from alloykit.jobs.prepare import Prepared, check_labelled, describe_encoder, prepare
from alloykit.knowledge.store import CHUNK
from alloykit.knowledge.sweep import bytes_needed
from alloykit.methods.base import Context
from alloykit.recipe import Recipe
from alloykit.teachers.teacher import TeacherSpec

SAMPLE = 256  # texts whose length stands for all
CHARACTERS_PER_TOKEN = 4.0
EFFICIENCY = 0.5  # of the rate of large matrix products, for the small ones of an encoder
DROPOUT_COST = 2.0  # a Monte-Carlo pass against a plain one, on a CPU


def plan(recipe: Recipe) -> dict[str, Any]:
    """Label space, reads, bytes on disk and a rough time (from the machine's rate of matrix products, good to a factor
    of two or three). AlloyError for everything that `amalgamate` would refuse before it starts."""
    prepared = prepare(recipe)
    check_labelled(prepared)
    return describe_plan(prepared)


def describe_plan(prepared: Prepared) -> dict[str, Any]:
    recipe, space, needs = prepared.recipe, prepared.space, prepared.method.needs
    n = len(prepared.texts)
    distinct = n - prepared.texts.duplicates
    passes = math.ceil(needs.passes / CHUNK) * CHUNK
    tokens = _tokens_per_text(prepared)
    rate = matmul_rate() * EFFICIENCY
    use_teachers = needs.teachers > 0
    teachers: list[dict[str, Any]] = [
        {
            "name": info.name,
            "model": info.spec.model,
            "labels": list(labels),
            "revision": info.revision,
            "reads": distinct * (1 + passes) if use_teachers else 0,
            "seconds": 2 * _encoder_weights(info.config) * tokens * distinct * (1 + DROPOUT_COST * passes) / rate
            if use_teachers
            else 0.0,
        }
        for info, labels in zip(prepared.infos, space.teachers, strict=True)
    ]
    steps, student_seconds = 0, 0.0
    if prepared.method.phases() and recipe.student is not None:
        spec = recipe.student
        config = describe_encoder(TeacherSpec(model=spec.model, revision=spec.revision))
        share = (spec.layers or config.num_hidden_layers) / config.num_hidden_layers
        epochs = sum(phase.epochs or recipe.training.epochs for phase in prepared.method.phases())
        steps = math.ceil(n / recipe.training.batch_size / recipe.training.accumulate * epochs)
        # Forward and backward are three forwards; dropout acts as in a Monte-Carlo pass.
        student_seconds = 6 * DROPOUT_COST * share * _encoder_weights(config) * tokens * n * epochs / rate
    return {
        "method": recipe.method,
        "needs": needs.describe(),
        "labels": list(space.names),
        "shared_labels": {label: [prepared.names[i] for i in owners] for label, owners in space.shared().items()},
        "texts": {"used": n, "distinct": distinct, "dropped": prepared.texts.dropped, "tokens_each": round(tokens, 1)},
        "teachers": teachers,
        "knowledge_bytes": bytes_needed(distinct, [len(t) for t in space.teachers], passes) if use_teachers else 0,
        "student_steps": steps,
        "seconds": {
            "sweep": round(sum(float(t["seconds"]) for t in teachers), 1),
            "training": round(student_seconds, 1),
        },
        "cautions": prepared.method.cautions(Context(space)),
        "output": recipe.output,
    }


def matmul_rate(size: int = 768, repeats: int = 8) -> float:
    """Floating-point operations per second of large float32 matrix products on this machine's CPU."""
    a, b = torch.randn(size, size), torch.randn(size, size)
    a @ b
    begun = time.perf_counter()
    for _ in range(repeats):
        a @ b
    return 2 * size**3 * repeats / (time.perf_counter() - begun)


def _tokens_per_text(prepared: Prepared) -> float:
    texts = prepared.texts.table["text"][:SAMPLE]
    limit = prepared.recipe.training.max_length
    return sum(min(limit, 2 + len(text) / CHARACTERS_PER_TOKEN) for text in texts) / max(1, len(texts))


def _encoder_weights(config: Any) -> float:
    """Weights that every token meets: attention and feed-forward matrices of all layers."""
    width = config.hidden_size
    inner = getattr(config, "intermediate_size", None) or getattr(config, "hidden_dim", None) or 4 * width
    return float(config.num_hidden_layers * (4 * width**2 + 2 * width * inner))
