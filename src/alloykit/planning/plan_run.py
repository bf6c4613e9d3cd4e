"""What a recipe would run: labels, passes, bytes, and a prediction of the time from a short probe."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from alloykit.blocks import ModelSpec
from alloykit.data import Texts
from alloykit.errors import AlloyError, AlloyWarning
from alloykit.knowledge.store.index_files import index_bytes
from alloykit.knowledge.store.units import CHUNK
from alloykit.knowledge.sweep.pending import bytes_needed
from alloykit.methods.capabilities import remaining
from alloykit.models.loading import load_config
from alloykit.models.token_states import encoder_shape
from alloykit.planning.probe import ProbeResult, probe_student, probe_teacher, probe_text_encoder
from alloykit.progress import log_line
from alloykit.recipe.questions import QuestionsRecipe
from alloykit.recipe.recipe import Recipe
from alloykit.recipe.texts_origin import GENERATE
from alloykit.run_folder.run_folder import check_run, check_run_folder, has_results
from alloykit.stages.distill_hint import distill_hints
from alloykit.stages.generated_texts import check_generation
from alloykit.stages.inputs import inputs_of, teachers_of
from alloykit.stages.prepare import prepare, prepare_without_texts, with_labelled_texts
from alloykit.stages.prepare_questions import prepare_questions
from alloykit.stages.prepare_run import texts_are_missing
from alloykit.stages.prepared import Prepared
from alloykit.training.schedule import Schedule
from alloykit.training.training_options import TrainingOptions


def plan_recipe(recipe: Recipe, *, tables: Mapping[str, Texts] | None = None, probe: bool = True) -> dict[str, Any]:
    """Label space, reads, bytes on disk and time. With `probe`, every model reads a few batches to predict the time;
    without it, no weights are loaded and no time is given. AlloyError for everything that `amalgamate` would refuse before it
    starts, and a warning where it would ask for `--overwrite`. Texts that must still be generated are counted, and the later stages are left out.
    tables: texts in memory, by the keys of the recipe."""
    tables = tables or {}
    check_run_folder(Path(recipe.output))
    if texts_are_missing(recipe):
        checked = prepare_without_texts(recipe, tables)
        generation = {"generation": describe_generation(checked)}
        _warn_of_other_results(checked.pinned, lambda: {"teachers": teachers_of(checked)})
        if recipe.texts == GENERATE:
            about = {"method": recipe.method, "labels": list(checked.space.names), "output": recipe.output}
            return about | generation
    else:
        generation = {}
    prepared = with_labelled_texts(prepare(recipe, tables.get("texts")), tables)
    found = describe_plan(prepared, recipe.training, probe=probe)
    found["warnings"] += distill_hints(prepared)
    if not generation:
        _warn_of_other_results(prepared.pinned, lambda: _inputs_of_plan(prepared))
    return found | generation


def plan_several(recipe: QuestionsRecipe, *, tables: Mapping[str, Texts] | None = None, probe: bool) -> dict[str, Any]:
    """The plan of a recipe with several questions: `questions`, by name as `plan_recipe` gives them, and what they have in common. The student
    is trained once, so its steps and seconds count once. tables, probe and AlloyError as `plan_recipe`."""
    check_run_folder(Path(recipe.output))
    prepared = prepare_questions(recipe, tables)
    _warn_of_other_results(prepared.pinned, lambda: prepared.inputs)
    plans = {name: describe_plan(part, recipe.training, probe=probe) for name, part in prepared.parts.items()}
    first = next(iter(plans.values()))
    seconds = None
    if probe:
        seconds = {key: round(sum(p["seconds"][key] for p in plans.values()), 3) for key in ("sweep", "text_states")}
        seconds["training"] = first["seconds"]["training"]
    return {
        "questions": plans,
        "labels": list(prepared.joint.space.names),
        "cache_bytes": sum(p["cache_bytes"] for p in plans.values()),
        "student_steps": first["student_steps"],
        "student_training": first["student_training"],
        "seconds": seconds,
        "probe_seconds": round(sum(p["probe_seconds"] for p in plans.values()), 1) if probe else None,
        "output": recipe.output,
    }


def _inputs_of_plan(prepared: Prepared) -> dict[str, Any]:
    """Those that a run compares, without the generated texts, which a plan does not read."""
    return {key: value for key, value in inputs_of(prepared).items() if key != "generated"}


def _warn_of_other_results(recipe: Recipe | QuestionsRecipe, inputs: Callable[[], Mapping[str, Any]]) -> None:
    """Warn if the output folder has results that a run of this recipe would not replace. inputs: their fingerprints, computed only if there are results."""
    if not has_results(Path(recipe.output)):
        return
    try:
        check_run(recipe, inputs(), overwrite=False)
    except AlloyError as error:
        warnings.warn(f"The run will be refused: {error}", AlloyWarning, stacklevel=3)


def describe_generation(prepared: Prepared) -> dict[str, Any]:
    """How many texts are generated, and how many continuations a teacher reads for each at most. AlloyError for what generation refuses."""
    options = prepared.recipe.generation
    assert options is not None
    check_generation(prepared.infos, options)
    steps = -(-options.max_tokens // options.every)
    return {
        "language_model": options.language_model.model,
        "texts": {info.name: len(info.labels) * options.per_class for info in prepared.infos},
        "reads_each": steps * options.candidates if options.steered else 0,
    }


def describe_plan(prepared: Prepared, requested: TrainingOptions, *, probe: bool) -> dict[str, Any]:
    """The plan as a dictionary. `requested`: the training options in the recipe, without defaults for learning rate and epochs."""
    recipe, space, begun = prepared.recipe, prepared.space, time.perf_counter()
    n, distinct, passes = len(prepared.texts), _distinct(prepared), _passes(prepared)
    use_teachers = prepared.method.needs.teachers > 0
    encoder = prepared.text_encoder
    teachers = _teachers(prepared, probe=probe)
    phases = prepared.method.phases() if recipe.student is not None else ()
    return {
        "method": recipe.method,
        "needs": prepared.method.needs.describe(),
        "labels": list(space.names),
        "catch_all": list(space.catch_all),
        "shared_labels": {label: [prepared.names[i] for i in owners] for label, owners in space.shared().items()},
        "texts": {"used": n, "distinct": distinct, "dropped": prepared.texts.dropped},
        "teachers": teachers,
        "text_states": None
        if encoder is None
        else {"model": encoder.model, "reads": n, "bytes": _state_bytes(encoder, n)},
        "cache_bytes": _cache_bytes(prepared, distinct, passes) if use_teachers else 0,
        "student_steps": sum(Schedule.of(prepared.examples, recipe.training, p.epochs).total for p in phases),
        "student_training": {
            "learning_rate": recipe.training.learning_rate,
            "epochs": recipe.training.epochs,
            "by_rule": [key for key in ("learning_rate", "epochs") if getattr(requested, key) is None],
        }
        if phases
        else None,
        "seconds": _seconds(prepared, teachers, trains=bool(phases)) if probe else None,
        "probe_seconds": round(time.perf_counter() - begun, 1) if probe else None,
        "methods": _methods_that_remain(prepared),
        "warnings": [*prepared.warnings],
        "output": recipe.output,
    }


def _distinct(prepared: Prepared) -> int:
    """How many different texts the pool has: a teacher reads each once."""
    return len(prepared.texts) - prepared.texts.duplicates


def _passes(prepared: Prepared) -> int:
    """Monte-Carlo passes per text, in whole units of the store."""
    return math.ceil(prepared.method.needs.passes / CHUNK) * CHUNK


def _teachers(prepared: Prepared, *, probe: bool) -> list[dict[str, Any]]:
    """For each teacher what it is and how many texts it reads; with `probe` also the time."""
    distinct, passes = _distinct(prepared), _passes(prepared)
    use_teachers = prepared.method.needs.teachers > 0
    found: list[dict[str, Any]] = []
    for info, labels in zip(prepared.infos, prepared.space.teachers, strict=True):
        entry: dict[str, Any] = {
            "name": info.name,
            "model": info.spec.source,
            "gives": info.gives.describe(),
            "labels": list(labels),
            "revision": info.revision,
            "reads": distinct * (1 + passes) if use_teachers else 0,
        }
        if info.costly and use_teachers:
            entry |= info.estimate(distinct)
        elif probe and use_teachers:
            log_line(f"measuring teacher {info.name}")
            entry |= _teacher_time(probe_teacher(prepared, info), distinct, passes)
        found.append(entry)
    return found


def _seconds(prepared: Prepared, teachers: list[dict[str, Any]], *, trains: bool) -> dict[str, float]:
    """Predicted seconds of each stage. teachers: the plan's entries, with the times of their probes."""
    training = 0.0
    if trains:
        log_line("measuring the student")
        training = probe_student(prepared)
        if prepared.method.needs.token_states:
            # Teachers on a CPU compute them once, for the cache. On a GPU every step computes them.
            times = min(1.0, prepared.epochs) if prepared.device == "cpu" else prepared.epochs
            training += times * len(prepared.texts) * sum(t["plain_seconds_each"] for t in teachers)
    states = 0.0
    if prepared.text_encoder is not None:
        log_line("measuring the encoder of the texts' states")
        states = probe_text_encoder(prepared, prepared.text_encoder)
    sweep = sum(float(t.get("seconds", 0.0)) for t in teachers)
    return {"sweep": round(sweep, 3), "text_states": round(states, 3), "training": round(training, 3)}


def _methods_that_remain(prepared: Prepared) -> list[str] | None:
    """The methods for these teachers; None where they give everything, so that all methods are possible."""
    gives = {info.name: info.gives for info in prepared.infos}
    if all(g.model for g in gives.values()):
        return None
    return remaining(gives, prepared.context, has_labels=prepared.texts.has_labels)


def _teacher_time(measured: ProbeResult, distinct: int, passes: int) -> dict[str, float]:
    seconds = (measured.plain + passes * measured.sampled) * distinct / measured.texts
    return {
        "seconds": round(seconds, 3),
        "tokens_each": round(measured.tokens / measured.texts, 1),
        "reads_per_second": round(distinct * (1 + passes) / seconds, 4) if seconds else 0.0,
        "plain_seconds_each": measured.plain / measured.texts,
        "padding": round(1 - measured.tokens / measured.padded, 3),
    }


def _state_bytes(encoder: ModelSpec, texts: int) -> int:
    config, _ = load_config(encoder)
    return 2 * texts * encoder_shape(config, encoder.model).hidden_size


UNIT_BYTES = 600  # bytes of a file of the store without its arrays: names, shapes, a receipt


def _cache_bytes(prepared: Prepared, distinct: int, passes: int) -> int:
    """Bytes of arrays, ids, headers, receipts and sorted ids."""
    classes = [len(t) for t in prepared.space.teachers]
    shards = math.ceil(distinct / prepared.rows_per_shard)
    widths = [
        i.gives.states.hidden_size
        for i in prepared.infos
        if i.gives.states
        for _ in prepared.pooled_layers.get(i.name, ())
    ]
    units = shards * (1 + len(classes) * (1 + passes // CHUNK) + len(widths))
    return bytes_needed(distinct, classes, passes, widths) + units * UNIT_BYTES + index_bytes(shards, distinct)
