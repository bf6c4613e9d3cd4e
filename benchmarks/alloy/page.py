"""benchmarks/results/alloy.md, from the committed results and what was written by hand in notes/."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from alloykit.files import write_atomic
from benchmarks.alloy import routing, students
from benchmarks.alloy.methods import POOLS, ROUTING, SIZES, STUDENTS, TITLES, TUNED
from benchmarks.harness.data import SKEWED, UNSEEN_FOREIGN
from benchmarks.harness.results import RESULTS
from benchmarks.harness.sections import Cells, accuracies, comparisons, measured, note, ran, section
from benchmarks.harness.summary import Part, rows, spread
from benchmarks.harness.table import Table

NOTES = Path(__file__).with_name("notes")
WORDS = {
    "shared": "The teachers' own training texts, labels forgotten.",
    "disjoint": "Texts that no teacher has seen.",
    **{name: f"Unseen texts, {ratio} times as many of the {'first' if which == 0 else 'last'} teacher's labels as of all others'."
       for name, (which, ratio) in SKEWED.items()},
    **{name: f"Unseen texts, {share:.0%} of them replaced by Wikipedia sentences." for name, share in UNSEEN_FOREIGN.items()},
}  # fmt: skip


def write() -> None:
    lines = [
        "# Alloy: routing that earns its trust",
        "",
        f"[What it is](../../docs/alloy.md). Everything about it was chosen on {' and '.join(TUNED)}; the other sets were run once, with "
        "those settings. Profile `small` of the other pages; three seeds, each with its own texts, teachers and students.",
        "",
        *note(NOTES, "summary"),
        *section(routing.TABLE, NOTES, _routing),
        *section(students.TABLE, NOTES, _students),
        *_cost(),
    ]
    write_atomic(RESULTS / "alloy.md", "\n".join(lines).rstrip() + "\n")


def _cost() -> list[str]:
    lines, found = ["## What it costs", ""], measured("alloy", "cost")
    if found is None:
        return [*lines, "Not run yet.", ""]
    body = []
    for s in found["figures"]["settings"].values():
        for way, seconds in s["seconds"].items():
            against = s["alloy_against"].get(way)
            told = f"{against['ratio']:.2f} ({against['from']:.2f}–{against['to']:.2f})" if against else ""
            body.append([s["title"], way, seconds, s["of_which_training"][way], told])
    return [
        *lines,
        "Whole runs without report and evaluation, from teachers and texts to a student, nothing read before; medians of "
        f"{found['figures']['rounds']} rounds, in each of which every method has its turn. Last: Alloy's time as a multiple of this one's (middle half of the rounds).",
        "",
        *rows(["", "", "s in all", "s of training", "Alloy against it"], body),
        *ran(found),
    ]


def _routing(_: Table, cells: Cells) -> list[str]:
    lines = []
    for pool in POOLS:
        lines += [f"### Pool: {pool}", "", WORDS[pool], ""]
        lines += _routed(
            cells, pool, "right_teacher_balanced", "balanced: mean over the teachers of the share of their texts, %"
        )
        lines += _routed(
            cells, pool, "right_teacher", "plain: share of all texts that go to a teacher that knows them, %"
        )
        lines += _routed(cells, pool, "accuracy", "the target's own accuracy on these texts, %")
        if pool in UNSEEN_FOREIGN:
            lines += _routed(cells, pool, "weight_on_foreign", "share of all weight that is on foreign texts, %")
    return [*lines, *_not_used(cells)]


def _not_used(cells: Cells) -> list[str]:
    """Where Alloy's fit was not used, and what else it warned of."""
    body = []
    for key, cell in cells.items():
        if cell["status"] == "done" and key.endswith("/routes"):
            said = cell["routes"]["alloy-entropy"]["warnings"]
            body += [[key.removesuffix("/routes"), line] for line in said]
    if not body:
        return []
    done = sum(cell["status"] == "done" and key.endswith("/routes") for key, cell in cells.items())
    fallen = len({where for where, line in body if "MUKA's weights serve" in line})
    return [
        f"Alloy fell back to MUKA's weights in {fallen} of {done} pools. What it warned of (setting / pool / seed):",
        "",
        *rows(["where", "warning"], body),
    ]


def _routed(cells: Cells, pool: str, key: str, heading: str) -> list[str]:
    there = [s for s in routing.TABLE.settings if any(k.startswith(f"{s.name}/{pool}/") for k in cells)]
    if not there:
        return []
    ways = [m for m in ROUTING if SIZES["passes"][pool] or not ROUTING[m]["of"].get("passes")]
    found = {m: [Part(cells, s.name, pool).values("routes", "routes", m, key) for s in there] for m in ways}
    if key != "weight_on_foreign" and key != "accuracy":
        found["gate"] = [Part(cells, s.name, pool).values("gate", "pool", key) for s in there]
    tuned = [s.name.split("-")[0] in TUNED for s in there]
    body = [
        [TITLES[m], *(spread(v) for v in values), *(_mean(values, tuned, which) for which in (True, False))]
        for m, values in found.items()
    ]
    return rows([heading, *(s.title for s in there), "mean of the sets it was chosen on", "mean of the others"], body)


def _mean(values: list[list[float]], tuned: list[bool], which: bool) -> str:
    have = [float(np.mean(v)) for v, chosen in zip(values, tuned, strict=True) if v and chosen is which]
    return f"{100 * float(np.mean(have)):.1f}" if have else "–"


def _students(table: Table, cells: Cells) -> list[str]:
    lines = _bar(cells)
    for pool in table.grid:
        lines += [f"### Students, pool: {pool}", "", WORDS[pool], ""]
        titles = {m: TITLES[m] for m in STUDENTS if m in table.grid[pool]}
        lines += accuracies(table, cells, pool, titles)
        lines += comparisons(table, cells, pool, TITLES, ("alloy",), [m for m in titles if m != "alloy"])
    return lines


def _bar(cells: Cells) -> list[str]:
    """How much of the way from MUKA-Soft to perfect routing the student goes."""
    body, shares = [], {True: list[tuple[float, float]](), False: list[tuple[float, float]]()}
    for pool in students.TABLE.grid:
        for s in students.TABLE.settings:
            part = Part(cells, s.name, pool)
            low, mine, high = (part.values(m, "accuracy") for m in ("muka-soft", "alloy", "oracle"))
            if not (low and mine and high):
                continue
            a, b, c = (float(np.mean(v)) for v in (low, mine, high))
            shares[s.name.split("-")[0] in TUNED].append((b - a, c - a))
            closed = f"{(b - a) / (c - a):.0%}" if c - a > 0.01 else "no gap"
            more = 100 * (np.array(part.balanced("alloy")) - np.array(part.balanced("muka-soft")))
            spread_of = f" ± {np.std(more, ddof=1):.1f}" if len(more) > 1 else ""
            body.append(
                [pool, s.title, *(f"{100 * v:.1f}" for v in (a, b, c)), closed, f"{np.mean(more):+.1f}{spread_of}"]
            )
    if not body:
        return []
    for which, name in ((True, "the sets it was chosen on"), (False, "the others")):
        if shares[which]:
            gained, gap = (sum(v) for v in zip(*shares[which], strict=True))
            body.append([name, "", "", "", "", f"{gained / gap:.0%} of the summed gap", ""])
    headings = [
        "pool",
        "set",
        "MUKA-Soft, %",
        "Alloy, %",
        "perfect routing, %",
        "closed",
        "balanced accuracy, Alloy − MUKA-Soft, points (± over seeds)",
    ]
    return rows(headings, body)
