"""The report's figures, each with the numbers that it shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from matplotlib.ticker import MaxNLocator

from alloykit.escape import visible
from alloykit.reporting.svg import FAINT, HEAT, INK, SERIES, draw, inline

LEGEND, KEY = 64, 5  # characters in the width of a legend, and in that of the sign before a name
LABELS = 60  # labels in a figure: a page with thousands of bars or numbers is of no use, and takes minutes


@dataclass(frozen=True)
class Figure:
    """An inline SVG, its caption, and its numbers as a table. wide: it takes the whole width of the page."""

    svg: str
    caption: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]] = field(default_factory=list)
    wide: bool = False


def percent(share: float | None, digits: int = 1) -> str:
    """A share in percent, such as "72.8 %"; "–" for None."""
    return "–" if share is None else f"{100 * share:.{digits}f}\u00a0%"  # the space does not break


def abbreviated(name: str, room: int = 22) -> str:
    """A name for a figure: one line of at most `room` characters, without control characters, which have no glyph. Of a long name, beginning and
    end are kept: many names differ only in one of them."""
    name = visible(name)
    end = room // 3
    return name if len(name) <= room else f"{name[: room - 1 - end]}…{name[len(name) - end :]}"


def accuracies(scores: Mapping[str, Mapping[str, Any]], caption: str) -> Figure:
    """Bars with 95 % intervals. The last classifier is emphasised."""
    names = list(scores)

    def paint(axes: Any) -> None:
        for y, name in enumerate(names):
            a, interval, ours = scores[name]["accuracy"], scores[name].get("interval"), name == names[-1]
            axes.barh(y, 100 * a, color=SERIES[0] if ours else FAINT, height=0.62, alpha=1 if ours else 0.55)
            if interval:
                axes.plot([100 * interval[0], 100 * interval[1]], [y, y], color=INK, linewidth=1.2)
        axes.set_yticks(range(len(names)), [f"{abbreviated(n, 24)}  {100 * scores[n]['accuracy']:.1f}" for n in names])
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_xlim(0, 100)
        axes.set_xlabel("accuracy (%)")
        axes.grid(axis="y", visible=False)

    def cells(name: str) -> list[str]:
        interval = scores[name].get("interval")
        return [name, percent(scores[name]["accuracy"]), " to ".join(map(percent, interval)) if interval else "–"]

    figure = draw(paint, 0.9 + 0.34 * len(names))
    return Figure(
        inline(figure, "accuracy", caption),
        caption,
        ["classifier", "accuracy", "95 % interval"],
        [cells(n) for n in names],
    )


def histograms(
    name: str,
    series: Mapping[str, Sequence[int]],
    caption: str,
    xlabel: str,
    up_to: float = 1.0,
    low: float = 0.0,
) -> Figure:
    """Outlined histograms over [low, up_to]. Each bar is a share of the texts of its own series. Of more series than colours, the first are shown."""
    bins = len(next(iter(series.values())))
    edges = [low + (up_to - low) * i / bins for i in range(bins + 1)]
    shown = dict(list(series.items())[: len(SERIES)])
    if len(shown) < len(series):
        caption += f" Of {len(series):,} curves, it shows the first {len(shown)}."

    def paint(axes: Any) -> None:
        patches = []
        for i, counts in enumerate(shown.values()):
            total = sum(counts) or 1
            shares = [100 * c / total for c in counts]
            line = ("-", "--", ":", "-.")[i % 4]
            patches.append(axes.stairs(shares, edges, color=SERIES[i % len(SERIES)], linestyle=line, linewidth=1.8))
            axes.stairs(shares, edges, fill=True, color=SERIES[i % len(SERIES)], alpha=0.12)
        axes.set_xlim(low, up_to)
        axes.set_ylim(bottom=0)
        axes.set_xlabel(xlabel)
        axes.set_ylabel("share of texts (%)")
        if len(shown) > 1:
            _legend(axes, len(shown), patches, list(shown))

    rows = [
        [f"{edges[b]:.2f} to {edges[b + 1]:.2f}", *(str(counts[b]) for counts in series.values())] for b in range(bins)
    ]
    return Figure(inline(draw(paint, 2.9), name, caption), caption, [xlabel, *series], rows)


def confusion(matrix: Sequence[Sequence[int]], labels: Sequence[str], caption: str) -> Figure:
    """Rows are true labels, columns are predicted labels. The shade is the share of the row. Of more than LABELS labels, those with the
    most wrong answers are shown."""
    if len(labels) > LABELS:
        counts = np.asarray(matrix)
        wrong = counts.sum(0) + counts.sum(1) - 2 * counts.diagonal()
        shown = sorted(np.argsort(-wrong, kind="stable")[:LABELS].tolist())
        matrix, labels = counts[np.ix_(shown, shown)].tolist(), [labels[i] for i in shown]
        caption += f" Of {len(counts):,} labels, it shows the {LABELS} with the most wrong answers."
    n = len(labels)
    totals = [sum(row) or 1 for row in matrix]

    def paint(axes: Any) -> None:
        from matplotlib.patches import Rectangle

        for r in range(n):
            for c in range(n):
                share = matrix[r][c] / totals[r]
                if matrix[r][c]:
                    axes.add_patch(Rectangle((c, r), 1, 1, facecolor=HEAT, alpha=round(0.08 + 0.92 * share, 3)))
                    if n <= 16:
                        axes.text(c + 0.5, r + 0.5, str(matrix[r][c]), ha="center", va="center", fontsize=8, color=INK)
        axes.set_xlim(0, n)
        axes.set_ylim(n, 0)
        ticks = [i + 0.5 for i in range(n)]
        axes.set_xticks(
            ticks, [abbreviated(name, 16) for name in labels], rotation=60, ha="right", rotation_mode="anchor"
        )
        axes.set_yticks(ticks, [abbreviated(name, 16) for name in labels])
        axes.tick_params(length=0, labelsize=8 if n > 10 else 9)
        axes.set_xlabel("predicted label")
        axes.set_ylabel("true label")
        axes.grid(visible=False)

    figure = draw(paint, min(9.0, 1.5 + max(0.26 * n, 1.2)), min(9.0, max(4.6, 1.8 + 0.3 * n)))
    rows = [[labels[r], *(str(v) for v in matrix[r])] for r in range(n)]
    return Figure(
        inline(figure, "confusion", caption), caption, ["true label \\ predicted", *labels], rows, wide=n > 16
    )


def stacked_bars(
    name: str, table: Mapping[str, Mapping[str, float]], teachers: Sequence[str], caption: str, xlabel: str
) -> Figure:
    """One stacked bar per label with one segment per teacher. If there are more teachers than colours, those with the smallest segments share one. Of more
    than LABELS labels, those are shown that depend on several teachers the most."""
    labels = list(table)
    rows = [[label, *(percent(table[label][t], 0) for t in teachers)] for label in labels]
    if len(labels) > LABELS:
        caption += f" Of {len(labels):,} labels, it shows the {LABELS} that are divided the most among the teachers."
        shown = set(sorted(labels, key=lambda label: max(table[label].values()))[:LABELS])
        labels = [label for label in labels if label in shown]
    largest = sorted(teachers, key=lambda t: -sum(table[label][t] for label in labels))
    own = list(teachers) if len(teachers) <= len(SERIES) else [t for t in teachers if t in largest[: len(SERIES) - 1]]
    rest = [t for t in teachers if t not in own]
    segments = [(t, [t]) for t in own] + ([(f"{len(rest)} others", rest)] if rest else [])

    def paint(axes: Any) -> None:
        left = [0.0] * len(labels)
        patches = []
        for (_, those), colour in zip(segments, [*SERIES[: len(own)], FAINT], strict=False):
            width = [100 * sum(table[label][t] for t in those) for label in labels]
            patches.append(axes.barh(range(len(labels)), width, left=left, height=0.7, color=colour))
            left = [x + w for x, w in zip(left, width, strict=True)]
        axes.set_yticks(
            range(len(labels)), [abbreviated(label, 18) for label in labels], fontsize=9 if len(labels) < 16 else 7
        )
        axes.set_ylim(len(labels) - 0.5, -0.5)
        axes.set_xlim(0, 100)
        axes.set_xlabel(xlabel)
        axes.grid(axis="y", visible=False)
        _legend(axes, len(segments), patches, [name for name, _ in segments])

    lines_of_legend = -(-len(segments) // _columns([name for name, _ in segments]))
    figure = draw(paint, 1.2 + 0.25 * len(labels) + 0.2 * (lines_of_legend - 1))
    return Figure(inline(figure, name, caption), caption, ["label", *teachers], rows)


def reliability_diagram(found: Mapping[str, Mapping[str, Any]], ways: Sequence[str], caption: str) -> Figure:
    """Accuracy over mean confidence, per confidence bin. On the diagonal a classifier is perfectly calibrated."""

    def paint(axes: Any) -> None:
        axes.plot([0, 100], [0, 100], color=INK, linewidth=0.8, linestyle=":")
        for i, way in enumerate(ways):
            bins = found[way]["bins"]
            most = max(b["texts"] for b in bins)
            x, y = [100 * b["confidence"] for b in bins], [100 * b["accuracy"] for b in bins]
            many = [k for k, b in enumerate(bins) if b["texts"] >= 0.02 * sum(b["texts"] for b in bins)]
            axes.plot(
                [x[k] for k in many], [y[k] for k in many], color=SERIES[i], linewidth=1.3, linestyle=("-", "--")[i % 2]
            )
            axes.scatter(x, y, s=[12 + 70 * b["texts"] / most for b in bins], color=SERIES[i], label=way, alpha=0.8)
        axes.set_xlim(0, 102)
        axes.set_ylim(0, 102)
        axes.set_xlabel("mean confidence (%)")
        axes.set_ylabel("accuracy (%)")
        _legend(axes, len(ways))

    rows = [
        [way, f"{b['low']:.2f} to {b['high']:.2f}", str(b["texts"]), percent(b["confidence"]), percent(b["accuracy"])]
        for way in ways
        for b in found[way]["bins"]
    ]
    headings = ["classifier", "confidence", "texts", "mean confidence", "accuracy"]
    return Figure(inline(draw(paint, 3.3), "reliability", caption), caption, headings, rows)


def training(history: Sequence[Mapping[str, Any]], selected: int, caption: str) -> Figure:
    """Training loss per step, the criterion on held-out texts with its standard error, and the selected step."""
    losses = [(h["step"], h["loss"]) for h in history if "loss" in h]
    checks = [(h["step"], h["eval_criterion"], h["eval_standard_error"]) for h in history if "eval_criterion" in h]

    def paint(axes: Any) -> None:
        axes.plot([s for s, _ in losses], [v for _, v in losses], color=SERIES[0], label="training loss")
        if checks:
            steps, values, errors = zip(*checks, strict=True)
            axes.errorbar(
                steps, values, errors, color=SERIES[1], marker="o", markersize=4, linestyle="--", capsize=2,
                linewidth=1.4, label="held-out texts",
            )  # fmt: skip
        axes.axvline(selected, color=INK, linewidth=1.5, linestyle=":", label=f"selected: step {selected}")
        axes.set_xlabel("step")
        axes.set_ylim(bottom=0)
        _legend(axes, 3)

    rows = [[str(s), f"{v:.4f}", ""] for s, v in losses] + [[str(s), "", f"{v:.4f} ± {e:.4f}"] for s, v, e in checks]
    rows.sort(key=lambda row: int(row[0]))
    return Figure(
        inline(draw(paint, 2.9), "training", caption), caption, ["step", "training loss", "held-out texts"], rows
    )


def lines(
    name: str,
    history: Sequence[Mapping[str, Any]],
    series: Mapping[str, str],
    caption: str,
    ylabel: str,
    *,
    shares: bool = False,
    over: str = "step",
    xlabel: str | None = None,
) -> Figure:
    """Lines over the steps of training, or over another key of the history. Of more lines than colours, those with the largest last values are shown.

    series: key in the history → name of the line. shares: the values are shares and are shown in percent. over: the key of the
    x axis; xlabel: its name. Entries without a number for every key are left out.
    """
    found = [h for h in history if all(isinstance(h.get(key), (int, float)) for key in (*series, over))]
    scale = 100 if shares else 1
    largest = sorted(series, key=lambda key: -found[-1][key] if found else 0)[: len(SERIES)]
    drawn = {key: line for key, line in series.items() if key in largest}
    if len(drawn) < len(series):
        caption += f" Of {len(series):,} lines, it shows the {len(drawn)} with the largest last values."

    def paint(axes: Any) -> None:
        handles = []
        for i, key in enumerate(drawn):
            style = ("-", "--", ":", "-.")[i % 4]
            values = [scale * h[key] for h in found]
            handles += axes.plot([h[over] for h in found], values, color=SERIES[i % len(SERIES)], linestyle=style)
        if shares:
            axes.set_ylim(0, 102)
        axes.xaxis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True))
        axes.set_xlabel(xlabel or over)
        axes.set_ylabel(ylabel)
        _legend(axes, len(drawn), handles, list(drawn.values()))

    rows = [[str(h[over]), *(percent(h[k]) if shares else f"{h[k]:.3f}" for k in series)] for h in found]
    return Figure(inline(draw(paint, 2.9), name, caption), caption, [xlabel or over, *series.values()], rows)


ShareWithInterval = tuple[float, Sequence[float] | None]  # with its interval


def two_shares(
    name: str,
    rows: Mapping[str, tuple[ShareWithInterval, ShareWithInterval]],
    series: tuple[str, str],
    caption: str,
    xlabel: str,
) -> Figure:
    """Two dots per label, with intervals where they are given: the first series above, the second below."""
    labels = list(rows)
    if len(labels) > LABELS:
        caption += f" Of {len(labels):,} labels, it shows the {LABELS} with the largest differences."
        shown = set(sorted(labels, key=lambda label: -abs(rows[label][0][0] - rows[label][1][0]))[:LABELS])
        labels = [label for label in labels if label in shown]

    def paint(axes: Any) -> None:
        dots = []
        for i, shift in enumerate((-0.15, 0.15)):
            y = [k + shift for k in range(len(labels))]
            for at, label in zip(y, labels, strict=True):
                if (ends := rows[label][i][1]) is not None:
                    axes.plot([100 * ends[0], 100 * ends[1]], [at, at], color=SERIES[i], linewidth=1.2)
            values = [100 * rows[label][i][0] for label in labels]
            dots.append(axes.scatter(values, y, s=22, color=SERIES[i], marker="os"[i], zorder=3))
        axes.set_yticks(range(len(labels)), [abbreviated(label) for label in labels])
        axes.set_ylim(len(labels) - 0.5, -0.5)
        axes.set_xlim(left=0)
        axes.set_xlabel(xlabel)
        _legend(axes, 2, dots, series)

    def cell(share: ShareWithInterval) -> str:
        return percent(share[0]) + (f" ({percent(share[1][0])} to {percent(share[1][1])})" if share[1] else "")

    cells = [[label, cell(a), cell(b)] for label, (a, b) in rows.items()]
    figure = draw(paint, 1.3 + 0.34 * len(labels))
    return Figure(inline(figure, name, caption), caption, ["label", *series], cells, wide=len(labels) > 40)


def _columns(names: Sequence[str]) -> int:
    """In how many columns a legend of these names is as wide as the figure at most."""
    characters = max(len(abbreviated(name)) for name in names)
    return max(1, min(3, len(names), int(LEGEND // (characters + KEY))))


def _legend(axes: Any, entries: int, handles: Any = None, names: Sequence[str] | None = None) -> None:
    """A legend above the axes. Users' names are set on the handles: matplotlib leaves out names that begin with an underscore."""
    columns = min(3, entries) if names is None else _columns(names)
    look = {"loc": "outside upper center", "ncols": columns, "handlelength": 1.6, "columnspacing": 1.2}
    if handles is None:
        axes.figure.legend(**look)
    else:
        legend = axes.figure.legend(handles, [f"{i}" for i in range(len(handles))], **look)
        for text, name in zip(legend.get_texts(), names or (), strict=True):
            text.set_text(abbreviated(name))
