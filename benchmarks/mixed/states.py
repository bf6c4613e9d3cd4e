"""Alloy's targets by whose states of a text it sees: the teachers' own, or those of a neutral encoder in their place. No students.

Teachers, texts and sizes are those of `python -m benchmarks alloy targets`, pool disjoint; finished teachers in the same --work are used.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from alloykit.data import Texts
from alloykit.methods.protocol import Context
from alloykit.outputs import Rows, Source, chunks
from alloykit.stages.knowledge import with_text_states
from alloykit.stages.prepared import Prepared
from benchmarks import models
from benchmarks.alloy import targets
from benchmarks.alloy.scores import scores
from benchmarks.harness.stages import Stages
from benchmarks.speed.measure import Measurement

SETTINGS = ("ag_news", "abstracts5", "google_snippets", "stackoverflow20-4", "banking77-3")
POOL, SEEDS = "disjoint", (0,)
LEAST = 1e-6  # the smallest probability that is stored of a teacher without logits
CERTAINTY = 0.9  # of the label, where a teacher gives no probabilities


@dataclass(frozen=True)
class Variant:
    """`encoder`: whose text states Alloy sees; `mpnet` or an option of the method. `states`, `logits`, `probabilities`: whether the teachers give theirs.
    Without probabilities, they give their most probable label. `method`: another one, which sees no states."""

    encoder: str | None
    states: bool = True
    logits: bool = True
    probabilities: bool = True
    method: str = "alloy"


VARIANTS = {
    "the teachers' own states": Variant(None),
    "the student's encoder": Variant("student", states=False),
    "another encoder": Variant("mpnet", states=False),
    "both: the student's encoder and the teachers' own": Variant("student"),
    "the student's encoder; teachers without logits": Variant("student", states=False, logits=False),
    "the student's encoder; teachers give only labels": Variant(
        "student", states=False, logits=False, probabilities=False
    ),
    "the ensemble; teachers give only labels": Variant(None, False, False, False, "ensemble"),
}


def run(data: Path, work: Path) -> dict[str, Any]:
    """Balanced accuracy of the targets on the test texts, by setting, variant and seed; of oracle routing, too."""
    by_name = {setting.name: setting for setting in targets.TABLE.settings}
    mpnet = work.parent / "models" / "mpnet"
    models.fetch("mpnet", mpnet)
    found: dict[str, dict[str, list[dict[str, float]]]] = {}
    for name in SETTINGS:
        for seed in SEEDS:
            stages = targets.TABLE.stages(by_name[name], seed, data, work.parent)
            stages.ready(POOL)
            cell = found.setdefault(name, {})
            for title, variant in VARIANTS.items():
                cell.setdefault(title, []).append(_scored(stages, variant, mpnet, work / name / f"seed{seed}"))
            cell.setdefault("oracle routing", []).append(_oracle(stages))
    return {"seeds": list(SEEDS), "titles": {n: by_name[n].title for n in SETTINGS}, "settings": found}


def _scored(stages: Stages, variant: Variant, mpnet: Path, folder: Path) -> dict[str, float]:
    encoder = str(mpnet) if variant.encoder == "mpnet" else variant.encoder
    folder = folder / (variant.encoder or "none")
    folder.mkdir(parents=True, exist_ok=True)
    method: dict[str, Any] = {"name": variant.method}
    if variant.method == "alloy":
        method["encoder"] = encoder
    begun = time.perf_counter()
    pool = stages.texts_of(stages.pool(POOL), want_labels=False)
    prepared, source = _outputs(stages, pool, method, variant, folder)
    context = prepared.context
    if not (variant.states and variant.logits):
        gives = tuple(replace(g, states=None, logits=variant.logits and g.logits) for g in context.gives)
        context = replace(context, gives=gives)
    context = replace(context, state=prepared.method.fit(source, context))
    test = stages.texts_of(stages.test(POOL), want_labels=True)
    answers = _answers(prepared, _outputs(stages, test, method, variant, folder)[1], context)
    return scores(answers, prepared.labels(test)) | {
        "used": float(prepared.method.estimated_accuracy(context) is not None),
        "seconds": round(time.perf_counter() - begun, 1),
    }


def _oracle(stages: Stages) -> dict[str, float]:
    test = stages.texts_of(stages.test(POOL), want_labels=True)
    prepared, source = stages.outputs(POOL, test, {"name": "routing", "of": {"name": "oracle"}})
    return scores(_answers(prepared, source, prepared.context), prepared.labels(test))


def _outputs(
    stages: Stages, texts: Texts, method: dict[str, Any], variant: Variant, folder: Path
) -> tuple[Prepared, Source]:
    """As `Stages.outputs`, with states in a folder of this variant's encoder, and teachers that give no more than the variant says."""
    without = {"encoder": None} if "encoder" in method else {}
    prepared, source = stages.outputs(POOL, texts, method | without)
    prepared = replace(prepared, method=stages.prepared(POOL, texts, method).method)
    source = _Reduced(source, variant)
    return prepared, with_text_states(prepared, source, texts, folder, texts.fingerprint()[:16])


def _answers(prepared: Prepared, source: Source, context: Context) -> Tensor:
    parts = [prepared.method.supervise(rows, context) for rows in chunks(source)]
    return torch.cat([part.targets for part in parts if part is not None]).argmax(-1)


@dataclass(frozen=True)
class _Reduced:
    """A source without the teachers' states, or without the scale of their logits."""

    source: Source
    variant: Variant

    def __len__(self) -> int:
        return len(self.source)

    def rows(self, indices: Any) -> Rows:
        rows = self.source.rows(indices)
        teachers = rows.teachers
        if not self.variant.states:
            teachers = tuple(replace(t, pooled_states=None) for t in teachers)
        if not self.variant.probabilities:
            teachers = tuple(replace(t, logits=_only_labels(t.logits)) for t in teachers)
        elif not self.variant.logits:
            logs = [torch.log_softmax(t.logits, -1).exp().clamp(min=LEAST) for t in teachers]
            teachers = tuple(replace(t, logits=p.log()) for t, p in zip(teachers, logs, strict=True))
        return replace(rows, teachers=teachers)


def _only_labels(logits: Tensor) -> Tensor:
    """As stored answers of one label and the same certainty for all texts."""
    others = (1 - CERTAINTY) / (logits.shape[-1] - 1)
    p = torch.full_like(logits, others).scatter_(-1, logits.argmax(-1, keepdim=True), CERTAINTY)
    return p.log()


TABLE = Measurement(
    "states", "Alloy's targets with the teachers' states, and with those of a neutral encoder", run, "mixed"
)
