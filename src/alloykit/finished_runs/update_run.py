"""Update a run: sweep what is new, let the student continue, and say what changed."""

from __future__ import annotations

from pathlib import Path

from alloykit.finished_runs.compare_students import write_changes
from alloykit.finished_runs.finished_run import refuse_cluster, refuse_code, refuse_services, unfinished_run
from alloykit.finished_runs.folder_of_update import folder_of_update
from alloykit.finished_runs.link_outputs import link_outputs
from alloykit.finished_runs.lost_labels import refuse_lost_labels
from alloykit.finished_runs.update_questions import update_questions
from alloykit.finished_runs.update_recipe import Changes, kept_teachers, updated_recipe
from alloykit.methods.registry import create
from alloykit.progress import logged_to
from alloykit.run_folder.file_names import LOG, RECIPE
from alloykit.run_folder.lock import locked
from alloykit.run_folder.run_folder import RunFolder
from alloykit.stages.amalgamation import run_recipe
from alloykit.stages.distillation import check_teachers


def update_run(
    run: RunFolder,
    changes: Changes,
    *,
    output: str | Path | None = None,
    cache: str | Path | None = None,
    overwrite: bool = False,
    trust_remote_code: bool = False,
    trust_url: bool = False,
) -> RunFolder:
    """Make the updated run in a folder of its own, and compare its student with the earlier one.

    output: the new folder; `next_folder` of the run if not given. cache: where the run's outputs are, if not in its folder. The earlier run
    stays as it is. trust_url: send texts and keys to the services among its teachers. Returns the new run, whose changes.json
    has what changed. Started again after a kill, it goes on. AlloyError.
    """
    if run.questions:
        return update_questions(
            run,
            changes,
            output=output,
            cache=cache,
            overwrite=overwrite,
            trust_remote_code=trust_remote_code,
            trust_url=trust_url,
        )
    before = run.recipe
    if not trust_remote_code:
        refuse_code(before, run.folder / RECIPE)
    run.check()
    if run.metrics is None:
        raise unfinished_run(run.folder)
    folder = folder_of_update(run, output)
    recipe = updated_recipe(run, changes, folder)
    if not trust_remote_code:
        refuse_code(recipe, run.folder / RECIPE)
    if not trust_url:
        refuse_services(recipe, run.folder / RECIPE)
        if recipe.engine.address == before.engine.address:
            refuse_cluster(recipe, run.folder / RECIPE)
    refuse_lost_labels(run, recipe)
    kept = kept_teachers(before, recipe, changes)

    def link(new: RunFolder) -> None:
        if cache is None:
            link_outputs(run.folder, new.folder, kept)

    check = check_teachers if create(recipe.method).one_task else None
    new = run_recipe(recipe, cache=cache, overwrite=overwrite, check=check, begin=link)
    if not (run.has_student and new.has_student):
        return new
    with locked(new.folder), logged_to(new.folder / LOG, RECIPE):
        write_changes(run, new)
    return new
