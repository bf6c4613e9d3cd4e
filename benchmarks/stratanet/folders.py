"""From two model folders to a student by the command line: `texts: generate`, beside students of other texts. AG News, seed 0."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from alloykit.files import write_atomic
from alloykit.json_files import read_json
from alloykit.progress import log_line
from alloykit.recipe.read_recipe import dump
from alloykit.stages.recipe_texts import TEXTS_FILE
from benchmarks.harness.data import read
from benchmarks.harness.settings import split
from benchmarks.speed.measure import Measurement
from benchmarks.stratanet import table3

ALONE = "generate"
WAYS = {  # what the recipe says: its texts, and its method
    (ALONE, "stratanet"): "nothing but the two folders",
    ("random", "vanilla_kd"): "random words",
    ("cross", "vanilla_kd"): "Wikipedia sentences",
    ("shared", "stratanet"): "real unlabelled texts, statistics of the generated ones",
}


def run(data: Path, work: Path) -> dict[str, Any]:
    stages = table3.TABLE.stages(split("ag_news", 2), 0, data, work.parent)
    base, found = (work / "folders").absolute(), {}
    base.mkdir(parents=True, exist_ok=True)
    for (texts, method), what in WAYS.items():
        run_folder = base / f"{texts}-{method}"
        shutil.rmtree(run_folder, ignore_errors=True)  # what is timed begins at nothing
        recipe = stages.recipe("generated" if texts == ALONE else texts, {"name": method}, run_folder)
        if texts == ALONE:
            shutil.rmtree(run_folder)  # the harness has put its texts there; these are to be written anew
            recipe = recipe.model_copy(update={"texts": "generate"})
        path = base / f"{texts}-{method}.yaml"
        write_atomic(path, dump(recipe))
        seconds = _amalgamate(path)
        scores = read_json(run_folder / "metrics.json")["evaluation"]["scores"]
        found[f"{texts}, {method}"] = {
            "texts": what,
            "seconds": seconds,
            "accuracy": scores["student"]["accuracy"],
            "ensemble": scores["ensemble"]["accuracy"],
        }
        log_line(f"{texts}, {method}: {found[f'{texts}, {method}']}")
    written = base / f"{ALONE}-stratanet" / "generated" / TEXTS_FILE
    same = read(written)["text"] == read(stages.pool("generated"))["text"]
    return {"ways": found, "same_texts_as_table_3": same}


def _amalgamate(recipe: Path) -> int:
    """Seconds of the command, in a process of its own."""
    begun = time.perf_counter()
    command = [Path(sys.executable).with_name("alloykit"), "amalgamate", recipe]
    subprocess.run(command, check=True)
    return round(time.perf_counter() - begun)


TABLE = Measurement("folders", "from model folders to a student, by the command line", run, "stratanet")
