"""Parts of the page that every table has: accuracies beside the paper's, paired comparisons, and what is missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.harness.results import RESULTS, load
from benchmarks.harness.summary import DIFFERENCE, Part, points, rows, spread
from benchmarks.harness.table import PAPER, Cell, Table

Cells = dict[str, Any]
Stated = Mapping[
    str, Mapping[str, tuple[float, ...]]
]  # method → setting → the paper's mean, and its standard deviation if it has one


def cells_of(table: Table) -> Cells:
    path = RESULTS / table.paper / f"{table.name}.json"
    return dict(load(path)["cells"]) if path.exists() else {}


def section(table: Table, notes: Path, body: Callable[[Table, Cells], list[str]]) -> list[str]:
    """A table's part of the page: its title, its notes, command and versions, `body`, and missing cells; below it the same with
    the paper's own settings, where that was run."""
    cells = cells_of(table)
    lines = [f"## {table.title}", ""]
    lines += (
        [*note(notes, table.name), *made(table, cells), *body(table, cells), *gaps(table, cells)]
        if cells
        else ["Not run yet.", ""]
    )
    whole = table.as_stated
    if whole is None or not (cells := cells_of(whole)):
        return lines
    models = "; ".join(
        f"{role}: {_model(block)}" for role, block in sorted(whole.profile.encoders.items()) if role in whole.roles
    )
    students = "; ".join(
        f"{role}: {_model(block)}" for role, block in sorted(whole.profile.students.items()) if role in whole.roles
    )
    named = f"Models, by the names that the tables above use: {models}." + (
        f" Students: {students}." if students else ""
    )
    return [
        *lines, f"### {table.title}, with the paper's own settings", "", named, "",
        *note(notes, whole.name), *made(whole, cells), *body(whole, cells), *gaps(whole, cells),
    ]  # fmt: skip


def _model(block: Mapping[str, Any]) -> str:
    return str(block["model"]) + (f", {block['layers']} layers" if "layers" in block else "")


def note(folder: Path, name: str) -> list[str]:
    """The hand-written note of a table, if there is one."""
    path = folder / f"{name}.md"
    return [path.read_text(encoding="utf-8").strip(), ""] if path.exists() else []


def measured(paper: str, name: str) -> dict[str, Any] | None:
    """A measurement that is not a table of cells: its figures, command, commit and machine. None if it was not run."""
    path = RESULTS / paper / f"{name}.json"
    return load(path) if path.exists() else None


def measured_section(
    title: str, words: str, found: Mapping[str, Any] | None, body: Callable[[Mapping[str, Any]], list[str]]
) -> list[str]:
    """A measurement's part of a page: what it is, its command, and `body` of its figures. found: `measured`."""
    lines = [f"## {title}", "", words, ""]
    return [*lines, "Not run yet.", ""] if found is None else [*lines, *ran(found), *body(found["figures"])]


def ran(found: Mapping[str, Any]) -> list[str]:
    """The command, the commit and the machine of a measurement."""
    return [
        f"`{found['command']}`, {found['seconds']} s, commit {found['commit']}; {machine(found)}.",
        "",
    ]


def machine(found: Mapping[str, Any]) -> str:
    one = found["machine"]
    return f"{one['processor']}, threads: {one['threads']}, GPU: {one['gpu'] or 'none'}, torch {one['torch']}"


def command(table: Table) -> str:
    """The command that fills a table."""
    name = table.name.removesuffix(PAPER)
    whole = "" if name == table.name else " --profile paper"
    return f"python -m benchmarks {table.paper} {table.part_of or name}{whole}"


def made(table: Table, cells: Cells) -> list[str]:
    """The command, the commits, the machine and the number format of a table."""
    done = [c for c in cells.values() if c["status"] == "done"]
    commits = ", ".join(sorted({c["commit"] for c in done}))
    kinds = sorted({tuple(str(v) for v in c["environment"].values()) for c in done})
    machines = "; ".join(
        f"Python {p}, torch {t}, transformers {f}, {n} thread(s), GPU: {'none' if g == 'None' else g}"
        for p, t, f, n, g in kinds
    )
    sizes = f" {table.texts:,} texts of each data set." if table.texts else ""
    sizes += f" {table.test:,} test texts of each." if table.test else ""
    return [
        f"`{command(table)}`, {table.precision}, commit{'s' if ',' in commits else ''} {commits}. {machines}.{sizes}",
        "",
    ]


def accuracies(
    table: Table, cells: Cells, pool: str, titles: Mapping[str, str], stated: Stated | None = None
) -> list[str]:
    """mean ± standard deviation over seeds, with the paper's number beside each setting that it has."""
    settings = [s for s in table.settings if any(key.startswith(f"{s.name}/{pool}/") for key in cells)]
    papers = {s.name: stated is not None and any(s.name in row for row in stated.values()) for s in settings}
    headings, body = ["accuracy, %"], []
    for s in settings:
        headings += [s.title] + (["paper"] if papers[s.name] else [])
    for method, title in titles.items():
        row, any_value = [title.strip()], False
        for s in settings:
            values = values_of(Part(cells, s.name, pool), method)
            any_value |= bool(values)
            row.append(spread(values) if values or _wanted(table, s.name, method) else "–")
            if papers[s.name]:
                value = (stated or {}).get(method, {}).get(s.name)
                row.append("–" if value is None else " ± ".join(map(str, value)))
        if any_value:
            body.append(row)
    return rows(headings, body) if body else ["Not run yet.", ""]


def _wanted(table: Table, setting: str, method: str) -> bool:
    return method in table.methods and method in table.only.get(setting, (method,))


def values_of(part: Part, method: str) -> list[float]:
    """Accuracies by seed, of a student, of a teacher (as `teacherN`) or of the ensemble."""
    if method == "ensemble":
        return part.values("teachers", "ensemble", "accuracy")
    if method.startswith("teacher"):
        seeds = part.seeds("teachers")
        if not seeds or method not in part.cell(seeds[0], "teachers")["teachers"]:
            return []
        return part.values("teachers", "teachers", method, "accuracy")
    return part.values(method, "accuracy")


def comparisons(
    table: Table, cells: Cells, pool: str, titles: Mapping[str, str], ours: Sequence[str], rivals: Sequence[str]
) -> list[str]:
    """Each of `ours` minus each rival, for every setting."""
    lines = []
    for mine in ours:
        found = {s.name: Part(cells, s.name, pool).compare(mine, rivals) for s in table.settings}
        settings = [s for s in table.settings if found[s.name]]
        if not settings:
            continue
        lines += [f"{titles[mine]} minus each other method, in points:", ""]
        body = [
            [titles[rival].strip(), *(points(found[s.name].get(rival)) for s in settings)]
            for rival in rivals
            if any(rival in found[s.name] for s in settings)
        ]
        lines += rows([f"{titles[mine]} −", *(s.title for s in settings)], body)
    return lines


def how_to_read(page: Sequence[str]) -> list[str]:
    """What the intervals and the bold differences of a page mean, and how many it has."""
    found = [bool(bold) for line in page for bold in DIFFERENCE.findall(line)]
    return [
        "## How to read the differences",
        "",
        "A difference is written as mean (low to high), in points of accuracy. The mean is over the seeds. low to high is a 95 % interval. It allows for "
        "two kinds of chance: other seeds and other test texts ([equation and error rates](significance.md)).",
        "",
        '**Bold** in the tables, and "significant" in the text, mean the same: the interval excludes 0 even after Holm\'s correction for the number of '
        "differences in its group. A group is a column of a table, or the row of one method where the table says so. A difference that is not bold may be real, "
        "but these seeds and texts do not show it. With two or three seeds only large differences can be significant. "
        f"This page has {len(found):,} differences, {sum(found)} of them bold. The correction is made in each group, not over the page: "
        "if no method differed from any other, up to one group in twenty would still have a bold difference.",
        "",
    ]


def gaps(table: Table, cells: Cells) -> list[str]:
    """Failed cells, and cells of the grid that have no outcome yet."""
    lines = [f"- failed: {key}: {cell['error']}" for key, cell in cells.items() if cell["status"] == "failed"]
    every = list(table.cells())
    for setting, pool in sorted({(c.setting, c.pool) for c in every if c.key not in cells}):
        part = [c for c in every if (c.setting, c.pool) == (setting, pool)]
        lines.append(f"- not run: {setting}, {pool}: {_missing(part, cells)}")
    return [*lines, ""] if lines else []


def _missing(part: Sequence[Cell], cells: Cells) -> str:
    """What one setting and pool lack. Seeds that lack the same methods stand together."""
    if not any(c.key in cells for c in part):
        return "all of it"
    lacking: dict[tuple[str, ...], list[str]] = {}
    for seed in dict.fromkeys(c.seed for c in part):
        of_seed = [c for c in part if c.seed == seed]
        names = [c.method for c in of_seed if c.key not in cells]
        if names:
            lacking.setdefault(("all methods",) if len(names) == len(of_seed) else tuple(names), []).append(str(seed))
    return "; ".join(
        f"{'seed' if len(seeds) == 1 else 'seeds'} {', '.join(seeds)} ({', '.join(names)})"
        for names, seeds in lacking.items()
    )
