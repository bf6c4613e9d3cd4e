"""What methods tell of themselves, in metrics.json and on the page: Alloy's routing, and sections of any other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import toyruns
from htmltree import parse, rows, section
from pydantic import ValidationError

from alloykit.errors import AlloyError
from alloykit.methods.report_sections import MethodReport, Section, Series, Table, Text
from alloykit.reporting import page

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def fitted(runs: toyruns.Runs) -> Path:
    method = {"name": "alloy", "texts_per_label": 8, "min_texts": 8}
    return runs.another("alloy", method=method, report={"show_texts": True})


def parts(folder: Path, kind: str) -> list[dict[str, Any]]:
    fit = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))["fit"]
    return [part for s in fit["sections"] for part in s["parts"] if part["kind"] == kind]


def test_shares_changes_and_examples(fitted: Path, runs: toyruns.Runs) -> None:
    names = list(toyruns.toy.TEAMS)
    (history,) = parts(fitted, "series")
    assert list(history["lines"]) == names
    for row in zip(*history["lines"].values(), strict=True):
        assert sum(row) == pytest.approx(1)
    teachers, *moved = parts(fitted, "table")
    assert [row[0] for row in teachers["rows"]] == names
    for name, first, last, _, clarity in teachers["rows"]:
        assert (first, last) == (history["lines"][name][0], history["lines"][name][-1])
        assert 0 <= clarity <= 1
    for table in moved:
        assert table["columns"] == ["row", "from", "to", "before", "after", "text"]
        assert 0 < len(table["rows"]) <= 12
        for at, before, after, first, last, text in table["rows"]:
            assert before != after
            assert 0 <= first < last <= 1
            assert text == runs.pool[at]


def test_the_page_shows_them(fitted: Path) -> None:
    text = (fitted / "report.html").read_text(encoding="utf-8")
    whole = parse(text)
    tables = {t.one("caption").words: rows(t) for t in whole.all("table")}
    for part in parts(fitted, "table"):
        shown = tables[part["caption"]]
        assert shown[0] == part["columns"]
        assert [row[0] for row in shown[1:]] == [
            f"{row[0]:,}" if isinstance(row[0], int) else row[0] for row in part["rows"]
        ]
    (history,) = parts(fitted, "series")
    assert history["caption"] in tables
    (svg,) = [s for s in whole.all("svg") if s.one("title").words == history["caption"]]
    drawn = [t.words for t in svg.all("text")]
    assert "10" in drawn
    assert "10.0" not in drawn, "there is no half of an iteration"


def test_a_pool_that_is_too_small_is_a_warning(runs: toyruns.Runs) -> None:
    folder = runs.another("alloy-small", method={"name": "alloy", "texts_per_label": 1000}, evaluate=None)
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    assert any("too few to fit the mixture" in line for line in metrics["warnings"])
    assert metrics["fit"]["sections"] == []


def test_methods_that_fit_nothing_show_nothing(runs: toyruns.Runs) -> None:
    text = (runs.vanilla / "report.html").read_text(encoding="utf-8")
    assert not [p for p in parse(text).all("p") if p.attributes.get("class") == "caption"]


def test_a_section_with_a_heading_of_the_page_is_shown_there(fitted: Path) -> None:
    """Alloy's section is called Routing, as the page's own."""
    whole = parse((fitted / "report.html").read_text(encoding="utf-8"))
    assert [h.words for h in whole.all("h2")].count("Routing") == 1
    shown = {t.one("caption").words for node in section(whole, "Routing") for t in node.all("table")}
    assert {part["caption"] for part in parts(fitted, "table")} < shown


def test_a_long_text_is_folded_after_its_first_sentence(runs: toyruns.Runs) -> None:
    long = Text(text="One sentence. " + "Another sentence follows it. " * 20)
    whole = parse(page.render(told(runs, Section(title="S", parts=(long, Text(text="One. Two."))))))
    first, more, short = section(whole, "S")
    assert (first.words, short.words) == ("One sentence.", "One. Two.")
    assert more.tag == "details"
    assert more.one("p").words == long.text.removeprefix("One sentence. ").strip()


def told(runs: toyruns.Runs, *of: Section) -> dict[str, Any]:
    """A finished run whose method tells this."""
    run = page.load(runs.vanilla)
    report = json.loads(MethodReport(sections=of).model_dump_json())
    return run | {"metrics": run["metrics"] | {"fit": report}, "training": run["training"] | {"report": report}}


def test_any_section_is_shown_and_escaped(runs: toyruns.Runs) -> None:
    nasty = "<b>$a_b$</b> & `tick`"
    table = Table(
        caption=nasty, columns=(nasty, "share", "n", "none"), rows=((nasty, 0.125, 12345, None),), percent=("share",)
    )
    lines = {nasty: (1.0, 2.5), "_hidden": (0.0, 1e9)}
    series = Series(caption="a course", x="round", y=nasty, points=(0, 0.5), lines=lines)
    empty = Series(caption="nothing yet", x="step", y="y", points=(), lines={"one": ()})
    text = page.render(told(runs, Section(title=nasty, parts=(Text(text=nasty), table, series, empty))))
    whole = parse(text)
    assert not whole.all("b")
    assert text.count("&lt;b&gt;$a_b$&lt;/b&gt; &amp; `tick`</h2>") == 2, "of the fit and of the training"
    shown = [rows(t) for t in whole.all("table") if t.one("caption").words == nasty]
    assert shown[0][1] == [nasty, "12.5\u00a0%", "12,345", "–"]
    ids = [node.attributes["id"] for node in whole.all() if "id" in node.attributes]
    assert len(ids) == len(set(ids)), "every figure has ids of its own"
    drawn = [rows(t) for t in whole.all("table") if t.one("caption").words == "a course"]
    assert drawn[0] == [["round", nasty, "_hidden"], ["0.0", "1.000", "0.000"], ["0.5", "2.500", "1000000000.000"]]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MethodReport(shares={}), "Extra inputs"),
        (lambda: MethodReport(sections=[{"title": "a", "parts": [{"kind": "plot"}]}]), "plot"),
        (lambda: Table(caption="a", columns=("x", "y"), rows=((1,),)), "1 cells for 2 columns"),
        (lambda: Table(caption="a", columns=("x",), rows=((1,),), percent=("y",)), "no column"),
        (lambda: Table(caption="a", columns=("x",), rows=((1,),), positions=(1, 2)), "2 positions for 1 rows"),
        (lambda: Table(caption="a", columns=("x",), rows=((float("nan"),),)), "finite"),
        (lambda: Series(caption="a", x="x", y="y", points=(1, 2), lines={"a": (1,)}), "1 values for 2 points"),
        (lambda: Series(caption="a", x="x", y="y", points=(1,), lines={}), "at least 1"),
        (lambda: Text(text="\ud800"), "unicode"),
    ],
)
def test_what_no_section_is_fails_when_it_is_made(make: Any, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        make()


@pytest.mark.parametrize(
    "fit", [{"shares": {"a": [1.0]}}, {"warnings": []}, {"warnings": [], "sections": [{"title": "a", "parts": [1]}]}]
)
def test_a_run_folder_with_other_sections_is_refused(fit: Any, runs: toyruns.Runs, tmp_path: Path) -> None:
    folder = toyruns.copied(runs.vanilla, tmp_path / "run")
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    (folder / "metrics.json").write_text(json.dumps(metrics | {"fit": fit}), encoding="utf-8")
    with pytest.raises(AlloyError, match=r"metrics\.json.*\n.*fit"):
        page.load(folder)


def test_the_doubt_of_an_estimate_is_beside_it(runs: toyruns.Runs) -> None:
    run = page.load(runs.untested)
    estimated = {"overall": 0.75, "labels": {"refund": 0.5}, "labelled_texts": 0}
    for doubt in ("It may be <wrong>.", ""):
        whole = parse(
            page.render(run | {"metrics": run["metrics"] | {"estimated_accuracy": estimated | {"doubt": doubt}}})
        )
        for heading in ("Summary", "Accuracy"):
            words = " ".join(node.words for node in section(whole, heading))
            assert ("It may be <wrong>." in words) == bool(doubt)
