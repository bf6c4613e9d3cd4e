"""Update a run: sweep what is new, let the student continue, and say what changed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from alloykit.data import Texts
from alloykit.errors import AlloyError
from alloykit.evaluation.label_changes import changes_on_pool, changes_on_test
from alloykit.files import write_atomic, write_json
from alloykit.finished_runs.finished_run import refuse_cluster, refuse_code, refuse_services, unfinished_run
from alloykit.finished_runs.link_outputs import link_outputs
from alloykit.finished_runs.update_recipe import Changes, kept_teachers, updated_recipe
from alloykit.methods.registry import create
from alloykit.names import quoted
from alloykit.progress import log_line, logged_to
from alloykit.recipe.models import InMemory, Recipe
from alloykit.run_folder.file_names import CACHE, CHANGES, LOG, RECIPE
from alloykit.run_folder.lock import locked
from alloykit.run_folder.run_folder import RunFolder
from alloykit.serving.predictor import Predictor
from alloykit.serving.question_answers import require_single_label
from alloykit.stages.amalgamation import run_recipe
from alloykit.stages.distillation import check_teachers
from alloykit.stages.evaluate_student import probabilities_of
from alloykit.stages.prepare import teachers_and_labels
from alloykit.stages.recipe_texts import origin_of, read, salted

ASKED = 5_000  # texts of the pool that both students answer, where there are no test texts
CHANGES_PAGE = "changes.html"


def update_run(
    run: RunFolder,
    changes: Changes,
    *,
    output: str | Path | None = None,
    cache: str | Path | None = None,
    overwrite: bool = False,
    trust_remote_code: bool = False,
    trust_url: bool = False,
) -> tuple[RunFolder, dict[str, Any]]:
    """Make the updated run in a folder of its own, and compare its student with the earlier one.

    output: the new folder; `next_folder` of the run if not given. cache: where the run's outputs are, if not in its folder. The earlier run
    stays as it is. trust_url: send texts and keys to the services among its teachers. Returns the new run, and what changed, as changes.json has it. Started again after a kill, it goes on. AlloyError.
    """
    before = run.recipe
    if not trust_remote_code:
        refuse_code(before, run.folder / RECIPE)
    require_single_label(create(before.method).needs.multi_label, "`alloykit update`")
    run.check()
    if run.metrics is None:
        raise unfinished_run(run.folder)
    folder = Path(output) if output is not None else next_folder(run.folder)
    if folder.resolve() == run.folder.resolve():
        raise AlloyError(
            expected="another folder for the updated run",
            got=f"the run's own, '{folder}'",
            hint=f"For instance `--output {next_folder(run.folder)}`.",
        )
    recipe = updated_recipe(run, changes, folder)
    if not trust_url:
        refuse_services(recipe, run.folder / RECIPE)
        if recipe.engine == before.engine:
            refuse_cluster(recipe, run.folder / RECIPE)
    _refuse_lost_labels(run, recipe)
    kept = kept_teachers(before, recipe, changes)

    def link(new: RunFolder) -> None:
        if cache is None and (run.folder / CACHE).is_dir():
            link_outputs(run.folder, new.folder, kept)
        elif cache is None:
            log_line(
                f"warning: no cached outputs in {run.folder}: every teacher reads every text. --cache names another place"
            )

    check = check_teachers if create(recipe.method).one_task else None
    new = run_recipe(recipe, cache=cache, overwrite=overwrite, check=check, begin=link)
    if not (run.has_student and new.has_student):
        return new, {}
    with locked(new.folder), logged_to(new.folder / LOG, RECIPE):
        found = compare_students(run, new)
        write_json(new.folder / CHANGES, found)
        write_changes(run, new, found)
    return new, found


def next_folder(folder: Path) -> Path:
    """The default folder of an update: runs/tickets-2 for runs/tickets, runs/tickets-3 for runs/tickets-2."""
    named = folder if folder.name not in ("", "..") else folder.resolve()
    counted = re.fullmatch(r"(.+)-(\d{1,6})", named.name)
    return named.with_name(f"{counted[1]}-{int(counted[2]) + 1}" if counted else f"{named.name}-2")


def compare_students(old: RunFolder, new: RunFolder) -> dict[str, Any]:
    """What changed per label: on the test texts of the new run if it has any, else on a sample of its pool (evaluation/label_changes.py)."""
    recipe = new.recipe
    before, after = (_student(run, recipe) for run in (old, new))
    common = {"earlier": old.folder.resolve().name, "labels_before": list(before.labels)}
    if recipe.evaluate is not None and not isinstance(recipe.evaluate.data, InMemory):
        test = read(salted(recipe.evaluate.data, recipe), want_labels=True)
        aliases = recipe.labels.aliases
        truth = [aliases.get(name, name) for name in test.table["label"]]
        answers, later = _names(before, test), _names(after, test)
        return common | {"on": "test"} | changes_on_test(answers, later, truth, after.labels, before.labels)
    pool = _sample(read(origin_of(recipe)))
    found = changes_on_pool(_names(before, pool), _names(after, pool), after.labels, before.labels)
    return common | {"on": "pool"} | found


def write_changes(old: RunFolder, new: RunFolder, found: Mapping[str, Any]) -> Path:
    """Write changes.html in the new run's folder. Returns its path."""
    from alloykit.reporting import page
    from alloykit.reporting.changes import render_changes

    views = [page.load(run.folder) for run in (old, new)]
    path = new.folder / CHANGES_PAGE
    write_atomic(path, render_changes(found, *views))
    return path


def _student(run: RunFolder, recipe: Recipe) -> Predictor:
    trusted = recipe.student is not None and recipe.student.trust_remote_code
    return Predictor.load(run.student, recipe.training.max_length, recipe.device, trust_remote_code=trusted)


def _names(student: Predictor, texts: Texts) -> list[str]:
    return [student.labels[i] for i in probabilities_of(student, texts).argmax(-1).tolist()]


def _sample(texts: Texts) -> Texts:
    if len(texts) <= ASKED:
        return texts
    at = np.sort(np.random.default_rng(0).choice(len(texts), ASKED, replace=False))
    return Texts(texts.table.select(at), texts.dropped, texts.total)


def _refuse_lost_labels(run: RunFolder, recipe: Recipe) -> None:
    """AlloyError if labelled texts of the earlier run have a label that only a removed teacher knew."""
    metrics = run.metrics
    assert metrics is not None
    _, space = teachers_and_labels(recipe.teachers, recipe.labels)
    lost = set(metrics["labels"]) - set(space.names)
    for key in ("evaluate", "validation", "labelled") if lost else ():
        block = getattr(recipe, key)
        if block is None or isinstance(block.data, InMemory):
            continue
        labels = set(read(salted(block.data, recipe), want_labels=True).table["label"])
        if unknown := sorted(lost & {recipe.labels.aliases.get(name, name) for name in labels}):
            raise AlloyError(
                expected=f"texts in `{key}:` with labels that a remaining teacher knows",
                got=quoted(unknown[:5]) + (" and more" if unknown[5:] else ""),
                hint=f"Name a file without them, `-o {key}.data.path=FILE`, or leave the texts out, `-o {key}=null`.",
            )
