"""Evaluate a run folder or the folder of one classifier."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from alloykit.data import TextsOptions, load_texts, refuse_columns, texts_options
from alloykit.engines.choose import engine_options
from alloykit.errors import AlloyError
from alloykit.evaluation.metrics import score
from alloykit.evaluation.multi_label import multi_label_scores
from alloykit.finished_runs.finished_run import (
    fitted_state,
    refuse_changed_teachers,
    refuse_cluster,
    refuse_code,
    refuse_services,
    unfinished_run,
)
from alloykit.labels import LabelSpace
from alloykit.methods.registry import create
from alloykit.progress import log_line, logged_to
from alloykit.recipe.questions import QuestionsRecipe, with_label
from alloykit.recipe.recipe import Recipe
from alloykit.run_folder.file_names import CACHE, LOG, RECIPE
from alloykit.run_folder.lock import locked
from alloykit.run_folder.read import any_recipe_of
from alloykit.run_folder.run_folder import RunFolder
from alloykit.serving.predictor import Predictor
from alloykit.serving.question_answers import require_one_question
from alloykit.stages.evaluate_student import evaluate_run, probabilities_of
from alloykit.stages.from_arguments import Engine, Teachers, teacher_entries
from alloykit.stages.prepare import prepare
from alloykit.stages.prepare_questions import folder_of_cache, of_question
from alloykit.stages.questions_report import write_questions_report
from alloykit.stages.recipe_texts import label_matrix, label_positions, read, salted
from alloykit.stages.write_report import write_report
from alloykit.teachers.trust import python_trusted


@dataclass(frozen=True)
class _Request:
    """What `evaluate_run_folder` is asked for. `columns`: text, label and text_pair of `data`."""

    data: Any
    columns: dict[str, Any]
    cache: str | Path | None
    engine: Engine
    trust_remote_code: bool
    trust_url: bool


def evaluate_run_folder(
    run: RunFolder,
    data: Any,
    *,
    cache: str | Path | None = None,
    engine: Engine = None,
    trust_remote_code: bool = False,
    trust_python: bool = False,
    trust_url: bool = False,
    teachers: Teachers = (),
    **columns: Any,
) -> dict[str, Any]:
    """Score a run on labelled texts, and update its metrics.json and report. The arguments are those of `commands/evaluate.py: evaluate`.

    data: the recipe's test texts if not given. columns: text, label and text_pair of `data`. Of a run with several questions, `questions` has the
    results by name, and the columns of the labels are those of the recipe. AlloyError.
    """
    held = teacher_entries(teachers)  # keeps them in memory
    request = _Request(data, columns, cache, engine, trust_remote_code, trust_url)
    with locked(run.folder), python_trusted(trust_python):
        found = _evaluate_questions(run, request) if run.questions else _evaluate_run(run, request)
    del held
    return found


def _evaluate_questions(run: RunFolder, request: _Request) -> dict[str, Any]:
    """Each question, and the report of the whole run."""
    recipe = any_recipe_of(run.folder)
    assert isinstance(recipe, QuestionsRecipe)
    hint = "Set `column:` of the question in the recipe, and run it again: finished parts are kept."
    refuse_columns(
        "for several questions: the recipe names the columns of the labels",
        hint,
        label=request.columns.get("label", "label"),
    )
    found: dict[str, Any] = {}
    for name, part in run.questions.items():
        log_line(f"question '{name}'")
        with locked(part.folder), of_question(name):
            found[name] = _evaluate_run(part, _of_question(request, recipe, name))
    write_questions_report(run)
    return {"questions": found}


def _of_question(request: _Request, recipe: QuestionsRecipe, name: str) -> _Request:
    """The same request for one question: its own column of labels, and its own folder of outputs."""
    column = recipe.questions[name].column or name
    several = create(recipe.questions[name].method).needs.multi_label
    data = request.data
    return replace(
        request,
        data=with_label(data, column, several) if isinstance(data, TextsOptions) else data,
        columns=request.columns | ({"label": column} if data is not None else {}),
        cache=folder_of_cache(request.cache, name),
    )


def _evaluate_run(run: RunFolder, request: _Request) -> dict[str, Any]:
    recipe = run.recipe
    if request.engine in ("local", "ray"):  # with the recipe's other keys
        recipe = recipe.model_copy(update={"engine": recipe.engine.model_copy(update={"name": request.engine})})
    elif request.engine is not None:
        recipe = recipe.model_copy(update={"engine": engine_options(request.engine)})
    if not request.trust_remote_code:
        refuse_code(recipe, run.folder / RECIPE)
    if not request.trust_url:
        refuse_services(recipe, run.folder / RECIPE)
        if request.engine in (None, "local", "ray"):  # the recipe's address
            refuse_cluster(recipe, run.folder / RECIPE)
    origin: Any = request.data if request.data is not None else recipe.evaluate and recipe.evaluate.data
    if origin is None:
        raise _no_test_texts("RUN")
    run.check()
    if run.metrics is None:
        raise unfinished_run(run.folder)
    if isinstance(origin, (str, Path)):
        origin = texts_options(origin, **request.columns, **_separator(recipe))
    test = read(salted(origin, recipe), want_labels=True)
    prepared = prepare(recipe, test, pool=False)  # the training texts are not needed any more
    state = fitted_state(run.folder)
    refuse_changed_teachers(
        run.folder,
        prepared,
        hint="Put them back, or run `alloykit amalgamate` with --overwrite to make a student of these.",
    )
    with logged_to(run.folder / LOG, RECIPE):
        store = prepared.store(request.cache or run.folder / CACHE)
        context = replace(prepared.context, state=state)
        result = evaluate_run(prepared, run, context, store, test, of_recipe=request.data is None)
        write_report(run)
    return result


def _separator(recipe: Recipe) -> dict[str, str]:
    """The option for the separator of labels in test texts that the recipe does not name: that of its own test texts, else "|"."""
    if not create(recipe.method).needs.multi_label:
        return {}
    own = recipe.evaluate and getattr(recipe.evaluate.data, "label_separator", None)
    return {"label_separator": own or "|"}


def evaluate_model_folder(folder: Path, data: Any, *, trust_remote_code: bool, **columns: Any) -> dict[str, Any]:
    """Score the classifier of a model folder on labelled texts. Writes nothing. columns: text, label and text_pair of `data`. AlloyError."""
    classifier = Predictor.load(folder, trust_remote_code=trust_remote_code)
    if data is None:
        raise _no_test_texts("MODEL")
    require_one_question(classifier.questions, "`evaluate` of a model folder")
    space = LabelSpace.union([classifier.labels])
    # The labels are checked before the model reads the texts.
    if classifier.multi_label:
        texts = load_texts(data, want_labels=True, **{"label_separator": "|"} | columns)
        matrix = label_matrix(texts, space)
        return multi_label_scores({"model": probabilities_of(classifier, texts)}, matrix, classifier.labels)
    texts = load_texts(data, want_labels=True, **columns)
    true = label_positions(texts, space)
    predicted = probabilities_of(classifier, texts).argmax(-1)
    return {"texts": len(texts), "scores": {"model": score(predicted, true, space, [])}}


def _no_test_texts(what: str) -> AlloyError:
    return AlloyError(
        expected="labelled test texts", got="none", hint=f"Name a file: `alloykit evaluate {what} --data test.csv`."
    )
