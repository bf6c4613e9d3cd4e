"""What a run of multi-label teachers measures: student and targets on the pool, and scores by label on labelled texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from alloykit.data import Texts
from alloykit.evaluation.answers import STUDENT
from alloykit.evaluation.multi_label import learned_labels, multi_label_answers, multi_label_scores
from alloykit.files import write_json
from alloykit.knowledge.store.reader import StoredKnowledge
from alloykit.knowledge.store.store import Store
from alloykit.knowledge.sweep.sweep import sweep
from alloykit.methods.multi_label import label_probabilities
from alloykit.outputs import Source
from alloykit.progress import log_line
from alloykit.run_folder.file_names import METRICS
from alloykit.run_folder.run_folder import RunFolder
from alloykit.stages.prepare import Prepared
from alloykit.training.dataset import split_held_out

ASKED = 2_000  # texts of the pool that the student answers


def multi_label_pool(prepared: Prepared, folder: Path, source: Source) -> dict[str, Any]:
    """By label, the student's answers beside the targets (`learned_labels`), on texts that it did not learn from if there are any."""
    texts, options = prepared.texts, prepared.recipe.training
    held_out = np.arange(0)
    if options.select == "unlabelled":
        _, held_out = split_held_out(len(texts), options.held_out, options.seed)
    asked = held_out if len(held_out) else np.arange(min(len(texts), ASKED))
    table = texts.table.select(asked.tolist())
    pairs = list(table["text_pair"]) if texts.is_pair else None
    student = prepared.predictor(folder).probabilities(list(table["text"]), pairs, "student on the pool")
    target, known = label_probabilities(source.rows(asked.tolist()), prepared.space)
    labels = learned_labels(target, known, student, prepared.space.names)
    return {"texts": len(asked), "unseen": bool(len(held_out)), "labels": labels}


def evaluate_multi_label(prepared: Prepared, run: RunFolder, store: Store, data: Texts) -> dict[str, Any]:
    """Score teachers, their mean and the student on the test texts, and add the result to the run's metrics.json."""
    truth = prepared.label_matrix(data)
    log_line(f"evaluation on {len(data):,} labelled texts")
    sweep(prepared.infos, data, store, prepared.sweep_options())
    answers = multi_label_answers(StoredKnowledge(store, prepared.names, data.ids()), prepared.space, prepared.names)
    if run.has_student:
        pairs = list(data.table["text_pair"]) if data.is_pair else None
        answers[STUDENT] = prepared.predictor(run.student).probabilities(list(data.table["text"]), pairs)
    result = multi_label_scores(answers, truth, prepared.space.names)
    metrics = run.metrics
    assert metrics is not None
    found = dict(metrics.get("multi_label") or {}) | {"evaluation": result}
    write_json(run.folder / METRICS, metrics | {"multi_label": found})
    return result
