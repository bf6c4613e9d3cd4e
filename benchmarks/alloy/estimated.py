"""The method's own estimate of its accuracy, beside the truth and the mean confidence of its targets; and the part of the page about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from alloykit.methods.protocol import EstimatedAccuracy
from benchmarks.alloy.settings import CHOICE, in_order, set_of
from benchmarks.harness.settings import Setting
from benchmarks.harness.summary import rows

LEAST = 10  # labels with fewer texts are left out: their true accuracy is mostly chance
WORDS = (
    "Accuracy of Alloy's targets on the pool, as the run estimates it without labels ([Eqs. 16, 17](../../docs/methods/alloy.md#how-accurate-is-it)), beside the plain estimate: the mean of the targets' "
    "largest probability. Errors in points; by label: the mean over the labels that at least {least} texts of the pool get. Eq. 16 was chosen on the sets of the choice, with other teachers; its earlier form was chosen on pools of seed 0 of all sets, so the first part of the table has the "
    "other seeds only. Bold: the smaller error."
)


def beside(estimated: EstimatedAccuracy, targets: Tensor, labels: Tensor) -> dict[str, Any]:
    """Truth, estimate and mean confidence, over all texts and by label. targets [n, C], labels [n]: of the pool's texts with a known label."""
    confidence, chosen = targets.max(-1)
    right = (chosen == labels).double()
    each = []
    for c, guess in enumerate(estimated.by_label):
        of_label = chosen == c
        if guess is not None and int(of_label.sum()) >= LEAST:
            each.append([float(right[of_label].mean()), guess, float(confidence[of_label].double().mean())])
    return {
        "accuracy": float(right.mean()),
        "estimate": estimated.overall,
        "confidence": float(confidence.double().mean()),
        "labels": [[round(value, 4) for value in values] for values in each],
    }


def estimated_section(
    cells: Mapping[str, Any],
    settings: Sequence[Setting],
    more: Mapping[str, tuple[Mapping[str, Any], Sequence[Setting]]],
) -> list[str]:
    """more: name of other tables' teachers: their cells and settings."""
    found = _found(cells, without="0")
    lines = ["## Estimated accuracy", "", WORDS.format(least=LEAST), ""]
    if not found:
        return [*lines, "Not run yet.", ""]
    errors: dict[str, list[Any]] = {"sets of the choice": [], "reported sets": []}
    body = []
    for setting in in_order(settings):
        for pool in sorted(pool for name, pool in found if name == setting.name):
            each = found[setting.name, pool]
            row = _row(each)
            errors["sets of the choice" if set_of(setting) in CHOICE else "reported sets"].append(row)
            body.append([setting.title, pool, len(each), *_shown(row)])
    for which, of in errors.items():
        if of:
            body.append([f"*mean, {which}*", "", "", *_shown(np.nanmean(np.array(of), 0))])
    body.append(["*mean, all*", "", "", *_shown(np.nanmean(np.array([r for of in errors.values() for r in of]), 0))])
    for what, (others, of_others) in more.items():
        cases = _found(others).items()
        part = [
            (s.title, pool, len(each), _row(each))
            for s in in_order(of_others)
            for (name, pool), each in cases
            if name == s.name
        ]
        body += [[*about, *_shown(row)] for *about, row in part]
        if part:
            body.append([f"*mean, {what}*", "", "", *_shown(np.nanmean(np.array([row for *_, row in part]), 0))])
    heads = ["", "pool", "seeds", "accuracy, %", "estimate, %", "its error", "mean confidence, %", "its error",
             "by label: error of the estimate", "by label: error of the mean confidence"]  # fmt: skip
    return [*lines, *rows(heads, body)]


def _found(cells: Mapping[str, Any], without: str | None = None) -> dict[tuple[str, str], list[Any]]:
    """By setting and pool: what Alloy's cells say of the estimate. without: a seed that does not count."""
    found: dict[tuple[str, str], list[Any]] = {}
    for key, cell in cells.items():
        name, pool, seed, method = key.split("/")
        if method == "alloy" and cell["status"] == "done" and "estimated" in cell and seed != without:
            found.setdefault((name, pool), []).append(cell["estimated"])
    return found


def _row(each: list[Any]) -> list[float]:
    """Means over the seeds: accuracy, estimate, its absolute error, confidence, its absolute error, both errors by label."""
    found = []
    for e in each:
        labels = np.array(e["labels"]).reshape(-1, 3)
        by_label = np.abs(labels[:, 1:] - labels[:, :1]).mean(0) if len(labels) else np.full(2, np.nan)
        found.append([e["accuracy"], e["estimate"], abs(e["estimate"] - e["accuracy"]), e["confidence"],
                      abs(e["confidence"] - e["accuracy"]), *by_label])  # fmt: skip
    return [float(value) for value in np.mean(np.array(found), 0)]


def _shown(row: Any) -> list[str]:
    shown = [f"{100 * value:.1f}" for value in row]
    for one, other in ((2, 4), (5, 6)):
        best = one if row[one] < row[other] else other
        shown[best] = f"**{shown[best]}**"
    return shown
