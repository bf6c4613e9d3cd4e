"""The page's section about prompted texts of SmolLM2 in three domains, beside the texts of Table 3."""

from __future__ import annotations

from benchmarks.harness.sections import Cells, cells_of
from benchmarks.harness.summary import Part, points, rows, spread
from benchmarks.harness.table import Table
from benchmarks.stratanet import table3

STUDENTS = {
    "stratanet": "StrataNet",
    "alloy": "Alloy",
    "muka-soft": "MUKA-Soft",
    "vanilla_kd": "Vanilla KD",
    "intended": "intended labels, no teacher",
}
ROUTES = {"rmd": "RMD", "msp": "maximum probability"}
BESIDE = {"generated": "6 M parameters, steered (Table 3)", "shared": "real texts (Table 3)"}


def domains_section(table: Table, cells: Cells) -> list[str]:
    """Texts, routing and students of every set, with Table 3's cells of the same seeds."""
    body, differences, shown = [], [], set[str]()
    for setting in table.settings:
        part = Part(cells, setting.name, "generated")
        seeds = part.seeds("stratanet")
        if not seeds:
            continue
        same = {key: cell for key, cell in cells_of(table3.TABLE).items() if int(key.split("/")[2]) in seeds}
        parts = {"SmolLM2, prompted": part}
        if setting.datasets[0] not in shown:
            parts |= {title: Part(same, setting.datasets[0], pool) for pool, title in BESIDE.items()}
        shown.add(setting.datasets[0])
        body += [[f"{setting.title}: {title}", *_row(each)] for title, each in parts.items()]
        found = part.compare("stratanet", list(STUDENTS)[1:])
        differences.append([setting.title, len(seeds), *(points(found.get(rival)) for rival in list(STUDENTS)[1:])])
    return [
        f"Table 3's teachers and tests, and as many texts ({table.texts:,}). Beside them Table 3's cells of the same seeds. Control: the share of the texts to which the teacher gives the intended class. "
        "Routing: the share of real test texts for which the largest confidence is that of a teacher that knows the text. Both, and the accuracies of the students, in %.",
        "",
        *rows(["texts", "control", *(f"routing: {title}" for title in ROUTES.values()), *STUDENTS.values()], body),
        "StrataNet minus each other method, of prompted texts, in points:",
        "",
        *rows(["", "seeds", *(f"− {title}" for title in list(STUDENTS.values())[1:])], differences),
    ]


def _row(part: Part) -> list[str]:
    routed = [part.values("owners", kind) for kind in ROUTES]
    shares = [part.values("written", "control"), *([of[-1] for of in blocks] for blocks in routed)]
    return [_or_dash(values) for values in (*shares, *(part.values(method, "accuracy") for method in STUDENTS))]


def _or_dash(values: list[float]) -> str:
    return spread(values, usual=len(values)) if values else "–"
