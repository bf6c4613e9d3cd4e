"""Train a run's student and save it as a plain classifier."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from alloykit import processes
from alloykit.errors import AlloyError
from alloykit.files import file_errors, write_json
from alloykit.knowledge.store.with_labelled import WithLabelled
from alloykit.methods.protocol import Context
from alloykit.models.attention import use_eager_attention
from alloykit.models.long_texts import set_long_texts
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
from alloykit.stages.prepare import Prepared
from alloykit.training.all_but import AllBut
from alloykit.training.dataset import Collator, split_held_out, tokenize
from alloykit.training.student import build_student

if TYPE_CHECKING:
    from alloykit.training.tracker import Tracker


@dataclass(frozen=True)
class TrainedStudent:
    """The last stage's result. `training`: the content of training.json, None if it is missing."""

    folder: Path
    training: TrainingRecord | None


def make_student(
    prepared: Prepared, run: RunFolder, outputs: Knowledge, fitted: Fitted, tracker: Tracker | None = None
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

    recipe, options = prepared.recipe, prepared.recipe.training
    assert recipe.student is not None
    model, tokenizer = build_student(
        recipe.student, prepared.space, options.seed, multi_label=prepared.method.needs.multi_label
    )
    length = usable_length(model, tokenizer, options.max_length)
    set_long_texts(model, options.long_texts)
    if options.long_texts == "mean":
        log_line("student: trains on the beginning of each text; when it predicts, it reads all of it")
    pool = len(prepared.texts)
    dataset = tokenize(
        prepared.texts,
        tokenizer,
        length,
        *(() if labelled is None else (labelled.texts,)),
        long_texts=options.long_texts,
    )
    if labelled is not None:
        source = WithLabelled(source, labelled.source, labelled.labels)
    checks, check_source, positions = None, None, AllBut(len(dataset))
    asked = (
        None
        if validation is None
        else (tokenize(validation.texts, tokenizer, length, long_texts=options.long_texts), validation.labels)
    )
    if prepared.method.needs.phase_data:
        log_line(
            f"method '{prepared.method.name}' makes its own examples to learn from; the texts are used for the report only"
        )
    elif options.select == "unlabelled":
        held_out = split_held_out(pool, options.held_out, options.seed)[1]
        positions = AllBut(len(dataset), held_out)  # all labelled texts are learned from
        checks = dataset.select(held_out)
    elif options.select == "labelled":
        assert validation is not None
        assert asked is not None
        checks, check_source = asked[0], validation.source
    if not len(positions):
        raise AlloyError(expected="texts to train on", got="none", hint="Add texts.")
    begun = time.perf_counter()
    if prepared.method.needs.token_states:
        teachers = load_teachers(prepared)
        source = online_source(prepared, source, prepared.texts, teachers, tokenizer, length)
        if prepared.epochs > 1:  # with one epoch no text is read twice
            source.keep(range(len(prepared.texts)))
        if check_source is not None and validation is not None:
            check_source = online_source(prepared, check_source, validation.texts, teachers, tokenizer, length)
            check_source.keep(range(len(validation.texts)))
    if prepared.method.needs.student_attention_scores:
        use_eager_attention(model)
    fitted = train(
        model, Collator(tokenizer, source), prepared.method, context, dataset.select(positions), checks, options,
        run.folder / "training", check_collator=None if check_source is None else Collator(tokenizer, check_source),
        validation=asked, phase_data=phase_data_of(prepared), device=prepared.device, tracker=tracker,
    )  # fmt: skip
    if not processes.is_first():
        return
    log_line(f"student: step {fitted.selected_step} of {fitted.steps} selected")
    write_json(
        run.folder / TRAINING,
        {
            "steps": fitted.steps,
            "selected_step": fitted.selected_step,
            "seconds": round(time.perf_counter() - begun, 1),
            "history": fitted.history,
            "report": training_view(prepared, context, fitted),
        },
    )
    if before_saving is not None:
        before_saving(model, tokenizer, length)
    save_classifier(model, tokenizer, run.student, length)
    shutil.rmtree(run.folder / "training", ignore_errors=True)  # checkpoints are several times the student's size


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
            os.replace(temporary, folder)
    except AlloyError:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
