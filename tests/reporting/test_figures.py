"""Shapes of a figure are where its numbers say: they are read back from the SVG by means of its axes."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from htmltree import Node, parse

from alloykit.reporting import figures
from alloykit.reporting.figures import Figure

Point = tuple[float, float]


def scale(svg: Node, axis: str) -> Callable[[float], float]:
    """From a place in the drawing to the number that the axis has there."""
    groups = [g for g in svg.all("g") if re.search(rf"-{axis}tick_\d+$", g.attributes.get("id", ""))]
    ticks = [(float(g.one("text").words), float(g.all("use")[0].attributes[axis])) for g in groups]
    (low, a), (high, b) = ticks[0], ticks[-1]
    return lambda place: low + (place - a) / (b - a) * (high - low)


def shapes(figure: Figure, kind: str, colour: str, axes: str = "xy") -> list[list[Point]]:
    """The points of every path that is filled with ("fill") or drawn in ("stroke") this colour, in the axes' numbers."""
    svg = parse(figure.svg).one("svg")
    same: Callable[[float], float] = lambda place: place  # noqa: E731
    x, y = (scale(svg, axis) if axis in axes else same for axis in "xy")
    inside = [path for g in svg.all("g") if g.attributes.get("id", "").endswith("-axes_1") for path in g.all("path")]
    found = [
        p.attributes["d"]
        for p in inside
        if f"{kind}: var(--{colour})" in p.attributes.get("style", "") and "clip-path" in p.attributes
    ]
    return [[(x(float(a)), y(float(b))) for a, b in re.findall(r"[ML] ([-\d.]+) ([-\d.]+)", d)] for d in found]


def span(points: list[Point]) -> tuple[float, float]:
    return min(x for x, _ in points), max(x for x, _ in points)


def test_bars_are_as_long_as_the_accuracy() -> None:
    scores = {
        "a": {"accuracy": 0.25, "interval": [0.2, 0.35]},
        "b": {"accuracy": 0.5},
        "ours": {"accuracy": 0.8, "interval": [0.7, 0.9]},
    }
    figure = figures.accuracies(scores, "Caption.")
    assert [span(bar) for bar in shapes(figure, "fill", "faint", "x")] == [
        pytest.approx((0, 25)),
        pytest.approx((0, 50)),
    ]
    assert [span(bar) for bar in shapes(figure, "fill", "series-0", "x")] == [pytest.approx((0, 80))], (
        "the last is strong"
    )
    assert [span(line) for line in shapes(figure, "stroke", "ink", "x")] == [
        pytest.approx((20, 35)),
        pytest.approx((70, 90)),
    ]


def test_histograms_are_shares_of_their_own_texts() -> None:
    figure = figures.histograms("h", {"one": [1, 3], "two": [30, 10]}, "Caption.", "x")
    for colour, heights in (("series-0", (25, 75)), ("series-1", (75, 25))):
        outline = shapes(figure, "stroke", colour)[0]
        assert {round(x, 3) for x, _ in outline} == {0, 0.5, 1}
        assert {round(y, 3) for x, y in outline if x < 0.49} == {0, heights[0]}
        assert {round(y, 3) for x, y in outline if x > 0.51} == {0, heights[1]}
    assert "stroke-dasharray" in figure.svg, "colours are not the only difference"


def test_histograms_of_weights_beyond_one() -> None:
    figure = figures.histograms("h", {"texts": [1, 1]}, "Caption.", "weight", up_to=3.0)
    assert [row[0] for row in figure.rows] == ["0.00 to 1.50", "1.50 to 3.00"]
    assert span(shapes(figure, "stroke", "series-0")[0]) == pytest.approx((0, 3))
    assert figures.histograms("h", {"texts": [0, 0]}, "Caption.", "weight").rows == [
        ["0.00 to 0.50", "0"],
        ["0.50 to 1.00", "0"],
    ]


def test_shades_are_shares_of_the_row() -> None:
    figure = figures.confusion([[3, 1], [0, 0]], ["a", "b"], "Caption.")
    cells = [p for p in parse(figure.svg).all("path") if "fill: var(--heat)" in p.attributes.get("style", "")]
    opacity = [float(re.findall(r"opacity: ([\d.]+)", cell.attributes["style"])[0]) for cell in cells]
    assert opacity == pytest.approx([0.08 + 0.92 * 0.75, 0.08 + 0.92 * 0.25])


@pytest.mark.parametrize(("labels", "numbers", "wide"), [(16, True, False), (17, False, True)])
def test_many_labels_have_a_wide_drawing_without_numbers(labels: int, numbers: bool, wide: bool) -> None:
    names = [f"label {chr(97 + n)}" for n in range(labels)]
    matrix = [[7 if r == c else 0 for c in range(labels)] for r in range(labels)]
    figure = figures.confusion(matrix, names, "Caption.")
    assert ("7" in [text.words for text in parse(figure.svg).all("text")]) == numbers
    assert figure.wide == wide
    assert len(figure.rows) == labels


def test_pieces_lie_end_to_end() -> None:
    figure = figures.stacked_bars(
        "s", {"x": {"a": 0.7, "b": 0.3}, "y": {"a": 0.0, "b": 1.0}}, ["a", "b"], "Caption.", "texts (%)"
    )
    first, second = (([span(bar) for bar in shapes(figure, "fill", f"series-{n}", "x")]) for n in (0, 1))
    assert first == [pytest.approx((0, 70)), pytest.approx((0, 0))]
    assert second == [pytest.approx((70, 100)), pytest.approx((0, 100))]
    assert [t.words for t in parse(figure.svg).all("text")].count("texts (%)") == 1


def test_more_teachers_than_colours() -> None:
    """Ten teachers: the seven with the most texts have a colour of their own, in their order, and the others share one. The numbers have all ten."""
    teachers = [f"t{n}" for n in range(10)]
    shares = dict(zip(teachers, (0.01, 0.02, 0.03, 0.1, 0.1, 0.1, 0.11, 0.12, 0.13, 0.28), strict=True))
    figure = figures.stacked_bars("s", {"x": shares, "y": shares}, teachers, "Caption.", "texts (%)")
    assert [span(bar) for bar in shapes(figure, "fill", "series-0", "x")] == [pytest.approx((0, 10))] * 2
    assert [span(bar) for bar in shapes(figure, "fill", "series-6", "x")] == [pytest.approx((66, 94))] * 2
    assert [span(bar) for bar in shapes(figure, "fill", "faint", "x")] == [pytest.approx((94, 100))] * 2
    words = [t.words for t in parse(figure.svg).all("text")]
    assert [w for w in words if w in {*teachers, "3 others"}] == [*teachers[3:], "3 others"]
    assert figure.rows[0] == [
        "x",
        "1\u00a0%",
        "2\u00a0%",
        "3\u00a0%",
        *["10\u00a0%"] * 3,
        "11\u00a0%",
        "12\u00a0%",
        "13\u00a0%",
        "28\u00a0%",
    ]


def test_reliability_is_accuracy_over_mean_confidence() -> None:
    bins = [(0.3, 0.2, 50), (0.55, 0.9, 46), (0.8, 0.6, 3), (0.9, 0.1, 1)]
    found = {
        "student": {"bins": [{"low": 0, "high": 1, "texts": n, "confidence": c, "accuracy": a} for c, a, n in bins]}
    }
    figure = figures.reliability_diagram(found, ["student"], "Caption.")
    (line,) = (points for points in shapes(figure, "stroke", "series-0") if len(points) > 1)  # dots are circles
    assert line == [pytest.approx((30, 20)), pytest.approx((55, 90)), pytest.approx((80, 60))], (
        "of next to no texts there is only a dot"
    )
    assert shapes(figure, "stroke", "ink")[0] == [pytest.approx((0, 0)), pytest.approx((100, 100))]
    assert len(figure.rows) == 4


def test_training_by_step() -> None:
    history = [
        {"step": 10, "loss": 2.0},
        {"step": 20, "loss": 1.0},
        {"step": 10, "eval_criterion": 0.5, "eval_standard_error": 0.25},
    ]
    figure = figures.training(history, 20, "Caption.")
    assert shapes(figure, "stroke", "series-0")[0] == [pytest.approx((10, 2)), pytest.approx((20, 1))]
    assert [pytest.approx((10, 0.25)), pytest.approx((10, 0.75))] in [
        sorted(line) for line in shapes(figure, "stroke", "series-1")
    ]
    assert {round(x, 3) for x, _ in shapes(figure, "stroke", "ink")[0]} == {20}
    assert figure.rows == [["10", "2.0000", ""], ["10", "", "0.5000 ± 0.2500"], ["20", "1.0000", ""]]
    assert "held-out texts" not in [
        t.words for t in parse(figures.training(history[:2], 20, "Caption.").svg).all("text")
    ]


def test_a_confusion_matrix_of_many_labels_shows_the_most_confused() -> None:
    n = 300
    matrix = [[5 if r == c else 0 for c in range(n)] for r in range(n)]
    matrix[7][250] = matrix[250][9] = 3
    figure = figures.confusion(matrix, [f"label {i}" for i in range(n)], "Confusion.")
    assert len(figure.rows) == figures.LABELS == len(figure.headings) - 1
    assert [row[0] for row in figure.rows[:10]] == [f"label {i}" for i in range(10)]
    assert "label 250" in figure.headings
    assert figure.caption.endswith("Of 300 labels, it shows the 60 with the most wrong answers.")


def test_bars_and_dots_of_many_labels_show_the_most_interesting() -> None:
    """Bars of 1,000 labels took half a minute and were 24,000 pixels high. The numbers have all labels."""
    labels = [f"label {i}" for i in range(70)]
    mixed = labels[5:65]
    bars = figures.stacked_bars(
        "s", {n: {"a": 0.6, "b": 0.4} if n in mixed else {"a": 1, "b": 0} for n in labels}, ["a", "b"], "Bars.", "x"
    )
    dots = figures.two_shares(
        "s", {n: ((0.3, None), (0.2 if n in mixed else 0.3, None)) for n in labels}, ("a", "b"), "Dots.", "x"
    )
    for figure, shown in (
        (bars, "that are divided the most among the teachers"),
        (dots, "with the largest differences"),
    ):
        assert [t.words for t in parse(figure.svg).all("text") if t.words.startswith("label")] == mixed
        assert figure.caption.endswith(f"Of 70 labels, it shows the 60 {shown}.")
        assert [row[0] for row in figure.rows] == labels


MANY = [f"teacher of department {i}" for i in range(40)]


def legend(figure: Figure) -> list[str]:
    """The names in the legend that are those of MANY."""
    shown = [text.words for text in parse(figure.svg).all("text")]
    return [words for words in shown if words.startswith("teacher of")]


@pytest.mark.filterwarnings("error")  # matplotlib warns of a legend that leaves no room for the axes
def test_lines_of_forty_teachers() -> None:
    history = [{"step": step} | {name: i * step for i, name in enumerate(MANY)} for step in range(3)]
    figure = figures.lines("shares", history, {name: name for name in MANY}, "Shares.", "share")
    assert figure.caption == "Shares. Of 40 lines, it shows the 8 with the largest last values."
    assert legend(figure) == [f"teacher of dep…ment {i}" for i in range(32, 40)]
    assert figure.headings == ["step", *MANY]
    assert [len(row) for row in figure.rows] == [41] * 3


@pytest.mark.filterwarnings("error")
def test_histograms_of_forty_teachers() -> None:
    figure = figures.histograms("confidence", {name: [1, i] for i, name in enumerate(MANY)}, "All.", "confidence")
    assert figure.caption == "All. Of 40 curves, it shows the first 8."
    assert legend(figure) == [f"teacher of dep…tment {i}" for i in range(8)]
    assert figure.rows[1] == ["0.50 to 1.00", *map(str, range(40))]


@pytest.mark.parametrize(("characters", "columns"), [(1, 3), (16, 3), (17, 2), (22, 2)])
def test_a_legend_is_no_wider_than_its_figure(characters: int, columns: int) -> None:
    names = [letter * characters for letter in "abcd"]
    figure = figures.histograms("confidence", {name: [1, 1] for name in names}, "All.", "confidence")
    places = {text.attributes["x"] for text in parse(figure.svg).all("text") if text.words in names}
    assert len(places) == columns
