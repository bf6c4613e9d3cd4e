"""Train a run's student: its tokens, what to select by, the source of knowledge, and the finished classifier's folder."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np

from alloykit.data import Texts
from alloykit.errors import AlloyError
from alloykit.files import write_json
from alloykit.jobs.prepare import Prepared, read, salted, stored
from alloykit.jobs.run import Run
from alloykit.knowledge.live import LiveKnowledge
from alloykit.knowledge.reader import StoredKnowledge
from alloykit.knowledge.store import Store
from alloykit.knowledge.sweep import sweep
from alloykit.methods.base import Context
from alloykit.progress import library_bars_off, say
from alloykit.rows import LabelsOnly, Source
from alloykit.teachers.encoder import usable_length
from alloykit.teachers.teacher import Teacher
from alloykit.training.dataset import split_held_out, tokenize
from alloykit.training.student import build_student


def train_student(prepared: Prepared, run: Run, source: Source, context: Context, store: Store) -> None:
    """Train, pick the checkpoint, and put a plain Hugging Face classifier into the run folder, all of it or nothing."""
    from alloykit.training.trainer import train

    recipe, options = prepared.recipe, prepared.recipe.training
    assert recipe.student is not None
    model, tokenizer = build_student(recipe.student, prepared.space, options.seed)
    length = usable_length(model, tokenizer, options.max_length)
    dataset = tokenize(prepared.texts, tokenizer, length)
    checks, check_source, check_texts, positions = None, None, prepared.texts, np.arange(len(dataset))
    if options.select == "unlabelled":
        positions, held_out = split_held_out(len(dataset), options.held_out, options.seed)
        checks = dataset.select(held_out)
    elif options.select == "labelled":
        assert recipe.validation is not None
        check_texts = read(salted(recipe.validation.data, recipe), want_labels=True)
        checks, check_source = _validation(prepared, check_texts, tokenizer, length, store)
    if not len(positions):
        raise AlloyError(expected="texts to train on", got="none", hint="Add texts.")
    if prepared.method.needs.token_states:
        teachers = load_teachers(prepared)
        source = live(prepared, source, prepared.texts, teachers, tokenizer, length)
        if check_source is not None:
            check_source = live(prepared, check_source, check_texts, teachers, tokenizer, length)
    begun = time.perf_counter()
    fitted = train(
        model, tokenizer, prepared.method, context, source, dataset.select(positions), checks, options,
        run.folder / "training", check_source=check_source, device=prepared.device,
    )  # fmt: skip
    say(f"student: step {fitted.selected_step} of {fitted.steps} selected")
    write_json(
        run.folder / "training.json",
        {
            "steps": fitted.steps,
            "selected_step": fitted.selected_step,
            "seconds": round(time.perf_counter() - begun, 1),
            "history": fitted.history,
        },
    )
    save_classifier(model, tokenizer, run.student)
    shutil.rmtree(run.folder / "training", ignore_errors=True)  # checkpoints are several times the student's size


def load_teachers(prepared: Prepared) -> list[Teacher]:
    """All teachers at once, for methods that compare token states."""
    options = prepared.sweep_options()
    say(
        f"training keeps {len(prepared.infos)} teachers in memory: method '{prepared.method.name}' compares token states"
    )
    return [
        Teacher.load(info, max_length=options.max_length, device=options.device, numbers=options.numbers)
        for info in prepared.infos
    ]


def live(
    prepared: Prepared, source: Source, texts: Texts, teachers: list[Teacher], tokenizer: Any, length: int
) -> LiveKnowledge:
    """Stored answers, with token states from the teachers themselves."""
    assert isinstance(source, StoredKnowledge)
    layers = prepared.method.teacher_layers(prepared.context)
    return LiveKnowledge(source, teachers, layers, texts, tokenizer, length)


def _validation(prepared: Prepared, texts: Texts, tokenizer: Any, length: int, store: Store) -> tuple[Any, Source]:
    """Labelled validation texts as checks, with the knowledge that the method's loss asks for."""
    labels = prepared.labels(texts)
    dataset = tokenize(texts, tokenizer, length)
    if not prepared.method.needs.teachers:
        return dataset, LabelsOnly(labels)
    sweep(prepared.infos, texts, store, prepared.sweep_options())
    return dataset, stored(prepared, store, texts, labels)


def save_classifier(model: Any, tokenizer: Any, folder: Path) -> None:
    """Save under another name, then rename: the folder is there only when it is whole."""
    temporary = folder.with_name(f".{folder.name}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        with library_bars_off():
            model.to("cpu").save_pretrained(temporary)
        tokenizer.save_pretrained(temporary)
        os.replace(temporary, folder)
    except OSError as error:
        shutil.rmtree(temporary, ignore_errors=True)
        raise AlloyError(
            expected=f"room to write {folder}", got=str(error), hint="Free some space and run the same command again."
        ) from error
