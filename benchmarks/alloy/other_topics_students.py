"""Students that learn from texts about other topics than the teachers' labels: Alloy's, beside those of the two simplest rivals. One seed."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from safetensors.torch import load_file
from transformers import AutoTokenizer

from alloykit.methods.alloy.acceptance import ACCEPTED
from alloykit.progress import log_line
from alloykit.run_folder.file_names import STATE
from alloykit.run_folder.run_folder import RunFolder
from alloykit.stages.amalgamation import run_recipe
from benchmarks.alloy.foreign_texts import texts_of_a_source
from benchmarks.alloy.methods import STUDENTS, Methods
from benchmarks.alloy.other_topics import SIZE
from benchmarks.alloy.settings import CHOICE, set_of, settings
from benchmarks.alloy.students import TABLE as OF_SETS
from benchmarks.harness.cells import of_student
from benchmarks.harness.data import write
from benchmarks.harness.stages import Stages
from benchmarks.speed.measure import Measurement

POOLS = (  # teachers, and whose texts the student learns from
    ("ag_news", "sst2"),
    ("ag_news", "abstracts5"),
    ("google_snippets", "sst2"),
)
METHODS: Methods = {name: STUDENTS[name] for name in ("alloy", "vanilla_kd", "uhc")}
SEED = 0


def run(data: Path, work: Path) -> dict[str, Any]:
    found = []
    for name, source in POOLS:
        setting = next(s for s in settings() if s.name == name)
        stages = Stages(data, work.parent, setting, OF_SETS.sized, SEED, passes=0)
        about = {"setting": name, "title": setting.title, "choice": set_of(setting) in CHOICE, "source": source}
        found.append(about | _students(stages, data, work / f"{name}-{source}"))
        log_line(str(found[-1]))
    return {"pools": found}


def _students(stages: Stages, data: Path, folder: Path) -> dict[str, Any]:
    """Accuracy of each method's student on the set's own test texts, and what Alloy says of the pool. folder: for the pool, and its runs."""
    tokenizer = AutoTokenizer.from_pretrained(str(stages.teacher_folders("disjoint")[0]))
    source = folder.name.removeprefix(f"{stages.setting.name}-")
    texts, pool = texts_of_a_source(data, source, tokenizer, SIZE), folder / "texts.parquet"
    write({"text": texts, "label": [None] * len(texts)}, pool)
    found: dict[str, Any] = {"texts": len(texts), "accuracy": {}}
    for name, spec in METHODS.items():
        recipe = stages.recipe("disjoint", spec, folder / name)
        recipe = recipe.model_copy(update={"texts": recipe.texts.model_copy(update={"path": str(pool)})})
        run = run_recipe(recipe, cache=stages.knowledge("disjoint"), report=False)
        found["accuracy"][name] = of_student(run)["accuracy"]
        if name == "alloy":
            found |= _told(run)
        shutil.rmtree(run.folder)
    return found


def _told(run: RunFolder) -> dict[str, Any]:
    """Whether the mixture was used, and both measures of its two views."""
    state = load_file(run.folder / STATE)
    return {
        "used": int(state["outcome"]) == ACCEPTED,
        **{name: float(state[name]) if name in state else None for name in ("label_agreement", "teacher_agreement")},
    }


TABLE = Measurement("other_topics_students", "students of texts about other topics", run, "alloy")
