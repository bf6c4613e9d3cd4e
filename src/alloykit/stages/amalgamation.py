"""A complete run of a recipe: prepare, get the teachers' outputs, fit the method, train the student, describe the run."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from alloykit.data import Texts
from alloykit.progress import logged_to, say
from alloykit.recipe.models import Recipe
from alloykit.run_files import LOG, RECIPE
from alloykit.stages.evaluate_student import evaluate_run
from alloykit.stages.findings import Findings
from alloykit.stages.fit import fit
from alloykit.stages.inputs import inputs_of
from alloykit.stages.knowledge import gather
from alloykit.stages.lock import locked
from alloykit.stages.prepare import Prepared
from alloykit.stages.prepare_run import prepare_run
from alloykit.stages.run_folder import RunFolder, check_run_folder, open_run
from alloykit.stages.train_student import make_student
from alloykit.stages.write_report import write_report


def run_recipe(
    recipe: Recipe,
    *,
    tables: Mapping[str, Texts] | None = None,
    cache: str | Path | None = None,
    overwrite: bool = False,
    check: Callable[[Prepared], None] | None = None,
    report: bool = True,
) -> RunFolder:
    """Run a recipe. Finished parts in the output folder are reused.

    tables: texts in memory, by `texts`, `evaluate` and `validation`. cache: the folder of the teachers' outputs, if not in the run
    folder. check: extra validation before anything is written. report: False leaves out what only the report shows. AlloyError.
    """
    check_run_folder(Path(recipe.output))
    with locked(Path(recipe.output)), logged_to(Path(recipe.output) / LOG, RECIPE):
        begun = time.perf_counter()
        prepared = prepare_run(recipe, tables or {}, check, overwrite=overwrite)
        run = open_run(prepared.pinned, inputs_of(prepared), overwrite=overwrite)
        say(f"labels: {prepared.space.size} from {len(prepared.infos)} teachers ({', '.join(prepared.space.names)})")
        findings = Findings.of_inputs(prepared, prepared.method.warnings(prepared.context))
        outputs = gather(prepared, run, cache)
        fitted = fit(prepared, run, outputs)
        findings.add_pool(prepared, outputs, fitted)
        student = make_student(prepared, run, outputs, fitted)
        findings.add_student(prepared, run, outputs, fitted, student, report=report)
        findings.write(run, prepared, outputs, student, time.perf_counter() - begun)
        if prepared.test is not None:
            evaluate_run(prepared, run, fitted.context, outputs.store, prepared.test)
        if report:
            write_report(run)
        return run
