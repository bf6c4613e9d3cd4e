"""Every method in every setting of a pool, the pool's own texts, and Alloy's variants."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from benchmarks.alloy.cases import Case, Outcome
from benchmarks.alloy.methods import TITLES
from benchmarks.alloy.overview import groups, over_sets, percent, signed
from benchmarks.alloy.settings import in_order
from benchmarks.harness.sections import Cells
from benchmarks.harness.settings import Setting
from benchmarks.harness.summary import corrected, points, rows

Read = Callable[[Cells, str, str], Mapping[int, Mapping[str, Outcome]]]


def accuracies(cells: Cells, pool: str, settings: Sequence[Setting], methods: Sequence[str], read: Read) -> list[str]:
    """Accuracy / balanced accuracy on the test texts, means over the seeds that a method has; their number where it is not three."""
    body = []
    for setting in in_order(settings):
        found = read(cells, setting.name, pool)
        each = {m: [by_method[m] for by_method in found.values() if m in by_method] for m in methods}
        if any(each.values()):
            body.append([setting.title, *(_both(each[m]) for m in methods)])
    return (
        rows(["accuracy / balanced accuracy, %", *(TITLES[m] for m in methods)], body) if body else ["Not run yet.", ""]
    )


def _both(found: Sequence[Outcome]) -> str:
    if not found:
        return "–"
    seeds = "" if len(found) == 3 else f" ({len(found)} seed{'s' if len(found) > 1 else ''})"
    return f"{percent(np.mean([o.accuracy for o in found]))} / {percent(np.mean([o.balanced for o in found]))}{seeds}"


def differences(cases: Sequence[Case]) -> list[str]:
    """Alloy minus every rival and oracle routing; bold after Holm's correction over the row."""
    if not cases:
        return []
    others = [*max((c.rivals for c in cases), key=len), "oracle"]
    body = []
    for c in cases:
        there = [m for m in others if m in (*c.rivals, "oracle")]
        told = dict(zip(there, map(points, corrected([c.less(m) for m in there])), strict=True))
        body.append([c.setting.title, *(told.get(m, "–") for m in others)])
    return rows(["Alloy minus … (bold: over the row)", *(TITLES[m] for m in others)], body)


def on_the_pool(
    cells: Cells, pool: str, settings: Sequence[Setting], methods: Sequence[str], seeds: Sequence[int]
) -> list[str]:
    """The same for the pool's own texts, and the weight on foreign ones."""
    body, weights = [], []
    for setting in in_order(settings):
        ways = [_ways(cells, setting.name, pool, seed) for seed in seeds]
        each = {m: [by_method[m] for by_method in ways if m in by_method] for m in methods}
        if not any(each.values()):
            continue
        told = [
            f"{_mean([w['pool']['accuracy'] for w in each[m]])} / {_mean([w['pool']['balanced_accuracy'] for w in each[m]])}"
            for m in methods
        ]
        body.append([setting.title, *told])
        weights.append(
            [
                setting.title,
                *(_mean([w["weight_on_foreign"] for w in each[m] if "weight_on_foreign" in w]) for m in methods),
            ]
        )
    if not body:
        return []
    headings = [TITLES[m] for m in methods]
    lines = rows(["the pool's own texts, %", *headings], body)
    if any(value != "–" for row in weights for value in row[1:]):
        lines += rows(["share of the weight on foreign texts, %", *headings], weights)
    return lines


def ablations(cases: Mapping[str, Sequence[Case]], variants: Sequence[str]) -> list[str]:
    """By pool and variant: the mean over sets, in the cases that have both."""
    body = []
    for pool, these in cases.items():
        for variant in variants:
            both = [c for c in these if all(variant in found for found in c.outcomes.values())]
            for name, some in groups(both).items():
                gained = {c.setting.title: c.mean(variant) - c.mean("alloy") for c in some}
                worst, best = min(gained, key=lambda t: gained[t]), max(gained, key=lambda t: gained[t])
                body.append([
                    pool, TITLES.get(variant, variant), name, len(some), percent(over_sets(some, lambda c: c.mean("alloy"))),
                    percent(over_sets(some, lambda c, v=variant: c.mean(v))),  # type: ignore[misc]
                    f"{signed(gained[worst])} ({worst})", f"{signed(gained[best])} ({best})",
                ])  # fmt: skip
    headings = ["pool", "variant", "", "settings", "Alloy, %", "variant, %", "lowest variant − Alloy", "highest"]
    return rows(headings, body) if body else ["Not run yet.", ""]


def _ways(cells: Cells, setting: str, pool: str, seed: int) -> dict[str, dict[str, object]]:
    """By method, of one seed."""
    mark = f"{setting}/{pool}/{seed}/"
    done = {key.removeprefix(mark): c for key, c in cells.items() if key.startswith(mark) and c["status"] == "done"}
    return done.pop("rivals", {"ways": {}})["ways"] | done


def _mean(values: Sequence[float]) -> str:
    return percent(float(np.mean(values))) if values else "–"
