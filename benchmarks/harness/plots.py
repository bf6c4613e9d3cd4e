"""Figures of the pages: saved beside the results, the same file for the same numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib

matplotlib.use("Agg")

import numpy as np
from matplotlib import pyplot as plt

from benchmarks.harness.results import RESULTS
from benchmarks.harness.table import Table

BLUE, ORANGE, GREY = "#0072b2", "#d55e00", "#555555"  # colour-blind readers can distinguish them too


def save(table: Table, figure: Any, alt: str) -> list[str]:
    """results/PAPER/TABLE.svg, and the lines that show it."""
    figure.tight_layout()
    with matplotlib.rc_context({"svg.hashsalt": table.name}):
        figure.savefig(RESULTS / table.paper / f"{table.name}.svg", metadata={"Date": None})
    plt.close(figure)
    return [f"![{alt}]({table.paper}/{table.name}.svg)", ""]


def mean_and_spread(each: Sequence[Sequence[float]]) -> tuple[Any, Any]:
    """In percent, over seeds; a single one has no spread."""
    means = [100 * np.mean(values) for values in each]
    return np.array(means), np.array([100 * np.std(values, ddof=1) if len(values) > 1 else 0.0 for values in each])


def curves(
    table: Table, lines: Mapping[str, Mapping[float, Sequence[float]]], alt: str, xlabel: str, xscale: str = "linear"
) -> list[str]:
    """Accuracies by seed over an option's values, a line for each title."""
    figure, axis = plt.subplots(figsize=(7, 3))
    for (title, by_value), colour in zip(lines.items(), (BLUE, ORANGE, GREY), strict=False):
        values = [value for value, found in by_value.items() if found]
        mean, sd = mean_and_spread([by_value[value] for value in values])
        axis.plot(values, mean, "o-", color=colour, label=title)
        axis.fill_between(values, mean - sd, mean + sd, color=colour, alpha=0.2)
    axis.set(xscale=xscale, xlabel=xlabel, ylabel="student's accuracy, %")
    axis.legend(frameon=False)
    return save(table, figure, alt)


def bars(table: Table, groups: Mapping[str, Mapping[str, Sequence[float]]], alt: str) -> list[str]:
    """Accuracies by seed: a group of bars for each of `groups`, one bar for each title in it."""
    figure, axis = plt.subplots(figsize=(9, 3))
    names = list(dict.fromkeys(name for group in groups.values() for name in group))
    for n, (name, colour) in enumerate(zip(names, (BLUE, ORANGE, GREY), strict=False)):
        there = [(i, group[name]) for i, group in enumerate(groups.values()) if group.get(name)]
        mean, sd = mean_and_spread([values for _, values in there])
        at = np.array([i for i, _ in there]) + (n - (len(names) - 1) / 2) * 0.8 / len(names)
        axis.bar(at, mean, 0.75 / len(names), yerr=sd, color=colour, label=name)
    axis.set_xticks(range(len(groups)), groups)
    axis.set_ylabel("student's accuracy, %")
    axis.legend(frameon=False)
    return save(table, figure, alt)
