"""Compare new texts with a run's pool, by what the student answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import torch
from pydantic import AfterValidator, TypeAdapter

from alloykit.data import Texts, columns_beside, load_texts
from alloykit.errors import AlloyError
from alloykit.evaluation.drift import AnswerCounts, as_json, drift, from_json, largest_psi
from alloykit.finished_runs.finished_run import refuse_code, unfinished_run
from alloykit.json_files import write_json
from alloykit.labels import GIVEN
from alloykit.models.location import model_identity
from alloykit.progress import bar, log_line
from alloykit.run_folder.file_names import POOL_ANSWERS, RECIPE
from alloykit.run_folder.lock import locked
from alloykit.run_folder.read import read_checked
from alloykit.run_folder.records import PoolAnswersRecord
from alloykit.run_folder.run_folder import RunFolder
from alloykit.serving.predictor import Predictor
from alloykit.serving.student_reading import StudentReading, read_by_student
from alloykit.stages.recipe_texts import origin_of, read
from alloykit.training.pool_sample import pool_sample

ENOUGH = 200  # with so many held-out texts, everything but the label shares is measured on these texts only
BATCH = 1_000


@dataclass(frozen=True)
class PoolAnswers:
    """The student on the pool. `all`: a sample of the pool. `unseen`: only texts that it did not learn from, if there are enough of them."""

    all: AnswerCounts
    unseen: AnswerCounts | None


def watch_texts(
    run: RunFolder,
    origin: Any,
    *,
    text: str,
    text_pair: str | None,
    trust_remote_code: bool,
    questions: int = 1,
) -> dict[str, Any]:
    """How new texts differ from the pool, as `evaluation/drift.py: drift` has it. The student's answers to the pool are kept in the run folder.

    origin, text, text_pair: the new texts, as in `load_texts`. questions: how many are asked of these texts. Further keys of the result are `unseen` (whether confidence, energy and foreign
    texts of the pool are those of texts that the student did not learn from), `unused` (rows that were left out, by reason) and `run`. AlloyError.
    """
    recipe = run.recipe
    if not trust_remote_code:
        refuse_code(recipe, run.folder / RECIPE)
    if not run.has_student:
        raise unfinished_run(run.folder)
    new_texts = load_texts(origin, **columns_beside(origin, text=text, text_pair=text_pair))
    student = Predictor.load(run.student, device=recipe.device, trust_remote_code=trust_remote_code)
    pool = _pool_answers(run, student)
    new = AnswerCounts.empty(len(student.labels), pool.all.low, pool.all.high)
    for reading in _readings(student, new_texts, "student on the new texts"):
        _add(new, reading, multi_label=student.multi_label)
    how: dict[str, Any] = {"multi_label": student.multi_label, "questions": questions}
    found = drift(pool.all, new, student.labels, **how)
    if pool.unseen is not None:
        unseen = drift(pool.unseen, new, student.labels, **how)
        found |= {key: unseen[key] for key in ("confidence", "energy", "foreign")}
        found["psi"] = largest_psi(found)
    unusable = {"duplicates": new_texts.duplicates, **new_texts.dropped}
    return found | {"unseen": pool.unseen is not None, "unused": unusable, "run": run.folder.resolve().name}


def _pool_answers(run: RunFolder, student: Predictor) -> PoolAnswers:
    """Those in the run folder, if they are of this student; else computed, and written there."""
    identity, path = model_identity(str(run.student), None), run.folder / POOL_ANSWERS

    def answers(kept: PoolAnswersRecord) -> PoolAnswers | None:
        """None for those of another student."""
        if kept["student"] != identity:
            return None
        n, unseen = len(student.labels), kept["unseen"]
        return PoolAnswers(from_json(kept["all"], n), None if unseen is None else from_json(unseen, n))

    content: TypeAdapter[Any] = TypeAdapter(Annotated[PoolAnswersRecord, AfterValidator(answers)])
    kept: PoolAnswers | None = read_checked(path, content, "Delete it: it is written again.")
    if kept is not None:
        return kept
    found = _asked_pool(run, student)
    values = {"all": as_json(found.all), "unseen": None if found.unseen is None else as_json(found.unseen)}
    try:
        with locked(run.folder):
            write_json(path, {"student": identity, **values})
    except AlloyError as error:  # a run folder that may only be read is no reason to stop
        log_line(f"the student's answers to the pool are not kept: {error}")
    return found


def _asked_pool(run: RunFolder, student: Predictor) -> PoolAnswers:
    recipe = run.recipe
    try:
        texts = read(origin_of(recipe))
    except AlloyError as error:
        raise AlloyError(
            expected=f"the pool of {run.folder}, to compare with: {error.expected}", got=error.got,
            hint=f"Run `alloykit watch` once where the pool is: {POOL_ANSWERS} in the run folder then replaces it. {error.hint}",
        ) from error  # fmt: skip
    asked, new = pool_sample(len(texts), recipe.training)
    readings = list(_readings(student, texts.select(asked), "student on the pool"))
    energy = np.concatenate([reading.energy.numpy() for reading in readings])
    room = float(energy.max() - energy.min()) or 1.0
    low, high = float(energy.min()) - room / 2, float(energy.max()) + room / 2
    everything = AnswerCounts.empty(len(student.labels), low, high)
    unseen = AnswerCounts.empty(len(student.labels), low, high)
    for n, reading in enumerate(readings):
        _add(everything, reading, multi_label=student.multi_label)
        _add(unseen, reading, new[n * BATCH : (n + 1) * BATCH], multi_label=student.multi_label)
    return PoolAnswers(everything, unseen if unseen.texts >= ENOUGH else None)


def _readings(student: Predictor, texts: Texts, what: str) -> Iterator[StudentReading]:
    with bar(what, len(texts)) as advance:
        for shown in texts.table.batches(texts.text_columns, BATCH):
            yield read_by_student(student, shown["text"], shown.get("text_pair"))
            advance(len(shown["text"]))


def _add(counts: AnswerCounts, reading: StudentReading, which: Any = slice(None), *, multi_label: bool) -> None:
    """The confidence of a multi-label answer is that of its least certain label, given or not given."""
    p = reading.probabilities
    best = p.max(-1)
    answers = (p >= GIVEN, torch.maximum(p, 1 - p).min(-1).values) if multi_label else (best.indices, best.values)
    labels, confidence, energy = (values.numpy()[which] for values in (*answers, reading.energy))
    foreign = None if reading.foreign is None else int(reading.foreign.numpy()[which].sum())
    counts.add(labels, confidence, energy, foreign)
