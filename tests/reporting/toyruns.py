"""Small runs of one toy problem, made once for all processes: three that belong together, and odd ones on demand."""

from __future__ import annotations

import gc
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tiny
import toy
from commandline import write_csv
from shared import once

from alloykit.recipe.read_recipe import parse
from alloykit.recipe.recipe import Recipe
from alloykit.recipe.teacher_recipes import TeachRecipe
from alloykit.stages.amalgamation import run_recipe
from alloykit.teaching.teach_recipes import teach_recipe

TRAINING = {"epochs": 4, "learning_rate": 0.01, "batch_size": 8, "max_length": 32}
THIRTY = [f"question about {toy.FILLERS[n % 23]} number {n}" for n in range(30)]


@dataclass(frozen=True)
class Runs:
    """`soft`: MUKA, tested, texts shown. `vanilla`: vanilla KD, tested on the same texts. `untested`: MUKA. Copy to write."""

    root: Path
    pool: list[str]

    @property
    def soft(self) -> Path:
        return self.root / "soft"

    @property
    def vanilla(self) -> Path:
        return self.root / "vanilla"

    @property
    def untested(self) -> Path:
        return self.root / "untested"

    def of(self, name: str) -> Path:
        """A toy run or an odd one."""
        return self.odd(name) if name in ODD else self.root / name

    def odd(self, name: str) -> Path:
        """One of `ODD`, made when somebody asks for it."""
        return once(self.root / "odd", name, lambda folder: _run(self.root, folder, **_changes(self.root, name)))

    def another(self, name: str, **changed: Any) -> Path:
        """A run with other blocks in its recipe, made when somebody asks for it."""
        return once(self.root / "odd", name, lambda folder: _run(self.root, folder, **changed))


def toy_runs(folder: Path) -> Runs:
    """Teachers that have learned a little, and three students of one layer. folder: that of the whole test run."""
    return Runs(once(folder, "toyruns", _make), [text for text, _ in toy.examples(160)])


def _make(root: Path) -> None:
    tiny.encoder(root / "encoder", logit_scale=0.3)
    toy.labelled(root / "train.csv", 160)
    toy.labelled(root / "test.csv", 60, seed=9)
    for name, labels in toy.TEAMS.items():
        values = {
            "model": {"model": str(root / "encoder"), "layers": 1},
            "data": {"path": str(root / "train.csv"), "label": "label"},
            "labels": list(labels),
            "training": TRAINING,
            "output": str(root / name),
        }
        with quick():
            teach_recipe(parse(values, TeachRecipe))
    _run(root, root / "soft", method={"name": "muka", "passes": 2}, report={"show_texts": True})
    _run(root, root / "vanilla")
    _run(root, root / "untested", method={"name": "muka", "passes": 2}, evaluate=None)


def _run(root: Path, folder: Path, **changed: Any) -> None:
    recipe = {
        "teachers": [str(root / team) for team in toy.TEAMS],
        "texts": str(root / "train.csv"),
        "student": {"model": str(root / "encoder"), "layers": 1},
        "method": "vanilla_kd",
        "training": TRAINING,
        "evaluate": {"data": {"path": str(root / "test.csv"), "label": "label"}},
        "output": str(folder),
    }
    recipe = {key: value for key, value in (recipe | changed).items() if value is not None}
    with quick():
        run_recipe(parse(recipe, Recipe), cache=root / "knowledge")


@contextmanager
def quick() -> Iterator[None]:
    """Training collects garbage several times, and each time looks through all the imported modules: spare it that."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def tested_on(root: Path, name: str, *arguments: Any) -> dict[str, Any]:
    path = root / f"{name}.csv"
    return {"data": {"path": str(toy.labelled(path, *arguments) if arguments else path), "label": "label"}}


ODD = ("one teacher", "uhc", "supervised", "ensemble", "thirty")


def _changes(root: Path, name: str) -> dict[str, Any]:
    """The blocks of an odd run's recipe; the files that they name are written."""
    changed: dict[str, Any] = {"training": TRAINING | {"epochs": 0.5}}
    if name == "one teacher":
        changed |= {"teachers": [str(root / "billing")], "evaluate": tested_on(root, name, 30, 4, toy.TEAMS["billing"])}
    elif name == "uhc":
        changed |= {"method": "uhc"}
    elif name == "supervised":
        changed |= {"method": "supervised", "texts": {"path": str(root / "train.csv"), "label": "label"}}
    elif name == "ensemble":
        changed |= {"method": "ensemble", "student": None}
    elif name == "thirty":
        parts = [THIRTY[:10], THIRTY[10:20], THIRTY[20:]]
        changed["teachers"] = [str(tiny.classifier(root / f"ten {n}", p, seed=n)) for n, p in enumerate(parts)]
        texts = [(text, THIRTY[n % 30]) for n, text in enumerate(tiny.texts(60, seed=5))]
        write_csv(root / f"{name}.csv", texts, ("text", "label"))
        changed["evaluate"] = tested_on(root, name)
    return changed


KEPT = ("recipe.yaml", "metrics.json", "training.json", "environment.json", "answers.safetensors")


def copied(folder: Path, to: Path) -> Path:
    """A run folder without its student."""
    to.mkdir(parents=True)
    for name in KEPT:
        if (folder / name).exists():
            shutil.copy(folder / name, to)
    return to


def renamed(value: Any, names: dict[str, str]) -> Any:
    """Other label and teacher names everywhere in metrics.json, as keys and as values."""
    if isinstance(value, dict):
        return {renamed(key, names): renamed(inner, names) for key, inner in value.items()}
    if isinstance(value, list):
        return [renamed(inner, names) for inner in value]
    if isinstance(value, str) and value.startswith("teacher "):
        return f"teacher {renamed(value.removeprefix('teacher '), names)}"
    return names.get(value, value) if isinstance(value, str) else value
