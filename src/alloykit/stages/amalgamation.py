"""A complete run of a recipe: prepare, get the teachers' outputs, fit the method, train the student, describe the run."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from alloykit.data import Texts
from alloykit.errors import AlloyError
from alloykit.methods.registry import create
from alloykit.methods.requirements import require_several
from alloykit.models.device import pick_device
from alloykit.names import counted, quoted
from alloykit.processes import joined, launched
from alloykit.progress import log_line, logged_to
from alloykit.recipe.recipe import Recipe
from alloykit.run_folder.file_names import LOG, RECIPE
from alloykit.run_folder.lock import locked
from alloykit.run_folder.run_folder import RunFolder, check_run_folder, open_run
from alloykit.stages.evaluate_student import evaluate_run
from alloykit.stages.findings import Findings
from alloykit.stages.fit import fit
from alloykit.stages.help_to_train import call_helpers, help_to_train
from alloykit.stages.inputs import inputs_of
from alloykit.stages.knowledge import gather
from alloykit.stages.prepare_run import prepare_run
from alloykit.stages.prepared import Prepared
from alloykit.stages.tracked_figures import tracked_figures
from alloykit.stages.train_in_cluster import train_in_cluster
from alloykit.stages.train_student import make_student
from alloykit.stages.write_report import write_report
from alloykit.training.sharded import require_shardable
from alloykit.training.shares import share_of


def run_recipe(
    recipe: Recipe,
    *,
    tables: Mapping[str, Texts] | None = None,
    cache: str | Path | None = None,
    overwrite: bool = False,
    check: Callable[[Prepared], None] | None = None,
    report: bool = True,
    begin: Callable[[RunFolder], None] | None = None,
) -> RunFolder:
    """Run a recipe. Finished parts in the output folder are reused. AlloyError.

    tables: texts in memory, by `texts`, `evaluate`, `validation` and `labelled`. cache: the folder of the teachers' outputs, if not in the
    run folder. check: extra validation before anything is written. report: False leaves out what only the report shows. begin: called with
    the new folder before the teachers' outputs are computed.

    Several processes of one launcher train the student together. All return when the run is finished.
    """
    check_run_folder(Path(recipe.output))
    _require_several(recipe, tables or {})
    with joined(recipe.device) as group:
        if group is not None and not group.is_first:
            return help_to_train(group, recipe, tables or {}, cache)
        run = _run(recipe, tables or {}, cache, overwrite, check, report, begin)
        if group is not None:
            group.tell("end")
        return run


def _require_several(recipe: Recipe, tables: Mapping[str, Texts]) -> None:
    """AlloyError if the processes that are to train the student cannot."""
    trainers, launch = recipe.engine.trainers, launched()[1]
    if trainers and launch > 1:
        raise AlloyError(
            expected=f"one process for `engine: {{trainers: {trainers}}}`, which starts the others",
            got=f"{launch}, from `torchrun` or `accelerate launch`",
            hint="Start it without the launcher, or leave `trainers` out.",
        )
    if trainers and tables:
        raise AlloyError(
            expected=f"texts in files that the machines of the cluster see, for `engine: {{trainers: {trainers}}}`",
            got="texts in memory",
            hint="Write them to a file, or leave `trainers` out.",
        )
    if recipe.training.arguments.get("fsdp"):
        device = recipe.engine.device("cpu", recipe.device) if trainers else pick_device(recipe.device)
        require_shardable(max(trainers, launch), device)
    require_several(create(recipe.method), max(trainers, launch))
    share_of(recipe.training, max(trainers, launch))


def _run(
    recipe: Recipe,
    tables: Mapping[str, Texts],
    cache: str | Path | None,
    overwrite: bool,
    check: Callable[[Prepared], None] | None,
    report: bool,
    begin: Callable[[RunFolder], None] | None,
) -> RunFolder:
    from alloykit.training.tracker import tracking

    with locked(Path(recipe.output)), logged_to(Path(recipe.output) / LOG, RECIPE):
        begun = time.perf_counter()
        prepared = prepare_run(recipe, tables, check, overwrite=overwrite)
        run = open_run(prepared.pinned, inputs_of(prepared), overwrite=overwrite)
        if begin is not None:
            begin(run)
        log_line(
            f"labels: {prepared.space.size:,} from {counted(len(prepared.infos), 'teacher')} ({quoted(prepared.space.names)})"
        )
        with tracking(recipe.training.report_to, run.folder, prepared.device) as tracker:
            findings = Findings.of_inputs(prepared, prepared.warnings)
            outputs = gather(prepared, run, cache)
            tracker.log({f"sweep/{name}/reads_per_second": speed for name, speed in outputs.speed.items()})
            fitted = fit(prepared, run, outputs)
            findings.add_pool(prepared, outputs, fitted)
            call_helpers(prepared, run)
            if recipe.engine.trainers and prepared.method.phases() and not run.has_student:
                train_in_cluster(recipe, run, cache)
            student = make_student(prepared, run, outputs, fitted, tracker)
            findings.add_student(prepared, outputs, fitted, student, report=report)
            findings.write(run, prepared, outputs, student, time.perf_counter() - begun)
            if prepared.test is not None:
                evaluate_run(prepared, run, fitted.context, outputs.store, prepared.test)
            steps = student.training["steps"] if student is not None and student.training is not None else 0
            tracker.log(tracked_figures(run.metrics or {}), steps)
            if report:
                write_report(run)
        return run
