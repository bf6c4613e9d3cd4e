"""The main job: teachers and unlabelled texts in, one student over the union of their labels out."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from alloykit.data import Texts
from alloykit.evaluation import health, supervision
from alloykit.files import write_json
from alloykit.knowledge.store.artifacts import cached_tensors
from alloykit.knowledge.store.reader import StoredKnowledge
from alloykit.methods.protocol import Context
from alloykit.methods.registry import spec_of
from alloykit.models.device import pick_device
from alloykit.models.export import save_temperature
from alloykit.outputs import sample
from alloykit.progress import say
from alloykit.recipe.models import GENERATE, Recipe
from alloykit.run_files import METRICS, read_summary
from alloykit.stages.arguments import Teachers, from_python
from alloykit.stages.diagnostics import LOOKED_AT, learning_view, student_view, teachers_health
from alloykit.stages.evaluate_student import evaluate_run
from alloykit.stages.inputs import fitted_to, inputs_of, knowledge_of_teachers, teachers_of
from alloykit.stages.knowledge import (
    knowledge_of,
    own_of,
    validation_of,
    validation_texts,
    with_text_states,
    writes,
    written,
)
from alloykit.stages.lock import locked
from alloykit.stages.method_reports import attempt, fit_view
from alloykit.stages.prepare import Prepared, check_labelled, prepare, rehearse
from alloykit.stages.run_folder import Run, check_run, check_run_folder, note_inputs, open_run
from alloykit.stages.sizes import sizes
from alloykit.stages.texts import generated, read, salted
from alloykit.stages.train_student import train_student
from alloykit.stages.write_report import write_report


def amalgamate(
    teachers: Teachers,
    texts: str | Path | Sequence[str] | Mapping[str, Any] | Any,
    student: str | Path | Mapping[str, Any] | None = None,
    method: str | Mapping[str, Any] = "alloy",
    *,
    output: str | Path,
    evaluate: Any = None,
    validation: Any = None,
    overwrite: bool = False,
    **blocks: Any,
) -> Run:
    """Melt teachers into one student. The same as `alloykit amalgamate`, from Python.

    teachers: folders, hub ids or dictionaries as in the recipe. texts: a file, a folder, a list of strings or pairs, a
    `datasets.Dataset`, or the recipe's `texts:` block as a dictionary. student: an encoder and, in a dictionary, its
    layers. evaluate, validation: labelled texts of the same kinds as `texts`. blocks: the recipe's other keys (`training={…}`, …).
    Returns the run with `.student` (a folder), `.metrics` and `.predict`. Raises AlloyError for anything to be mended.
    """
    recipe, tables = from_python(Recipe, teachers, texts, student, method, output, evaluate, validation, blocks)
    return run_recipe(recipe, tables=tables, overwrite=overwrite)


def run_recipe(
    recipe: Recipe,
    *,
    tables: Mapping[str, Texts] | None = None,
    knowledge: str | Path | None = None,
    overwrite: bool = False,
    check: Callable[[Prepared], None] | None = None,
    report: bool = True,
) -> Run:
    """Run a recipe to its end; every finished part that is already in the output folder is taken as it is.

    tables: the texts that are in memory, by `texts`, `evaluate` and `validation`. check: more to hold before anything is written.
    report: False leaves out what only the report shows, for many short runs: the student on the pool, sizes, and the page.
    """
    check_run_folder(Path(recipe.output))
    with locked(Path(recipe.output)):
        return _run(recipe, dict(tables or {}), knowledge, overwrite, check, report)


def _run(
    recipe: Recipe,
    tables: dict[str, Texts],
    knowledge: str | Path | None,
    overwrite: bool,
    check: Callable[[Prepared], None] | None,
    report: bool,
) -> Run:
    """`run_recipe`, in a folder of its own."""
    begun = time.perf_counter()
    if writes(recipe):
        rehearsed = rehearse(recipe)
        _check(rehearsed, check, tables)
        check_run(pinned(rehearsed), {"teachers": teachers_of(rehearsed)}, overwrite=overwrite)
    own_texts = written(recipe, pick_device(recipe.device))
    if recipe.texts == GENERATE and own_texts is not None:
        tables["texts"] = own_texts
    prepared = prepare(recipe, tables.get("texts"))
    check_labelled(prepared)
    _check(prepared, check, tables)
    recipe = pinned(prepared)
    labelled = validation_texts(prepared, tables.get("validation"))
    inputs = inputs_of(prepared, labelled, own_texts)
    run = open_run(recipe, inputs, overwrite=overwrite)
    method, space = prepared.method, prepared.space
    say(f"labels: {space.size} from {len(prepared.infos)} teachers ({', '.join(space.names)})")
    warnings = method.warnings(Context(space))
    store = prepared.store(knowledge)
    source = knowledge_of(prepared, store, prepared.texts)
    knowledge_made_of = knowledge_of_teachers(prepared, store)
    note_inputs(run, {"knowledge": knowledge_made_of})
    validation = validation_of(prepared, store, labelled, run)
    bare = replace(prepared.context, validation=None if validation is None else validation.source)
    own = own_of(prepared, store, own_texts, run)
    bare = replace(bare, own=None if own is None else own[1])
    taught = with_text_states(prepared, source, prepared.texts, run, "texts")
    made_of = fitted_to(prepared, inputs, knowledge_made_of)
    state = cached_tensors(run.folder / "state.safetensors", made_of, lambda: method.fit(taught, bare))
    context = replace(prepared.context, state=state)  # as `evaluate` builds it again: without validation and own texts
    metrics = describe(prepared) | {"fit": fit_view(prepared, context)}
    warnings += metrics["fit"]["warnings"]
    if own_texts is not None and (summary := read_summary(generated(recipe))) is not None:
        metrics["generated"] = summary["teachers"]
    if isinstance(source, StoredKnowledge):
        metrics["health"] = teachers_health(prepared, source, store)
        pool = sample(source, LOOKED_AT)
        metrics["agreement"] = supervision.agreement(pool, space, prepared.names)
        seen = sample(taught, LOOKED_AT)
        metrics["supervision"] = attempt(
            method,
            "its targets of the pool",
            lambda: supervision.summarise(method, seen, context, prepared.names),
            warnings,
        )
        warnings += health.warnings(metrics["health"]) + supervision.warnings(pool, space, prepared.names)
    for warning in warnings:
        say(f"warning: {warning}")
    if method.phases() and not run.has_student:
        train_student(prepared, run, taught, context, validation)
    training, said = run.training, len(warnings)
    if training is not None and "report" in training:
        warnings += training["report"]["warnings"]
    if report and run.has_student:
        metrics["student"] = student_view(prepared, run.student, taught, context, warnings)
        save_temperature(run.student, metrics["student"]["temperature"])
        metrics["models"] = sizes(prepared, run)
    if run.has_student:
        metrics["learning"] = learning_view(prepared, run, metrics.get("student"))
        warnings += metrics["learning"].pop("warnings")
    for warning in warnings[said:]:
        say(f"warning: {warning}")
    seconds = {
        "sweep": {name: round(store.seconds(name), 1) for name in prepared.names},
        "training": None if training is None else training["seconds"],
    }
    metrics |= {"warnings": warnings, "seconds": seconds | {"this call": round(time.perf_counter() - begun, 1)}}
    write_json(run.folder / METRICS, metrics)
    if recipe.evaluate is not None:
        test = tables.get("evaluate")
        data = test if test is not None else read(salted(recipe.evaluate.data, recipe), want_labels=True)
        evaluate_run(prepared, run, context, store, data)
    if report:
        write_report(run)
    return run


def _check(prepared: Prepared, check: Callable[[Prepared], None] | None, tables: Mapping[str, Texts]) -> None:
    if check is not None:
        check(prepared)
    for name in ("evaluate", "validation"):
        if name in tables:
            prepared.labels(tables[name])


def describe(prepared: Prepared) -> dict[str, Any]:
    """What was put in: method, labels by teacher, texts."""
    space, texts = prepared.space, prepared.texts
    return {
        "method": spec_of(prepared.method),
        "learns_from_labels": prepared.method.needs.labels,
        "labels": list(space.names),
        "teachers": {name: list(labels) for name, labels in zip(prepared.names, space.teachers, strict=True)},
        "texts": {"used": len(texts), "duplicates": texts.duplicates, **texts.dropped},
    }


def pinned(prepared: Prepared) -> Recipe:
    """The recipe with the hub revision of every teacher written out."""
    specs = [info.spec.model_copy(update={"revision": info.revision, "name": info.name}) for info in prepared.infos]
    return prepared.recipe.model_copy(update={"teachers": specs})
