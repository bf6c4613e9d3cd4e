"""Update a run with several questions: sweep what is new, let the student continue, and say what changed, question by question."""

from __future__ import annotations

from pathlib import Path

from alloykit.finished_runs.compare_students import write_changes
from alloykit.finished_runs.finished_run import refuse_cluster, refuse_code, refuse_services, unfinished_run
from alloykit.finished_runs.folder_of_update import folder_of_update
from alloykit.finished_runs.link_outputs import link_outputs
from alloykit.finished_runs.lost_labels import refuse_lost_labels
from alloykit.finished_runs.update_recipe import Changes, changes_by_question, kept_teachers, updated_questions
from alloykit.progress import logged_to
from alloykit.run_folder.file_names import LOG, RECIPE
from alloykit.run_folder.lock import locked
from alloykit.run_folder.run_folder import RunFolder
from alloykit.stages.prepare_questions import of_question
from alloykit.stages.questions_run import run_questions


def update_questions(
    run: RunFolder,
    changes: Changes,
    *,
    output: str | Path | None,
    cache: str | Path | None,
    overwrite: bool,
    trust_remote_code: bool,
    trust_url: bool,
) -> RunFolder:
    """The same as `update_run`, for a run with several questions. Teachers are named QUESTION/NAME, and a further one is QUESTION=MODEL.

    Each question's folder has its changes.json and changes.html. AlloyError."""
    before = run.questions
    for part in before.values():
        if not trust_remote_code:
            refuse_code(part.recipe, run.folder / RECIPE)
        part.check()
        if part.metrics is None:
            raise unfinished_run(run.folder)
    folder = folder_of_update(run, output)
    recipe = updated_questions(run, changes, folder)
    if not trust_remote_code:
        refuse_code(recipe, run.folder / RECIPE)
    own = changes_by_question(changes, list(before))
    kept: dict[str, list[str]] = {}
    for name in recipe.questions:
        one = recipe.question(name)
        if not trust_url:
            refuse_services(one, run.folder / RECIPE)
            if name not in before or one.engine.address == before[name].recipe.engine.address:
                refuse_cluster(one, run.folder / RECIPE)
        if name in before:
            with of_question(name):
                refuse_lost_labels(before[name], one)
            kept[name] = kept_teachers(before[name].recipe, one, own[name])

    def link(name: str, new: RunFolder) -> None:
        if cache is None and name in before:
            link_outputs(before[name].folder, new.folder, kept[name])

    new = run_questions(recipe, cache=cache, overwrite=overwrite, begin=link)
    with locked(new.folder), logged_to(new.folder / LOG, RECIPE):
        for name, part in new.questions.items():
            if name in before:
                write_changes(before[name], part)
    return new
