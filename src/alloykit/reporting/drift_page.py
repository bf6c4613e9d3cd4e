"""watch.html: how new texts differ from the pool, in words, tables and figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from alloykit.evaluation.drift import CHANGED, STABLE
from alloykit.evaluation.significance import ALPHA
from alloykit.reporting import figures
from alloykit.reporting.figures import Figure, percent
from alloykit.reporting.page import render_outline
from alloykit.reporting.verdict import Verdict, points_of

OUTLINE = {"drift/summary": "Summary", "drift/labels": "Labels", "drift/distributions": "Confidence and energy"}
SHOWN = 5  # labels that the summary names
SERIES = ("pool", "new texts")


def render_drift(found: Mapping[str, Any]) -> str:
    """The page as HTML. found: as `watch_texts` gives it."""
    values = {
        "verdict": summary_of_drift(found),
        "found": found,
        "labels": _labels_figure(found),
        "distributions": [_histogram(found, key, name) for key, name in (("confidence", "confidence"), ("energy", "energy"))],
        "alpha": ALPHA,
    }  # fmt: skip
    return render_outline(f"New texts of {found['run']}", OUTLINE, values)


def summary_of_drift(found: Mapping[str, Any]) -> Verdict:
    """Headline and points in words."""
    largest, texts = found["psi"], found["texts"]
    status = "good" if largest < STABLE else "mixed" if largest <= CHANGED else "poor"
    words = {"good": "look like the pool", "mixed": "differ somewhat from the pool", "poor": "differ from the pool"}
    headline = (
        f"The {texts['new']:,} new texts {words[status]}: population stability index {found['labels']['psi']:.2f} of the labels, "
        f"{found['confidence']['psi']:.2f} of the confidence, {found['energy']['psi']:.2f} of the energy."
    )
    shares, changed = found["labels"]["shares"], found["changed"]
    points = [
        f"{name}: {percent(shares[name]['pool'])} of the pool, {percent(shares[name]['new'])} of the new texts "
        f"({points_of(shares[name]['difference'])} points)."
        for name in changed[:SHOWN]
    ]
    if len(changed) > SHOWN:
        points.append(f"{len(changed) - SHOWN} more labels changed significantly.")
    if not changed:
        points.append("No label's share changed significantly.")
    if any(found[key]["chance"] > STABLE for key in ("labels", "confidence", "energy")):
        points.append("So few texts show large changes only: an index counts if chance does not explain it.")
    mean = found["confidence"]["mean"]
    points.append(f"Mean confidence: {percent(mean['pool'])} on the pool, {percent(mean['new'])} on the new texts.")
    if (foreign := found["foreign"]) is not None:
        what = "More unusual than 95 % of the pool" if found["multi_label"] else "None of the labels"
        points.append(f"{what}: {percent(foreign['pool'])} of the pool, {percent(foreign['new'])} of the new texts.")
    if status != "good":
        points.append("`alloykit update RUN --add-texts FILE` lets the student learn from the new texts.")
    return Verdict(status, headline, points)


def _labels_figure(found: Mapping[str, Any]) -> Figure:
    rows = {
        name: ((row["pool"], row["pool_interval"]), (row["new"], row["new_interval"]))
        for name, row in found["labels"]["shares"].items()
    }
    caption = "Share of the texts that the student gives each label to, with 95\u00a0% intervals."
    return figures.two_shares("shares", rows, SERIES, caption, "share of texts (%)")


def _histogram(found: Mapping[str, Any], key: str, name: str) -> Figure:
    shown = found[key]["histogram"]
    caption = f"The student's {name} on the pool and on the new texts."
    series = {SERIES[0]: shown["pool"], SERIES[1]: shown["new"]}
    return figures.histograms(key, series, caption, name, shown["high"], shown["low"])
