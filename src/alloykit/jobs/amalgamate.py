"""The main job: teachers and unlabelled texts in, one student over the union of their labels out."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import safetensors.torch
import torch

from alloykit.data import Texts, TextsOptions, load_texts
from alloykit.evaluation import health, supervision
from alloykit.files import digest, replace_atomic, write_json
from alloykit.jobs.evaluate import evaluate_run
from alloykit.jobs.observe import LOOKED_AT, student_view, teachers_health
from alloykit.jobs.prepare import Prepared, check_labelled, prepare, read, salted, stored
from alloykit.jobs.report import write_report
from alloykit.jobs.run import Run, open_run
from alloykit.jobs.train import train_student
from alloykit.knowledge.reader import StoredKnowledge
from alloykit.knowledge.store import Store
from alloykit.knowledge.sweep import sweep
from alloykit.methods.base import Context
from alloykit.methods.registry import spec_of
from alloykit.progress import say
from alloykit.recipe import Recipe, parse
from alloykit.rows import LabelsOnly, Source, sample


def amalgamate(
    teachers: Sequence[str | Path | Mapping[str, Any]],
    texts: str | Path | Sequence[str] | Mapping[str, Any] | Any,
    student: str | Path | Mapping[str, Any] | None = None,
    method: str | Mapping[str, Any] = "muka",
    *,
    output: str | Path,
    evaluate: Any = None,
    overwrite: bool = False,
    **blocks: Any,
) -> Run:
    """Melt teachers into one student. The same as `alloykit amalgamate`, from Python.

    teachers: folders, hub ids or dictionaries as in the recipe. texts: a file, a folder, a list of strings or pairs, a
    `datasets.Dataset`, or the recipe's `texts:` block as a dictionary. student: an encoder and, in a dictionary, its
    layers. evaluate: labelled texts of the same kinds as `texts`. blocks: the recipe's other keys (`training={…}`, …).
    Returns the run with `.student` (a folder), `.metrics` and `.predict`. Raises AlloyError for anything to be mended.
    """
    tables: dict[str, Texts] = {}

    def block(name: str, source: Any, want_labels: bool) -> Any:
        if isinstance(source, (str, Path, Mapping, TextsOptions)):
            return source
        tables[name] = load_texts(source, want_labels=want_labels)
        return {"in_memory": tables[name].fingerprint()}

    needs_labels = (method if isinstance(method, str) else method.get("name")) == "supervised"
    values: dict[str, Any] = {
        "teachers": [str(t) if isinstance(t, Path) else t for t in teachers],
        "texts": block("texts", texts, needs_labels),
        "student": str(student) if isinstance(student, Path) else student,
        "method": method,
        "output": str(output),
        **blocks,
    }
    if evaluate is not None:
        values["evaluate"] = {"data": block("evaluate", evaluate, True)}
    recipe = parse(values, Recipe, "the arguments")
    return run_recipe(recipe, texts=tables.get("texts"), test=tables.get("evaluate"), overwrite=overwrite)


def run_recipe(
    recipe: Recipe,
    *,
    texts: Texts | None = None,
    test: Texts | None = None,
    knowledge: str | Path | None = None,
    overwrite: bool = False,
) -> Run:
    """Run a recipe to its end; every finished part that is already in the output folder is taken as it is."""
    begun = time.perf_counter()
    prepared = prepare(recipe, texts)
    check_labelled(prepared)
    if test is not None:
        prepared.labels(test)
    recipe = pinned(prepared)
    run = open_run(recipe, {"texts": prepared.texts.fingerprint()}, overwrite=overwrite)
    method, space = prepared.method, prepared.space
    say(f"labels: {space.size} from {len(prepared.infos)} teachers ({', '.join(space.names)})")
    warnings = method.cautions(Context(space))
    store = prepared.store(knowledge)
    source = knowledge_of(prepared, store)
    bare = prepared.context
    context = replace(bare, state=fit_once(run.folder / "state.safetensors", prepared, source, bare))
    metrics = describe(prepared)
    if isinstance(source, StoredKnowledge):
        metrics["health"] = teachers_health(prepared, source, store)
        pool = sample(source, LOOKED_AT)
        metrics["agreement"] = supervision.agreement(pool, space, prepared.names)
        metrics["supervision"] = supervision.summarise(method, pool, context, prepared.names)
        warnings += health.cautions(metrics["health"]) + supervision.cautions(pool, space, prepared.names)
    for warning in warnings:
        say(f"warning: {warning}")
    if method.phases() and not run.has_student:
        train_student(prepared, run, source, context, store)
    if run.has_student:
        metrics["student"] = student_view(prepared, run.student, source, context)
    training = run.read("training.json").get("seconds")
    seconds = {"sweep": {name: round(store.seconds(name), 1) for name in prepared.names}, "training": training}
    metrics |= {"warnings": warnings, "seconds": seconds | {"this call": round(time.perf_counter() - begun, 1)}}
    write_json(run.folder / "metrics.json", metrics)
    if recipe.evaluate is not None:
        data = test if test is not None else read(salted(recipe.evaluate.data, recipe), want_labels=True)
        evaluate_run(prepared, run, context, store, data)
    write_report(run)
    return run


def describe(prepared: Prepared) -> dict[str, Any]:
    """What was put in: method, labels by teacher, texts."""
    space, texts = prepared.space, prepared.texts
    return {
        "method": spec_of(prepared.method),
        "labels": list(space.names),
        "teachers": {name: list(labels) for name, labels in zip(prepared.names, space.teachers, strict=True)},
        "texts": {"used": len(texts), "duplicates": texts.duplicates, **texts.dropped},
    }


def pinned(prepared: Prepared) -> Recipe:
    """The recipe with the hub revision of every teacher written out."""
    specs = [info.spec.model_copy(update={"revision": info.revision, "name": info.name}) for info in prepared.infos]
    return prepared.recipe.model_copy(update={"teachers": specs})


def knowledge_of(prepared: Prepared, store: Store) -> Source:
    """Sweep what is missing, and read it with the texts' labels where there are any."""
    texts, method = prepared.texts, prepared.method
    labels = prepared.labels(texts) if method.needs.labels else None
    if not method.needs.teachers:
        assert labels is not None
        return LabelsOnly(labels)
    sweep(prepared.infos, texts, store, prepared.sweep_options())
    return stored(prepared, store, texts, labels)


def fit_once(path: Path, prepared: Prepared, source: Source, context: Context) -> dict[str, torch.Tensor]:
    """What the method fits to the pool, computed once and kept with the fingerprint of what it was fitted to."""
    made_of = digest([spec_of(prepared.method), prepared.texts.fingerprint(), list(prepared.space.teachers)])
    if path.exists():
        with suppress(safetensors.SafetensorError), safetensors.safe_open(path, framework="pt") as file:
            if (file.metadata() or {}).get("made_of") == made_of:
                return {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    state = {k: v.contiguous() for k, v in prepared.method.fit(source, context).items()}
    replace_atomic(path, lambda temporary: safetensors.torch.save_file(state, temporary, {"made_of": made_of}))
    return state
