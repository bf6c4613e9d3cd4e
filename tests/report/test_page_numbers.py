"""What the page says is what metrics.json, training.json and environment.json say."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from htmltree import Node, rows, section
from toyruns import Runs

from alloykit.report.page import duration
from alloykit.report.verdict import verdict

Pages = Callable[[str], Node]


def read(folder: Path, name: str = "metrics") -> dict[str, Any]:
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


def percent(share: float | None, digits: int = 1) -> str:
    return "–" if share is None else f"{100 * share:.{digits}f}\u00a0%"


def p_value(p: float) -> str:
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}"


def table_of(page: Node, heading: str) -> list[list[str]]:
    return rows(section(page, heading)[0].one("table"))


def numbers(page: Node, picture: str) -> list[list[str]]:
    (figure,) = (f for f in page.all("figure") if f.one("svg").attributes["aria-labelledby"] == f"{picture}-title")
    return rows(figure.one("table"))


def drawn(page: Node, picture: str) -> list[str]:
    (svg,) = (s for s in page.all("svg") if s.attributes["aria-labelledby"] == f"{picture}-title")
    return [text.words for text in svg.all("text")]


@pytest.mark.parametrize("name", ["soft", "vanilla"])
def test_the_score_table(page_of: Pages, runs: Runs, name: str) -> None:
    found = read(runs.root / name)["evaluation"]
    head, *body = table_of(page_of(name), "Who is right how often")
    assert head[:6] == ["answered by", "accuracy", "95 % interval", "macro-F1", "billing", "delivery"]
    assert head[6:] == ["right teacher", "student is ahead by", "p (Holm)", "p (McNemar, Holm)"]
    expected = []
    for who, s in found["scores"].items():
        interval = " to ".join(percent(end) for end in s["interval"]) if "interval" in s else "–"
        rival = found["significance"].get(who)
        ahead = (
            [f"{100 * rival['difference']:+.1f} points", p_value(rival["p_holm"]), p_value(rival["mcnemar_p_holm"])]
            if rival
            else 3 * ["–"]
        )
        groups = [percent(s["groups"][team]) for team in ("billing", "delivery")]
        expected.append(
            [
                who,
                percent(s["accuracy"]),
                interval,
                percent(s["macro_f1"]),
                *groups,
                percent(s.get("right_teacher")),
                *ahead,
            ]
        )
    assert body == expected
    assert [row[0] for row in body] == [
        "teacher billing",
        "teacher delivery",
        "ensemble",
        "routing",
        "oracle routing",
        "student",
    ]
    strong = [row.all("th")[0].words for row in page_of(name).all("tr") if row.attributes.get("class") == "ours"]
    assert strong == ["student"]
    assert "On 60 labelled texts." in section(page_of(name), "Who is right how often")[0].one("caption").words


@pytest.mark.parametrize("name", ["soft", "vanilla", "untested", "half", "ensemble"])
def test_the_verdict_comes_first(page_of: Pages, runs: Runs, name: str) -> None:
    expected = verdict({} if name == "half" else read(runs.odd(name) if name == "ensemble" else runs.root / name))
    box = [node for node in page_of(name).one("main").children if isinstance(node, Node)][1]
    assert box.attributes["class"] == f"verdict {expected.mood}"
    assert box.one("p").words == expected.headline
    assert [point.text for point in box.all("li")] == [point.replace("`", "") for point in expected.points]


def test_the_distance_from_the_oracle(page_of: Pages, runs: Runs) -> None:
    oracle = read(runs.soft)["evaluation"]["oracle"]
    words = section(page_of("soft"), "Who is right how often")[1].words
    for who, kl in oracle["mean"].items():
        assert f"{who} {kl:.2f}" in words
    assert (
        f"{oracle['routing_clear']:.2f} on the {oracle['clear_texts']} texts with v ≥ 0.5 and {oracle['routing_unclear']:.2f} on the others"
        in words
    )
    assert "v ≥ 0.5" not in section(page_of("vanilla"), "Who is right how often")[1].words, (
        "all its texts count the same"
    )


@pytest.mark.parametrize("name", ["soft", "untested", "uhc"])
def test_label_by_label(page_of: Pages, runs: Runs, name: str) -> None:
    metrics = read(runs.odd(name) if name == "uhc" else runs.root / name)
    expected = []
    for i, label in enumerate(metrics["labels"]):
        (owner,) = [team for team, labels in metrics["teachers"].items() if label in labels]
        row = [label, owner]
        if name != "untested":
            matrix = metrics["evaluation"]["confusion"]
            answered = sum(r[i] for r in matrix)
            routed = metrics["evaluation"]["routing"]
            row += [
                str(sum(matrix[i])),
                percent(matrix[i][i] / sum(matrix[i])),
                percent(matrix[i][i] / answered if answered else None),
            ]
            row.append(percent(routed[label]["right"] if routed else None))
        if name != "uhc":
            pool = metrics["supervision"]["labels"][label]
            row += [str(pool["texts"]), f"{pool['effective_sample_size']:.0f}"]
        expected.append(row)
    assert table_of(page_of(name), "Label by label")[1:] == expected


def test_the_teachers_health(page_of: Pages, runs: Runs) -> None:
    health = read(runs.soft)["health"]
    for row, (name, h) in zip(table_of(page_of("soft"), "The teachers' health")[1:], health.items(), strict=True):
        answers = ", ".join(f"{label} {n}" for label, n in h["predicted"].items())
        shares = [percent(h["max_probability"]), percent(h["excess"])]
        rest = [percent(h["unknown_tokens"]), percent(h["truncated_texts"]), answers]
        assert row == [name, str(len(h["predicted"])), *shares, f"{h['pass_variance']:.1e}", *rest]
    assert [row[4] for row in table_of(page_of("vanilla"), "The teachers' health")[1:]] == ["–", "–"], (
        "it has no passes"
    )


def test_numbers_of_the_pictures_of_a_tested_run(page_of: Pages, runs: Runs) -> None:
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
    assert numbers(page, "routing")[1:] == routing
    ways = [(way, b) for way in ("student", "student, tempered") for b in tested["reliability"][way]["bins"]]
    said = [[w, str(b["texts"]), percent(b["confidence"]), percent(b["accuracy"])] for w, b in ways]
    assert [[row[0], *row[2:]] for row in numbers(page, "reliability")[1:]] == said
    assert [row[1] for row in numbers(page, "weights")[1:]] == [
        str(n) for n in metrics["supervision"]["weights"]["counts"]
    ]
    assert [row[1] for row in numbers(page, "student")[1:]] == [str(n) for n in metrics["student"]["confidence"]]


def test_numbers_of_the_pictures_of_an_untested_run(page_of: Pages, runs: Runs) -> None:
    metrics, page = read(runs.untested), page_of("untested")
    columns = list(zip(*numbers(page, "pool-confidence"), strict=True))[1:]
    assert [list(c) for c in columns] == [[t, *map(str, n)] for t, n in metrics["agreement"]["confidence"].items()]
    shares = {label: s["teacher_share"] for label, s in metrics["supervision"]["labels"].items() if s["teacher_share"]}
    assert numbers(page, "pool-routing")[1:] == [[n, *(percent(s, 0) for s in by.values())] for n, by in shares.items()]


def test_training_is_drawn_to_the_step_that_was_taken(page_of: Pages, runs: Runs) -> None:
    training, page = read(runs.soft, "training"), page_of("soft")
    assert f"taken: step {training['selected_step']}" in drawn(page, "training")
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


def test_versions_texts_and_times(page_of: Pages, runs: Runs) -> None:
    metrics, environment, training = (read(runs.soft, name) for name in ("metrics", "environment", "training"))
    words = [node.words for node in section(page_of("soft"), "How it was made") if node.tag == "p"]
    assert (
        words[0] == f"160 texts without labels. The student is step {training['selected_step']} of {training['steps']}."
    )
    assert f"training the student {metrics['seconds']['training']:.0f} s." in words[1]
    for package, version in environment["packages"].items():
        assert f"{package} {version}" in words[2]
    assert f"Python {environment['python']}, {environment['platform']}, {environment['cores']} cores" in words[2]
    assert page_of("soft").one("footer").words.startswith(f"Made by alloykit {environment['packages']['alloykit']}.")


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.4, "0 s"), (89, "89 s"), (90, "2 min"), (5399, "90 min"), (5400, "1.5 h"), (90000, "25.0 h")],
)
def test_durations(seconds: float, said: str) -> None:
    assert duration(seconds) == said
