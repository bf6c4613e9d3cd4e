"""Evaluate a run folder or the folder of one classifier."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from alloykit.data import load_texts, texts_options
from alloykit.engines.choose import engine_options
from alloykit.errors import AlloyError
from alloykit.evaluation.metrics import score
from alloykit.finished_runs.finished_run import fitted_state, refuse_changed_teachers, refuse_code, unfinished_run
from alloykit.labels import LabelSpace
from alloykit.progress import logged_to
from alloykit.run_folder.file_names import CACHE, LOG, RECIPE
from alloykit.run_folder.lock import locked
from alloykit.run_folder.run_folder import RunFolder
from alloykit.serving.predictor import Predictor
from alloykit.stages.evaluate_student import evaluate_run, probabilities_of
from alloykit.stages.from_arguments import Engine, Teachers, teacher_entries
from alloykit.stages.prepare import prepare
from alloykit.stages.recipe_texts import label_positions, read, salted
from alloykit.stages.write_report import write_report
from alloykit.teachers.trust import python_trusted


def evaluate_run_folder(
    run: RunFolder,
    data: Any,
    *,
    cache: str | Path | None = None,
    engine: Engine = None,
    trust_remote_code: bool = False,
    trust_python: bool = False,
    teachers: Teachers = (),
    **columns: Any,
) -> dict[str, Any]:
    """Score a run on labelled texts, and update its metrics.json and report. The arguments are those of `commands/evaluate.py: evaluate`.

    data: the recipe's test texts if not given. columns: text, label and text_pair of `data`. AlloyError.
    """
    held = teacher_entries(teachers)  # keeps them in memory
    with locked(run.folder), python_trusted(trust_python):
        found = _evaluated(run, data, columns, cache, engine, trust_remote_code)
    del held
    return found


def _evaluated(
    run: RunFolder,
    data: Any,
    columns: dict[str, Any],
    cache: str | Path | None,
    engine: Engine,
    trust_remote_code: bool,
) -> dict[str, Any]:
    recipe = run.recipe
    if engine is not None:
        recipe = recipe.model_copy(update={"engine": engine_options(engine)})
    if not trust_remote_code:
        refuse_code(recipe, run.folder / RECIPE)
    origin: Any = data if data is not None else recipe.evaluate and recipe.evaluate.data
    if origin is None:
        raise _no_test_texts("RUN")
    run.check()
    if run.metrics is None:
        raise unfinished_run(run.folder)
    if isinstance(origin, (str, Path)):
        origin = texts_options(origin, **columns)
    test = read(salted(origin, recipe), want_labels=True)
    prepared = prepare(recipe, test, pool=False)  # the training texts are not needed any more
    state = fitted_state(run.folder)
    refuse_changed_teachers(
        run.folder,
        prepared,
        hint="Put them back, or run `alloykit amalgamate` with --overwrite to make a student of these.",
    )
    with logged_to(run.folder / LOG, RECIPE):
        store = prepared.store(cache or run.folder / CACHE)
        result = evaluate_run(prepared, run, replace(prepared.context, state=state), store, test)
        write_report(run)
    return result


def evaluate_model_folder(folder: Path, data: Any, *, trust_remote_code: bool, **columns: Any) -> dict[str, Any]:
    """Score the classifier of a model folder on labelled texts. Writes nothing. columns: text, label and text_pair of `data`. AlloyError."""
    classifier = Predictor.load(folder, trust_remote_code=trust_remote_code)
    if data is None:
        raise _no_test_texts("MODEL")
    texts = load_texts(data, want_labels=True, **columns)
    space = LabelSpace.union([classifier.labels])
    predicted = probabilities_of(classifier, texts).argmax(-1)
    return {"texts": len(texts), "scores": {"model": score(predicted, label_positions(texts, space), space, [])}}


def _no_test_texts(what: str) -> AlloyError:
    return AlloyError(
        expected="labelled test texts", got="none", hint=f"Name a file: `alloykit evaluate {what} --data test.csv`."
    )
