"""One cell of the table `none`: an Alloy student, and how its scores rank foreign texts and texts of labels that no teacher knows."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any

import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor

from alloykit.evaluation.answers import STUDENT
from alloykit.models.head_input import HeadInput
from alloykit.progress import log_line
from alloykit.serving.predictor import Predictor
from alloykit.stages.amalgamation import run_recipe
from alloykit.stats.mahalanobis import Gaussians
from alloykit.stats.none_of_these import UNUSUAL
from benchmarks.alloy.methods import ALLOY
from benchmarks.harness.data import read
from benchmarks.harness.stages import Stages

FOREIGN = 0.5  # of the pool's size: so many Wikipedia sentences, of which the encoder has all word pieces
Seen = tuple[Tensor, Tensor]  # what the head reads [n, d], and logits [n, C]
Score = Callable[[Seen], Tensor]


def unusual(stages: Stages, pool: str) -> dict[str, Any]:
    """AUROC of every score, of foreign and of held-out texts against the test texts; shares of texts with a score of at least 0.95."""
    folder = stages.folder / "runs" / f"none-{pool}"
    recipe = stages.recipe(pool, ALLOY, folder)
    run = run_recipe(recipe, cache=stages.knowledge(pool))
    student = Predictor.load(run.student)
    pooled = list(read(stages.pool(pool))["text"])
    texts = {"test": list(read(stages.test(pool))["text"]), **_unknown(stages, set(pooled))}
    seen = {name: _seen(student, part) for name, part in (texts | {"pool": pooled}).items()}
    metrics = run.metrics
    assert metrics is not None
    found = {
        "accuracy": metrics["evaluation"]["scores"][STUDENT]["accuracy"],
        "texts": {name: len(part) for name, part in texts.items()},
        "compared_with": len(student.fitted_none_of_these.reference),
        "auroc": {name: _auroc(score, seen) for name, score in _scores(student, seen["pool"]).items()},
        "unusual": {name: _share(student, seen[name]) for name in texts},
    }
    log_line(str(found))
    shutil.rmtree(folder)
    return found


def _unknown(stages: Stages, pooled: set[str]) -> dict[str, list[str]]:
    """Wikipedia sentences that are not in the pool, and the test texts of the labels that no teacher knows."""
    (dataset,) = stages.setting.datasets
    files = stages.files[dataset]
    foreign = files.foreign(round(FOREIGN * len(read(files.pool("disjoint")))))["text"]
    table = read(files.test())
    held = [t for t, y in zip(table["text"], table["label"], strict=True) if not stages.setting.has_label(dataset, y)]
    return {"foreign": [text for text in foreign if text not in pooled], "held_out": held}


def _seen(student: Predictor, texts: list[str]) -> Seen:
    states = student.with_states(texts)[1]
    head = HeadInput(student.model).head
    assert states is not None
    assert head is not None
    with torch.inference_mode():
        return states, head(states.to(student.device)).float().cpu()


def _scores(student: Predictor, pool: Seen) -> dict[str, Score]:
    """Larger for texts that are more unusual. The last four were tried and are not used."""
    fitted = student.fitted_none_of_these
    states, logits = pool
    classes = torch.unique(logits.argmax(-1), return_inverse=True)[1]
    both = Gaussians.fit(states, classes, others=(states[:0], classes[:0]))  # the background is W + B

    def max_probability(seen: Seen) -> Tensor:
        return 1 - seen[1].double().softmax(-1).amax(-1)

    def energy(seen: Seen) -> Tensor:
        return -seen[1].double().logsumexp(-1)

    def none_of_these(seen: Seen) -> Tensor:
        return fitted.score(fitted.measures(seen[0]))

    def distance(seen: Seen) -> Tensor:
        return fitted.gaussians.distance(seen[0])

    def relative(seen: Seen) -> Tensor:
        return both.relative(seen[0])

    def added(first: Score, second: Score) -> Score:
        """The sum after both were standardised over the pool."""
        of_pool = [(score, score(pool)) for score in (first, second)]
        return lambda seen: torch.stack([(score(seen) - p.mean()) / p.std() for score, p in of_pool]).sum(0)

    return {
        "max_probability": max_probability,
        "energy": energy,
        "none_of_these": none_of_these,
        "distance": distance,
        "relative": relative,
        "relative + energy": added(relative, energy),
        "distance + energy": added(distance, energy),
    }


def _auroc(score: Score, seen: dict[str, Seen]) -> dict[str, float]:
    known = score(seen["test"])
    found = {}
    for name in ("foreign", "held_out"):
        values = torch.cat([known, score(seen[name])])
        unknown = torch.arange(len(values)) >= len(known)
        found[name] = round(float(roc_auc_score(unknown.numpy(), values.numpy())), 4)
    return found


def _share(student: Predictor, seen: Seen) -> float:
    fitted = student.fitted_none_of_these
    return round(float((fitted.score(fitted.measures(seen[0])) >= UNUSUAL).double().mean()), 4)
