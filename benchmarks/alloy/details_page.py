"""benchmarks/results/alloy_details.md: every method in every setting and pool, and what is not run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from benchmarks.alloy import (
    across,
    across_students,
    catch_all,
    details,
    few,
    in_common,
    more_targets,
    outside,
    outside_targets,
    overview,
    six_layers,
    students,
    targets,
    unequal,
    unequal_students,
)
from benchmarks.alloy.cases import MAIN, Case, student_cases, student_outcomes, target_cases, target_outcomes
from benchmarks.alloy.estimated_section import by_setting
from benchmarks.alloy.foreign_section import foreign_section
from benchmarks.alloy.methods import ABLATIONS, EIGHTH, RIVALS
from benchmarks.alloy.none_section import none_section
from benchmarks.alloy.not_run import not_run
from benchmarks.alloy.other_topics_section import other_topics_section
from benchmarks.alloy.repeated_section import repeated_section
from benchmarks.alloy.settings import in_order
from benchmarks.harness.data import NATURAL, SKEWED, UNSEEN_FOREIGN
from benchmarks.harness.sections import Cells, cells_of, how_to_read, made, measured, note, ran
from benchmarks.harness.summary import rows
from benchmarks.harness.table import Table

NOTES = Path(__file__).with_name("notes")
WORDS = {
    "disjoint": "Texts that no teacher has seen; labels about as frequent as in the set.",
    NATURAL: "Unseen texts with a skew as labels often have it: the seed draws an order of the labels, and the label of rank k has a share proportional to 1 / k "
    "(at least 3 texts, at most as many as there are). The test texts have the same shares. Every seed has its own test texts, so the intervals are Student's t over the seeds.",
    "shared": "The teachers' own training texts, without labels.",
    **{name: f"Unseen texts, {ratio} times as many of the {'first' if which == 0 else 'last'} teacher's labels as of all others'."
       for name, (which, ratio) in SKEWED.items()},
    **{name: f"Unseen texts, {100 * share:.0f} % of them replaced by Wikipedia sentences." for name, share in UNSEEN_FOREIGN.items()},
}  # fmt: skip


def details_page() -> list[str]:
    """The lines of the page."""
    taught, read = cells_of(students.TABLE), cells_of(targets.TABLE)
    of_students = {pool: student_cases(taught, pool) for pool in students.TABLE.grid}
    of_targets = {pool: target_cases(read, pool) for pool in targets.TABLE.grid}
    lines = [
        *_students(taught, of_students),
        *_own_labels(of_students),
        f"## Targets by setting, pool: {MAIN}",
        "",
        *overview.by_setting(
            _set_by_set(of_targets[MAIN] + target_cases(cells_of(more_targets.TABLE), MAIN, more_targets.TABLE))
        ),
        *_targets(read, of_targets),
        *_targets_alone(more_targets.TABLE),
        *_targets_alone(in_common.TABLE),
        *_targets_alone(catch_all.TABLE),
        *_targets_alone(unequal.TABLE),
        *_students_alone(unequal_students.TABLE),
        *_targets_alone(six_layers.TABLE),
        *_students_alone(outside.TABLE),
        *_targets_alone(outside_targets.TABLE),
        *_students_alone(across_students.TABLE),
        *_targets_alone(across.TABLE),
        *_by_energy(),
        *foreign_section(),
        *other_topics_section(),
        *repeated_section(),
        *_suggest(),
        *none_section(NOTES),
        *by_setting(),
        *_missing(),
    ]
    return [*_head(), *how_to_read(lines), *lines]


def _set_by_set(cases: Sequence[Case]) -> list[Case]:
    """As a page lists them."""
    order = [s.name for s in in_order([case.setting for case in cases])]
    return sorted(cases, key=lambda case: order.index(case.setting.name))


def _head() -> list[str]:
    return [
        "# Alloy: results in detail",
        "",
        "Every method in every setting and pool. [The results in short](alloy.md) say what the words mean, and have the means.",
        "",
    ]


def _missing() -> list[str]:
    """Cells that have no outcome yet."""
    tables = (students.TABLE, targets.TABLE, more_targets.TABLE, few.TABLE, six_layers.TABLE, in_common.TABLE, catch_all.TABLE, unequal.TABLE, unequal_students.TABLE,
              outside.TABLE, outside_targets.TABLE, across_students.TABLE, across.TABLE)  # fmt: skip
    return ["## Not run yet", "", *(line for table in tables for line in not_run(table, cells_of(table)))]


def _students(cells: Cells, cases: dict[str, list[Case]]) -> list[str]:
    table, lines = students.TABLE, ["## Students in detail", ""]
    if not cells:
        return [*lines, "Not run yet.", ""]
    lines += [*note(NOTES, table.name), *made(table, cells)]
    for pool, methods in table.grid.items():
        settings = [s for s in table.settings if s.name in table.limited.get(pool, [s.name])]
        names = [method for method in methods if method != "teachers"]
        lines += [f"### {table.title}, pool: {pool}", "", WORDS[pool], ""]
        lines += details.accuracies(cells, pool, settings, names, student_outcomes)
        lines += details.differences(cases[pool])
    return lines


def _own_labels(cases: dict[str, list[Case]]) -> list[str]:
    """What the teachers' own labels (Eq. 23) add, in the cases that have both students."""
    told = "Students that learn from Alloy's target alone, and not what each teacher says of its own labels (`own_labels: 0`, the eighth version). Means over sets of the accuracy on test texts."
    return ["## Without the teachers' own labels", "", told, "", *details.ablations(cases, (EIGHTH,))]


def _targets(cells: Cells, cases: dict[str, list[Case]]) -> list[str]:
    lines = ["## Targets in detail", ""]
    if not cells:
        return [*lines, "Not run yet.", "", "## Variants of Alloy", "", "Not run yet.", ""]
    lines += [*note(NOTES, "targets"), *made(targets.TABLE, cells)]
    for pool in targets.TABLE.grid:
        settings = [s for s in targets.TABLE.settings if s.name in targets.TABLE.limited.get(pool, [s.name])]
        names = [*(m for m in RIVALS if m != "muka-soft" or pool == MAIN), "alloy", "gate", "oracle"]
        lines += [f"### Targets, pool: {pool}", "", WORDS[pool], ""]
        lines += details.accuracies(cells, pool, settings, names, target_outcomes)
        lines += details.differences(cases[pool])
        lines += details.on_the_pool(cells, pool, settings, names, targets.TABLE.profile.seeds)
    lines += ["### Teachers", "", *_teachers(cells)]
    told = "Targets of Alloy with other options, in the cases above that have both. Means over sets of the accuracy on test texts."
    return [*lines, "## Variants of Alloy", "", told, "", *details.ablations(cases, tuple(ABLATIONS))]


def _targets_alone(table: Table) -> list[str]:
    """Of a table of targets without variants of Alloy, in one pool."""
    lines, cells = [f"## {table.title}", ""], cells_of(table)
    if not cells:
        return [*lines, "Not run yet.", ""]
    found = target_cases(cells, MAIN, table)
    lines += [*note(NOTES, table.name), *made(table, cells)]
    return [*lines, *overview.by_setting(found), *details.differences(found)]


def _students_alone(table: Table) -> list[str]:
    """Of a table of students in one pool."""
    lines, taught = [f"## {table.title}", ""], cells_of(table)
    if not taught:
        return [*lines, "Not run yet.", ""]
    cases, methods = student_cases(taught, MAIN, table), [m for m in table.grid[MAIN] if m != "teachers"]
    return [
        *lines,
        *note(NOTES, table.name),
        *made(table, taught),
        *overview.by_setting(cases),
        *details.accuracies(taught, MAIN, table.settings, methods, partial(student_outcomes, table=table)),
        *details.differences(cases),
    ]


def _by_energy() -> list[str]:
    """The targets where the mixture is not used, beside the two simplest rules. Only settings that have all three."""
    shown = ("ensemble", "energy", "by_energy")
    groups = {
        "mean": (more_targets.TABLE, in_common.TABLE, across.TABLE),
        "mean, later sets": (outside_targets.TABLE,),
    }
    body = []
    for name, tables in groups.items():
        found: list[list[float]] = []
        for table in tables:
            cells = cells_of(table)
            for setting in table.settings:
                for each in target_outcomes(cells, setting.name, MAIN, table).values():
                    if set(shown) <= each.keys():
                        found.append([each[way].accuracy for way in shown])
                        body.append([setting.title, *map(overview.percent, found[-1])])
        if found:
            means = [sum(column) / len(found) for column in zip(*found, strict=True)]
            body.append([f"*{name}*", *map(overview.percent, means)])
    lines = ["## Where the mixture is not used", "", *note(NOTES, "by_energy")]
    if not body:
        return [*lines, "Not run yet.", ""]
    return [*lines, *rows(["accuracy of the targets on test texts, %", "Ensemble", "Energy", "Eq. 26"], body)]


def _teachers(cells: Cells) -> list[str]:
    """Accuracy of every teacher on the test texts of its own labels, with the first seed."""
    titles = {s.name: s.title for s in targets.TABLE.settings}
    body = []
    for name, title in titles.items():
        cell = cells.get(f"{name}/{MAIN}/0/rivals", {"status": "not run"})
        if cell["status"] == "done":
            body.append([title, ", ".join(f"{100 * own:.0f}" for own in cell["own"])])
    return (
        rows(["seed 0", "accuracy of each teacher on its own labels' test texts, %"], body)
        if body
        else ["Not run yet.", ""]
    )


def _suggest() -> list[str]:
    """Empty until it was run."""
    found = measured("alloy", "suggest")
    if found is None:
        return []
    figures, body = found["figures"], []
    for s in figures["settings"].values():
        for way, accuracy in s["accuracy"].items():
            gains = {n: minus[way] for n, minus in s["suggested_minus"].items() if way in minus}
            told = "; ".join(
                f"{n}: {100 * g['difference']:+.1f} ({100 * g['low']:+.1f} to {100 * g['high']:+.1f})"
                for n, g in gains.items()
            )
            body.append([s["title"], way, s["seeds"], s["test_texts"], f"{100 * accuracy:.1f}", told])
    return [
        "## Suggested labels",
        "",
        f'A student of Alloy (before its ninth version) continues for {figures["epochs"]} epochs (`alloykit update`) with 100 or 300 labelled texts of the pool: those that `alloykit suggest` chose, as many drawn at random, or none. "before" is the student that continues. Last column: '
        "suggested texts minus this way, by number of labelled texts, in points, with the 95 % interval over the test texts of all seeds (of these trained students, not of other trainings).",
        "",
        *rows(["", "labelled texts", "seeds", "test texts", "accuracy", "suggested texts minus this"], body),
        *ran(found),
    ]
