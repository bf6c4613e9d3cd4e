"""A run folder: its files, and what it was made of."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Self

from alloykit.blocks import effective
from alloykit.errors import AlloyError
from alloykit.files import write_atomic
from alloykit.json_files import write_json
from alloykit.knowledge.store.artifacts import differences, record_made, refuse, what_differs
from alloykit.paths import user_path
from alloykit.recipe.questions import QUESTIONS, QuestionsRecipe
from alloykit.recipe.read_recipe import dump
from alloykit.recipe.recipe import Recipe
from alloykit.run_folder.file_names import (
    ANSWERS,
    CACHE,
    CHANGES,
    CHANGES_PAGE,
    ENVIRONMENT,
    EXPORT,
    GENERATED,
    INPUTS,
    METRICS,
    POOL_ANSWERS,
    RECIPE,
    REPORT,
    START,
    STATE,
    STUDENT,
    TRAINING,
)
from alloykit.run_folder.metrics import Metrics
from alloykit.run_folder.output_folder import check_removable, refuse_others, remove
from alloykit.run_folder.read import (
    any_recipe_of,
    questions_of_run,
    read_environment,
    read_metrics,
    read_training,
    recipe_of,
)
from alloykit.run_folder.records import TrainingRecord

OR_OVERWRITE = "Choose another `output`, or add --overwrite to replace the student (the teachers' cached outputs stay)"
SECTIONS = (
    "questions",
    "teachers",
    "texts",
    "generation",
    "student",
    "method",
    "labels",
    "training",
    "validation",
    "labelled",
    "inference",
)
DECIDED = ("epochs", "learning_rate")  # prepare() sets these from the texts if the recipe does not
PACKAGES = ("alloykit", "torch", "transformers", "accelerate", "datasets", "tokenizers", "safetensors", "numpy")


@dataclass(frozen=True)
class RunFolder:
    """The folder of a finished or unfinished run.

    student/        a plain Hugging Face classifier over the union of labels
    report.html     one page that says whether to trust it
    metrics.json    measurements and warnings
    recipe.yaml     the recipe with every default written out
    run.log         what was printed, with times
    environment.json, training.json, cache/
    """

    folder: Path

    @property
    def student(self) -> Path:
        """The student's folder, which `transformers` can load."""
        return self.folder / STUDENT

    @property
    def report_page(self) -> Path:
        """The page that says whether to trust the student."""
        return self.folder / REPORT

    @property
    def answers(self) -> Path:
        """The file with the probabilities of every classifier on the test texts (evaluation/answers.py)."""
        return self.folder / ANSWERS

    @property
    def metrics(self) -> Metrics | None:
        """Measurements and warnings; None before the run is finished. AlloyError for a damaged file."""
        return read_metrics(self.folder)

    @property
    def training(self) -> TrainingRecord | None:
        """Losses, checks and the selected step; None if nothing was trained (yet). AlloyError for a damaged file."""
        return read_training(self.folder)

    @property
    def recipe(self) -> Recipe:
        """The recipe with every default written out. AlloyError for a missing or damaged file, and for a run with several questions."""
        return recipe_of(self.folder)

    @property
    def questions(self) -> dict[str, Self]:
        """By question, the run folder of each question of a run with several; empty for other runs. AlloyError for a damaged recipe."""
        return {name: type(self)(folder) for name, folder in questions_of_run(self.folder).items()}

    def check(self) -> None:
        """AlloyError if one of the run's files is damaged. Called before long work that reads them at the end."""
        _ = self.recipe, self.metrics, self.training, read_environment(self.folder)

    @property
    def has_student(self) -> bool:
        """Whether there is a student."""
        return (self.student / "config.json").exists()


def folder_of(run: str | Path | RunFolder) -> Path:
    """A run's folder, or the folder that a path names. AlloyError for anything else."""
    if isinstance(run, RunFolder):
        return run.folder
    if isinstance(run, (str, Path)):
        return user_path(run)
    raise AlloyError(
        expected="a folder, or the run that `amalgamate` returned",
        got=f"a {type(run).__name__}",
        hint="For instance alloykit.Run('runs/tickets').",
    )


def is_run_folder(folder: Path) -> bool:
    """Whether a run has begun to write its files there. False also for a name that no path can have."""
    return os.path.exists(folder / RECIPE)


def require_run_folder(folder: Path) -> None:
    """AlloyError for anything but a run folder."""
    if not is_run_folder(folder):
        raise AlloyError(
            expected="a run folder",
            got=f"'{folder}'" + ("" if folder.exists() else ", which does not exist"),
            hint="Name the `output` of a recipe that has been run.",
        )


def classifier_folder(folder: Path) -> Path:
    """The student's folder of a run folder; any other folder is that of a classifier itself."""
    return folder / STUDENT if is_run_folder(folder) else folder


def files_to_keep(folder: Path) -> list[Path]:
    """What commands read of a run folder or a model folder, and none may replace by its own output: files, and the folder of the classifier."""
    names = (RECIPE, INPUTS, ENVIRONMENT, TRAINING, METRICS, ANSWERS, STATE, POOL_ANSWERS)
    return [*(folder / name for name in names), classifier_folder(folder)]


def onnx_folder(folder: Path) -> Path:
    """The folder of a run's ONNX export; any other folder is that of an ONNX classifier itself."""
    return folder / EXPORT if is_run_folder(folder) else folder


STARTS_ANEW = (STUDENT, "training")
TENSORBOARD = "tensorboard"  # the folder that training/tracker.py names
RESULTS = (TRAINING, METRICS, STATE, ANSWERS, REPORT, CHANGES, CHANGES_PAGE, EXPORT)


def open_run(
    recipe: Recipe | QuestionsRecipe, inputs: Mapping[str, Any], *, overwrite: bool = False, begun: bool = False
) -> RunFolder:
    """Create the run folder, or check that it was made by the same recipe from the same inputs.

    begun: the folder belongs to a question of a run that holds results. What is in it stays, even if it holds no student yet. The AlloyError
    names the differences. With `overwrite`, student, training, and what was made of the student are removed; if they cannot be removed, nothing is changed and an AlloyError
    says so. The cached outputs are kept.
    """
    something_to_lose = check_run(recipe, inputs, overwrite=overwrite) or begun
    folder = Path(recipe.output)
    if overwrite:
        remove(folder, (*STARTS_ANEW, *RESULTS, TENSORBOARD))
    elif not something_to_lose:
        # The fit stays: it is used again if it was made of the same inputs.
        remove(folder, [name for name in RESULTS if name != STATE])
    write_atomic(folder / RECIPE, dump(recipe))
    record_made(folder / INPUTS, inputs, anew=not something_to_lose or overwrite)
    write_json(folder / ENVIRONMENT, environment())
    return RunFolder(folder)


def check_run_folder(folder: Path) -> None:
    """AlloyError for an output folder with files that do not belong to a run."""
    refuse_others(folder, RECIPE, (CACHE, START, GENERATED, QUESTIONS))


def check_run(recipe: Recipe | QuestionsRecipe, inputs: Mapping[str, Any], *, overwrite: bool) -> bool:
    """AlloyError for an output folder that this recipe must not write to. Returns whether it holds results."""
    folder = Path(recipe.output)
    check_run_folder(folder)
    something_to_lose = has_results(folder)
    if overwrite:
        check_removable(folder, (*STARTS_ANEW, *RESULTS, TENSORBOARD))
    elif something_to_lose:
        _refuse_changes(folder, recipe, inputs)
    if not overwrite:
        _refuse_incomplete_student(RunFolder(folder))
    return something_to_lose


def record_inputs(run: RunFolder, inputs: Mapping[str, Any]) -> None:
    """Record further inputs of the run. AlloyError if the folder's results were made of other inputs."""
    if has_results(run.folder):
        refuse(what_differs(run.folder / INPUTS, inputs), **_refusal(run.folder))
    record_made(run.folder / INPUTS, inputs)


def has_results(folder: Path) -> bool:
    """Whether a run folder holds a student, checkpoints or measurements."""
    return any((folder / name).exists() for name in (*STARTS_ANEW, METRICS))


def _refuse_changes(folder: Path, recipe: Recipe | QuestionsRecipe, inputs: Mapping[str, Any]) -> None:
    try:
        old = effective(any_recipe_of(folder))
    except AlloyError as error:
        raise AlloyError(
            expected=error.expected,
            got=error.got,
            hint=f"Restore it. {OR_OVERWRITE}",
        ) from error
    new = effective(recipe)
    new["training"] |= unresolved_settings(old, new)
    changed = [line for section in SECTIONS for line in differences(section, old.get(section), new.get(section))]
    refuse([*changed, *what_differs(folder / INPUTS, inputs)], **_refusal(folder))


def _refusal(folder: Path) -> dict[str, str]:
    return {"expected": f"the recipe that made {folder}", "hint": OR_OVERWRITE}


def _refuse_incomplete_student(run: RunFolder) -> None:
    """AlloyError for an incomplete student, which alloykit never leaves: it saves all files at once."""
    place = run.student
    if run.has_student or not (place.is_symlink() or place.exists()) or (place.is_dir() and not any(place.iterdir())):
        return
    raise AlloyError(
        expected=f"a whole student in {place}, with its config.json",
        got="other files" if place.is_dir() else "a link to nowhere" if place.is_symlink() else "a file",
        hint=f"Restore it. {OR_OVERWRITE}",
    )


def unresolved_settings(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The older recipe's values for settings that the texts will set in the newer one: before the texts exist they count as equal."""
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
