"""How good what students would learn from is: the target of a method on the pool's texts and on test texts. No student is trained."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from alloykit.methods.registry import create
from alloykit.outputs import Source, chunks
from benchmarks.alloy.estimated import beside
from benchmarks.alloy.gate import Gate
from benchmarks.alloy.methods import ORACLE, RIVALS
from benchmarks.alloy.scores import scores
from benchmarks.harness.results import letters
from benchmarks.harness.stages import Stages


def target(stages: Stages, pool: str, spec: dict[str, Any]) -> dict[str, Any]:
    """The argmax of one method's target, fitted to the pool without labels. `spec`: the method's block."""
    method = {"name": "routing", "of": spec}
    labelled = stages.texts_of(stages.pool(pool), want_labels=True)
    test = stages.texts_of(stages.test(pool), want_labels=True)
    texts = labelled if create(spec).needs.labels else stages.texts_of(stages.pool(pool), want_labels=False)
    prepared, source = stages.outputs(pool, texts, method)
    begun = time.perf_counter()
    context = replace(prepared.context, state=prepared.method.fit(source, prepared.context))
    seconds = time.perf_counter() - begun

    def supervised(source: Source) -> tuple[Tensor, Tensor]:
        parts = [prepared.method.supervise(rows, context) for rows in chunks(source)]
        kept = [part for part in parts if part is not None]
        return torch.cat([part.targets for part in kept]), torch.cat([part.weights for part in kept])

    targets, weights = supervised(source)
    answers = targets.argmax(-1)
    ids = set(labelled.table["id"])
    known = torch.tensor([i in ids for i in texts.table["id"]])
    tested = supervised(stages.outputs(pool, test, method)[1])[0].argmax(-1)
    found = {
        "pool": {"texts": len(texts), **scores(answers[known], prepared.labels(labelled))},
        "test": scores(tested, prepared.labels(test), each=True),
        "fit_seconds": round(seconds, 2),
        "warnings": list(prepared.method.fit_report(context, prepared.names).warnings),
    }
    if (estimated := prepared.method.estimated_accuracy(context)) is not None:
        found["estimated"] = beside(estimated, targets[known], prepared.labels(labelled))
    for name in ("label_agreement", "teacher_agreement", "mean_separation", "repeats"):  # Alloy's
        if (measure := context.state.get(name)) is not None:
            found[name] = float(measure)
    if bool(known.all()):
        return found
    return found | {"weight_on_foreign": float(weights[~known].double().sum() / weights.double().sum())}


def rivals(stages: Stages, pool: str) -> dict[str, Any]:
    """All rivals of a pool, the supervised gate and oracle routing; the true labels, and every teacher's accuracy on its own test texts."""
    assert not isinstance(stages.passes, int)
    ways = {name: spec for name, spec in RIVALS.items() if create(spec).needs.passes <= stages.passes[pool]}
    found = {name: target(stages, pool, spec) for name, spec in (ways | ORACLE).items()}
    found["gate"] = Gate()(stages, pool)
    labels, own = _teachers(stages, pool)
    return {"labels": letters(labels.tolist()), "own": own, "ways": found}


def _teachers(stages: Stages, pool: str) -> tuple[Tensor, list[float]]:
    test = stages.texts_of(stages.test(pool), want_labels=True)
    prepared, source = stages.outputs(pool, test)
    labels, space = prepared.labels(test), prepared.space
    said = [
        [space.scatter(i, t.probabilities()).argmax(-1) for i, t in enumerate(rows.teachers)] for rows in chunks(source)
    ]
    right = [torch.cat(parts) == labels for parts in zip(*said, strict=True)]
    knows = space.has_label()[:, labels]
    return labels, [float(r[k].double().mean()) for r, k in zip(right, knows, strict=True) if bool(k.any())]
