"""The numbers of every figure are the run's."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from htmltree import Node, rows
from toyruns import Runs

Pages = Callable[[str], Node]


def read(folder: Path, name: str = "metrics") -> dict[str, Any]:
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


def percent(share: float | None, digits: int = 1) -> str:
    return "–" if share is None else f"{100 * share:.{digits}f}\u00a0%"


def numbers(page: Node, figure: str) -> list[list[str]]:
    (figure,) = (f for f in page.all("figure") if f.one("svg").attributes["aria-labelledby"] == f"{figure}-title")
    return rows(figure.one("table"))


def drawn(page: Node, figure: str) -> list[str]:
    (svg,) = (s for s in page.all("svg") if s.attributes["aria-labelledby"] == f"{figure}-title")
    return [text.words for text in svg.all("text")]


def test_numbers_of_the_figures_of_a_tested_run(page_of: Pages, runs: Runs) -> None:
    metrics, page = read(runs.soft), page_of("soft")
    tested, scores = metrics["evaluation"], metrics["evaluation"]["scores"]
    assert [row[:2] for row in numbers(page, "accuracy")[1:]] == [
        [n, percent(s["accuracy"])] for n, s in scores.items()
    ]
    assert drawn(page, "accuracy")[-len(scores) :] == [f"{n} {100 * s['accuracy']:.1f}" for n, s in scores.items()]
    confusion = [[label, *map(str, row)] for label, row in zip(metrics["labels"], tested["confusion"], strict=True)]
    assert numbers(page, "confusion")[1:] == confusion
    counts = [str(n) for row in tested["confusion"] for n in row if n]
    assert [text for text in drawn(page, "confusion") if text.isdigit()] == counts
    histograms = [
        (str(a), str(b)) for a, b in zip(tested["confidence"]["right"], tested["confidence"]["wrong"], strict=True)
    ]
    assert [(row[1], row[2]) for row in numbers(page, "confidence")[1:]] == histograms
    assert [row[0] for row in numbers(page, "confidence")[1:3]] == ["0.00 to 0.05", "0.05 to 0.10"]
    routing = [
        [label, *(percent(r["to"][t], 0) for t in metrics["teachers"])] for label, r in tested["routing"].items()
    ]
    assert numbers(page, "routing-shares")[1:] == routing
    names = {"student": "student", "student, tempered": "student, with temperature"}
    ways = [(names[way], b) for way in names for b in tested["reliability"][way]["bins"]]
    expected = [[w, str(b["texts"]), percent(b["confidence"]), percent(b["accuracy"])] for w, b in ways]
    assert [[row[0], *row[2:]] for row in numbers(page, "reliability")[1:]] == expected
    assert [row[1] for row in numbers(page, "weights")[1:]] == [
        str(n) for n in metrics["supervision"]["weights"]["counts"]
    ]
    captions = [caption.words for caption in page.all("figcaption")]
    temperature = metrics["student"]["temperature"]
    assert (
        f"Confidence of the student on the pool, with its logits divided by the temperature {temperature:.2f}."
        in captions
    )
    assert "Training loss. The checkpoint was selected on held-out texts." in captions
    assert [row[1] for row in numbers(page, "student")[1:]] == [str(n) for n in metrics["student"]["confidence"]]


def test_numbers_of_the_figures_of_an_untested_run(page_of: Pages, runs: Runs) -> None:
    metrics, page = read(runs.untested), page_of("untested")
    columns = list(zip(*numbers(page, "pool-confidence"), strict=True))[1:]
    assert [list(c) for c in columns] == [[t, *map(str, n)] for t, n in metrics["agreement"]["confidence"].items()]
    shares = {label: s["teacher_share"] for label, s in metrics["supervision"]["labels"].items() if s["teacher_share"]}
    assert "mean weight (%)" in drawn(page, "pool-routing")
    assert numbers(page, "pool-routing")[1:] == [[n, *(percent(s, 0) for s in by.values())] for n, by in shares.items()]


def test_training_names_the_selected_step(page_of: Pages, runs: Runs) -> None:
    training, page = read(runs.soft, "training"), page_of("soft")
    assert f"selected: step {training['selected_step']}" in drawn(page, "training")
    losses = [(str(h["step"]), f"{h['loss']:.4f}") for h in training["history"] if "loss" in h]
    checks = [
        (str(h["step"]), f"{h['eval_criterion']:.4f} ± {h['eval_standard_error']:.4f}")
        for h in training["history"]
        if "eval_criterion" in h
    ]
    body = numbers(page, "training")[1:]
    assert [(row[0], row[1]) for row in body if row[1]] == losses
    assert [(row[0], row[2]) for row in body if row[2]] == checks
    assert [int(row[0]) for row in body] == sorted(int(row[0]) for row in body)
