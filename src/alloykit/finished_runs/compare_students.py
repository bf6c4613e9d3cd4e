"""What an update changed: the earlier and the new student on the same texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from alloykit.data import Texts
from alloykit.data.table import BETWEEN_LABELS
from alloykit.evaluation.label_changes import changes_on_pool, changes_on_test
from alloykit.files import write_atomic
from alloykit.json_files import write_json
from alloykit.labels import GIVEN
from alloykit.recipe.recipe import Recipe
from alloykit.recipe.texts_origin import InMemory
from alloykit.run_folder.file_names import CHANGES, CHANGES_PAGE
from alloykit.run_folder.read import read_checked
from alloykit.run_folder.run_folder import RunFolder
from alloykit.serving.predictor import Predictor
from alloykit.stages.evaluate_student import probabilities_of
from alloykit.stages.recipe_texts import origin_of, read, salted
from alloykit.stats.sampled_positions import sampled_positions
from alloykit.training.pool_sample import ASKED


def compare_students(old: RunFolder, new: RunFolder) -> dict[str, Any]:
    """What changed per label: on the test texts of the new run if it has any, else on a sample of its pool (evaluation/label_changes.py)."""
    recipe = new.recipe
    before, after = (_student(run, recipe) for run in (old, new))
    common = {
        "earlier": old.folder.resolve().name,
        "labels_before": list(before.labels),
        "multi_label": after.multi_label,
    }
    if recipe.evaluate is not None and not isinstance(recipe.evaluate.data, InMemory):
        test = read(salted(recipe.evaluate.data, recipe), want_labels=True)
        aliases = recipe.labels.aliases
        truth = [_true_labels(cell, aliases) for cell in test.table["label"]]
        answers, later = _names(before, test), _names(after, test)
        return common | {"on": "test"} | changes_on_test(answers, later, truth, after.labels, before.labels)
    pool = read(origin_of(recipe))
    pool = pool.select(np.sort(sampled_positions(len(pool), ASKED)))
    found = changes_on_pool(_names(before, pool), _names(after, pool), after.labels, before.labels)
    return common | {"on": "pool"} | found


def write_changes(old: RunFolder, new: RunFolder) -> None:
    """Compare the students, and write changes.json and changes.html in the new run's folder."""
    from alloykit.reporting import page
    from alloykit.reporting.changes import render_changes

    found = compare_students(old, new)
    write_json(new.folder / CHANGES, found)
    write_atomic(new.folder / CHANGES_PAGE, render_changes(found, *(page.load(run.folder) for run in (old, new))))


def read_changes(run: RunFolder) -> dict[str, Any]:
    """What `compare_students` found when an update made this run; by question, under `questions`, of a run with several. Empty without it."""
    if run.questions:
        found = {name: own for name, part in run.questions.items() if (own := read_changes(part))}
        return {"questions": found} if found else {}
    return (
        read_checked(run.folder / CHANGES, TypeAdapter(dict[str, Any]), "Delete it: `alloykit update` writes it again.")
        or {}
    )


def _student(run: RunFolder, recipe: Recipe) -> Predictor:
    trusted = recipe.student is not None and recipe.student.trust_remote_code
    return Predictor.load(run.student, recipe.training.max_length, recipe.device, trust_remote_code=trusted)


def _names(student: Predictor, texts: Texts) -> list[set[str]]:
    """The labels that the student gives to each text."""
    p = probabilities_of(student, texts)
    if student.multi_label:
        return [{name for name, q in zip(student.labels, row, strict=True) if q >= GIVEN} for row in p.tolist()]
    return [{student.labels[i]} for i in p.argmax(-1).tolist()]


def _true_labels(cell: str, aliases: Mapping[str, str]) -> set[str]:
    return {aliases.get(name, name) for name in cell.split(BETWEEN_LABELS) if name}
