"""benchmarks/results/alloy.md, in short, and alloy_details.md, from the committed results and what was written by hand in notes/."""

from __future__ import annotations

from alloykit.files import write_atomic
from benchmarks.alloy import few, more_targets, outside, outside_targets, overview, students, targets
from benchmarks.alloy.cases import MAIN, student_cases, target_cases
from benchmarks.alloy.details_page import NOTES, details_page
from benchmarks.alloy.estimated_section import means
from benchmarks.alloy.few_page import few_labels
from benchmarks.alloy.methods import RIVAL_STUDENTS, RIVALS, TITLES, K
from benchmarks.alloy.none_section import none_means
from benchmarks.alloy.profile import PROFILE
from benchmarks.alloy.settings import CHOICE, LATER, REPORTED
from benchmarks.harness.results import RESULTS
from benchmarks.harness.sections import cells_of, command, how_to_read, measured, note, ran
from benchmarks.harness.sets import SETS
from benchmarks.harness.summary import rows

VARIANTS = (
    "Alloy with other options, in the cases that have both: accuracy of students or of targets on test texts, the mean over sets. `own_labels: 0`: without what each teacher says of its own labels ([Eq. 23](../../docs/methods/alloy.md#what-the-student-learns)). "
    "The others: without the neutral encoder's states, with 32 dimensions in place of one for every four texts, and never with a background."
)


def write() -> None:
    """Both pages."""
    for name, lines in (("alloy", _short_page()), ("alloy_details", details_page())):
        write_atomic(RESULTS / f"{name}.md", "\n".join(lines).rstrip() + "\n")


def _short_page() -> list[str]:
    taught, read = cells_of(students.TABLE), cells_of(targets.TABLE)
    of_students = {pool: student_cases(taught, pool) for pool in students.TABLE.grid}
    of_targets = {pool: target_cases(read, pool) for pool in targets.TABLE.grid}
    of_targets[MAIN] += target_cases(cells_of(more_targets.TABLE), MAIN, more_targets.TABLE)
    later = student_cases(cells_of(outside.TABLE), MAIN, outside.TABLE)
    lines = [
        "## Students by set, all settings and pools",
        "",
        "A *rival* is another method that needs no labels. *Oracle routing* reads the labels. The accuracies are means over the settings and pools of a set ([all words](#what-the-words-mean)).",
        "",
        *overview.by_set([case for cases in (*of_students.values(), later) for case in cases]),
        *_words(),
        f"## Students by setting, pool: {MAIN}",
        "",
        *overview.by_setting(of_students[MAIN]),
        "## Students, all pools",
        "",
        *overview.by_pool(of_students),
        "## Targets, all pools",
        "",
        *overview.by_pool(of_targets),
        "## Variants",
        "",
        VARIANTS,
        "",
        *overview.by_variant(of_students, of_targets),
        "## What was tried and dropped",
        "",
        *note(NOTES, "dropped"),
        *few_labels(cells_of(few.TABLE)),
        *means(),
        *none_means(),
        *_cost(),
    ]
    return [*_head(), *lines, *how_to_read(lines)]


def _head() -> list[str]:
    return [
        "# Alloy: results",
        "",
        "[What Alloy is](../../docs/methods/alloy.md), [how it was developed](../../docs/dev/alloy-history.md), and [every method in every setting and pool](alloy_details.md).",
        "",
        *note(NOTES, "summary"),
    ]


def _words() -> list[str]:
    def titles(names: tuple[str, ...]) -> str:
        return ", ".join(SETS[name].title for name in names)

    tried = {key.split("-")[0] for table in (outside.TABLE, outside_targets.TABLE) for key in cells_of(table)}
    later = tuple(name for name in LATER if name in tried)
    sizes = PROFILE.of_sets(["banking77", "thucnews_titles"], "sizes")
    dealt = "; ".join(s.title for s in students.SETTINGS if s.name in students.ALL_RIVALS)
    *first, last = (TITLES[m] for m in students.MORE_RIVALS)
    more = f"{', '.join(first)} and {last}"
    return [
        "## What the words mean",
        "",
        f"- **Sets of the choice** ({titles(CHOICE)}): the method was chosen by what came of them. **Reported sets** ({titles(REPORTED)}) had no part in the choice, with one exception: StackOverflow was the reason for the tenth version, and had a part in its choice. "
        f"**Later sets** ({titles(later)}): they were tried after the ninth version, with labels divided at random ([the table](alloy_details.md#later-sets)). A set without students is only in the [table of targets](alloy_details.md#later-sets-targets).",
        '- **Settings.** Every set by topic (labels cut in the set\'s order) and in up to three random divisions of the labels among the teachers (deal 1, 2, 3). "Overlapping": every teacher also knows '
        'a quarter of the next one\'s labels. "Barely trained": a third of the epochs at half the learning rate.',
        f"- **Sizes.** {PROFILE.texts:,} texts for the teachers and as many for the pool (Banking77: {sizes['texts']:,}), {PROFILE.test} test texts, {PROFILE.max_length} tokens of each "
        f"(THUCNews: {sizes['max_length']}), models of three layers. Later sets have [their own sizes](alloy_details.md#later-sets). Every seed has its own texts, teachers and students. Teachers, outputs and students are computed in float32, or in {PROFILE.precision} where the table says so.",
        "- **Pools**: the texts without labels from which the student learns. disjoint: texts that no teacher has seen. natural: such texts, with labels of unequal frequency. shared: the teachers' own training texts. "
        "skew5-first: texts that no teacher has seen, five times as many of the first teacher's labels as of all others'. foreign10 and foreign50: such texts, 10 or 50 % of them replaced by Wikipedia sentences.",
        "- **Students** are trained with alloykit's default learning rate and number of epochs. **Targets** are what students would learn from: the label with the largest share in the target of a test "
        "text. No student is trained for them.",
        f"- **Best rival**: of the rivals that need no labels, the one that is right most often on the test texts, in the mean over the seeds. It is chosen after the fact, anew for every setting and pool, so no "
        f"user could choose it. In balanced accuracy (the mean over the labels), Alloy is compared with the rival that is best in balanced accuracy. It can be another one. Rivals of students are {' and '.join(TITLES[m] for m in RIVAL_STUDENTS if m not in students.MORE_RIVALS)}. "
        f"{more} are rivals too on the later sets, and in pool {MAIN} if the labels are cut by topic or the setting is one of these: {dealt}. Rivals of targets: {', '.join(TITLES[m] for m in RIVALS)} (MUKA's {K} passes in pool {MAIN} only).",
        "- **Share of the gap closed**: (Alloy − best rival) / (oracle routing − best rival), where oracle routing gains more than a point. Oracle routing asks, for every text, the teachers that "
        "know its label. A mean over sets counts every set once.",
        f"- **Bold** differences are significant ([what this means](#how-to-read-the-differences)). Commands: students `{command(students.TABLE)}`, later sets `{command(outside.TABLE)}`, targets `{command(targets.TABLE)}` and `{command(more_targets.TABLE)}`. "
        "Commits and machines are on the [page with details](alloy_details.md).",
        "",
    ]  # fmt: skip


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
