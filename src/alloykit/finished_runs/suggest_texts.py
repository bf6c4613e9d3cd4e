"""The texts of a run's pool that student and teachers are least confident about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from alloykit.data import Texts
from alloykit.data.table import UNLABELLED
from alloykit.errors import AlloyError
from alloykit.evaluation.label_next import (
    choose_texts,
    label_margins,
    reason,
    reason_of_several,
    usefulness,
    usefulness_of_several,
)
from alloykit.finished_runs.finished_run import fitted_state, refuse_code, unfinished_run
from alloykit.knowledge.online.encoder_states import WithTextStates
from alloykit.labels import GIVEN
from alloykit.methods.multi_label import label_probabilities
from alloykit.methods.requirements import require_few_labels, supervised
from alloykit.outputs import Source, chunks
from alloykit.progress import bar, log_line, warn_line
from alloykit.recipe.texts_origin import InMemory
from alloykit.run_folder.file_names import CACHE, RECIPE
from alloykit.run_folder.run_folder import RunFolder
from alloykit.serving.student_reading import StudentReading, read_by_student
from alloykit.stages.knowledge import with_text_states
from alloykit.stages.method_reports import attempt
from alloykit.stages.prepare import prepare, stored
from alloykit.stages.prepared import Prepared
from alloykit.stages.recipe_texts import read, salted
from alloykit.stats.sampled_positions import sampled_positions
from alloykit.temporary.buckets import BLOCK
from alloykit.temporary.row_index import RowIndex, id_blocks
from alloykit.training.all_but import Positions

SEPARATOR = "|"  # between the labels of a text with several
LOOKED_AT = 20_000  # texts of the pool, a random sample of a larger one
BATCH = 1_000


@dataclass(frozen=True)
class Suggestion:
    """A text to label. `suggested`: the student's label; `probability`: its probability, calibrated; `why`: in words.

    Of a multi-label run, `suggested` has all labels, with SEPARATOR between them, `probability` is that of the decision with the lowest confidence,
    and `label` is UNLABELLED until somebody fills it in, because an empty cell says that no label fits."""

    text: str
    text_pair: str | None
    suggested: str
    probability: float
    why: str
    label: str = ""


def suggest_texts(
    run: RunFolder, n: int, *, cache: str | Path | None = None, trust_remote_code: bool = False
) -> list[Suggestion]:
    """The n texts of the pool that student and teachers are least confident about, the most useful first (evaluation/label_next.py).

    Texts that the recipe's `labelled:` has are left out. Writes nothing but a file with text states if the run's own one is gone. AlloyError
    for an unfinished run, a run without a student, and a method that cannot use a few labelled texts.
    """
    if n < 1:
        raise AlloyError(expected="at least one text to suggest", got=str(n), hint="For instance `--n 100`.")
    recipe = run.recipe
    if not trust_remote_code:
        refuse_code(recipe, run.folder / RECIPE)
    run.check()
    if run.metrics is None or not run.has_student:
        raise unfinished_run(run.folder)
    prepared = prepare(recipe)
    require_few_labels(prepared.method)
    at = _candidates(prepared)
    if not len(at):
        raise AlloyError(
            expected="texts without a label in the pool",
            got="none",
            hint="Add texts: `alloykit update RUN --add-texts`.",
        )
    p, states = _student_reading(prepared, run, at)
    targets = _targets(prepared, run, at, cache)
    several = prepared.method.needs.multi_label
    found = usefulness_of_several(p, targets) if several else usefulness(p, targets)
    labels = label_margins(p).argmin(-1) if several else p.argmax(-1)
    chosen = choose_texts(found.score, labels, states, n)
    names, rows = prepared.space.names, prepared.texts.table.select(at[chosen])
    why, suggested = (reason_of_several, _labels) if several else (reason, _label)
    suggestions = []
    for i, row in zip(chosen, (rows[k] for k in range(len(rows))), strict=True):
        answer = suggested(p[i], names)
        words = why(i, found, p, targets, names)
        suggestions.append(Suggestion(row["text"], row.get("text_pair"), *answer, words, UNLABELLED if several else ""))
    return suggestions


def _label(p: Tensor, names: Sequence[str]) -> tuple[str, float]:
    best = int(p.argmax())
    return names[best], float(p[best])


def _labels(p: Tensor, names: Sequence[str]) -> tuple[str, float]:
    given = [name for name, q in zip(names, p.tolist(), strict=True) if q >= GIVEN]
    return SEPARATOR.join(given), float(torch.maximum(p, 1 - p).min())


def _candidates(prepared: Prepared) -> Positions:
    """Positions of different texts of the pool without a known label, a sample of at most LOOKED_AT, ascending."""
    ids, labelled = prepared.texts.ids(), None
    block = prepared.recipe.labelled
    if block is not None and not isinstance(block.data, InMemory):
        known = read(salted(block.data, prepared.recipe), want_labels=True).ids()
        labelled = RowIndex(id_blocks(known), len(known)).find(id_blocks(ids))
    kept = []
    for start, rows in RowIndex(id_blocks(ids), len(ids)).find(id_blocks(ids)).blocks(BLOCK):
        first = rows == np.arange(start, start + len(rows))
        if labelled is not None:
            first &= labelled.between(start, start + len(rows)) < 0
        kept.append(start + np.flatnonzero(first))
    at = np.concatenate(kept)
    if len(at) > LOOKED_AT:
        log_line(f"the pool has {len(at):,} texts; suggestions are among {LOOKED_AT:,} of them")
        at = at[np.sort(sampled_positions(len(at), LOOKED_AT))]
    return at


def _student_reading(prepared: Prepared, run: RunFolder, at: Positions) -> tuple[Tensor, Tensor]:
    """The student's probabilities [n, C] and states [n, d] of these texts. AlloyError for a student of another recipe."""
    student = prepared.predictor(run.student)
    if student.labels != prepared.space.names:
        raise AlloyError(
            expected=f"the student of this recipe in {run.student}",
            got="one with other labels",
            hint="Run `alloykit amalgamate` with --overwrite.",
        )
    parts, table = [], prepared.texts.table.select(at)
    with bar("student", len(at)) as advance:
        for shown in table.batches(prepared.texts.text_columns, BATCH):
            parts.append(read_by_student(student, shown["text"], shown.get("text_pair"), states=True))
            advance(len(shown["text"]))
    return torch.cat([part.probabilities for part in parts]), torch.cat([_states_of(part) for part in parts])


def _states_of(reading: StudentReading) -> Tensor:
    assert reading.states is not None  # they were asked for
    return reading.states


def _targets(prepared: Prepared, run: RunFolder, at: Positions, cache: str | Path | None) -> Tensor | None:
    """The method's targets of these texts, [n, C]; None for a method without a single target."""
    method = prepared.method
    if not method.single_target and not method.needs.multi_label:
        return None
    if cache is None and not (run.folder / CACHE).is_dir():
        raise AlloyError(
            expected=f"the teachers' outputs in {run.folder / CACHE}",
            got="none",
            hint="Name the place where they are with --cache.",
        )
    store = prepared.store(cache or run.folder / CACHE)
    ids = prepared.texts.ids().read(at)
    source = _with_states(prepared, stored(prepared, store, ids), prepared.texts, run, at)
    context = replace(prepared.context, state=fitted_state(run.folder))
    warnings: list[str] = []

    def targets() -> Tensor:
        if method.needs.multi_label:
            return torch.cat([label_probabilities(rows, prepared.space)[0] for rows in chunks(source)])
        parts = [supervised(method, rows, context, len(rows.teachers[0].logits)) for rows in chunks(source)]
        return torch.cat([part.targets for part in parts if part is not None])

    found = attempt(method, "its targets of the pool", targets, warnings)
    for warning in warnings:
        warn_line(warning)
    return found


def _with_states(prepared: Prepared, source: Source, texts: Texts, run: RunFolder, at: Positions) -> Source:
    """With the encoder's states of the texts at these positions, if the method asks for states. The run's file has those of all texts."""
    found = with_text_states(prepared, source, texts, run.folder, "texts")
    return replace(found, states=found.states[torch.from_numpy(at)]) if isinstance(found, WithTextStates) else found
