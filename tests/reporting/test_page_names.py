"""Names and texts are whatever people called and wrote them: the page shows them as they are, and never runs them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from htmltree import Node, parse, rows, said_under, section, table_in
from toyruns import Runs, renamed

from alloykit.reporting import figures, page

NASTY = {
    "refund": "<script>alert(1)</script>",
    "charge": "a & b \"quoted\" 'single'",
    "invoice": "`ticks` &amp;",
    "track": "</title></svg>",
    "damaged": "{{ 7 * 7 }}",
    "billing": "<b>team</b>",
    "delivery": "tea&m",
}
LOWEST = "Texts with the lowest confidence"
TEXT = '</td><img src=x onerror="alert(1)"> & `code`'


def view(folder: Path, names: dict[str, str]) -> dict[str, Any]:
    found = page.load(folder)
    return found | {"metrics": renamed(json.loads(json.dumps(found["metrics"])), names)}


def harmless(whole: Node) -> None:
    assert not whole.all("script", "img", "b", "i")
    assert len(whole.all("title")) == 1 + len(whole.all("svg")), "a name closed a title, or opened one"
    assert not [a for node in whole.all() for a in node.attributes if a.startswith("on")]


def first_cells(whole: Node, heading: str) -> list[str]:
    return [row[0] for row in rows(table_in(whole, heading))[1:]]


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
    assert whole.one("h1").words == "Report: runs/<i>x</i>"
    assert first_cells(whole, "Data") == labels
    assert first_cells(whole, "Teachers") == ["<b>team</b>", "tea&m"]
    assert rows(table_in(whole, LOWEST))[1][2] == f"{TEXT} / <i>pair</i>"
    assert section(whole, "Recipe")[0].one("pre").text.endswith("# </pre><script>alert(1)</script>\n")
    (warning,) = section(whole, "Warnings")[0].all("li")
    assert warning.words == "teacher '<b>team</b>' is odd. Set method: {dropout: 0.1} & see <i>."
    assert [code.text for code in warning.all("code")] == ["method: {dropout: 0.1}"]
    if folder == "soft":
        assert first_cells(whole, "Accuracy")[:2] == ["teacher <b>team</b>", "teacher tea&m"]
        confusion = next(
            f for f in whole.all("figure") if f.one("svg").attributes["aria-labelledby"] == "confusion-title"
        )
        assert rows(confusion.one("table"))[0] == ["true label \\ predicted", *labels]


@pytest.mark.filterwarnings("ignore:Glyph")  # the browser's font has it
@pytest.mark.parametrize("label", ["costs $5 or $6", "$^$", "C:\\new", "100 %", "{x}", "_hidden", "x" * 60, "退款 😀"])
def test_a_label_is_drawn_as_it_is_written(label: str) -> None:
    """Matplotlib takes $…$ for mathematics."""
    figure = figures.confusion([[1, 0], [0, 1]], [label, "other"], "Some caption.")
    name = label if len(label) <= 16 else "x" * 10 + "…" + "x" * 5
    assert [text.text for text in parse(figure.svg).all("text", "tspan")].count(name) == 2
    assert figure.rows == [[label, "1", "0"], ["other", "0", "1"]]


@pytest.mark.parametrize("teacher", ["billing", "_billing", "a" * 40, "Ä.b-c"])
def test_a_legend_names_every_teacher(teacher: str) -> None:
    """Matplotlib leaves a name that begins with _ out of its legends."""
    table = {"refund": {teacher: 0.7, "delivery": 0.3}, "charge": {teacher: 0.0, "delivery": 1.0}}
    figure = figures.stacked_bars("routing", table, [teacher, "delivery"], "Some caption.", "texts (%)")
    name = teacher if len(teacher) <= 22 else "a" * 14 + "…" + "a" * 7
    assert [t.words for t in parse(figure.svg).all("text") if t.words in (name, "delivery")] == [name, "delivery"]
    assert figure.rows == [["refund", "70\u00a0%", "30\u00a0%"], ["charge", "0\u00a0%", "100\u00a0%"]]


def test_texts_are_shown_only_on_request(runs: Runs) -> None:
    for folder, asked in ((runs.soft, True), (runs.vanilla, False), (runs.untested, False)):
        metrics = (folder / "metrics.json").read_text(encoding="utf-8")
        whole = (folder / "report.html").read_text(encoding="utf-8")
        view = json.loads(metrics)["student"]
        least, unusual = view["least_certain"], view["none_of_these"]["most_unusual"]
        assert len(least) == len(unusual) == 20
        expected = [runs.pool[entry["row"]] for entry in least] if asked else []
        assert [entry["text"] for entry in least if "text" in entry] == expected
        further = [runs.pool[entry["row"]] for entry in unusual] if asked else []
        assert [entry["text"] for entry in unusual if "text" in entry] == further
        assert {text for text in runs.pool if text in whole} == {*expected, *further}
        assert {text for text in runs.pool if text in metrics} == {*expected, *further}
        table = table_in(parse(whole), LOWEST)
        assert [row[2] for row in rows(table)[1:] if len(row) > 2] == expected
        table_of_unusual = table_in(parse(whole), "Most unusual texts")
        assert [row[3] for row in rows(table_of_unusual)[1:] if len(row) > 3] == further
        assert [row[0] for row in rows(table)[1:]] == [str(entry["row"]) for entry in least]
        assert ("show_texts: true" in said_under(parse(whole), LOWEST)) != asked
        top_two = [re.findall(r"(\w+) \((\d+)\u00a0%\)", row[1]) for row in rows(table)[1:]]
        assert top_two == [[(n, f"{100 * p:.0f}") for n, p in entry["labels"].items()] for entry in least]
