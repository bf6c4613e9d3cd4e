"""A matplotlib figure as SVG inside a page. Its colours follow the page (light, dark, print). Its ids are unique in the page."""

from __future__ import annotations

import io
import re
from html import escape
from typing import Any

import matplotlib
from matplotlib.figure import Figure

# Placeholder colours for matplotlib. The style sheet of the page sets the real ones.
SERIES = [f"#0000a{i}" for i in range(8)]
INK, FAINT, HEAT = "#0000b0", "#0000b1", "#0000b2"
_VARIABLES = {colour: f"var(--series-{i})" for i, colour in enumerate(SERIES)} | {
    INK: "var(--ink)",
    FAINT: "var(--faint)",
    HEAT: "var(--heat)",
}
STYLE: dict[str, Any] = {
    "svg.fonttype": "none",
    "text.parse_math": False,  # a label may well be called "$100"
    "font.size": 10,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.5,
    "grid.alpha": 0.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.linewidth": 2,
}
WIDTH = 4.6  # inches; about 440 pixels, so that text keeps its size on a phone


def draw(paint: Any, height: float, width: float = WIDTH) -> Figure:
    """A figure with one axes, painted by `paint(axes)` in the report's style."""
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        paint(figure.add_subplot())
        return figure


def inline(figure: Figure, name: str, title: str) -> str:
    """The figure as an <svg> element. name: prefix of its ids. title: the text for screen readers."""
    out = io.StringIO()
    with matplotlib.rc_context(STYLE | {"svg.hashsalt": name}):
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->\n?", "", text, flags=re.DOTALL)
    # Only tags: the text between them may hold users' names.
    text = re.sub(r"<[^>]*>", lambda tag: _restyled(tag[0], name), text)
    width = float(re.search(r'width="([\d.]+)pt"', text)[1])  # type: ignore[index]
    head = f'<svg role="img" aria-labelledby="{name}-title" style="max-width: {width * 4 / 3:.0f}px" '
    text = re.sub(r'^<svg ([^>]*?)width="[\d.]+pt" height="[\d.]+pt"', lambda m: head + m[1], text)
    text = re.sub(r'^<svg ([^>]*?)height="[\d.]+pt"([^>]*?)width="[\d.]+pt"', lambda m: head + m[1] + m[2], text)
    words = f'<title id="{name}-title">{escape(title)}</title>'
    return re.sub(r"<svg [^>]*>", lambda m: m[0] + words, text, count=1)


def _restyled(tag: str, name: str) -> str:
    """A tag with prefixed ids, and with the colours and fonts of the page."""
    tag = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', tag)
    tag = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", tag)
    tag = re.sub(r'(xlink:)?href="#([^"]+)"', rf'href="#{name}-\2"', tag)
    tag = re.sub(r" xmlns(:\w+)?=\"[^\"]*\"", "", tag)
    for colour, variable in _VARIABLES.items():
        tag = tag.replace(colour, variable)
    tag = re.sub(r"font: (\d+(?:\.\d+)?)px [^;\"]*", r"font-size: \1px", tag)
    return re.sub(r" ?font-family: [^;\"]*;?", "", tag)  # the page's own
