"""Tables of many labels grow downwards, not to the right."""

from __future__ import annotations

from htmltree import parse, rows

from alloykit.reporting.page import template_environment
from alloykit.reporting.sections import OUTLINE

LABELS = [f"label {n}" for n in range(77)]


def test_the_f1_of_each_label_has_a_row() -> None:
    by_label = {label: {"f1": 0.5} for label in LABELS[:40]}
    score = {"micro_f1": 0.6, "macro_f1": 0.5, "exact": 0.4}
    scores = {
        "teacher a": score | {"labels": by_label},
        "student": score | {"labels": {label: {"f1": 0.7} for label in LABELS}},
    }
    values = {"labels": LABELS, "multi_label": {"evaluation": {"texts": 9, "scores": scores}}}
    page = template_environment().get_template("sections/accuracy.html.j2")
    over_all, per_label = parse(
        page.render(metrics=values, tested=None, figures={section: [] for section in OUTLINE})
    ).all("table")
    assert rows(over_all)[0] == ["classifier", "micro-F1", "macro-F1", "exact"]
    assert rows(per_label)[0] == ["label", "F1 of teacher a", "F1 of student"]
    assert [row[0] for row in rows(per_label)[1:]] == LABELS
    assert rows(per_label)[-1][1:] == ["–", "70.0\u00a0%"]


def test_the_summary_of_questions_has_the_number_of_labels() -> None:
    question = {"name": "topic", "labels": LABELS, "teachers": ["a"], "texts": 0, "accuracy": None, "micro_f1": None}
    summary = template_environment().get_template("questions/summary.html.j2")
    table = parse(summary.render(questions=[question | {"best": None, "page": "p"}])).one("table")
    assert rows(table)[1][:3] == ["topic", "77", "1"]
