"""A run folder: what is in it, what it was made of, and what is still missing."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from alloykit.errors import AlloyError
from alloykit.files import write_atomic, write_json
from alloykit.knowledge.store.artifacts import differences, record_made, refuse, what_differs
from alloykit.recipe.models import Recipe, dump
from alloykit.run_files import (
    ANSWERS,
    CACHE,
    ENVIRONMENT,
    INPUTS,
    METRICS,
    RECIPE,
    REPORT,
    STATE,
    TRAINING,
    Metrics,
    TrainingRecord,
    read_environment,
    read_metrics,
    read_training,
    recipe_of,
)
from alloykit.stages.output_folder import check_removable, refuse_others, remove

OR_OVERWRITE = "Choose another `output`, or add --overwrite to replace the student (the teachers' cached outputs stay)"
SECTIONS = ("teachers", "texts", "generation", "student", "method", "labels", "training", "validation", "inference")
DECIDED = ("epochs", "learning_rate")  # what prepare() decides by the texts, where the recipe does not say
PACKAGES = ("alloykit", "torch", "transformers", "accelerate", "datasets", "tokenizers", "safetensors", "numpy")


@dataclass(frozen=True)
class RunFolder:
    """A finished (or half-finished) run folder.

    student/        a plain Hugging Face classifier over the union of labels
    report.html     whether to trust it, on one page
    metrics.json    what was measured, and every warning
    recipe.yaml     the recipe with every default written out
    run.log         what was printed, with times
    environment.json, training.json, cache/
    """

    folder: Path

    @property
    def student(self) -> Path:
        """The student's folder: what `transformers` loads."""
        return self.folder / "student"

    @property
    def report_page(self) -> Path:
        """The page that says whether to trust the student."""
        return self.folder / REPORT

    @property
    def answers(self) -> Path:
        """What everybody answered on the test texts (evaluation/answers.py)."""
        return self.folder / ANSWERS

    @property
    def metrics(self) -> Metrics | None:
        """What was measured, and every warning; None before the run is finished. AlloyError for a damaged file."""
        return read_metrics(self.folder)

    @property
    def training(self) -> TrainingRecord | None:
        """Losses, checks and the step that was taken; None where nothing was trained (yet). AlloyError for a damaged file."""
        return read_training(self.folder)

    @property
    def recipe(self) -> Recipe:
        """The recipe with every default written out. AlloyError for a damaged file."""
        return recipe_of(self.folder)

    def check(self) -> None:
        """AlloyError if one of the run's files is damaged, before any work that would end with reading it."""
        _ = self.recipe, self.metrics, self.training, read_environment(self.folder)

    @property
    def has_student(self) -> bool:
        """Whether the student is there."""
        return (self.student / "config.json").exists()


def folder_of(run: str | Path | RunFolder) -> Path:
    """A run's folder, or the folder that a path names. AlloyError for anything else."""
    if isinstance(run, RunFolder):
        return run.folder
    if isinstance(run, (str, Path)):
        return Path(run)
    raise AlloyError(
        expected="a folder, or the run that `amalgamate` returned",
        got=f"a {type(run).__name__}",
        hint="For instance alloykit.Run('runs/tickets').",
    )


STARTS_ANEW = ("student", "training")
RESULTS = (TRAINING, METRICS, STATE, ANSWERS, REPORT)


def open_run(recipe: Recipe, inputs: Mapping[str, Any], *, overwrite: bool = False) -> RunFolder:
    """Create the run folder, or check that what lies there was made by the same recipe from the same inputs.

    AlloyError names what differs. With `overwrite`, student and training are removed, or nothing is changed and an AlloyError says
    what cannot be removed; the cached outputs stay.
    """
    something_to_lose = check_run(recipe, inputs, overwrite=overwrite)
    folder = Path(recipe.output)
    if overwrite:
        remove(folder, (*STARTS_ANEW, *RESULTS))
    elif not something_to_lose:
        remove(folder, RESULTS)
    write_atomic(folder / RECIPE, dump(recipe))
    record_made(folder / INPUTS, inputs, anew=not something_to_lose or overwrite)
    write_json(folder / ENVIRONMENT, environment())
    return RunFolder(folder)


def check_run_folder(folder: Path) -> None:
    """AlloyError for an output folder with files that are no run's."""
    refuse_others(folder, RECIPE, (CACHE, "generated"))


def check_run(recipe: Recipe, inputs: Mapping[str, Any], *, overwrite: bool = False) -> bool:
    """AlloyError for an output folder that this recipe must not write to. Whether something lies there that took long to make."""
    folder = Path(recipe.output)
    check_run_folder(folder)
    something_to_lose = _something_to_lose(folder)
    if overwrite:
        check_removable(folder, (*STARTS_ANEW, *RESULTS))
    elif (folder / RECIPE).exists() and something_to_lose:
        _refuse_changes(folder, recipe, inputs)
    if not overwrite:
        _refuse_half_a_student(RunFolder(folder))
    return something_to_lose


def note_inputs(run: RunFolder, inputs: Mapping[str, Any]) -> None:
    """Note what else the run is made of, which was not known before. AlloyError if what lies there was made of something else."""
    if _something_to_lose(run.folder):
        refuse(what_differs(run.folder / INPUTS, inputs), **_refusal(run.folder))
    record_made(run.folder / INPUTS, inputs)


def _something_to_lose(folder: Path) -> bool:
    return any((folder / name).exists() for name in (*STARTS_ANEW, METRICS))


def _refuse_changes(folder: Path, recipe: Recipe, inputs: Mapping[str, Any]) -> None:
    try:
        old = recipe_of(folder).model_dump(mode="json")
    except AlloyError as error:
        raise AlloyError(
            expected=error.expected,
            got=error.got,
            hint=f"Restore it. {OR_OVERWRITE}",
        ) from error
    new = recipe.model_dump(mode="json")
    new["training"] |= undecided(old, new)
    changed = [line for section in SECTIONS for line in differences(section, old.get(section), new[section])]
    refuse([*changed, *what_differs(folder / INPUTS, inputs)], **_refusal(folder))


def _refusal(folder: Path) -> dict[str, str]:
    return {"expected": f"the recipe that made {folder}", "hint": OR_OVERWRITE}


def _refuse_half_a_student(run: RunFolder) -> None:
    """AlloyError, before any work, for a student that is not whole: saving puts all of its files there at once."""
    place = run.student
    if run.has_student or not (place.is_symlink() or place.exists()) or (place.is_dir() and not any(place.iterdir())):
        return
    raise AlloyError(
        expected=f"a whole student in {place}, with its config.json",
        got="other files" if place.is_dir() else "a link to nowhere" if place.is_symlink() else "a file",
        hint=f"Restore it. {OR_OVERWRITE}",
    )


def undecided(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """An older recipe's values for what the texts will decide in a newer one: before they are there, nothing says that it will differ."""
    before = old.get("training")
    return {
        key: before.get(key) if isinstance(before, Mapping) else None for key in DECIDED if new["training"][key] is None
    }


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
