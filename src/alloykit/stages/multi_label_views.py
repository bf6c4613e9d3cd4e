"""What a run of multi-label teachers measures: student and targets on the pool, and scores by label on labelled texts."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from alloykit.data import Texts
from alloykit.evaluation.answers import STUDENT
from alloykit.evaluation.multi_label import learned_labels, multi_label_answers, multi_label_scores
from alloykit.json_files import write_json
from alloykit.knowledge.store.store import Store
from alloykit.knowledge.sweep.sweep import sweep
from alloykit.labels import GIVEN
from alloykit.methods.multi_label import label_probabilities
from alloykit.models.export import fitted_temperature
from alloykit.names import counted
from alloykit.outputs import Source
from alloykit.progress import log_line
from alloykit.run_folder.file_names import METRICS
from alloykit.run_folder.run_folder import RunFolder
from alloykit.serving.predictor import Predictor
from alloykit.stages.prepare import stored
from alloykit.stages.prepared import Prepared
from alloykit.stages.student_on_pool import StudentOnPool
from alloykit.stats.none_of_these import NoneOfThese
from alloykit.stats.temperature import fit_binary_temperature, tempered_sigmoid

LEAST = 2  # held-out texts to which a temperature is fitted


def multi_label_pool(
    prepared: Prepared, classifier: Predictor, source: Source
) -> tuple[dict[str, Any], NoneOfThese | None]:
    """The student `classifier` on a sample of the pool, and what `predict --none-of-these` needs. The student reads the texts once for both.

    The first has its `temperature`, fitted to the targets of texts that it did not learn from (None without such texts; one that was fitted before stays), its most unusual texts, and by
    label its calibrated answers beside the targets (`learned_labels`), on texts that it did not learn from if there are any."""
    space, asked = prepared.space, StudentOnPool.of(prepared.texts, classifier, prepared.recipe.training)
    student, new = asked.probabilities, asked.unseen
    target, known = label_probabilities(source.rows(asked.positions), space)
    view: dict[str, Any] = {"temperature": None}
    if int(new.sum()) >= LEAST:
        before = fitted_temperature(classifier.model.config)
        view["temperature"] = before or fit_binary_temperature(student[new], target[new], known[new])
    calibrated = tempered_sigmoid(student, view["temperature"] or 1.0)
    shown = new if bool(new.any()) else torch.ones_like(new)
    view |= {
        "texts": int(shown.sum()),
        "unseen": bool(new.any()),
        "labels": learned_labels(target[shown], known[shown], calibrated[shown], space.names),
    }
    given = [[name for name, p in zip(space.names, row, strict=True) if p >= GIVEN] for row in student.tolist()]
    unusual, fitted = asked.unusual(label_groups(student), [", ".join(labels) or "no label" for labels in given])
    if unusual and prepared.recipe.report.show_texts:
        asked.show(unusual["none_of_these"]["most_unusual"])
    return view | unusual, fitted


def label_groups(probabilities: Tensor) -> Tensor:
    """By text, its most probable label, or C for a text that gets no label. [n, C] → [n] int64. In each of these groups, texts are compared with the
    mean of the group: a text with several labels is in one group only."""
    best = probabilities.max(-1)
    return torch.where(best.values >= GIVEN, best.indices, probabilities.shape[-1])


def evaluate_multi_label(
    prepared: Prepared, run: RunFolder, store: Store, data: Texts, *, of_recipe: bool
) -> dict[str, Any]:
    """Score teachers, their mean and the student on the test texts, and add the result to the run's metrics.json. of_recipe: as in `evaluate_run`."""
    truth = prepared.labels(data)
    log_line(f"evaluation on {counted(len(data), 'labelled text')}")
    sweep(prepared.infos, data, store, prepared.sweep_options())
    answers = multi_label_answers(
        stored(prepared, store, data.ids(), answers_only=True), prepared.space, prepared.names
    )
    if run.has_student:
        answers[STUDENT] = prepared.predictor(run.student).probabilities(data.table["text"], data.pairs)
    result = multi_label_scores(answers, truth, prepared.space.names) | {"of_recipe": of_recipe}
    metrics = run.metrics
    assert metrics is not None
    found = dict(metrics.get("multi_label") or {}) | {"evaluation": result}
    write_json(run.folder / METRICS, metrics | {"multi_label": found})
    return result
