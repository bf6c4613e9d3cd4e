"""The page's sections about SmolLM2: what its speed is made of, how γ was chosen, and its students beside the small language model's."""

from __future__ import annotations

from pathlib import Path

from benchmarks.harness.sections import Cells, measured, note, ran
from benchmarks.harness.summary import Part, points, rows
from benchmarks.harness.table import Table
from benchmarks.stratanet import larger
from benchmarks.stratanet.strength import MOST, WITHOUT, name

NOTES = Path(__file__).with_name("notes")
STUDENTS = {
    "stratanet": "StrataNet",
    "alloy": "Alloy",
    "muka-soft": "MUKA-Soft",
    "vanilla_kd": "Vanilla KD",
}
VARIANTS = {
    "stratanet-real": "statistics of the teachers' own labelled texts",
    "stratanet-own": "background of the teacher's own classes only",
    "stratanet-alone": "`auxiliary: 0`",
    "stratanet-msp": "confidence from the maximum probability",
}
KINDS = {"rmd": "RMD", "md": "MD", "msp": "maximum probability"}


def larger_section(table: Table, cells: Cells) -> list[str]:
    """Texts, routing and students by who wrote the texts."""
    shown = [(s, "shared" if s == larger.REAL else "generated") for s in table.settings]
    written, routed, students = [], [], []
    for setting, pool in shown:
        part = Part(cells, setting.name, pool)
        if "written" in table.only.get(setting.name, ()):
            written.append([setting.title, *_written(part)])
        routed.append([setting.title, *(_number(part, "owners", kind, -1) for kind in KINDS)])
        students.append([setting.title, *(_number(part, method, "accuracy") for method in STUDENTS)])
    differences = [
        [setting.title, *(points(found.get(rival)) for rival in list(STUDENTS)[1:])]
        for setting, pool in shown
        if (found := Part(cells, setting.name, pool).compare("stratanet", list(STUDENTS)[1:]))
    ]
    variants = [
        [title, *(_number(Part(cells, s.name, pool), method, "accuracy") for s, pool in shown[:2])]
        for method, title in VARIANTS.items()
    ]
    return [
        f"AG News, seed 0, Table 3's teachers, {larger.TEXTS} generated texts of all classes together ({table.texts:,} real ones). One seed: nothing here says how much seeds differ. Students learn for as many epochs as in Table 3, so in fewer steps.",
        "",
        *rows(["texts", "control, %", "distinct-2", "self-BLEU", "perplexity"], written),
        "Perplexities of two language models cannot be compared. Routing accuracy on real test texts, as [above](#table-3-and-figs-3a-3b), in %:",
        "",
        *rows(["statistics of", *KINDS.values()], routed),
        "Accuracy of the students, in %:",
        "",
        *rows(["texts", *STUDENTS.values()], students),
        "StrataNet minus each other method, in points (intervals over test texts only; Holm's correction in each row):",
        "",
        *rows(["texts", *(f"− {title}" for title in list(STUDENTS.values())[1:])], differences),
        "Variants of StrataNet, in %:",
        "",
        *rows(["", *(s.title for s, _ in shown[:2])], variants),
    ]


def samples() -> list[str]:
    """The first texts of SmolLM2 by way of asking and class."""
    found = measured("stratanet", "larger_samples")
    if found is None:
        return []
    lines = [
        "## Samples of SmolLM2's texts",
        "",
        f"The first of each class, as they came (AG News, seed 0; `{found['command']}`).",
        "",
    ]
    for way, classes in found["figures"].items():
        body = [[label, predicted, _one_line(text)] for label, texts in classes.items() for text, predicted in texts]
        lines += [f"### {way}", "", *rows(["class", "the teacher's answer", "text"], body)]
    return lines


def _one_line(text: str) -> str:
    """A text as a cell of a Markdown table."""
    plain = " ".join(text.split())
    for sign in ("\\", "|", "`", "<", "*", "_", "[", "$"):
        plain = plain.replace(sign, " " if sign == "|" else f"\\{sign}")
    return plain


def _written(part: Part) -> list[str]:
    cell = part.cell(0, "written") if part.seeds("written") else None
    if cell is None:
        return ["not run"] * 4
    return [
        f"{100 * cell['control']:.1f}",
        f"{cell['distinct_2']:.2f}",
        f"{cell['self_bleu']:.2f}",
        f"{cell['perplexity']:.0f}",
    ]


def _number(part: Part, method: str, *path: str | int) -> str:
    """One seed's share, in percent."""
    if not part.seeds(method):
        return "not run"
    value = part.cell(0, method)
    for key in path:
        value = value[key]
    return f"{100 * value:.1f}"


def speed() -> list[str]:
    """CPU seconds for each text, and the choice of γ."""
    lines = ["## Writing with SmolLM2-135M", "", *note(NOTES, "writing")]
    if (found := measured("stratanet", "writing")) is not None:
        f = found["figures"]
        body = [
            [title, s["cpu_seconds_per_text"], s["seconds_per_text"], s["reads_per_text"]]
            for title, s in f["settings"].items()
        ]
        lines += [
            f"{f['texts']} texts of one class of 5Abstracts, in one batch, with one thread. The machine was shared: CPU seconds count.",
            "",
            *rows(["", "CPU s per text", "s per text", "teacher calls per text"], body),
            *ran(found),
        ]
    if (found := measured("stratanet", "strength")) is not None:
        f = found["figures"]
        body = [
            [
                title,
                s["texts"],
                f"{100 * s['control']:.0f} %",
                f"{s['perplexity']:.1f}",
                s["reads_per_text"],
                s["cpu_seconds_per_text"],
            ]
            for title, s in f["settings"].items()
        ]
        chosen = ", ".join(name(way, f["chosen"][way]) for way in WITHOUT)
        lines += [
            f"**The choice of γ**, on texts of 5Abstracts' classes (seed 0). The rule was fixed before the run: of the values whose perplexity is at most {MOST} times that of the same way without a teacher, the one with the highest control. Chosen: {chosen}.",
            "",
            *rows(["", "texts", "control", "perplexity", "teacher calls per text", "CPU s per text"], body),
            *ran(found),
        ]
    return lines
