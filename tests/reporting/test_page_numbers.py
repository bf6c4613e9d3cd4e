"""The numbers of the page are those of metrics.json, training.json and environment.json."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import isnan
from pathlib import Path
from typing import Any

import pytest
from htmltree import Node, parse, rows, said_under, section, table_in
from sklearn.metrics import classification_report
from toyruns import Runs

from alloykit.evaluation.answers import Answers
from alloykit.progress import duration
from alloykit.reporting import page
from alloykit.reporting.next_steps import next_steps
from alloykit.reporting.verdict import verdict

Pages = Callable[[str], Node]


def read(folder: Path, name: str = "metrics") -> dict[str, Any]:
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


def percent(share: float | None, digits: int = 1) -> str:
    return "–" if share is None else f"{100 * share:.{digits}f}\u00a0%"


def p_value(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def points(share: float) -> str:
    return f"{100 * share:+.1f} points".replace("-", "−")


def table_of(whole: Node, heading: str) -> list[list[str]]:
    return rows(table_in(whole, heading))


@pytest.mark.parametrize("name", ["soft", "vanilla"])
def test_the_accuracy_table(page_of: Pages, runs: Runs, name: str) -> None:
    found = read(runs.root / name)["evaluation"]
    head, *body = table_of(page_of(name), "Accuracy")
    assert head == (
        "classifier,accuracy,95 % interval,macro-F1,labels of billing,labels of delivery,difference,p".split(",")
    )
    expected = []
    for who, s in found["scores"].items():
        interval = " to ".join(percent(end) for end in s["interval"]) if "interval" in s else "–"
        rival = found["significance"].get(who)
        groups = [percent(s["groups"][team]) for team in ("billing", "delivery")]
        test = [points(rival["difference"]), p_value(rival["p_holm"])] if rival else ["–", "–"]
        expected.append([who, percent(s["accuracy"]), interval, percent(s["macro_f1"]), *groups, *test])
    assert body == expected
    assert [row[0] for row in body] == [
        "teacher billing",
        "teacher delivery",
        "ensemble",
        "routing",
        "oracle routing",
        "student",
    ]
    tables = page_of(name).all("table")
    judged = [row.all("th")[0].words for t in tables for row in t.all("tr") if row.attributes.get("class") == "judged"]
    assert judged == ["student", "student"], "in the tables of accuracy and of calibration"
    assert "Measured on 60 labelled texts." in said_under(page_of(name), "Accuracy")


def test_a_teacher_of_all_labels_has_no_column_of_its_labels(page_of: Pages) -> None:
    head = table_of(page_of("one teacher"), "Accuracy")[0]
    assert head == ["classifier", "accuracy", "95 % interval", "macro-F1", "difference", "p"]


@pytest.mark.parametrize("name", ["soft", "uhc"])
def test_precision_recall_and_f1_are_those_of_the_answers(page_of: Pages, runs: Runs, name: str) -> None:
    folder = runs.of(name)
    answers = Answers.load(folder / "answers.safetensors")
    truth, predicted = answers.labels.numpy(), answers.probabilities["student"].argmax(-1).numpy()
    labels = read(folder)["labels"]
    report = classification_report(
        truth, predicted, labels=range(len(labels)), target_names=labels, output_dict=True, zero_division=float("nan")
    )
    assert table_of(page_of(name), "Per label")[1:] == [
        [label, f"{report[label]['support']:.0f}"]
        + [
            "–" if isnan(report[label][key]) else percent(report[label][key])
            for key in ("precision", "recall", "f1-score")
        ]
        for label in labels
    ]


def test_calibration_routing_and_data(page_of: Pages, runs: Runs) -> None:
    metrics, whole = read(runs.soft), page_of("soft")
    reliability = metrics["evaluation"]["reliability"]
    assert table_of(whole, "Calibration")[1:] == [
        [name.replace("tempered", "with temperature"), percent(r["ece"]), points(r["overconfidence"])]
        for name, r in reliability.items()
    ]
    owner = {label: team for team, labels in metrics["teachers"].items() for label in labels}
    confusion = dict(zip(metrics["labels"], metrics["evaluation"]["confusion"], strict=True))
    assert table_of(whole, "Routing")[1:] == [
        [label, owner[label], str(sum(confusion[label])), percent(r["right"])]
        for label, r in metrics["evaluation"]["routing"].items()
    ]
    share = percent(metrics["evaluation"]["scores"]["routing"]["correct_teacher"])
    assert f"knows the true label of {share} of the test texts." in said_under(whole, "Routing")
    for name in ("soft", "untested"):
        pool = read(runs.root / name)["supervision"]["labels"]
        assert table_of(page_of(name), "Data")[1:] == [
            [label, owner[label], str(s["texts"]), f"{s['effective_sample_size']:.0f}"] for label, s in pool.items()
        ]
    assert table_of(page_of("uhc"), "Data") == [["label", "known by"], *([label, owner[label]] for label in owner)]


@pytest.mark.parametrize("name", ["soft", "vanilla", "untested", "half", "ensemble"])
def test_the_verdict_and_what_to_do_come_first(page_of: Pages, runs: Runs, name: str) -> None:
    metrics = {} if name == "half" else read(runs.of(name))
    expected = verdict(metrics)
    heading, box, second, steps = [n for n in page_of(name).one("main").children if isinstance(n, Node)][:4]
    assert (heading.words, second.words) == ("Summary", "What to do next")
    assert box.attributes["class"] == f"verdict {expected.status}"
    assert box.one("p").words == expected.headline
    assert [point.text for point in box.all("li")] == [point.replace("`", "") for point in expected.points]
    assert [step.text for step in steps.all("li")] == [step.replace("`", "") for step in next_steps(metrics)]


def test_the_distance_from_the_reference(page_of: Pages, runs: Runs) -> None:
    for name in ("soft", "vanilla"):
        reference = read(runs.root / name)["evaluation"]["reference"]
        assert f"Reference: {reference['is']}." in said_under(page_of(name), "Routing")
        (table,) = (t for t in page_of(name).all("table") if t.one("caption").words == "Distance from the reference")
        assert rows(table)[1:4] == [[way, "60", f"{kl:.2f}"] for way, kl in reference["mean"].items()]
        parts = [reference[key] for key in ("routing_clear", "routing_unclear") if reference[key] is not None]
        assert [row[2] for row in rows(table)[4:]] == [f"{kl:.2f}" for kl in parts]


def test_numbers_that_not_every_run_has(runs: Runs) -> None:
    run = page.load(runs.soft)
    run["metrics"]["evaluation"]["reference"] |= {"routing_clear": 0.126, "clear_texts": 13, "routing_unclear": 1.5}
    run["metrics"]["evaluation"]["significance"]["ensemble"] |= {"difference": -0.0123, "p_holm": 0.0009}
    run["metrics"]["texts"] = {"used": 12345, "duplicates": 0, "empty": 2000, "too long": 1}
    run["metrics"]["seconds"] = {"sweep": {"billing": 100.0, "delivery": 0.0}, "training": 7200.0, "this call": 1.0}
    run["metrics"]["health"]["billing"] |= {"unknown_tokens": None, "pass_variance": 0.0}
    run["environment"]["gpu"] = "Some GPU"
    run["metrics"]["student"]["temperature"] = None
    run["training"]["history"] = [entry for entry in run["training"]["history"] if "loss" in entry]
    ways = run["metrics"]["evaluation"]["scores"]
    run["metrics"]["evaluation"]["scores"] = {"student": ways["student"], **ways}
    whole = parse(page.render(run))
    (reference,) = (t for t in whole.all("table") if t.one("caption").words == "Distance from the reference")
    assert rows(reference)[-2:] == [["routing, v(x) ≥ 0.5", "13", "0.13"], ["routing, v(x) < 0.5", "47", "1.50"]]
    (ensemble,) = (row for row in table_of(whole, "Accuracy") if row[0] == "ensemble")
    assert ensemble[-2:] == ["−1.2 points", "< 0.001"]
    assert said_under(whole, "Data").startswith(
        "The pool has 12,345 texts without labels. Left out: 2,000 empty, 1 too long. Labels"
    )
    (times,) = (t for t in whole.all("table") if t.one("caption").words == "Time")
    assert rows(times)[1:] == [
        ["forward passes of teacher billing", "2 min"],
        ["training of the student", "2.0 h"],
    ]
    assert ", Some GPU. " in said_under(whole, "Recipe")
    assert table_of(whole, "Teachers")[1][4:6] == ["0.0e+00", "–"]
    captions = [caption.words for caption in whole.all("figcaption")]
    assert "Training loss. No text was held out: the last step was selected." in captions
    assert "Confidence of the student on the pool." in captions
    bars = [row[0] for row in rows(whole.all("figure")[0].one("table"))[1:]]
    assert bars == ["teacher billing", "teacher delivery", "ensemble", "routing", "oracle routing", "student"]


def test_the_teachers(page_of: Pages, runs: Runs) -> None:
    health = read(runs.soft)["health"]
    first, answers = (table for node in section(page_of("soft"), "Teachers") for table in node.all("table"))
    for row, (name, h) in zip(rows(first)[1:], health.items(), strict=True):
        confidence = [percent(h["max_probability"]), points(h["excess"]), f"{h['pass_variance']:.1e}"]
        reading = [percent(h["unknown_tokens"]), percent(h["truncated_texts"])]
        assert row == [name, str(len(h["predicted"])), *confidence, *reading]
    assert rows(answers)[1:] == [
        [name, label, str(n)] for name, h in health.items() for label, n in h["predicted"].items()
    ]
    assert [row[4] for row in table_of(page_of("vanilla"), "Teachers")[1:]] == ["–", "–"], "it has no passes"


def test_versions_texts_and_times(page_of: Pages, runs: Runs) -> None:
    metrics, environment, training = (read(runs.soft, name) for name in ("metrics", "environment", "training"))
    whole = page_of("soft")
    assert said_under(whole, "Data").startswith("The pool has 160 texts without labels. Labels")
    steps = f"The student is the checkpoint after step {training['selected_step']} of {training['steps']}."
    assert said_under(whole, "Training").startswith(steps)
    (times,) = (t for t in whole.all("table") if t.one("caption").words == "Time")
    assert rows(times)[-1] == ["training of the student", f"{metrics['seconds']['training']:.0f} s"]
    words = said_under(whole, "Recipe")
    for package, version in environment["packages"].items():
        assert f"{package} {version}" in words
    assert f"Python {environment['python']}, {environment['platform']}, {environment['cores']} cores" in words
    assert whole.one("footer").words.startswith(f"Made by alloykit {environment['packages']['alloykit']}.")


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.4, "0 s"), (89, "89 s"), (90, "2 min"), (5399, "90 min"), (5400, "1.5 h"), (90000, "25.0 h")],
)
def test_durations(seconds: float, said: str) -> None:
    assert duration(seconds) == said
