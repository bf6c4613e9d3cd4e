"""report.html is one sound page: whatever the run, it parses, loads nothing, and can be read with eyes and without."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from htmltree import Node, rows, section
from some_quick import some_quick
from toyruns import Runs

from alloykit.commands.report import report
from alloykit.reporting.recipes import public_values
from alloykit.run_folder.read import recipe_of

Pages = Callable[[str], Node]
NAMES = ("soft", "vanilla", "untested", "half", "one teacher", "uhc", "supervised", "ensemble", "thirty")
ADDRESSES = ("src", "href", "xlink:href", "srcset", "action", "data", "poster", "background")

QUICK = ("soft", "vanilla", "untested", "half", "uhc", "ensemble")

each = pytest.mark.parametrize("name", some_quick([*NAMES, "comparison"], *QUICK, "comparison"))
each_run = pytest.mark.parametrize("name", some_quick(NAMES, *QUICK))


@each
def test_one_h1_and_no_heading_skips_a_level(page_of: Pages, name: str) -> None:
    headings = page_of(name).all("h1", "h2", "h3", "h4", "h5", "h6")
    levels = [int(h.tag[1]) for h in headings]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b <= a + 1 for a, b in pairwise(levels)), levels
    assert all(h.words for h in headings)


@each
def test_tables_have_captions_scopes_and_even_rows(page_of: Pages, name: str) -> None:
    for table in page_of(name).all("table"):
        assert table.one("caption").words
        (head,) = rows(table.one("thead"))
        body = rows(table.one("tbody"))
        assert body, head
        assert {len(row) for row in body} == {len(head)}, head
        assert {th.attributes.get("scope") for th in table.one("thead").all("th")} == {"col"}
        for row in table.one("tbody").all("tr"):
            assert [th.attributes.get("scope") for th in row.all("th")] == ["row"]


@each
def test_drawings_have_a_role_and_a_title(page_of: Pages, name: str) -> None:
    for svg in page_of(name).all("svg"):
        assert svg.attributes["role"] == "img"
        (title,) = (t for t in svg.all("title") if t.attributes.get("id") == svg.attributes["aria-labelledby"])
        assert title.words
        assert svg.attributes["viewbox"].startswith("0 0 ")
        assert not {"width", "height"} & set(svg.attributes), "it has to shrink on a phone"
        assert re.fullmatch(r"max-width: \d+px", svg.attributes["style"])


@each
def test_ids_are_unique_and_every_reference_has_a_target(page_of: Pages, name: str) -> None:
    nodes = page_of(name).all()
    ids = [node.attributes["id"] for node in nodes if "id" in node.attributes]
    assert len(set(ids)) == len(ids), sorted({i for i in ids if ids.count(i) > 1})
    named = [
        node.attributes[a] for node in nodes for a in ("aria-labelledby", "aria-describedby") if a in node.attributes
    ]
    used = [value for node in nodes for value in re.findall(r"url\(#([^)]+)\)", " ".join(node.attributes.values()))]
    links = [node.attributes[a].removeprefix("#") for node in nodes for a in ADDRESSES if a in node.attributes]
    assert set(named + used + links) <= set(ids)


@each
def test_it_loads_nothing(page_of: Pages, name: str) -> None:
    whole = page_of(name)
    assert not whole.all(
        "script", "link", "img", "iframe", "object", "embed", "base", "video", "audio", "image", "foreignobject"
    )
    for node in whole.all():
        for attribute, value in node.attributes.items():
            assert not attribute.startswith("on"), attribute
            assert attribute not in ADDRESSES or value.startswith("#"), (attribute, value)
            assert "//" not in value or node.tag in ("meta",), (node.tag, attribute, value)
            assert all(target.startswith("#") for target in re.findall(r"url\(([^)]*)\)", value)), value
    for style in whole.all("style"):
        assert not re.search(r"url\(|@import|//", style.text)


@each
def test_language_and_phones(page_of: Pages, name: str) -> None:
    whole = page_of(name)
    assert whole.one("html").attributes["lang"] == "en"
    viewport = [m.attributes["content"] for m in whole.all("meta") if m.attributes.get("name") == "viewport"]
    assert viewport == ["width=device-width, initial-scale=1"]
    assert [m.attributes["charset"].lower() for m in whole.one("head").all("meta") if "charset" in m.attributes] == [
        "utf-8"
    ]
    assert whole.one("head").one("title").words == whole.one("h1").words
    assert "prefers-color-scheme: dark" in whole.one("head").one("style").text


@each
def test_figures_say_what_they_show_in_words_and_numbers(page_of: Pages, name: str) -> None:
    figures = page_of(name).all("figure")
    assert len(page_of(name).all("svg")) == len(figures), "a drawing outside a figure"
    for figure in figures:
        caption = figure.one("figcaption").words
        assert caption.endswith(".")
        assert figure.one("svg").all("title")[0].words == caption
        assert figure.one("details").one("summary").words == "Numbers"
        assert figure.one("details").one("table").one("caption").words == caption


FIGURES = {
    "soft": "accuracy confusion reliability student confidence routing-shares training weights",
    "vanilla": "accuracy confusion reliability student confidence training weights",
    "untested": "student pool-confidence pool-routing training weights",
    "half": "",
    "one teacher": "accuracy confusion reliability student training weights",
    "uhc": "accuracy confusion reliability student confidence training",
    "supervised": "accuracy confusion reliability student confidence training",
    "ensemble": "accuracy confusion reliability confidence weights",
    "thirty": "accuracy confusion reliability student confidence training weights",
}


@each_run
def test_every_figure_that_has_numbers_is_there(page_of: Pages, name: str) -> None:
    drawn = [svg.attributes["aria-labelledby"].removesuffix("-title") for svg in page_of(name).all("svg")]
    assert drawn == FIGURES[name].split()


TESTED = {"soft", "vanilla", "one teacher", "uhc", "supervised", "ensemble", "thirty"}
SECTIONS = {
    "Summary": set(NAMES),
    "What to do next": set(NAMES),
    "Accuracy": TESTED,
    "Calibration": set(NAMES) - {"half"},
    "Routing": set(NAMES) - {"half"},
    "Teachers": set(NAMES) - {"half", "supervised"},
    "Training": set(NAMES) - {"half", "ensemble"},
    "Data": set(NAMES) - {"half"},
    "Size and speed": set(NAMES) - {"half", "ensemble"},
    "Recipe": set(NAMES),
}


@each_run
def test_the_sections_are_those_that_have_content(page_of: Pages, name: str) -> None:
    headings = [h.words for h in page_of(name).all("h2") if h.words != "Warnings"]
    assert headings == [heading for heading, runs in SECTIONS.items() if name in runs]


@each
def test_the_contents_lead_to_every_section(page_of: Pages, name: str) -> None:
    links = page_of(name).one("nav").all("a")
    sections = page_of(name).one("main").all("h2")
    assert [(a.words, a.attributes["href"]) for a in links] == [(h.words, f"#{h.attributes['id']}") for h in sections]


@each
def test_every_table_can_be_scrolled_with_and_without_a_mouse(page_of: Pages, name: str) -> None:
    boxes = [n for n in page_of(name).all("div") if n.attributes.get("class") == "scroll"]
    assert [box.one("table") for box in boxes] == page_of(name).all("table")
    assert all((box.attributes["tabindex"], box.attributes["role"]) == ("0", "region") for box in boxes)


@each_run
def test_every_run_has_its_recipe(page_of: Pages, runs: Runs, name: str) -> None:
    folder = runs.soft if name == "half" else runs.of(name)
    text = section(page_of(name), "Recipe")[0].one("pre")
    assert yaml.safe_load(text.text) == public_values(recipe_of(folder))


@pytest.mark.slow
def test_rendering_twice_gives_the_same_bytes(runs: Runs, tmp_path: Path) -> None:
    again = shutil.copytree(runs.soft, tmp_path / "soft")
    (again / "report.html").unlink()
    report([again])
    assert (again / "report.html").read_bytes() == (runs.soft / "report.html").read_bytes()
