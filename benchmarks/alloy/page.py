"""benchmarks/results/alloy.md, from the committed results and what was written by hand in notes/."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from alloykit.files import write_atomic
from benchmarks.alloy import (
    across,
    across_students,
    details,
    earlier_students,
    few,
    in_common,
    more_targets,
    overview,
    six_layers,
    students,
    targets,
)
from benchmarks.alloy.cases import Case, student_cases, student_outcomes, target_cases, target_outcomes
from benchmarks.alloy.estimated import estimated_section
from benchmarks.alloy.few_page import few_labels
from benchmarks.alloy.foreign_section import foreign_section
from benchmarks.alloy.methods import ABLATIONS, EIGHTH, RIVAL_STUDENTS, RIVALS, TITLES, K
from benchmarks.alloy.none_section import none_section
from benchmarks.alloy.not_run import not_run
from benchmarks.alloy.profile import PROFILE
from benchmarks.alloy.settings import CHOICE, REPORTED, in_order
from benchmarks.harness.data import NATURAL, SKEWED, UNSEEN_FOREIGN
from benchmarks.harness.results import RESULTS
from benchmarks.harness.sections import Cells, cells_of, how_to_read, made, measured, note, ran
from benchmarks.harness.sets import SETS
from benchmarks.harness.summary import rows
from benchmarks.harness.table import Table

NOTES = Path(__file__).with_name("notes")
MAIN = "disjoint"
WORDS = {
    "disjoint": "Texts that no teacher has seen; labels about as frequent as in the set.",
    NATURAL: "Unseen texts with a skew as labels often have it: the seed draws an order of the labels, and the label of rank k has a share proportional to 1 / k "
    "(at least 3 texts, at most as many as there are). The test texts have the same shares. Every seed has its own test texts, so the intervals are Student's t over the seeds.",
    "shared": "The teachers' own training texts, without labels.",
    **{name: f"Unseen texts, {ratio} times as many of the {'first' if which == 0 else 'last'} teacher's labels as of all others'."
       for name, (which, ratio) in SKEWED.items()},
    **{name: f"Unseen texts, {100 * share:.0f} % of them replaced by Wikipedia sentences." for name, share in UNSEEN_FOREIGN.items()},
}  # fmt: skip


def write() -> None:
    tables = (students.TABLE, earlier_students.TABLE, targets.TABLE, more_targets.TABLE, few.TABLE, six_layers.TABLE)
    taught, earlier, read, more_read, labelled, deeper = (cells_of(table) for table in tables)
    tables = (*tables, in_common.TABLE, across_students.TABLE, across.TABLE)
    of_students = {pool: student_cases(taught, pool) for pool in students.TABLE.grid}
    of_earlier = {pool: student_cases(earlier, pool, earlier_students.TABLE) for pool in earlier_students.TABLE.grid}
    of_targets = {pool: target_cases(read, pool) for pool in targets.TABLE.grid}
    of_dealt = target_cases(more_read, MAIN, more_targets.TABLE)
    found = [
        *_short(of_students, of_targets | {MAIN: _set_by_set(of_targets[MAIN] + of_dealt)}),
        *_students(students.TABLE, "Students in detail", taught, of_students),
        *_own_labels(of_students),
        *_students(earlier_students.TABLE, "Students of the eighth version", earlier, of_earlier),
        *(["In pool disjoint:", "", *overview.told(of_earlier[MAIN])] if of_earlier[MAIN] else []),
        *_targets(read, of_targets),
        *_targets_alone(more_targets.TABLE, more_read),
        *_targets_alone(in_common.TABLE, cells_of(in_common.TABLE)),
        *_targets_alone(six_layers.TABLE, deeper),
        *_across(),
        *_by_energy(),
        *foreign_section(),
        *few_labels(labelled),
        *_suggest(),
        *none_section(NOTES),
        *estimated_section(
            read,
            targets.TABLE.settings,
            {
                "labels dealt again, overlapping or uneven": (more_read, more_targets.TABLE.settings),
                "many labels in common": (cells_of(in_common.TABLE), in_common.TABLE.settings),
                "six layers": (deeper, six_layers.TABLE.settings),
                "different data sets": (cells_of(across.TABLE), across.TABLE.settings),
            },
        ),
        *_cost(),
    ]
    short, rest = found[: found.index("## Students in detail")], found[found.index("## Students in detail") :]
    missing = [
        "## Not run yet",
        "",
        *(line for table in tables if table is not earlier_students.TABLE for line in not_run(table, cells_of(table))),
    ]
    lines = [*_head(), *short, *how_to_read(found), *rest, *missing]
    write_atomic(RESULTS / "alloy.md", "\n".join(lines).rstrip() + "\n")


def _head() -> list[str]:
    def titles(names: tuple[str, ...]) -> str:
        return ", ".join(SETS[name].title for name in names)

    sizes = PROFILE.of_sets(["banking77", "thucnews_titles"], "sizes")
    return [
        "# Alloy: results",
        "",
        "[What Alloy is](../../docs/methods/alloy.md), and [how it was developed](../../docs/dev/alloy-history.md).",
        "",
        f"- **Sets of the choice** ({titles(CHOICE)}): the method was chosen by what came of them. **Reported sets** ({titles(REPORTED)}): it was not.",
        '- **Settings.** Every set by topic (labels cut in the set\'s order) and in up to three deals: labels dealt to the teachers at random. "Overlapping": every teacher also knows '
        'a quarter of the next one\'s labels. "Barely trained": a third of the epochs at half the learning rate.',
        f"- **Sizes.** {PROFILE.texts:,} texts for the teachers and as many for the pool (Banking77: {sizes['texts']:,}), {PROFILE.test} test texts, {PROFILE.max_length} tokens of each "
        f"(THUCNews: {sizes['max_length']}), models of three layers. Every seed has its own texts, teachers and students. Teachers, outputs and students are computed in float32, or in {PROFILE.precision} where the table says so.",
        "- **Students** are trained with alloykit's default learning rate and number of epochs. **Targets** are what students would learn from: the label with the largest share in the target of a test "
        "text. No student is trained for them.",
        f"- **Best rival**: of the rivals that need no labels, the one that is right most often on the test texts, in the mean over the seeds. It is chosen after the fact, anew for every setting and pool, so no "
        f"user could choose it. Rivals of students: {' and '.join(TITLES[m] for m in RIVAL_STUDENTS if m not in students.MORE_RIVALS)}; of teachers cut by topic in pool {MAIN} "
        f"also {', '.join(TITLES[m] for m in students.MORE_RIVALS)}. Rivals of targets: {', '.join(TITLES[m] for m in RIVALS)} (MUKA's {K} passes in pool {MAIN} only).",
        "- **Share of the gap closed**: (Alloy − best rival) / (oracle routing − best rival), where oracle routing gains more than a point. Oracle routing asks, for every text, the teachers that "
        "know its label. A mean over sets counts every set once.",
        "",
        *note(NOTES, "summary"),
    ]  # fmt: skip


def _short(of_students: dict[str, list[Case]], of_targets: dict[str, list[Case]]) -> list[str]:
    return [
        "## In short",
        "",
        "### Students by set, all settings and pools",
        "",
        *overview.by_set([case for cases in of_students.values() for case in cases]),
        f"### Students by setting, pool: {MAIN}",
        "",
        *overview.by_setting(of_students[MAIN]),
        f"### Targets by setting, pool: {MAIN}",
        "",
        *overview.by_setting(of_targets[MAIN]),
        "### Students, all pools",
        "",
        *overview.by_pool(of_students),
        "### Targets, all pools",
        "",
        *overview.by_pool(of_targets),
    ]


def _students(table: Table, heading: str, cells: Cells, cases: dict[str, list[Case]]) -> list[str]:
    lines = [f"## {heading}", ""]
    if not cells:
        return [*lines, "Not run yet.", ""]
    lines += [*note(NOTES, table.name), *made(table, cells)]
    for pool, methods in table.grid.items():
        settings = [s for s in table.settings if s.name in table.limited.get(pool, [s.name])]
        names = [method for method in methods if method != "teachers"]
        lines += [f"### {table.title}, pool: {pool}", "", WORDS[pool], ""]
        lines += details.accuracies(cells, pool, settings, names, partial(student_outcomes, table=table))
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


def _targets_alone(table: Table, cells: Cells) -> list[str]:
    """Of a table of targets without variants of Alloy, in one pool."""
    lines = [f"## {table.title}", ""]
    if not cells:
        return [*lines, "Not run yet.", ""]
    found = target_cases(cells, MAIN, table)
    lines += [*note(NOTES, table.name), *made(table, cells)]
    return [*lines, *overview.by_setting(found), *details.differences(found)]


def _across() -> list[str]:
    """Teachers of different data sets: students and targets."""
    taught = cells_of(across_students.TABLE)
    cases = student_cases(taught, MAIN, across_students.TABLE)
    return [
        f"## {across_students.TABLE.title}",
        "",
        *(note(NOTES, across_students.TABLE.name) if taught else []),
        *(made(across_students.TABLE, taught) if taught else []),
        *overview.by_setting(cases),
        *details.differences(cases),
        *_targets_alone(across.TABLE, cells_of(across.TABLE)),
    ]


def _by_energy() -> list[str]:
    """The targets where the mixture is not used, beside the two simplest rules. Only settings that have all three."""
    shown = ("ensemble", "energy", "by_energy")
    found: list[tuple[str, list[float]]] = []
    for table in (more_targets.TABLE, in_common.TABLE, across.TABLE):
        outcomes = {s: target_outcomes(cells_of(table), s.name, MAIN, table) for s in table.settings}
        for setting, by_seed in outcomes.items():
            for each in by_seed.values():
                if set(shown) <= each.keys():
                    found.append((setting.title, [each[name].accuracy for name in shown]))
    lines = ["## Where the mixture is not used", "", *note(NOTES, "by_energy")]
    if not found:
        return [*lines, "Not run yet.", ""]
    body = [[title, *map(overview.percent, values)] for title, values in found]
    means = [sum(column) / len(found) for column in zip(*(values for _, values in found), strict=True)]
    body.append(["*mean*", *map(overview.percent, means)])
    return [*lines, *rows(["accuracy of the targets on test texts, %", "Ensemble", "Energy", "Eq. 26"], body)]


def _set_by_set(cases: Sequence[Case]) -> list[Case]:
    """As a page lists them."""
    order = [s.name for s in in_order([case.setting for case in cases])]
    return sorted(cases, key=lambda case: order.index(case.setting.name))


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


def _cost() -> list[str]:
    lines, found = ["## Time", ""], measured("alloy", "cost")
    if found is None:
        return [*lines, "Not run yet.", ""]
    body = []
    for s in found["figures"]["settings"].values():
        for way, seconds in s["seconds"].items():
            against = s["alloy_against"].get(way)
            told = f"{against['ratio']:.2f} ({against['from']:.2f}–{against['to']:.2f})" if against else ""
            body.append([s["title"], way, seconds, f"{100 * s['share_of_training'][way]:.0f} %", told])
    return [
        *lines,
        "Whole runs from teachers and texts to a student, without report, evaluation or cached outputs, in CPU seconds, with float32. Medians of "
        f"{found['figures']['rounds']} rounds; every round runs every method. Last column: Alloy's time divided by this method's time (in brackets: the middle half of the rounds; of two rounds, both).",
        "",
        *rows(["", "", "CPU seconds", "of which training", "Alloy / this method"], body),
        *ran(found),
    ]
