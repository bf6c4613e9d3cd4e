"""Train a run's student and save it as a plain classifier."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor

from alloykit import processes
from alloykit.data import Texts
from alloykit.errors import AlloyError
from alloykit.file_errors import file_errors
from alloykit.files import move_folder
from alloykit.json_files import write_json
from alloykit.knowledge.store.with_labelled import WithLabelled
from alloykit.methods.protocol import Context
from alloykit.models.attention import use_eager_attention
from alloykit.models.checksums import write_checksums
from alloykit.models.long_texts import LongTexts, set_long_texts
from alloykit.models.tokens import usable_length
from alloykit.outputs import Source
from alloykit.progress import library_bars_off, log_line
from alloykit.run_folder.file_names import TRAINING
from alloykit.run_folder.records import TrainingRecord
from alloykit.run_folder.run_folder import RunFolder
from alloykit.stages.fit import Fitted
from alloykit.stages.knowledge import Knowledge, LabelledOutputs
from alloykit.stages.method_reports import training_view
from alloykit.stages.online_teachers import load_teachers, online_source, phase_data_of
from alloykit.stages.prepared import Prepared
from alloykit.training.all_but import AllBut
from alloykit.training.dataset import Collator, Tokens, split_held_out, tokenize
from alloykit.training.student import build_student
from alloykit.training.with_supervision import with_supervision

if TYPE_CHECKING:
    from alloykit.training.tracker import Tracker
    from alloykit.training.trainer import TrainingResult


@dataclass(frozen=True)
class TrainedStudent:
    """The last stage's result. `training`: the content of training.json, None if it is missing."""

    folder: Path
    training: TrainingRecord | None


def make_student(
    prepared: Prepared, run: RunFolder, outputs: Knowledge, fitted: Fitted, tracker: Tracker | None
) -> TrainedStudent | None:
    """The run's student, trained now if there is none yet. None for a method without a student. AlloyError."""
    if prepared.method.phases() and not run.has_student:
        train_student(prepared, run, outputs.pool, fitted.context, outputs.validation, outputs.labelled, tracker)
    return TrainedStudent(run.student, run.training) if run.has_student else None


def train_student(
    prepared: Prepared,
    run: RunFolder,
    source: Source,
    context: Context,
    validation: LabelledOutputs | None,
    labelled: LabelledOutputs | None = None,
    tracker: Tracker | None = None,
    before_saving: Callable[[Any, Any, int], None] | None = None,
) -> None:
    """Train, select the checkpoint, and save a plain Hugging Face classifier in the run folder in one atomic step.

    Of several processes, all train, and the first one saves. before_saving: called with the trained model, its tokenizer and its tokens per
    text, when training.json is written.
    """
    from alloykit.training.trainer import train

    student = _build(prepared)
    examples = _examples(prepared, student, source, context, validation, labelled)
    begun = time.perf_counter()
    examples = _with_token_states(prepared, student, examples, validation)
    if prepared.method.needs.student_attention_scores:
        use_eager_attention(student.model)
    fitted = train(
        student.model, Collator(student.tokenizer, examples.source), prepared.method, context, examples.dataset, examples.checks,
        prepared.recipe.training, run.folder / "training",
        check_collator=None if examples.check_source is None else Collator(student.tokenizer, examples.check_source),
        validation=examples.validation, phase_data=phase_data_of(prepared), device=prepared.device, tracker=tracker,
    )  # fmt: skip
    if not processes.is_first():
        return
    log_line(f"student: step {fitted.selected_step} of {fitted.steps} selected")
    _record(prepared, run, context, fitted, time.perf_counter() - begun)
    if before_saving is not None:
        before_saving(student.model, student.tokenizer, student.length)
    save_classifier(student.model, student.tokenizer, run.student, student.length)
    shutil.rmtree(run.folder / "training", ignore_errors=True)  # checkpoints are several times the student's size


@dataclass(frozen=True)
class _Student:
    """The student before its training. `length`: tokens per text."""

    model: Any
    tokenizer: Any
    length: int
    long_texts: LongTexts

    def tokens(self, texts: Texts, *more: Texts) -> Tokens:
        return tokenize(texts, self.tokenizer, self.length, *more, long_texts=self.long_texts)


@dataclass(frozen=True)
class _Examples:
    """What the student learns from, and what its checkpoints are checked on.

    `source`: the teachers' outputs of the dataset. `checks`: None without a selection; their outputs are in `check_source` if not in `source`.
    `validation`: labelled texts and their labels, if the recipe has them.
    """

    dataset: Tokens
    source: Source
    checks: Tokens | None
    check_source: Source | None
    validation: tuple[Tokens, Tensor] | None


def _build(prepared: Prepared) -> _Student:
    """The untrained student of the recipe."""
    recipe, options = prepared.recipe, prepared.recipe.training
    assert recipe.student is not None
    model, tokenizer = build_student(
        recipe.student, prepared.space, options.seed, multi_label=prepared.method.needs.multi_label
    )
    set_long_texts(model, options.long_texts)
    if options.long_texts == "mean":
        log_line("student: trains on the beginning of each text; when it predicts, it reads all of it")
    return _Student(model, tokenizer, usable_length(model, tokenizer, options.max_length), options.long_texts)


def _examples(
    prepared: Prepared,
    student: _Student,
    source: Source,
    context: Context,
    validation: LabelledOutputs | None,
    labelled: LabelledOutputs | None,
) -> _Examples:
    """The pool and the labelled texts, without those that `training: {select: …}` holds out. AlloyError if no text is left."""
    options, needs, pool = prepared.recipe.training, prepared.method.needs, len(prepared.texts)
    dataset = student.tokens(prepared.texts, *(() if labelled is None else (labelled.texts,)))
    if labelled is not None:
        source = WithLabelled(source, labelled.source, labelled.labels)
    checked = None if validation is None else (student.tokens(validation.texts), validation.labels)
    positions, checks, check_source = AllBut(len(dataset)), None, None
    if needs.phase_data:
        log_line(
            f"method '{prepared.method.name}' makes its own examples to learn from; the texts are used for the report only"
        )
    elif options.select == "unlabelled":
        held_out = split_held_out(pool, options.held_out, options.seed)[1]
        positions = AllBut(len(dataset), held_out)  # all labelled texts are learned from
        checks = dataset.select(held_out)
    elif options.select == "labelled":
        assert validation is not None
        assert checked is not None
        checks, check_source = checked[0], with_supervision(validation.source, prepared.method, context, reads=1)
    if not len(positions):
        raise AlloyError(expected="texts to train on", got="none", hint="Add texts.")
    source = with_supervision(source, prepared.method, context, reads=prepared.epochs / processes.count())
    return _Examples(dataset.select(positions), source, checks, check_source, checked)


def _with_token_states(
    prepared: Prepared, student: _Student, examples: _Examples, validation: LabelledOutputs | None
) -> _Examples:
    """The same examples, with token states from teachers in memory if the method compares them."""
    if not prepared.method.needs.token_states:
        return examples
    teachers = load_teachers(prepared)
    source = online_source(prepared, examples.source, prepared.texts, teachers, student.tokenizer, student.length)
    if prepared.epochs > 1:  # with one epoch no text is read twice
        source.keep(range(len(prepared.texts)))
    if examples.check_source is None or validation is None:
        return replace(examples, source=source)
    check_source = online_source(
        prepared, examples.check_source, validation.texts, teachers, student.tokenizer, student.length
    )
    check_source.keep(range(len(validation.texts)))
    return replace(examples, source=source, check_source=check_source)


def _record(prepared: Prepared, run: RunFolder, context: Context, fitted: TrainingResult, seconds: float) -> None:
    """Write training.json."""
    write_json(
        run.folder / TRAINING,
        {
            "steps": fitted.steps,
            "selected_step": fitted.selected_step,
            "seconds": round(seconds, 1),
            "history": fitted.history,
            "report": training_view(prepared, context, fitted),
        },
    )


def save_classifier(model: Any, tokenizer: Any, folder: Path, max_length: int) -> None:
    """Save under another name, then rename: the folder exists only when it is complete.

    max_length: tokens per text in training; the saved tokenizer truncates at the same length.
    """
    tokenizer.model_max_length = max_length
    temporary = folder.with_name(f".{folder.name}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        with file_errors(folder), library_bars_off():
            model.to("cpu").save_pretrained(temporary)
            tokenizer.save_pretrained(temporary)
            write_checksums(temporary, sorted(temporary.glob("*.safetensors")))
            move_folder(temporary, folder)
    except AlloyError:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
