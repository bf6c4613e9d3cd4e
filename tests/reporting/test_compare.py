"""The comparison of several runs: scores, the best run, and paired tests against it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import safetensors.torch
import torch
from htmltree import Node, parse, rows, table_in
from toyruns import Runs, copied

from alloykit.commands.report import report
from alloykit.evaluation.answers import Answers
from alloykit.evaluation.significance import best_against
from alloykit.reporting import page
from alloykit.reporting.compare import render_comparison
from alloykit.reporting.verdict import points_of

Pages = Callable[[str], Node]
HEAD = (
    "run, method, accuracy, macro-F1, difference (95 % interval), p, ensemble, routing, calibration error, labels, pool texts, "
    "test texts"
)


def percent(share: float) -> str:
    return f"{100 * share:.1f}\u00a0%"


def asked(runs: Runs, right: dict[str, list[bool]], ids: dict[str, bytes] | None = None) -> Node:
    """The comparison of runs that were right on these texts; an empty list is a run that was not tested."""
    views, answers = [], []
    for name, hits in right.items():
        run = page.load(runs.soft if hits else runs.untested) | {"name": name}
        if hits:
            run["metrics"]["evaluation"]["scores"]["student"]["accuracy"] = sum(hits) / len(hits)
        views.append(run)
        given = (ids or {}).get(name, b"the same texts")
        answers.append({"ids": given, "labels": np.arange(len(hits)), "right": np.array(hits)} if hits else None)
    return parse(render_comparison(views, answers))


def scores(comparison: Node) -> dict[str, list[str]]:
    head, *body = rows(table_in(comparison, "Accuracy"))
    assert head == HEAD.split(", ")
    return {row[0]: row[1:] for row in body}


def headline(comparison: Node) -> tuple[str, str]:
    box = comparison.one("main").all("section")[0]
    return box.attributes["class"].removeprefix("verdict "), box.one("p").words


def test_the_table_says_what_the_runs_say(page_of: Pages, runs: Runs) -> None:
    found = scores(page_of("comparison"))
    assert list(found) == ["soft", "vanilla", "untested"]
    for name in ("soft", "vanilla"):
        metrics = json.loads((runs.root / name / "metrics.json").read_text())
        tested = metrics["evaluation"]
        ways = [tested["scores"][way]["accuracy"] for way in ("ensemble", "routing")]
        shown = [tested["scores"]["student"]["accuracy"], tested["scores"]["student"]["macro_f1"], *ways]
        shown.append(tested["reliability"]["student"]["ece"])
        method = "muka (soft)" if name == "soft" else "vanilla_kd"
        row = found[name]
        assert [row[0], *row[1:3], *row[5:8]] == [method, *map(percent, shown)]
        assert row[8:] == ["5", "160", "60"]
    assert found["untested"] == ["muka (soft)", "not tested", *6 * ["–"], "5", "160", "–"]


def test_the_best_is_strong_and_the_others_are_tested_against_it(runs: Runs) -> None:
    right = {
        "low": [n % 3 == 0 for n in range(60)],
        "top": [n % 10 != 0 for n in range(60)],
        "none": [],
        "mid": [n % 2 == 0 for n in range(60)],
    }
    comparison = asked(runs, right)
    found = scores(comparison)
    strong = [row.all("th")[0].words for row in comparison.all("tr") if row.attributes.get("class") == "judged"]
    assert strong == ["top"]
    assert headline(comparison) == (
        "good",
        "top 90.0\u00a0%, mid 50.0\u00a0%, low 33.3\u00a0%: top is significantly better on 60 texts.",
    )
    expected = best_against({n: np.array(r) for n, r in right.items() if r}, "top")
    for name, t in expected.items():
        difference = f"{points_of(t['difference'])} ({points_of(t['low'])} to {points_of(t['high'])})"
        assert found[name][3:5] == [difference, "< 0.001" if t["p_holm"] < 0.001 else f"{t['p_holm']:.3f}"]
    assert found["top"][3:5] == found["none"][3:5] == ["–", "–"]
    (figure,) = comparison.all("figure")
    assert [row[:2] for row in rows(figure.one("table"))[1:]] == [
        [n, percent(sum(right[n]) / 60)] for n in ("low", "mid", "top")
    ]


def test_runs_that_the_texts_do_not_tell_apart(runs: Runs) -> None:
    right = {
        "a": [n % 2 == 0 for n in range(60)],
        "b": [n % 2 == 0 or n in (1, 3, 5) for n in range(60)],
        "c": [n == 0 for n in range(60)],
    }
    assert headline(asked(runs, right)) == (
        "mixed",
        "b 55.0\u00a0%, a 50.0\u00a0%, c 1.7\u00a0%: no significant difference between b and a on 60 texts.",
    )


def test_runs_of_the_same_accuracy(runs: Runs) -> None:
    comparison = asked(runs, {"a": [True, False] * 30, "b": [False, True] * 30})
    wanted = "a 50.0\u00a0%, b 50.0\u00a0%: no significant difference on 60 texts."
    assert headline(comparison) == ("mixed", wanted)


@pytest.mark.parametrize(
    ("right", "sentence"),
    [
        ({"a": [], "b": []}, "No run was tested on labelled texts."),
        ({"a": [], "b": [True, False]}, "Only b was tested on labelled texts."),
    ],
)
def test_runs_of_which_too_few_were_tested(runs: Runs, right: dict[str, list[bool]], sentence: str) -> None:
    comparison = asked(runs, right)
    assert headline(comparison) == ("unknown", sentence)
    assert all(row[3:5] == ["–", "–"] for row in scores(comparison).values())
    assert len(comparison.all("figure")) == any(right.values())


def answered(folder: Path) -> tuple[Answers, list[str]]:
    """What a run folder holds of its answers: everything, and the texts' ids."""
    path = folder / "answers.safetensors"
    return Answers.load(path), [bytes(row.tolist()).hex() for row in safetensors.torch.load_file(path)["ids"]]


def test_other_texts_are_not_compared(runs: Runs, tmp_path: Path) -> None:
    """Two run folders, one of which was tested on other texts, by way of `report`."""
    other = copied(runs.vanilla, tmp_path / "other")
    answers, ids = answered(other)
    answers.save(other / "answers.safetensors", [*ids[:-1], 32 * "0"])
    comparison = parse(report([runs.soft, other], tmp_path / "page.html").read_text(encoding="utf-8"))
    assert headline(comparison) == ("unknown", "Not comparable: the runs were tested on different texts.")
    assert all(row[3:5] == ["–", "–"] for row in scores(comparison).values())
    answers.save(other / "answers.safetensors", ids)
    same = parse(report([runs.soft, other], tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "different texts" not in headline(same)[1]
    assert sorted(row[3:5].count("–") for row in scores(same).values()) == [0, 2]


def test_teachers_in_another_order_are_tested_on_the_same_texts(runs: Runs, tmp_path: Path) -> None:
    """The union's labels have other positions then; the texts and their labels are the same."""
    other = copied(runs.vanilla, tmp_path / "other")
    metrics = json.loads((other / "metrics.json").read_text())
    order = [3, 4, 0, 1, 2]  # delivery's labels first
    metrics["labels"] = [metrics["labels"][i] for i in order]
    metrics["teachers"] = dict(reversed(metrics["teachers"].items()))
    (other / "metrics.json").write_text(json.dumps(metrics))
    answers, ids = answered(other)
    answers.labels = torch.tensor([order.index(label) for label in answers.labels.tolist()])
    answers.probabilities = {way: p[:, order] for way, p in answers.probabilities.items()}
    answers.save(other / "answers.safetensors", ids)
    comparison = parse(report([runs.soft, other], tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "different texts" not in headline(comparison)[1]


def test_the_same_texts_with_other_labels_are_other_texts(runs: Runs) -> None:
    views = [page.load(runs.soft) | {"name": name} for name in "ab"]
    given = [
        {"ids": b"", "labels": [label, "track"], "right": np.array([True, False])} for label in ("refund", "charge")
    ]
    assert "different texts" in headline(parse(render_comparison(views, given)))[1]


def test_answers_are_read_from_the_run(runs: Runs, tmp_path: Path) -> None:
    """A student that is always right, beside one that is not."""
    other = copied(runs.vanilla, tmp_path / "other")
    answers, ids = answered(other)
    answers.probabilities["student"] = torch.nn.functional.one_hot(answers.labels, 5).float()
    answers.save(other / "answers.safetensors", ids)
    metrics = json.loads((other / "metrics.json").read_text())
    metrics["evaluation"]["scores"]["student"]["accuracy"] = 1.0
    (other / "metrics.json").write_text(json.dumps(metrics))
    comparison = parse(report([runs.soft, other], tmp_path / "page.html").read_text(encoding="utf-8"))
    accuracy = json.loads((runs.soft / "metrics.json").read_text())["evaluation"]["scores"]["student"]["accuracy"]
    assert scores(comparison)["soft"][3].startswith(f"+{100 * (1 - accuracy):.1f} (")
    assert headline(comparison)[0] == "good"


@pytest.mark.parametrize("gone", [1, 2])
def test_a_run_whose_answers_are_gone(runs: Runs, gone: int) -> None:
    """Its accuracy is known, but it cannot be tested against the others."""
    views = [page.load(runs.soft) | {"name": name} for name in "abc"[: 4 - gone]]
    views[1]["metrics"]["evaluation"]["scores"]["student"]["accuracy"] = 0.99
    right = {"ids": b"", "labels": ["refund", "track"], "right": np.array([True, False])}
    comparison = parse(render_comparison(views, [right, None, right][: 4 - gone]))
    assert scores(comparison)["b"][1] == percent(0.99)
    assert "different texts" not in headline(comparison)[1]
    assert headline(comparison)[0] == "mixed"
    assert "no stored answers" in headline(comparison)[1]
    assert all(row[3:5] == ["–", "–"] for row in scores(comparison).values())
