"""How good targets are on a set's test texts if they are fitted to the texts of any file. No student is trained."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from alloykit.knowledge.sweep.sweep import sweep
from alloykit.methods.alloy.acceptance import ACCEPTED
from alloykit.methods.alloy.views import UNLIKE
from alloykit.outputs import chunks
from benchmarks.alloy.methods import ALLOY, BY_ENERGY, RIVALS
from benchmarks.harness.stages import Stages

WAYS = {"alloy": ALLOY, "by_energy": BY_ENERGY, "ensemble": RIVALS["ensemble"], "energy": RIVALS["energy"]}


def targets_of_a_file(stages: Stages, pool: Path) -> dict[str, Any]:
    """Accuracy of each way's targets on the test texts, fitted to the texts of a file; what Alloy says of these."""
    texts = stages.texts_of(pool, want_labels=False)
    test = stages.texts_of(stages.test(), want_labels=True)
    for read_texts in (texts, test):
        for spec in (ALLOY, RIVALS["ensemble"]):
            prepared = stages.prepared("disjoint", read_texts, {"name": "routing", "of": spec})
            sweep(
                prepared.infos, prepared.texts, prepared.store(stages.knowledge("disjoint")), prepared.sweep_options()
            )
    found: dict[str, Any] = {"texts": len(texts), "accuracy": {}}
    for way, spec in WAYS.items():
        method = {"name": "routing", "of": spec}
        prepared, source = stages.outputs("disjoint", texts, method)
        context = replace(prepared.context, state=prepared.method.fit(source, prepared.context))
        asked = chunks(stages.outputs("disjoint", test, method)[1])
        parts = [part.targets for rows in asked if (part := prepared.method.supervise(rows, context)) is not None]
        right = torch.cat(parts).argmax(-1) == prepared.labels(test)
        found["accuracy"][way] = float(right.double().mean())
        if way == "alloy":
            agreement = context.state.get("label_agreement")
            found["label_agreement"] = None if agreement is None else float(agreement)
            found["used"] = int(context.state["outcome"]) == ACCEPTED
            found["warned"] = not found["used"] or (agreement is not None and float(agreement) < UNLIKE)
            found["left_out"] = int(context.state.get("repeats", 0))
            found["fitted_to"] = int(context.state["texts"])
    return found
