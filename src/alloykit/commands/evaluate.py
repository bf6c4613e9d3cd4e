"""Test teachers, ensemble, routing and student on labelled texts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.table import Table
from safetensors import SafetensorError
from torch import Tensor

from alloykit.blocks import ModelSpec
from alloykit.commands.report import write_report
from alloykit.data import Texts, TextsOptions, load_texts
from alloykit.errors import AlloyError
from alloykit.evaluation.answers import STUDENT, of_teachers
from alloykit.evaluation.labelled import assess
from alloykit.evaluation.metrics import score
from alloykit.files import write_json
from alloykit.knowledge.store.artifacts import read_tensors, refuse, what_differs
from alloykit.knowledge.store.reader import StoredKnowledge
from alloykit.knowledge.store.store import Store
from alloykit.knowledge.sweep.sweep import sweep
from alloykit.labels import LabelSpace
from alloykit.methods.protocol import Context
from alloykit.outputs import Source
from alloykit.progress import say
from alloykit.recipe.models import Recipe
from alloykit.run_files import INPUTS, METRICS, RECIPE, STATE
from alloykit.serving.predictor import Predictor
from alloykit.stages.inputs import teachers_of
from alloykit.stages.knowledge import with_text_states
from alloykit.stages.lock import locked
from alloykit.stages.method_reports import attempt
from alloykit.stages.prepare import Prepared, prepare
from alloykit.stages.run_folder import Run, folder_of
from alloykit.stages.texts import label_positions, read, salted
from alloykit.terminal import plain


def evaluate_run(prepared: Prepared, run: Run, context: Context, store: Store, data: Texts) -> dict[str, Any]:
    """Score everybody on the test texts and add the result to the run's metrics.json."""
    space, names, method = prepared.space, prepared.names, prepared.method
    labels = prepared.labels(data)
    passes = method.needs.passes if method.single_target else 0
    say(f"evaluation on {len(data):,} labelled texts")
    options = prepared.sweep_options()
    sweep(prepared.infos, data, store, options)
    layers = prepared.pooled_layers if method.single_target else {}
    source: Source = StoredKnowledge(store, names, data.ids(), passes=passes, layers=layers)
    if method.single_target:
        source = with_text_states(prepared, source, data, run, "evaluate")
    warnings: list[str] = []
    answers = attempt(
        method, "answers to the test texts", lambda: of_teachers(source, labels, method, context, names), warnings
    ) or of_teachers(source, labels, None, context, names)
    if run.has_student:
        answers.probabilities[STUDENT] = _probabilities(prepared.predictor(run.student), data)
    answers.save(run.answers, list(data.table["id"]))
    metrics = run.metrics
    assert metrics is not None
    temperature = metrics["student"]["temperature"] if "student" in metrics else None
    result = assess(answers, space, names, oracle=_oracle(prepared, data), temperature=temperature)
    result["unused"] = {"duplicates": data.duplicates, **data.dropped}
    for warning in warnings:
        say(f"warning: {warning}")
    told = metrics["warnings"]
    new = {"evaluation": result, "warnings": told + [w for w in warnings if w not in told]}
    write_json(run.folder / METRICS, metrics | new)
    return result


def evaluate(
    folder: str | Path | Run,
    data: str | Path | TextsOptions | None = None,
    *,
    knowledge: str | Path | None = None,
    trust_remote_code: bool = False,
    **columns: Any,
) -> dict[str, Any]:
    """The `evaluate` command: a run, its folder (data: the recipe's, unless given) or a model folder (data needed).

    A run's metrics.json is brought up to date; for a model folder the result is only returned. trust_remote_code: run the code
    that models of the run bring with them. The run's own recipe cannot grant that: the folder may be a stranger's.
    """
    folder = folder_of(folder)
    if not os.path.exists(folder / RECIPE):  # also of a name that no path can have
        return _evaluate_model(folder, data, trust_remote_code, **columns)
    with locked(folder):
        return _evaluate_run(Run(folder), data, knowledge, trust_remote_code, **columns)


def _evaluate_run(
    run: Run, data: Any, knowledge: str | Path | None, trust_remote_code: bool, **columns: Any
) -> dict[str, Any]:
    recipe = run.recipe
    if not trust_remote_code:
        _refuse_code(recipe, run.folder / RECIPE)
    if data is None and recipe.evaluate is None:
        raise AlloyError(
            expected="labelled test texts", got="none", hint="Name a file: `alloykit evaluate RUN --data test.csv`."
        )
    run.check()
    if run.metrics is None:
        raise _unfinished(run.folder)
    source: Any = data if data is not None else recipe.evaluate and recipe.evaluate.data
    if isinstance(source, (str, Path)):
        source = TextsOptions.from_string(source, **columns)
    test = read(salted(source, recipe), want_labels=True)
    prepared = prepare(recipe, test)  # the training texts are not needed any more
    state = _state(run.folder)
    refuse(
        what_differs(run.folder / INPUTS, {"teachers": teachers_of(prepared)}),
        expected=f"the teachers that {run.folder} was made with",
        hint="Put them back, or run `alloykit amalgamate` with --overwrite to make a student of these.",
    )
    store = prepared.store(knowledge or run.folder / "knowledge")
    result = evaluate_run(prepared, run, replace(prepared.context, state=state), store, test)
    write_report(run)
    return result


def _state(folder: Path) -> dict[str, Tensor]:
    """What the run's fit found. AlloyError if it is not there or damaged."""
    path = folder / STATE
    try:
        found = read_tensors(path)
    except SafetensorError as error:
        raise AlloyError(
            expected=f"a whole file {path}",
            got=f"'{error}'",
            hint="Delete it and run `alloykit amalgamate` again.",
        ) from error
    if found is None:
        raise _unfinished(folder)
    return found[1]


def _unfinished(folder: Path) -> AlloyError:
    return AlloyError(
        expected=f"a finished run in {folder}",
        got="one that was stopped early",
        hint="Run `alloykit amalgamate` first.",
    )


def _evaluate_model(folder: Path, data: Any, trust_remote_code: bool, **columns: Any) -> dict[str, Any]:
    classifier = Predictor.load(folder, trust_remote_code=trust_remote_code)
    if data is None:
        raise AlloyError(
            expected="labelled test texts", got="none", hint="Name a file: `alloykit evaluate MODEL --data test.csv`."
        )
    texts = load_texts(data, want_labels=True, **columns)
    space = LabelSpace.union([classifier.labels])
    return {
        "texts": len(texts),
        "scores": {
            "model": score(_probabilities(classifier, texts).argmax(-1), label_positions(texts, space), space, [])
        },
    }


def _refuse_code(recipe: Recipe, path: Path) -> None:
    """AlloyError if any model of a run would run code of its own."""
    specs: dict[str, ModelSpec] = {f"teachers.{i}": spec for i, spec in enumerate(recipe.teachers)}
    if recipe.student is not None:
        specs["student"] = recipe.student
    if trusted := [f"`{where}` ('{spec.model}')" for where, spec in specs.items() if spec.trust_remote_code]:
        raise AlloyError(
            expected="a run whose models need no code of their own",
            got=f"`trust_remote_code: true` for {', '.join(trusted)} in {path}",
            hint="If you have read and trust that code, add --trust-remote-code.",
        )


def _oracle(prepared: Prepared, data: Texts) -> Tensor | None:
    """What the recipe's `evaluate: {oracle: …}` says, its labels joined to the union by name. [n, C], or None without one."""
    block, space = prepared.recipe.evaluate, prepared.space
    if block is None or block.oracle is None:
        return None
    classifier = Predictor.load(block.oracle, prepared.recipe.training.max_length, prepared.device)
    if set(classifier.labels) != set(space.names):
        raise AlloyError(
            expected=f"an oracle that knows {', '.join(space.names)}, and nothing else",
            got=f"'{block.oracle}' with {', '.join(classifier.labels)}",
            hint="An oracle is a classifier trained on all labels; leave it out, and the teachers that know a label stand in.",
        )
    order = [classifier.labels.index(name) for name in space.names]
    return _probabilities(classifier, data)[:, order]


def _probabilities(classifier: Predictor, data: Texts) -> Tensor:
    """At temperature 1: the report shows calibration without and with the temperature."""
    pairs = list(data.table["text_pair"]) if data.is_pair else None
    return classifier.probabilities(data.table["text"], pairs, calibrated=False)


def table(result: Mapping[str, Any]) -> Table:
    """The result as a table: a row per classifier; a column per teacher for the texts whose label that teacher knows."""
    scores = result["scores"]
    groups = list(next(iter(scores.values()))["groups"])
    caption = "a column named like a teacher: the texts of that teacher's labels" if groups else None
    out = Table(title=f"accuracy on {result['texts']:,} labelled texts (%)", caption=caption)
    for heading in ("", "all", "macro-F1", *groups, "right teacher"):
        out.add_column(plain(heading), justify="left" if not heading else "right", no_wrap=not heading)
    for name, s in scores.items():
        cells = [s["accuracy"], s["macro_f1"], *(s["groups"][g] for g in groups), s.get("right_teacher")]
        style = "bold" if name == "student" else None
        out.add_row(plain(name), *("–" if c is None else f"{100 * c:.1f}" for c in cells), style=style)
    return out
