"""Names and texts are whatever people called and wrote them: the page shows them as they are, and never runs them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from htmltree import Node, parse, rows, section
from toyruns import Runs

from alloykit.report import page

NASTY = {
    "refund": "<script>alert(1)</script>",
    "charge": "a & b \"quoted\" 'single'",
    "invoice": "`ticks` &amp;",
    "track": "</title></svg>",
    "damaged": "{{ 7 * 7 }}",
    "billing": "<b>team</b>",
    "delivery": "tea&m",
}
TEXT = '</td><img src=x onerror="alert(1)"> & `code`'


def renamed(value: Any, names: dict[str, str]) -> Any:
    """Other label and teacher names everywhere in metrics.json, as keys and as values."""
    if isinstance(value, dict):
        return {renamed(key, names): renamed(inner, names) for key, inner in value.items()}
    if isinstance(value, list):
        return [renamed(inner, names) for inner in value]
    if isinstance(value, str) and value.startswith("teacher "):
        return f"teacher {renamed(value.removeprefix('teacher '), names)}"
    return names.get(value, value) if isinstance(value, str) else value


def view(folder: Path, names: dict[str, str]) -> dict[str, Any]:
    found = page.load(folder)
    return found | {"metrics": renamed(json.loads(json.dumps(found["metrics"])), names)}


def harmless(whole: Node) -> None:
    assert not whole.all("script", "img", "b", "i")
    assert len(whole.all("title")) == 1 + len(whole.all("svg")), "a name closed a title, or opened one"
    assert not [a for node in whole.all() for a in node.attributes if a.startswith("on")]


def first_cells(whole: Node, heading: str) -> list[str]:
    return [row[0] for row in rows(section(whole, heading)[0].one("table"))[1:]]


@pytest.mark.parametrize("folder", ["soft", "untested"])
def test_names_texts_and_recipe_are_escaped(runs: Runs, folder: str) -> None:
    run = view(runs.root / folder, NASTY)
    run["name"] = "runs/<i>x</i>"
    run["recipe_text"] += "# </pre><script>alert(1)</script>\n"
    run["recipe"]["report"]["show_texts"] = True
    run["metrics"]["student"]["least_certain"][0] |= {"text": TEXT, "text_pair": "<i>pair</i>"}
    run["metrics"]["warnings"] = ["teacher '<b>team</b>' is odd. Set `method: {dropout: 0.1}` & see <i>."]
    whole = parse(page.render(run))
    harmless(whole)
    labels = [NASTY[name] for name in ("refund", "charge", "invoice", "track", "damaged")]
    assert whole.one("h1").words == "runs/<i>x</i>: can this student be trusted?"
    assert first_cells(whole, "Label by label") == labels
    assert first_cells(whole, "The teachers' health") == ["<b>team</b>", "tea&m"]
    assert (
        rows(section(whole, "Texts that the student is least sure of")[0].one("table"))[1][2] == f"{TEXT} / <i>pair</i>"
    )
    assert section(whole, "The recipe, every default written out")[0].text.endswith(
        "# </pre><script>alert(1)</script>\n"
    )
    (warning,) = section(whole, "Warnings")[0].all("li")
    assert warning.words == "teacher '<b>team</b>' is odd. Set method: {dropout: 0.1} & see <i>."
    assert [code.text for code in warning.all("code")] == ["method: {dropout: 0.1}"]
    if folder == "soft":
        assert first_cells(whole, "Who is right how often")[:2] == ["teacher <b>team</b>", "teacher tea&m"]
        confusion = next(
            f for f in whole.all("figure") if f.one("svg").attributes["aria-labelledby"] == "confusion-title"
        )
        assert rows(confusion.one("table"))[0] == ["true \\ answered", *labels]


@pytest.mark.parametrize("label", ["costs $5 or $6", "$^$", "C:\\new", "100 %", "{x}", "_hidden", "x" * 60, "退款 😀"])
def test_a_label_is_drawn_as_it_is_written(runs: Runs, label: str) -> None:
    """Matplotlib takes $…$ for mathematics."""
    whole = parse(page.render(view(runs.soft, {"charge": label})))
    drawn = {text.words for svg in whole.all("svg") for text in svg.all("text", "tspan")}
    shown = label if len(label) <= 16 else label[:15] + "…"
    assert shown in drawn


@pytest.mark.parametrize("teacher", ["billing", "_billing", "a" * 40, "Ä.b-c"])
def test_a_legend_names_every_teacher(runs: Runs, teacher: str) -> None:
    """Matplotlib leaves a name that begins with _ out of its legends."""
    whole = parse(page.render(view(runs.soft, {"billing": teacher})))
    routing = next(svg for svg in whole.all("svg") if svg.attributes["aria-labelledby"] == "routing-title")
    shown = teacher if len(teacher) <= 22 else teacher[:21] + "…"
    assert {shown, "delivery"} <= {text.words for text in routing.all("text")}


def test_texts_are_shown_only_on_request(runs: Runs) -> None:
    for folder, asked in ((runs.soft, True), (runs.vanilla, False), (runs.untested, False)):
        metrics = (folder / "metrics.json").read_text(encoding="utf-8")
        whole = (folder / "report.html").read_text(encoding="utf-8")
        least = json.loads(metrics)["student"]["least_certain"]
        assert len(least) == 20
        expected = [runs.pool[entry["row"]] for entry in least] if asked else []
        assert [entry["text"] for entry in least if "text" in entry] == expected
        assert {text for text in runs.pool if text in whole} == set(expected)
        assert {text for text in runs.pool if text in metrics} == set(expected)
        table = section(parse(whole), "Texts that the student is least sure of")[0].one("table")
        assert [row[2] for row in rows(table)[1:] if len(row) > 2] == expected
        assert [row[0] for row in rows(table)[1:]] == [str(entry["row"]) for entry in least]
        assert ("show_texts: true" in table.one("caption").words) != asked
        wavers = [re.findall(r"(\w+) \((\d+)\u00a0%\)", row[1]) for row in rows(table)[1:]]
        assert wavers == [[(n, f"{100 * p:.0f}") for n, p in entry["labels"].items()] for entry in least]
