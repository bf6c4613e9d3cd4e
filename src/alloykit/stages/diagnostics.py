"""Diagnostics of teachers and student that need no labels."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from alloykit.evaluation import health, learning
from alloykit.evaluation import student_confidence as student
from alloykit.evaluation import supervision as pool_supervision
from alloykit.evaluation.tokenizer_statistics import tokenizer_statistics
from alloykit.knowledge.store.reader import StoredKnowledge
from alloykit.knowledge.store.store import Store
from alloykit.methods.protocol import Context
from alloykit.methods.requirements import supervised
from alloykit.models.export import fitted_temperature
from alloykit.models.tokens import encode_untruncated
from alloykit.outputs import Source, chunks, sample
from alloykit.progress import log_line
from alloykit.run_folder.records import TrainingRecord
from alloykit.serving.predictor import Predictor
from alloykit.stages.knowledge import Knowledge
from alloykit.stages.method_reports import attempt
from alloykit.stages.prepared import Prepared
from alloykit.stages.student_on_pool import StudentOnPool
from alloykit.stats.none_of_these import NoneOfThese
from alloykit.training.schedule import Schedule, required, with_defaults

LOOKED_AT = 20_000  # texts of the pool for its statistics; the error of a share is then at most ±0.7 points
READ = 2_000  # texts that each tokenizer reads
LOOKED_INTO = 100_000  # characters of each of them


def pool_view(prepared: Prepared, outputs: Knowledge, context: Context, warnings: list[str]) -> dict[str, Any]:
    """Teachers and method on a sample of the pool, as metrics.json has them: `health`, `agreement`, `supervision`.

    warnings: new ones are appended. Empty for a method without teachers."""
    source, method, names, space = outputs.stored, prepared.method, prepared.names, prepared.space
    if not isinstance(source, StoredKnowledge) or method.needs.multi_label:
        return {}
    found = teachers_health(prepared, source, outputs.store)
    for name, teacher in found.items():
        if teacher["abstains"]:
            log_line(
                f"teacher {name}: abstains from {100 * teacher['abstains']:.0f} % of the texts, because of `catch_all`"
            )
    pool, seen = sample(source, LOOKED_AT), sample(outputs.pool, LOOKED_AT)
    agreement = pool_supervision.agreement(pool, space, names)
    treated = attempt(
        method,
        "its targets of the pool",
        lambda: pool_supervision.supervision_summary(method, seen, context, names),
        warnings,
    )
    warnings += health.health_warnings(found) + pool_supervision.disagreement_warnings(pool, space, names)
    return {"health": found, "agreement": agreement, "supervision": treated}


def teachers_health(prepared: Prepared, source: StoredKnowledge, store: Store) -> dict[str, dict[str, Any]]:
    """Per teacher: variance over the passes, confidence, predicted labels, and statistics of its tokenizer."""
    texts = prepared.texts
    shown = texts.table.select(sample(source, READ).positions.numpy())
    pieces = [list(shown["text"])] + ([[p for p in shown["text_pair"] if p]] if texts.is_pair else [])
    pieces = [[text[:LOOKED_INTO] for text in part] for part in pieces]
    found, pool = {}, sample(source, LOOKED_AT)
    probabilities: list[list[Tensor]] = [[] for _ in prepared.infos]
    left = [0] * len(prepared.infos)  # texts that each teacher abstains from
    for rows in chunks(pool):
        for i, teacher in enumerate(rows.teachers):
            p = teacher.probabilities()
            probabilities[i].append(p if teacher.answered is None else p[teacher.answered])
            left[i] += 0 if teacher.abstains is None else int(teacher.abstains.sum())
    for i, info in enumerate(prepared.infos):
        p, tokenizer = torch.cat(probabilities[i]), info.load_tokenizer()
        found[info.name] = health.output_statistics(p, source.pass_variance(info.name), info.labels)
        of_all = max(1, len(pool))
        found[info.name] |= {
            "unanswered": 1 - len(p) / of_all,
            "abstains": left[i] / of_all,
            "dropout": info.gives.dropout,
        }
        if tokenizer is None:
            continue
        ids = [e for part in pieces for e in encode_untruncated(tokenizer, part)]
        made = store.identity(info.name, "teacher") or {}
        read = made.get("max_length", prepared.recipe.training.max_length)
        found[info.name] |= tokenizer_statistics(
            ids, [text for part in pieces for text in part], tokenizer, read, made.get("long_texts", "head")
        )
    return found


def student_view(
    prepared: Prepared, classifier: Predictor, source: Source, context: Context, warnings: list[str]
) -> tuple[dict[str, Any], NoneOfThese | None]:
    """The student `classifier` on a sample of the pool, and what `predict --none-of-these` needs. The student reads the texts once for both.

    The first has its confidence, calibrated without labels, the texts with the lowest confidence and the most unusual texts. If the method
    fails to give a target, the comparison with it is missing. warnings: new ones are appended. A temperature that was fitted before stays."""
    asked = StudentOnPool.of(prepared.texts, classifier, prepared.recipe.training)
    probabilities, rows, new = asked.probabilities, asked.rows, asked.unseen
    supervision, method, before = None, prepared.method, fitted_temperature(classifier.model.config)
    if method.single_target:
        known = source.rows(asked.positions)
        supervision = attempt(
            method, "its targets of the pool", lambda: supervised(method, known, context, len(rows)), warnings
        )
    names = prepared.space.names
    view = attempt(
        method,
        "usable targets of the pool",
        lambda: student.pool_confidence(probabilities, supervision, new, names, rows, before),
        warnings,
    ) or student.pool_confidence(probabilities, None, new, names, rows)
    answers = probabilities.argmax(-1)
    unusual, fitted = asked.unusual(answers, [names[c] for c in answers.tolist()])
    view |= unusual
    if prepared.recipe.report.show_texts:
        asked.show(view["least_certain"] + view.get("none_of_these", {}).get("most_unusual", []))
    return view, fitted


def learning_view(prepared: Prepared, trained: TrainingRecord | None, view: dict[str, Any] | None) -> dict[str, Any]:
    """Whether the student was trained long enough: `late_fall`, `advice` and `warnings` (evaluation/learning.py).

    trained: the content of training.json. view: the result of `student_view`; None if there is none.
    """
    options, shape = prepared.recipe.training, prepared.student_shape
    assert shape is not None
    usual = options.model_copy(update={"learning_rate": None, "epochs": None})
    usual = with_defaults(usual, prepared.examples, prepared.space.size, shape.layers, shape.hidden_size)
    *earlier, last = prepared.method.phases()
    plan = learning.Plan(
        last.epochs or required(options.epochs, "epochs"),
        last.learning_rate or required(options.learning_rate, "learning_rate"),
        required(usual.epochs, "epochs"),
        required(usual.learning_rate, "learning_rate"),
    )
    fall = None
    if trained is not None and options.select == "unlabelled" and last.select is None:
        begin = sum(Schedule.of(prepared.examples, options, phase.epochs).total for phase in earlier)
        of_phase = [e | {"step": e["step"] - begin} for e in trained["history"] if e["phase"] == last.name]
        fall = learning.late_fall(of_phase, trained["steps"] - begin)
    return {"late_fall": fall, "advice": plan.advice, "warnings": learning.training_warnings(view, fall, plan)}
