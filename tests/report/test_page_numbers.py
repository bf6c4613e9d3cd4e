"""What the page says is what metrics.json, training.json and environment.json say."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from htmltree import Node, parse, rows, said_under, section, table_in
from toyruns import Runs

from alloykit.report import page
from alloykit.report.page import duration
from alloykit.report.verdict import verdict

Pages = Callable[[str], Node]


def read(folder: Path, name: str = "metrics") -> dict[str, Any]:
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


def percent(share: float | None, digits: int = 1) -> str:
    return "–" if share is None else f"{100 * share:.{digits}f}\u00a0%"


def p_value(p: float) -> str:
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}"


def table_of(whole: Node, heading: str) -> list[list[str]]:
    return rows(table_in(whole, heading))


@pytest.mark.parametrize("name", ["soft", "vanilla"])
def test_the_score_table(page_of: Pages, runs: Runs, name: str) -> None:
    found = read(runs.root / name)["evaluation"]
    head, *body = table_of(page_of(name), "Who is right how often")
    assert head[:6] == ["answered by", "accuracy", "95 % interval", "macro-F1", "billing", "delivery"]
    assert head[6:] == ["right teacher", "student less this one", "p (Holm)", "p (McNemar, Holm)"]
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
    assert "On 60 labelled texts." in said_under(page_of(name), "Who is right how often")


@pytest.mark.parametrize("name", ["soft", "vanilla", "untested", "half", "ensemble"])
def test_the_verdict_comes_first(page_of: Pages, runs: Runs, name: str) -> None:
    expected = verdict({} if name == "half" else read(runs.odd(name) if name == "ensemble" else runs.root / name))
    box = [node for node in page_of(name).one("main").children if isinstance(node, Node)][1]
    assert box.attributes["class"] == f"verdict {expected.mood}"
    assert box.one("p").words == expected.headline
    assert [point.text for point in box.all("li")] == [point.replace("`", "") for point in expected.points]


def test_the_distance_from_the_oracle(page_of: Pages, runs: Runs) -> None:
    for name in ("soft", "vanilla"):
        oracle = read(runs.root / name)["evaluation"]["oracle"]
        words = said_under(page_of(name), "Who is right how often")
        mean = ", ".join(f"{who} {kl:.2f}" for who, kl in oracle["mean"].items())
        assert f"Distance from an oracle ({oracle['is']}), mean KL in nats: {mean}" in words
        both = oracle["routing_clear"] is not None and oracle["routing_unclear"] is not None
        assert ("v ≥ 0.5" in words) == both


def test_numbers_that_not_every_run_has(runs: Runs) -> None:
    run = page.load(runs.soft)
    run["metrics"]["evaluation"]["oracle"] |= {"routing_clear": 0.126, "clear_texts": 1234, "routing_unclear": 1.5}
    run["metrics"]["evaluation"]["significance"]["ensemble"] |= {
        "difference": -0.0123,
        "p_holm": 0.00009,
        "mcnemar_p_holm": 0.0001,
    }
    run["metrics"]["texts"] = {"used": 12345, "duplicates": 0, "empty": 2000}
    run["metrics"]["seconds"] = {"sweep": {"billing": 100.0, "delivery": 0.0}, "training": 7200.0, "this call": 1.0}
    run["metrics"]["health"]["billing"] |= {"unknown_tokens": None, "pass_variance": 0.0}
    run["environment"]["gpu"] = "Some GPU"
    run["metrics"]["student"]["temperature"] = None
    run["training"]["history"] = [entry for entry in run["training"]["history"] if "loss" in entry]
    ways = run["metrics"]["evaluation"]["scores"]
    run["metrics"]["evaluation"]["scores"] = {"student": ways["student"], **ways}
    whole = parse(page.render(run))
    words = said_under(whole, "Who is right how often")
    assert "; the routing 0.13 on the 1,234 texts with v ≥ 0.5 and 1.50 on the others." in words
    (ensemble,) = (row for row in table_of(whole, "Who is right how often") if row[0] == "ensemble")
    assert ensemble[-3:] == ["-1.2 points", "< 0.0001", "0.0001"]
    made = [node.words for node in section(whole, "How it was made")]
    assert made[0].startswith("12,345 texts without labels, 2,000 empty.")
    assert made[1] == "Time: teacher billing reading 2 min, training the student 2.0 h."
    assert made[2].endswith(", Some GPU.")
    assert table_of(whole, "The teachers' health")[1][4:6] == ["0.0e+00", "–"]
    captions = [caption.words for caption in whole.all("figcaption")]
    assert captions[-1] == "Training. The checkpoint was chosen on held-out texts: none, the last was taken."
    assert captions[-2] == "How sure the student is over the pool."
    bars = [row[0] for row in rows(whole.all("figure")[0].one("table"))[1:]]
    assert bars == ["teacher billing", "teacher delivery", "ensemble", "routing", "oracle routing", "student"]


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
