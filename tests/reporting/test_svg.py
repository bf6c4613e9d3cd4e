"""Drawings inside a page: the style sheet colours them, their ids are their own, and they are the same every time."""

from __future__ import annotations

import re
from typing import Any

import pytest
from htmltree import Node, parse

from alloykit.reporting import figures, svg

TITLE = 'Is <b> & "c" fine?'


def paint(axes: Any) -> None:
    for n, colour in enumerate(svg.SERIES):
        axes.plot([0, 1], [n, n + 1], color=colour, label=f"line {n}", marker="o")
    axes.barh(0, 1, color=svg.HEAT)
    axes.set_xlabel("x < y & z")
    axes.legend()


def inlined(name: str = "one", title: str = TITLE) -> str:
    return svg.inline(svg.draw(paint, 2.0), name, title)


@pytest.fixture(scope="module")
def drawing() -> str:
    return inlined()


@pytest.fixture(scope="module")
def tree(drawing: str) -> Node:
    return parse(drawing).one("svg")


def test_every_colour_is_a_variable_of_the_style_sheet(drawing: str) -> None:
    assert not re.findall(r"#[0-9a-fA-F]{3,8}\b(?![^<]*\))", re.sub(r'(href="|url\()#[^")]+', "", drawing))
    found = set(re.findall(r"var\((--[\w-]+)\)", drawing))
    assert found == {f"--series-{n}" for n in range(8)} | {"--ink", "--faint", "--heat"}


def test_the_style_sheet_has_every_colour_in_light_dark_and_print() -> None:
    from alloykit.reporting.page import template_environment

    sheet = str(template_environment().globals["style"])
    wanted = {f"--series-{n}" for n in range(8)} | {"--ink", "--faint", "--heat"}
    blocks = re.findall(r":root \{(.*?)\}", sheet, flags=re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        assert wanted <= set(re.findall(r"(--[\w-]+):", block))


def test_ids_begin_with_the_name_and_references_follow(tree: Node) -> None:
    ids = [node.attributes["id"] for node in tree.all() if "id" in node.attributes]
    assert len(ids) > 10
    assert all(i.startswith("one-") for i in ids), ids
    values = " ".join(value for node in tree.all() for value in node.attributes.values())
    clips = re.findall(r"url\(#([^)]+)\)", values)
    links = [node.attributes["href"] for node in tree.all("use")]
    assert clips, "nothing is clipped: the test looks at nothing"
    assert links, "no marker is used twice: the test looks at nothing"
    assert set(clips) | {link.removeprefix("#") for link in links} <= set(ids)


def test_two_drawings_on_a_page_share_no_id(tree: Node) -> None:
    other = parse(inlined("two")).one("svg")
    ids = [{node.attributes["id"] for node in t.all() if "id" in node.attributes} for t in (tree, other)]
    assert not ids[0] & ids[1]


def test_the_same_drawing_has_the_same_bytes(drawing: str) -> None:
    assert inlined() == drawing


def test_the_title_is_escaped_and_comes_first(tree: Node) -> None:
    first = next(child for child in tree.children if isinstance(child, Node))
    assert (first.tag, first.text, first.children) == ("title", TITLE, [TITLE])
    assert first.attributes["id"] == tree.attributes["aria-labelledby"] == "one-title"
    assert tree.attributes["role"] == "img"
    assert not tree.all("b")


def test_a_title_may_have_backslashes() -> None:
    title = r"C:\dir \1 \g<0>"
    assert parse(inlined(title=title)).one("title").text == title


def test_the_font_is_that_of_the_page(drawing: str) -> None:
    assert "font-family" not in drawing


def test_text_stays_text(tree: Node, drawing: str) -> None:
    assert "x < y & z" in [text.text for text in tree.all("text")]
    assert "line 7" in [text.text for text in tree.all("text")]
    assert not re.search(r"font: ", drawing)
    assert re.search(r"font-size: 9px", drawing), "the legend"


def test_it_fits_into_any_page(tree: Node, drawing: str) -> None:
    assert tree.attributes["viewbox"] == "0 0 331.2 144"
    assert tree.attributes["style"] == "max-width: 442px"
    assert not {"width", "height"} & set(tree.attributes)
    for gone in ("xmlns", "xlink", "<?xml", "<!DOCTYPE", "metadata", "<!--"):
        assert gone not in drawing, gone


def test_percentages_have_a_space_that_does_not_break() -> None:
    assert figures.percent(0.1234) == "12.3\u00a0%"
    assert figures.percent(1, 0) == "100\u00a0%"
    assert figures.percent(0.0) == "0.0\u00a0%"
    assert figures.percent(None) == "–"


@pytest.mark.parametrize(("name", "room", "shown"), [("abcdef", 6, "abcdef"), ("abcdefg", 6, "abc…fg"), ("", 6, "")])
def test_long_names_are_cut(name: str, room: int, shown: str) -> None:
    assert figures.abbreviated(name, room) == shown
