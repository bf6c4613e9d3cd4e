"""A run folder: what is in it, what it was made of, and what is still missing."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from alloykit.errors import AlloyError
from alloykit.files import is_left_over, read_json, write_atomic, write_json
from alloykit.knowledge.artifacts import differences, record_made, refuse, what_differs
from alloykit.recipe import Recipe, dump
from alloykit.serving.predictor import Predictor, check_texts
from alloykit.yaml_files import read_yaml

INPUTS = "inputs.json"
SECTIONS = ("teachers", "texts", "generation", "student", "method", "labels", "training", "validation", "knowledge")
DECIDED = ("epochs", "learning_rate")  # what prepare() decides by the texts, where the recipe does not say
PACKAGES = ("alloykit", "torch", "transformers", "accelerate", "datasets", "tokenizers", "safetensors", "numpy")


@dataclass(frozen=True)
class Run:
    """A finished (or half-finished) run folder.

    student/        a plain Hugging Face classifier over the union of labels
    report.html     whether to trust it, on one page
    metrics.json    what was measured, and every warning
    recipe.yaml     the recipe with every default written out
    environment.json, training.json, knowledge/
    """

    folder: Path

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", folder_of(self.folder))

    @property
    def student(self) -> Path:
        return self.folder / "student"

    @property
    def report(self) -> Path:
        """The page that says whether to trust the student."""
        return self.folder / "report.html"

    @property
    def answers(self) -> Path:
        """What everybody answered on the test texts (evaluation/answers.py)."""
        return self.folder / "answers.safetensors"

    @property
    def metrics(self) -> dict[str, Any]:
        return self.read("metrics.json")

    def read(self, name: str) -> dict[str, Any]:
        """One of the run's JSON files; empty if it is not there (yet)."""
        path = self.folder / name
        return dict(read_json(path)) if path.exists() else {}

    @property
    def has_student(self) -> bool:
        return (self.student / "config.json").exists()

    def predict(
        self, texts: Sequence[str], pairs: Sequence[str | None] | None = None, *, trust_remote_code: bool = False
    ) -> list[dict[str, Any]]:
        """The student's label and its probability for each text. AlloyError for anything but a list of texts."""
        check_texts(texts)
        check_texts(pairs, "pairs", none_allowed=True)
        classifier = Predictor.load(self.student, trust_remote_code=trust_remote_code)
        top = classifier.probabilities(texts, pairs).max(-1)
        return [
            {"label": classifier.labels[int(i)], "probability": float(p)}
            for i, p in zip(top.indices, top.values, strict=True)
        ]


def folder_of(run: str | Path | Run) -> Path:
    """A run's folder, or the folder that a path names. AlloyError for anything else."""
    if isinstance(run, Run):
        return run.folder
    if isinstance(run, (str, Path)):
        return Path(run)
    raise AlloyError(
        expected="a folder, or the run that `amalgamate` returned",
        got=f"a {type(run).__name__}",
        hint="For instance alloykit.Run('runs/tickets').",
    )


def check_output(folder: Path) -> None:
    """AlloyError if something that is no folder is in the way."""
    for place in (folder, *folder.parents):
        if place.exists() and not place.is_dir():
            raise AlloyError(expected="a folder as `output`", got=f"the file '{place}'", hint="Choose another output.")


def open_run(recipe: Recipe, inputs: Mapping[str, Any], *, overwrite: bool = False) -> Run:
    """Create the run folder, or check that what lies there was made by the same recipe from the same inputs.

    AlloyError names what differs. With `overwrite`, student and training are removed; the knowledge stays.
    """
    something_to_lose = check_run(recipe, inputs, overwrite=overwrite)
    folder = Path(recipe.output)
    if overwrite:
        for name in ("student", "training"):
            shutil.rmtree(folder / name, ignore_errors=True)
    if not something_to_lose or overwrite:
        for name in ("training.json", "metrics.json", "state.safetensors", "answers.safetensors", "report.html"):
            (folder / name).unlink(missing_ok=True)
    write_atomic(folder / "recipe.yaml", dump(recipe))
    record_made(folder / INPUTS, inputs, anew=not something_to_lose or overwrite)
    write_json(folder / "environment.json", environment())
    return Run(folder)


def check_run(recipe: Recipe, inputs: Mapping[str, Any], *, overwrite: bool = False) -> bool:
    """AlloyError for an output folder that this recipe must not write to. Whether something lies there that took long to make."""
    folder = Path(recipe.output)
    check_output(folder)
    made = folder / "recipe.yaml"
    if (
        not made.exists()
        and folder.exists()
        and any(p.name not in ("knowledge", "generated") and not is_left_over(p.name) for p in folder.iterdir())
    ):
        raise AlloyError(
            expected="an empty or new folder, or an alloykit run, as `output`",
            got=f"'{folder}' with other files",
            hint="Choose another output; alloykit never mixes its files with yours.",
        )
    something_to_lose = _something_to_lose(folder)
    if made.exists() and something_to_lose and not overwrite:
        _refuse_changes(folder, recipe, inputs)
    return something_to_lose


def note_inputs(run: Run, inputs: Mapping[str, Any]) -> None:
    """Note what else the run is made of, which was not known before. AlloyError if what lies there was made of something else."""
    if _something_to_lose(run.folder):
        refuse(what_differs(run.folder / INPUTS, inputs), **_refusal(run.folder))
    record_made(run.folder / INPUTS, inputs)


def _something_to_lose(folder: Path) -> bool:
    return any((folder / name).exists() for name in ("student", "training", "metrics.json"))


def _refuse_changes(folder: Path, recipe: Recipe, inputs: Mapping[str, Any]) -> None:
    old = read_yaml(folder / "recipe.yaml") or {}
    new = recipe.model_dump(mode="json")
    new["training"] |= undecided(old, new)
    changed = [line for section in SECTIONS for line in differences(section, old.get(section), new[section])]
    refuse([*changed, *what_differs(folder / INPUTS, inputs)], **_refusal(folder))


def _refusal(folder: Path) -> dict[str, str]:
    return {
        "expected": f"the recipe that made {folder}",
        "hint": "Choose another `output`, or add --overwrite to replace the student (the knowledge is kept)",
    }


def undecided(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """An older recipe's values for what the texts will decide in a newer one: before they are there, nothing says that it will differ."""
    before = old.get("training") or {}
    return {key: before.get(key) for key in DECIDED if new["training"][key] is None}


def environment() -> dict[str, Any]:
    """Versions and machine, for environment.json."""
    import torch

    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "not installed"
    return {
        "python": platform.python_version(),
        "packages": versions,
        "platform": platform.platform(),
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "gpu": torch.cuda.get_device_name(0) if torch.cuda.is_available() else None,
    }
