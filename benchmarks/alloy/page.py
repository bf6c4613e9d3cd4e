"""benchmarks/results/alloy.md, from the committed results and what was written by hand in notes/."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from alloykit.files import write_atomic
from benchmarks.alloy import bar, routed, routing, seeds, students
from benchmarks.alloy.methods import STUDENTS, TITLES, TUNED
from benchmarks.harness.profiles import SMALL
from benchmarks.harness.results import RESULTS
from benchmarks.harness.sections import (
    Cells,
    accuracies,
    cells_of,
    comparisons,
    how_to_read,
    measured,
    note,
    ran,
    section,
)
from benchmarks.harness.summary import Part, rows
from benchmarks.harness.table import Table

NOTES = Path(__file__).with_name("notes")


def write() -> None:
    head = [
        "# Alloy: results",
        "",
        f"[What Alloy is](../../docs/methods/alloy.md), and [how it was developed](../../docs/dev/alloy-history.md). It was chosen on {' and '.join(TUNED)}; the second page says what was known about the other sets at that time. "
        "Profile `small`, as on the other pages. Three seeds, each with its own texts, teachers and students.",
        "",
        *note(NOTES, "summary"),
    ]
    taught = section(students.TABLE, NOTES, _students)
    lines = [
        *section(seeds.TABLE, NOTES, _seeds),
        *section(routing.TABLE, NOTES, routed.body),
        *_cost(),
    ]
    write_atomic(RESULTS / "alloy.md", "\n".join([*head, *how_to_read(taught), *taught, *lines]).rstrip() + "\n")


def _cost() -> list[str]:
    lines, found = ["## Time", ""], measured("alloy", "cost")
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
        "Whole runs from teachers and texts to a student, without report, evaluation or cached outputs. Medians of "
        f"{found['figures']['rounds']} rounds; every round runs every method. Last column: Alloy's time divided by this method's time (in brackets: the middle half of the rounds).",
        "",
        *rows(["", "", "seconds", "of which training", "Alloy / this method"], body),
        *ran(found),
    ]


def _seeds(table: Table, cells: Cells) -> list[str]:
    """Nine students of each method, three for each set of teachers: the spread of the means of three, and the spread within the three."""
    both = cells_of(students.TABLE) | cells
    body = []
    for s in table.settings:
        part = Part(both, s.name, "disjoint")
        each = {
            m: [part.values(name, "accuracy") for name in (m, *(seeds.named(m, n) for n in seeds.STUDENT_SEEDS))]
            for m in seeds.TARGETS
        }
        if {len(values) for way in each.values() for values in way} != {len(SMALL.seeds)}:
            continue  # not run, or not all of it
        found = {TITLES[m]: 100 * np.array(each[m]).T for m in seeds.TARGETS}
        found["Alloy − MUKA-Soft"] = found[TITLES["alloy"]] - found[TITLES["muka-soft"]]
        for name, a in found.items():
            within = float(np.sqrt(a.var(1, ddof=1).mean()))
            body.append(
                [
                    s.title,
                    name,
                    f"{a.mean():.1f}",
                    f"{a.mean(1).std(ddof=1):.1f}",
                    f"{within:.1f}",
                    f"{a.min():.1f} to {a.max():.1f}",
                ]
            )
    return rows(["", "", "mean of nine, %", "sd over teachers", "sd over students of the same teachers", "range"], body)


def _students(table: Table, cells: Cells) -> list[str]:
    found = bar.cases(cells)
    lines = [*bar.summary(found), *bar.figure_of(found), *bar.each(found)] if found else []
    for pool in table.grid:
        lines += [f"### Students, pool: {pool}", "", routed.WORDS[pool], ""]
        titles = {m: TITLES[m] for m in STUDENTS if m in table.grid[pool]}
        lines += accuracies(table, cells, pool, titles)
        lines += comparisons(table, cells, pool, TITLES, ("alloy",), [m for m in titles if m != "alloy"])
    return lines
