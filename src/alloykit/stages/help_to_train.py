"""A run in several processes: process 0 runs every stage, the others only train with it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from alloykit.data import Texts
from alloykit.files import no_writing
from alloykit.processes import ProcessGroup, group, training_begins
from alloykit.recipe.recipe import Recipe
from alloykit.run_folder.run_folder import RunFolder
from alloykit.stages.fit import fit
from alloykit.stages.knowledge import gather
from alloykit.stages.prepare_run import prepare_run
from alloykit.stages.prepared import Prepared
from alloykit.stages.train_student import train_student

NOTHING = "nothing"  # there is no student to train


def call_helpers(prepared: Prepared, run: RunFolder) -> None:
    """Process 0: tell the others that training can begin, or that there is nothing to train."""
    if (others := group()) is not None:
        others.tell("training", NOTHING if run.has_student or not prepared.method.phases() else "")


def help_to_train(
    mine: ProcessGroup, recipe: Recipe, tables: Mapping[str, Texts], cache: str | Path | None
) -> RunFolder:
    """What the other processes do: wait for process 0's stages, read their results, train with it, and wait for the end.

    mine: this process's side of the group. They write nothing. AlloyError."""
    run = RunFolder(Path(recipe.output))
    if mine.wait("training") != NOTHING:
        training_begins()
        with no_writing():
            train_from_finished(recipe, tables, run, cache)
    mine.wait("end")
    return run


def train_from_finished(recipe: Recipe, tables: Mapping[str, Texts], run: RunFolder, cache: str | Path | None) -> None:
    """Read what the finished stages of a run have written, and train its student. AlloyError."""
    prepared = prepare_run(recipe, tables)
    outputs = gather(prepared, run, cache)
    fitted = fit(prepared, run, outputs)
    train_student(prepared, run, outputs.pool, fitted.context, outputs.validation, outputs.labelled)
