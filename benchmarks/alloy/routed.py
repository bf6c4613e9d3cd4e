"""The routing part of Alloy's page: an overview, then pool by pool, then the pools where the fit was not used."""

from __future__ import annotations

import re

import numpy as np
from scipy import stats

from benchmarks.alloy import routing
from benchmarks.alloy.methods import POOLS, ROUTING, SIZES, STARTS, TITLES, TUNED
from benchmarks.harness.data import SKEWED, UNSEEN_FOREIGN
from benchmarks.harness.sections import Cells
from benchmarks.harness.summary import Part, rows, spread
from benchmarks.harness.table import Table

FALLEN = re.compile(
    ": MUKA's weights (are used instead|serve)"
)  # what it says now, and what it said when the committed results were made
BALANCED, PLAIN = "right_teacher_balanced", "right_teacher"
WORDS = {
    "shared": "The teachers' own training texts, without labels.",
    "disjoint": "Texts that no teacher has seen.",
    **{name: f"Unseen texts, {ratio} times as many of the {'first' if which == 0 else 'last'} teacher's labels as of all others'."
       for name, (which, ratio) in SKEWED.items()},
    **{name: f"Unseen texts, {share:.0%} of them replaced by Wikipedia sentences." for name, share in UNSEEN_FOREIGN.items()},
}  # fmt: skip


def body(_: Table, cells: Cells) -> list[str]:
    lines = overview(cells)
    for pool in POOLS:
        lines += [f"### Pool: {pool}", "", WORDS[pool], ""]
        lines += _routed(cells, pool, "right_teacher_balanced", "routing accuracy, balanced over teachers, %")
        lines += _routed(
            cells, pool, "right_teacher", "routing accuracy, plain: texts that go to a teacher that knows them, %"
        )
        lines += _routed(cells, pool, "accuracy", "accuracy of the target on these texts, %")
        lines += _routed(cells, pool, "surprise", "mean −log of the target of the true label, hundredths of a nat")
        if pool in UNSEEN_FOREIGN:
            lines += _routed(cells, pool, "weight_on_foreign", "share of the weight on foreign texts, %")
    return [*lines, *not_used(cells)]


def overview(cells: Cells) -> list[str]:
    """Means over sets: Alloy, one plain pass of MUKA and the gate by pool; every start of Alloy; the weight on foreign texts by seed."""
    parts = {(s.name, pool): Part(cells, s.name, pool) for pool in POOLS for s in routing.TABLE.settings}
    parts = {at: part for at, part in parts.items() if part.seeds("routes")}
    if not parts:
        return []

    def mean(way: str, key: str) -> dict[tuple[str, str], float]:
        path = ("gate", "pool", key) if way == "gate" else ("routes", "routes", way, key)
        return {at: 100 * float(np.mean(part.values(*path) or np.nan)) for at, part in parts.items()}

    def over(found: dict[tuple[str, str], float], these: list[tuple[str, str]]) -> str:
        return f"{np.mean([found[at] for at in these]):.1f}"

    muka, alloy, gate = (mean(way, BALANCED) for way in ("muka-entropy", "alloy-entropy", "gate"))
    plain = [mean(way, key) for key in (PLAIN, "accuracy") for way in ("muka-entropy", "alloy-entropy")]
    groups = {pool: [at for at in parts if at[1] == pool] for pool in POOLS}
    groups = {pool: these for pool, these in groups.items() if these} | {"all": list(parts)}
    by_pool = [
        [name, len(these), *(over(f, these) for f in (muka, alloy, gate)), sum(alloy[at] > muka[at] for at in these), *(over(f, these) for f in plain)]
        for name, these in groups.items()
    ]  # fmt: skip
    kinds = {"sets of the choice": True, "other sets": False}
    which = {k: [at for at in parts if (at[0].split("-")[0] in TUNED) is tuned] for k, tuned in kinds.items()} | {
        "all": list(parts)
    }
    ways = [f"{m}-{c}" for m in ("muka", "alloy") for c in STARTS] + ["gate"]
    by_way = [
        [
            "MUKA's confidence of one plain pass" if way == "muka-entropy" else TITLES[way],
            *(over(mean(way, BALANCED), these) if these else "–" for these in which.values()),
        ]
        for way in ways
    ]
    return [
        *rows(
            ["", "sets", "balanced routing accuracy: MUKA, one plain pass", "Alloy", "supervised gate", "Alloy above MUKA in", "plain routing accuracy: MUKA", "Alloy", "accuracy of the target: MUKA", "Alloy"],
            by_pool,
        ),
        *rows(["balanced routing accuracy, %", *which], by_way),
        *rows(["weight on foreign texts, % (each seed)", "MUKA, one plain pass", "Alloy"], _foreign(parts)),
    ]  # fmt: skip


def _foreign(parts: dict[tuple[str, str], Part]) -> list[list[str]]:
    titles = {s.name: s.title for s in routing.TABLE.settings}
    told = []
    for (name, pool), part in parts.items():
        if pool in UNSEEN_FOREIGN:
            each = [
                part.values("routes", "routes", way, "weight_on_foreign") for way in ("muka-entropy", "alloy-entropy")
            ]
            told.append([f"{titles[name]}: {pool}", *(", ".join(f"{100 * v:.0f}" for v in values) for values in each)])
    return told


def not_used(cells: Cells) -> list[str]:
    """Where Alloy's fit was not used, and why."""
    done = {
        k.removesuffix("/routes"): c["routes"]
        for k, c in cells.items()
        if c["status"] == "done" and k.endswith("/routes")
    }
    why = {
        k: [line for line in routes["alloy-entropy"]["warnings"] if FALLEN.search(line)] for k, routes in done.items()
    }
    table = [[where, "; ".join(FALLEN.sub("", line) for line in lines)] for where, lines in why.items() if lines]
    if not table:
        return []
    told = f"Alloy used MUKA's weights instead of its own fit in {len(table)} of {len(done)} pools (setting / pool / seed). The reasons are in the words of that version:"
    return [told, "", *rows(["pool", "reason"], table)]


def _routed(cells: Cells, pool: str, key: str, heading: str) -> list[str]:
    there = [s for s in routing.TABLE.settings if any(k.startswith(f"{s.name}/{pool}/") for k in cells)]
    if not there:
        return []
    ways = [m for m in ROUTING if SIZES["passes"][pool] or not ROUTING[m]["of"].get("passes")]
    found = {m: [Part(cells, s.name, pool).values("routes", "routes", m, key) for s in there] for m in ways}
    if key.startswith("right_teacher"):
        found["gate"] = [Part(cells, s.name, pool).values("gate", "pool", key) for s in there]
    tuned = [s.name.split("-")[0] in TUNED for s in there]
    table = [
        [TITLES[m], *(spread(v) for v in values), *(_mean(values, tuned, which) for which in (True, False))]
        for m, values in found.items()
    ]
    less = [difference(a, b) for a, b in zip(found["alloy-entropy"], found[ways[0]], strict=True)]
    table.append(
        [
            f"Alloy − {TITLES[ways[0]].removeprefix('– ')} (95 % interval of Student's t over seeds)",
            *less,
            "",
            "",
        ]
    )
    return rows(
        [heading, *(s.title for s in there), "mean over the sets of the choice", "mean over the other sets"], table
    )


def difference(mine: list[float], other: list[float]) -> str:
    """In points, with Student's 95 % interval over the seeds. Each seed has its own texts here, so the spread over seeds includes the chance in the texts."""
    if len(mine) != len(other) or not mine:
        return "–"
    d = 100 * (np.array(mine) - np.array(other))
    if len(d) < 2:
        return f"{d.mean():+.1f}".replace("-", "−")
    half = float(stats.t.ppf(0.975, len(d) - 1)) * d.std(ddof=1) / np.sqrt(len(d))
    return f"{d.mean():+.1f} ({d.mean() - half:+.1f} to {d.mean() + half:+.1f})".replace("-", "−")


def _mean(values: list[list[float]], tuned: list[bool], which: bool) -> str:
    have = [float(np.mean(v)) for v, chosen in zip(values, tuned, strict=True) if v and chosen is which]
    return f"{100 * float(np.mean(have)):.1f}" if have else "–"
