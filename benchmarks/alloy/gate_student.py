"""The student of the supervised gate: every text is learned from the teachers that know the label that the gate names for it."""

from __future__ import annotations

import shutil
from typing import Any

from alloykit.stages.amalgamation import run_recipe
from benchmarks.alloy.gate import Gate
from benchmarks.alloy.methods import ORACLE
from benchmarks.harness.cells import of_student
from benchmarks.harness.data import write
from benchmarks.harness.stages import Stages


def gate_student(stages: Stages, pool: str) -> dict[str, Any]:
    """Oracle routing with the gate's labels in place of the true ones. No text's own label has a part in what is learned from it."""
    texts, named = Gate().named(stages, pool)
    file, names = stages.folder / "texts" / f"{pool}-named-by-gate.parquet", stages.setting.space.names
    write({"text": list(texts.table["text"]), "label": [names[c] for c in named.tolist()]}, file)
    recipe = stages.recipe(pool, ORACLE["oracle"], stages.folder / "runs" / f"{pool}-gate")
    relabelled = recipe.model_copy(update={"texts": recipe.texts.model_copy(update={"path": str(file)})})
    run = run_recipe(relabelled, cache=stages.knowledge(pool), report=False)
    found = of_student(run)
    shutil.rmtree(run.folder)
    return found
