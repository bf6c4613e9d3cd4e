"""Two commands at the same time on the same folders: both end well or are told of the other, and what is left is whole."""

from __future__ import annotations

import json
import shutil
from typing import Any

import yaml

from benchmarks.faults.cases import Case
from benchmarks.faults.kinds import Kind
from benchmarks.faults.same_results import difference, leftovers
from benchmarks.faults.steps import Step, step
from benchmarks.faults.stock import MELT, write_recipe

KINDS = (
    "two sweeps of the same texts", "two sweeps of overlapping texts", "two amalgamations into one folder", "a sweep and an amalgamation",
    "two parts of a sweep", "an evaluation during training", "a report during training", "a prediction during --overwrite",
    "two recipes into one folder", "two amalgamations with one store", "three parts, one killed", "two distillations into one folder",
    "two teachers into one folder", "two generations into one folder",
)  # fmt: skip


def make(case: Case) -> None:
    draw, folder = case.draw, case.folder
    kind = KINDS[case.seed % len(KINDS)]
    name = {
        "two distillations into one folder": "distill",
        "two teachers into one folder": "teach",
        "two generations into one folder": "generate",
    }.get(kind, "muka")
    reference = case.stock.reference(name)
    case.stock.fill(folder, name)
    later = round(draw.choice((0.0, draw.random() * reference.seconds)), 3)
    other = dict(MELT) | {"method": {"name": "muka", "passes": 8}, "texts": "other.csv", "output": "run-2"}
    write_recipe(folder, other, "other.yaml")
    case.about = f"{kind}, the second {later} s later"
    plain = step(folder, _command(name), "recipe.yaml")
    steps: dict[str, list[Step]] = {
        "two sweeps of the same texts": [_sweep(case, "recipe.yaml"), _sweep(case, "recipe.yaml", after=later)],
        "two sweeps of overlapping texts": [_sweep(case, "recipe.yaml"), _sweep(case, "other.yaml", after=later)],
        "a sweep and an amalgamation": [
            step(folder, "sweep", "recipe.yaml"),
            step(folder, "amalgamate", "recipe.yaml", after=later),
        ],
        "two parts of a sweep": [
            _sweep(case, "recipe.yaml", part="1/2"),
            _sweep(case, "recipe.yaml", part="2/2", after=later),
        ],
        "an evaluation during training": [plain, step(folder, "evaluate", "run", after=later)],
        "a report during training": [plain, step(folder, "report", "run", after=later)],
        "two amalgamations with one store": [
            step(folder, "amalgamate", "recipe.yaml", "--cache", "store"),
            step(folder, "amalgamate", "other.yaml", "--cache", "store", after=later),
        ],
        "three parts, one killed": [
            _sweep(case, "recipe.yaml", part="1/3"),
            _sweep(
                case,
                "recipe.yaml",
                part="2/3",
                after=later,
                fault={"kill_after": draw.random() * reference.seconds / 2},
            ),
            _sweep(case, "recipe.yaml", part="3/3", after=later / 2),
        ],
    }
    if kind == "a prediction during --overwrite":
        shutil.copytree(reference.folder, folder / "run")
        pair = [
            step(folder, "amalgamate", "recipe.yaml", "--overwrite"),
            step(folder, "predict", "run", "texts.csv", after=later),
        ]
    elif kind == "two recipes into one folder":
        write_recipe(folder, other | {"output": "run"}, "other.yaml")
        pair = [plain, step(folder, "amalgamate", "other.yaml", after=later)]
    else:
        pair = steps.get(kind, [plain, step(folder, _command(name), "recipe.yaml", after=later)])
    ended = case.run(*pair)
    case.demand(any(o.code == 0 for o in ended), "lost", f"neither went through: {[o.error[-200:] for o in ended]}")
    _after(case, kind, name)


def _after(case: Case, kind: str, name: str) -> None:
    """Alone again, everything ends as if there had never been a second process."""
    folder, reference = case.folder, case.stock.reference(name)
    shared = kind in ("two sweeps of the same texts", "two parts of a sweep", "three parts, one killed")
    store = ["--cache", "store"] if "sweeps" in kind or "part" in kind or "one store" in kind else []
    if kind == "two recipes into one folder":
        told = yaml.safe_load((folder / "run" / "recipe.yaml").read_text())
        recipe = "other.yaml" if told["texts"]["path"] == "other.csv" else "recipe.yaml"
        ended = case.run(step(folder, "amalgamate", recipe))[0]
        case.demand(ended.code == 0, "lost", f"alone, it ended with {ended.code}: {ended.error[-300:]}")
        return
    for recipe, run in (
        (("recipe.yaml", "run"), ("other.yaml", "run-2"))
        if "overlapping" in kind or "one store" in kind
        else (("recipe.yaml", "run"),)
    ):
        ended = case.run(step(folder, _command(name), recipe, *store))[0]
        case.demand(ended.code == 0, "lost", f"alone, {recipe} ended with {ended.code}: {ended.error[-300:]}")
        if ended.code == 0 and name == "muka":
            told: dict[str, Any] = json.loads((folder / run / "metrics.json").read_text())
            lines = len((folder / ("texts.csv" if run == "run" else "other.csv")).read_text().splitlines()) - 1
            used = told["texts"]["used"] + told["texts"].get("duplicates", 0)
            case.demand(used >= lines * 0.9, "lost", f"{used} of {lines} texts were used")
    weights = folder / "run" / "student" / "model.safetensors"
    if shared and weights.exists():
        same = weights.read_bytes() == (reference.folder / "student" / "model.safetensors").read_bytes()
        case.demand(same, "different", "the student's weights")
    elif not store:
        differs = difference(reference.folder, folder / "run")
        case.demand(differs is None, "different", differs or "")
    case.demand(not leftovers(folder), "left behind", ", ".join(leftovers(folder)[:3]))


def _command(name: str) -> str:
    return {"muka": "amalgamate"}.get(name, name)


def _sweep(case: Case, recipe: str, part: str = "1/1", **more: Any) -> Step:
    return step(case.folder, "sweep", recipe, "--cache", "store", "--part", part, **more)


TABLE = Kind("pairs", "Two commands at the same time on the same folders", 56, make)
