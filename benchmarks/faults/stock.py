"""What every case starts from: tiny random models, a few texts, recipes, and what undisturbed runs of the recipes made.

Made once for a state of the code, in WORK/faults/stock-DIGEST; runs are made when they are first asked for.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from filelock import FileLock

from alloykit.demo.run import messages
from alloykit.files import write_atomic
from alloykit.json_files import write_json
from benchmarks.faults.steps import step
from benchmarks.faults.worker import Worker

BILLING, DELIVERY, TASK = ("refund", "charge", "invoice"), ("track", "damaged"), ("no", "yes")
TRAINING = {
    "epochs": 1,
    "learning_rate": 1e-3,
    "batch_size": 8,
    "max_length": 24,
    "check_every": 4,
    "save_every_seconds": 0,
}
GENERATION = {
    "language_model": "lm", "candidates": 8, "top_k": 5, "max_tokens": 6, "min_tokens": 3, "per_class": 6, "batch_size": 6,
}  # fmt: skip
STUDENT = {"model": "encoder", "layers": 1}
TEACHERS = ["billing", "delivery"]
MELT: dict[str, Any] = {
    "teachers": TEACHERS,
    "texts": "texts.csv",
    "student": STUDENT,
    "training": TRAINING,
    "inference": {"tokens_per_batch": 512},
    "evaluate": {"data": {"path": "test.csv", "label": "label"}},
    "output": "run",
}
LABELLED = {"path": "task.csv", "label": "label"}


@dataclass(frozen=True)
class Scenario:
    """A command and its recipe."""

    command: str
    recipe: Mapping[str, Any]
    more: tuple[str, ...] = ()

    @property
    def argv(self) -> list[str]:
        return [self.command, "recipe.yaml", *self.more]


SCENARIOS: dict[str, Scenario] = {
    "alloy": Scenario("amalgamate", MELT | {"method": "alloy"}),
    "muka": Scenario("amalgamate", MELT | {"method": {"name": "muka", "passes": 8}}),
    "alloy from generated texts": Scenario(
        "amalgamate", MELT | {"method": "alloy", "texts": "generate", "generation": GENERATION}
    ),
    "muka from generated texts": Scenario(
        "amalgamate", MELT | {"method": {"name": "muka", "passes": 4}, "texts": "generate", "generation": GENERATION}
    ),
    "distill": Scenario(
        "distill",
        {
            "teachers": ["task-a", "task-b"],
            "texts": LABELLED,
            "student": STUDENT,
            "method": "mt_bert",
            "training": TRAINING,
            "evaluate": {"data": LABELLED},
            "output": "run",
        },
    ),
    "generate": Scenario(
        "generate", {"teachers": TEACHERS, "generation": GENERATION, "max_length": 24, "output": "run"}
    ),
    "teach": Scenario(
        "teach", {"model": STUDENT, "data": LABELLED, "training": TRAINING | {"held_out": 0.2}, "output": "run"}
    ),
    "teach --together": Scenario(
        "teach",
        {
            "models": ["encoder", "task-a"],
            "names": ["a", "b"],
            "data": LABELLED,
            "training": TRAINING,
            "output": "run",
        },
        ("--together",),
    ),
    "sweep": Scenario("sweep", MELT | {"method": {"name": "muka", "passes": 8}}),
}


class Stock:
    """The folder, and the worker that made it."""

    def __init__(self, work: Path, worker: Worker, make_later: Callable[[Stock, str, Path], None]) -> None:
        """make_later: runs a command of later.py, without any fault, in a folder."""
        self.folder, self.worker, self._make_later = work / f"stock-{source_digest()}", worker, make_later
        self.lock = FileLock(work / "stock.lock")  # several kinds may be tried at the same time
        with self.lock:
            if not (self.folder / "made").exists():
                shutil.rmtree(self.folder, ignore_errors=True)
                _make(self.folder)

    def fill(self, folder: Path, name: str = "", *, own: tuple[str, ...] = ()) -> None:
        """Put the inputs of a case into a new folder: links to models and texts, copies of those in `own`, a scenario's recipe."""
        folder.mkdir(parents=True, exist_ok=True)  # a disk of its own is there already
        for path in sorted((self.folder / "inputs").iterdir()):
            if path.name in own or not path.is_dir():
                (shutil.copytree if path.is_dir() else shutil.copyfile)(path, folder / path.name)
            else:
                os.symlink(path.resolve(), folder / path.name)
        if name:
            write_recipe(folder, SCENARIOS[name].recipe)

    def reference(self, name: str) -> Reference:
        """An undisturbed run of a scenario, or of a command in later.py."""
        folder = self.folder / "runs" / name.replace(" ", "-")
        with self.lock:
            if not (folder / "made.json").exists():
                if name in SCENARIOS:
                    self._run(name, folder)
                else:
                    shutil.rmtree(folder, ignore_errors=True)
                    self._make_later(self, name, folder)
        made = json.loads((folder / "made.json").read_text())
        return Reference(folder / "run", made["seconds"], made["changes"])

    def _run(self, name: str, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        self.fill(folder, name)
        for _ in range(1 if len(list(folder.parent.iterdir())) > 1 else 2):  # the first run's time is that of imports
            shutil.rmtree(folder / "run", ignore_errors=True)
            ended = self.worker.run(step(folder, *SCENARIOS[name].argv))[0]
            if ended.code:
                raise RuntimeError(f"{name} fails without any fault: {ended.code}\n{ended.out}\n{ended.error}")
        write_json(folder / "made.json", {"seconds": ended.seconds, "changes": ended.changes})


@dataclass(frozen=True)
class Reference:
    folder: Path
    seconds: float
    changes: int


def write_recipe(folder: Path, values: Mapping[str, Any], name: str = "recipe.yaml") -> None:
    (folder / name).write_text(yaml.safe_dump(dict(values), sort_keys=False), encoding="utf-8")


def _make(folder: Path) -> None:
    from tests import tiny

    inputs = folder / "inputs"
    inputs.mkdir(parents=True)
    tiny.classifier(inputs / "billing", BILLING, "bert", seed=1, num_hidden_layers=2)
    tiny.classifier(inputs / "delivery", DELIVERY, "roberta", seed=2, num_hidden_layers=2)
    for seed, name in enumerate(("task-a", "task-b"), 3):
        tiny.classifier(inputs / name, TASK, seed=seed, num_hidden_layers=2)
    tiny.encoder(inputs / "encoder", num_hidden_layers=2)
    tiny.language_model(inputs / "lm")
    texts = [m["text"] for m in messages("train")[::13]]  # of all teams
    write_csv(inputs / "texts.csv", [["text"], *([t] for t in texts[:72])])
    write_csv(inputs / "other.csv", [["text"], *([t] for t in texts[40:])])  # overlaps with texts.csv
    labels = [*BILLING, *DELIVERY]
    test = [m["text"] for m in messages("test")[::14]]
    write_csv(inputs / "test.csv", [["text", "label"], *([t, labels[i % 5]] for i, t in enumerate(test))])
    write_csv(inputs / "task.csv", [["text", "label"], *([t, TASK[i % 2]] for i, t in enumerate(texts[:48]))])
    write_atomic(folder / "made", "")


def write_csv(path: Path, rows: list[list[str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)


def source_digest() -> str:
    """Of the code that is tried, and of what makes the stock."""
    found = hashlib.sha256()
    sources = Path(__file__).parents[2] / "src" / "alloykit"
    makers = [Path(__file__).with_name(name) for name in ("stock.py", "others.py", "later.py")]
    for path in [*sorted(p for p in sources.rglob("*") if p.is_file() and p.suffix != ".pyc"), *makers]:
        found.update(path.read_bytes())
    return found.hexdigest()[:12]
