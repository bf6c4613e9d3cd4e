"""Train a run's student in several processes of a Ray cluster. This process has run the stages before, and runs those after."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from alloykit import processes
from alloykit.engines.engine_options import EngineOptions
from alloykit.engines.ray_train import run_trainers
from alloykit.files import no_writing
from alloykit.progress import log_line, logged_to
from alloykit.recipe.recipe import Recipe
from alloykit.run_folder.file_names import LOG, RECIPE
from alloykit.run_folder.run_folder import RunFolder
from alloykit.stages.help_to_train import train_from_finished
from alloykit.teachers.trust import python_trusted

NOTES = "ray-train"  # Ray Train's own files, removed afterwards


def train_in_cluster(recipe: Recipe, run: RunFolder, cache: str | Path | None) -> None:
    """Train the student of a run whose outputs and fit are finished, with `engine: {trainers: …}`. AlloyError."""
    trainers, notes = recipe.engine.trainers, run.folder / NOTES
    log_line(f"training: {trainers} processes of the Ray cluster; their lines are in {run.folder / LOG}")
    run_trainers(recipe.engine, _Training(recipe, str(cache) if cache is not None else None), notes)
    shutil.rmtree(notes, ignore_errors=True)


@dataclass(frozen=True)
class _Training:
    """What each process does: read what the stages before have written, and train. Process 0 writes the student."""

    recipe: Recipe
    cache: str | None

    def __call__(self) -> None:
        # The outputs are finished, so no engine has to compute any. The code of the recipe's functions was trusted when the command began.
        recipe, folder = self.recipe.model_copy(update={"engine": EngineOptions()}), Path(self.recipe.output)
        with (
            processes.joined(recipe.device),
            python_trusted(True),
            logged_to(folder / LOG, RECIPE) if processes.is_first() else no_writing(),
        ):
            train_from_finished(recipe, {}, RunFolder(folder), self.cache)
