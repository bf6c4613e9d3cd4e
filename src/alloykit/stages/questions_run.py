"""A complete run with several questions: outputs, fit and measurements by question, one training for all of them."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from alloykit.blocks import ModelSpec
from alloykit.data import Texts
from alloykit.errors import AlloyError
from alloykit.files import link_file, replace_atomic
from alloykit.models.loading import load_classifier
from alloykit.models.questions import (
    classifier_of_question,
    question_parts,
    questions_of,
    save_question_temperatures,
    set_questions,
)
from alloykit.names import counted
from alloykit.outputs import QuestionSources, Source
from alloykit.processes import launched
from alloykit.progress import log_line, logged_to
from alloykit.recipe.questions import QuestionsRecipe
from alloykit.run_folder.file_names import LOG, RECIPE, STATES, TRAINING
from alloykit.run_folder.lock import locked
from alloykit.run_folder.run_folder import RunFolder, check_run_folder, has_results, open_run
from alloykit.stages.evaluate_student import evaluate_run
from alloykit.stages.findings import Findings
from alloykit.stages.fit import Fitted, fit
from alloykit.stages.inputs import inputs_of
from alloykit.stages.knowledge import Knowledge, LabelledOutputs, gather
from alloykit.stages.prepare_questions import (
    PreparedQuestions,
    folder_of_cache,
    joint_method,
    of_question,
    prepare_questions,
)
from alloykit.stages.prepared import Prepared
from alloykit.stages.questions_report import write_questions_report
from alloykit.stages.tracked_figures import tracked_figures
from alloykit.stages.train_student import TrainedStudent, save_classifier, train_student
from alloykit.stages.write_report import write_report
from alloykit.training.with_supervision import with_supervision


@dataclass
class _Part:
    """One question of the run."""

    prepared: Prepared
    run: RunFolder
    findings: Findings
    outputs: Knowledge
    fitted: Fitted


def run_questions(
    recipe: QuestionsRecipe,
    *,
    tables: Mapping[str, Texts] | None = None,
    cache: str | Path | None = None,
    overwrite: bool = False,
    begin: Callable[[str, RunFolder], None] | None = None,
) -> RunFolder:
    """Run a recipe with several questions. Finished parts in the output folder are reused.

    tables: the pool, under `texts`, if it is in memory. cache: the folder of the teachers' outputs, if not in the run folder; each question has a
    folder in it. begin: called with the name and the run folder of each question before its outputs are computed. The run folder has the student of all questions, and in `questions/` one run folder for each question with its
    outputs, its measurements, its report and the student of this question alone. AlloyError.
    """
    from alloykit.training.tracker import tracking

    _require_one_process(recipe)
    folder = Path(recipe.output)
    check_run_folder(folder)
    with ExitStack() as stack:
        stack.enter_context(locked(folder))
        stack.enter_context(logged_to(folder / LOG, RECIPE))
        begun = time.perf_counter()
        prepared = prepare_questions(recipe, tables)
        had_results = has_results(folder) and not overwrite
        run = open_run(prepared.pinned, prepared.inputs, overwrite=overwrite)
        folders = {}
        for name, part in prepared.parts.items():
            stack.enter_context(locked(part.output))
            folders[name] = open_run(part.pinned, inputs_of(part), overwrite=overwrite, begun=had_results)
        tracker = stack.enter_context(tracking(recipe.training.report_to, folder, prepared.joint.device))
        parts: dict[str, _Part] = {}
        for name, part in prepared.parts.items():
            if begin is not None:
                begin(name, folders[name])
            log_line(
                f"question '{name}': {counted(part.space.size, 'label')} from {counted(len(part.infos), 'teacher')}"
            )
            with of_question(name):
                parts[name] = _gathered(part, folders[name], list(parts.values()), folder_of_cache(cache, name))
        if not run.has_student:
            _train(prepared, run, parts, tracker)
        _restore_students(run, parts, trust_remote_code=recipe.student.trust_remote_code)
        for name, each in parts.items():
            log_line(f"question '{name}': measurements")
            with of_question(name):
                _measure(each, begun)
            _track(tracker, name, each.run, run)
        save_question_temperatures(run.student, {name: each.findings.temperature for name, each in parts.items()})
        write_questions_report(run)
    return run


def _require_one_process(recipe: QuestionsRecipe) -> None:
    if (processes := launched()[1]) > 1:
        raise AlloyError(
            expected="one process for a recipe with `questions:`",
            got=f"{processes}, from `torchrun` or `accelerate launch`",
            hint="Start it without the launcher. `engine: ray` spreads the teachers over several machines.",
        )
    if recipe.engine.trainers:
        raise AlloyError(
            expected="`engine: {trainers: 0}` for a recipe with `questions:`",
            got=str(recipe.engine.trainers),
            hint="Leave `trainers` out: one process trains the student of all questions.",
        )


def _track(tracker: Any, name: str, part: RunFolder, run: RunFolder) -> None:
    """Send the figures of one question to the trackers, at the last step of the common training."""
    figures = tracked_figures(part.metrics or {})
    steps = (run.training or {"steps": 0})["steps"]
    tracker.log({f"{name}/{key}": value for key, value in figures.items()}, steps)


def _gathered(prepared: Prepared, run: RunFolder, earlier: list[_Part], cache: str | None) -> _Part:
    """The outputs of one question's teachers, and its fit. The states of the pool by the student's encoder are computed once for all questions."""
    findings = Findings.of_inputs(prepared, prepared.warnings)
    for other in earlier:
        states = other.run.folder / STATES
        if states.is_file() and other.prepared.text_encoder == prepared.text_encoder:
            link_file(states, run.folder / STATES)
    outputs = gather(prepared, run, cache)
    fitted = fit(prepared, run, outputs)
    findings.add_pool(prepared, outputs, fitted)
    return _Part(prepared, run, findings, outputs, fitted)


def _train(prepared: PreparedQuestions, run: RunFolder, parts: Mapping[str, _Part], tracker: Any) -> None:
    """Train the student of all questions. Its folder appears when the students of the single questions are complete."""
    method = joint_method(prepared.parts, {name: part.fitted.context for name, part in parts.items()})
    joint = replace(prepared.joint, method=method)
    several = [name for name, part in prepared.parts.items() if part.method.needs.multi_label]
    places = question_parts({name: part.space.names for name, part in prepared.parts.items()}, several)

    def save_questions(model: Any, tokenizer: Any, length: int) -> None:
        model = model.to("cpu")
        for place in places:
            target = parts[place.name].run
            shutil.rmtree(target.student, ignore_errors=True)  # of a run that was killed here
            save_classifier(classifier_of_question(model, place), tokenizer, target.student, length)
            training = run.folder / TRAINING
            replace_atomic(target.folder / TRAINING, lambda copy, training=training: shutil.copyfile(training, copy))  # type: ignore[misc]
        set_questions(model.config, places)

    checked = [part.outputs.validation for part in parts.values()]
    validation = None
    if checked[0] is not None and all(checked):
        sources = _with_supervision(parts, [each.source for each in checked if each is not None], reads=1)
        validation = LabelledOutputs(checked[0].texts, checked[0].labels, sources)
    train_student(
        joint,
        run,
        _with_supervision(parts, [part.outputs.pool for part in parts.values()], reads=joint.epochs),
        joint.context,
        validation,
        tracker=tracker,
        before_saving=save_questions,
    )


def _with_supervision(parts: Mapping[str, _Part], sources: Sequence[Source], reads: float) -> QuestionSources:
    """The sources of the questions as one, each with the supervision of its question's method (training/with_supervision.py)."""
    return QuestionSources(
        tuple(
            with_supervision(source, part.prepared.method, part.fitted.context, reads=reads)
            for part, source in zip(parts.values(), sources, strict=True)
        )
    )


def _restore_students(run: RunFolder, parts: Mapping[str, _Part], *, trust_remote_code: bool) -> None:
    """Save the students of single questions again that somebody has removed."""
    if all(part.run.has_student for part in parts.values()):
        return
    model, tokenizer = load_classifier(ModelSpec(model=str(run.student), trust_remote_code=trust_remote_code))
    for place in questions_of(model.config):
        if not parts[place.name].run.has_student:
            student = classifier_of_question(model, place)
            save_classifier(student, tokenizer, parts[place.name].run.student, tokenizer.model_max_length)


def _measure(part: _Part, begun: float) -> None:
    """Measure one question's part of the student, as `run_recipe` does with a whole one, and write its report."""
    prepared, run, outputs = part.prepared, part.run, part.outputs
    student = TrainedStudent(run.student, run.training)
    part.findings.add_student(prepared, outputs, part.fitted, student, report=True)
    part.findings.write(run, prepared, outputs, student, time.perf_counter() - begun)
    if prepared.test is not None:
        evaluate_run(prepared, run, part.fitted.context, outputs.store, prepared.test)
    write_report(run)
