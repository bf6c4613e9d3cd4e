"""benchmarks/results/alloy.md, from the committed results and what was written by hand in notes/."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy import stats

from alloykit.files import write_atomic
from benchmarks.alloy import bar, routing, seeds, students
from benchmarks.alloy.methods import POOLS, ROUTING, SIZES, STUDENTS, TITLES, TUNED
from benchmarks.harness.data import SKEWED, UNSEEN_FOREIGN
from benchmarks.harness.profiles import SMALL
from benchmarks.harness.results import RESULTS
from benchmarks.harness.sections import Cells, accuracies, cells_of, comparisons, measured, note, ran, section
from benchmarks.harness.summary import Part, rows, spread
from benchmarks.harness.table import Table

FALLEN = ": MUKA's weights serve"
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
        f"[What it is, and how it was found](../../docs/alloy.md): chosen on {' and '.join(TUNED)}; what was known of the other sets by then stands there. "
        "Profile `small` of the other pages; three seeds, each with its own texts, teachers and students.",
        "",
        *note(NOTES, "summary"),
        *section(students.TABLE, NOTES, _students),
        *section(seeds.TABLE, NOTES, _seeds),
        *section(routing.TABLE, NOTES, _routing),
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


def _seeds(table: Table, cells: Cells) -> list[str]:
    """Nine students of each target, three of each set of teachers: how far the means of three lie apart, and how far the three."""
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
    return rows(
        ["", "", "mean of nine, %", "sd of the teachers' means", "sd of students of the same teachers", "range"], body
    )


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
        lines += _routed(cells, pool, "surprise", "mean −log target of the true label, hundredths of a nat")
        if pool in UNSEEN_FOREIGN:
            lines += _routed(cells, pool, "weight_on_foreign", "share of all weight that is on foreign texts, %")
    return [*lines, *_not_used(cells)]


def _not_used(cells: Cells) -> list[str]:
    """Where Alloy's fit was not used, and why."""
    done = {
        k.removesuffix("/routes"): c["routes"]
        for k, c in cells.items()
        if c["status"] == "done" and k.endswith("/routes")
    }
    why = {k: [line for line in routes["alloy-entropy"]["warnings"] if FALLEN in line] for k, routes in done.items()}
    body = [[where, "; ".join(line.replace(FALLEN, "") for line in lines)] for where, lines in why.items() if lines]
    if not body:
        return []
    told = f"Alloy fell back to MUKA's weights in {len(body)} of {len(done)} pools (setting / pool / seed):"
    return [told, "", *rows(["where", "why"], body)]


def _routed(cells: Cells, pool: str, key: str, heading: str) -> list[str]:
    there = [s for s in routing.TABLE.settings if any(k.startswith(f"{s.name}/{pool}/") for k in cells)]
    if not there:
        return []
    ways = [m for m in ROUTING if SIZES["passes"][pool] or not ROUTING[m]["of"].get("passes")]
    found = {m: [Part(cells, s.name, pool).values("routes", "routes", m, key) for s in there] for m in ways}
    if key.startswith("right_teacher"):
        found["gate"] = [Part(cells, s.name, pool).values("gate", "pool", key) for s in there]
    tuned = [s.name.split("-")[0] in TUNED for s in there]
    body = [
        [TITLES[m], *(spread(v) for v in values), *(_mean(values, tuned, which) for which in (True, False))]
        for m, values in found.items()
    ]
    less = [_difference(a, b) for a, b in zip(found["alloy-entropy"], found[ways[0]], strict=True)]
    body.append([f"Alloy − {TITLES[ways[0]].removeprefix('– ')} (95 % interval)", *less, "", ""])
    return rows([heading, *(s.title for s in there), "mean of the sets it was chosen on", "mean of the others"], body)


def _difference(mine: list[float], other: list[float]) -> str:
    """In points, with Student's interval over the seeds."""
    if len(mine) != len(other) or not mine:
        return "–"
    d = 100 * (np.array(mine) - np.array(other))
    if len(d) < 2:
        return f"{d.mean():+.1f}"
    half = float(stats.t.ppf(0.975, len(d) - 1)) * d.std(ddof=1) / np.sqrt(len(d))
    return f"{d.mean():+.1f} ({d.mean() - half:+.1f} to {d.mean() + half:+.1f})"


def _mean(values: list[list[float]], tuned: list[bool], which: bool) -> str:
    have = [float(np.mean(v)) for v, chosen in zip(values, tuned, strict=True) if v and chosen is which]
    return f"{100 * float(np.mean(have)):.1f}" if have else "–"


def _students(table: Table, cells: Cells) -> list[str]:
    found = bar.cases(cells)
    lines = [*bar.summary(found), *bar.picture(found), *bar.each(found)] if found else []
    for pool in table.grid:
        lines += [f"### Students, pool: {pool}", "", WORDS[pool], ""]
        titles = {m: TITLES[m] for m in STUDENTS if m in table.grid[pool]}
        lines += accuracies(table, cells, pool, titles)
        lines += comparisons(table, cells, pool, TITLES, ("alloy",), [m for m in titles if m != "alloy"])
    return lines
