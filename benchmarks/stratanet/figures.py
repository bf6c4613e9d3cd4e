"""Figs. 4 and 5: a figure and a table each, from the committed cells. Some points are cells of Table 3."""

from __future__ import annotations

from benchmarks.harness.plots import bars, curves
from benchmarks.harness.sections import Cells, cells_of, values_of
from benchmarks.harness.settings import Setting
from benchmarks.harness.summary import Part, rows, spread
from benchmarks.harness.table import PAPER, Table
from benchmarks.stratanet import domains, fig5, fig5_larger, table3
from benchmarks.stratanet.domains_page import STUDENTS
from benchmarks.stratanet.methods import LAMBDAS

SEEDS = 2  # of both tables
TOLD = "Accuracy in %, mean and standard deviation of the first two of Table 3's seeds."
DRAWN = {"stratanet": "StrataNet", "vanilla_kd": "Vanilla KD"}
QUALITY = {"distinct_2": 2, "self_bleu": 2, "perplexity": 0}  # digits shown


def fig4(table: Table, cells: Cells) -> list[str]:
    whole = cells | of_table3(table)
    names = {v: "stratanet" if v == 0.7 else f"stratanet-{v}" for v in LAMBDAS}  # 0.7 is the default: Table 3's
    lines = {
        s.title: {v: values_of(Part(whole, s.name, "generated"), names[v]) for v in LAMBDAS} for s in table.settings
    }
    shown = curves(table, lines, "Accuracy of StrataNet's student over λ", "λ, the weight of the intermediate layers")
    body = [[title, *map(_spread, line.values())] for title, line in lines.items()]
    return [*shown, TOLD, "", *rows(["λ", *LAMBDAS], body)]


def prompted(table: Table, cells: Cells) -> list[str]:
    """Fig. 5: a row for each way of asking, behind Table 3's steered texts."""
    whole, body, groups = cells | of_table3(table), [], {}
    for steered in (s for s in table3.SETTINGS if s.name in fig5.PROMPTS):
        for setting, way in _ways(steered):
            part = Part(whole, setting.name, "generated")
            found = {title: values_of(part, method) for method, title in DRAWN.items()}
            groups[f"{steered.title}\n{way}"] = found
            body.append([f"{steered.title}: {way}", *_quality(part), *map(_spread, found.values())])
    headings = ["", "control, %", "distinct-2", "self-BLEU", "perplexity", *(f"{title}, %" for title in DRAWN.values())]
    shown = bars(table, groups, "Accuracy of students by how their texts were asked for")
    return [*shown, TOLD, "", *rows(headings, body)]


def prompted_larger(table: Table, cells: Cells) -> list[str]:
    """Fig. 5 with SmolLM2-135M: a row for each way of asking, behind the cells with one prompt of the same seeds."""
    seeds = {key.split("/")[2] for key in cells}
    same = {key: cell for key, cell in cells_of(domains.TABLE).items() if key.split("/")[2] in seeds}
    parts = {"prompted": Part(same, fig5_larger.PROMPTED.name, "generated")}
    parts |= {setting.title: Part(cells, setting.name, "generated") for setting in table.settings}
    body = [
        [way, *_quality(part), *(spread(values_of(part, method), usual=len(seeds)) for method in STUDENTS)]
        for way, part in parts.items()
    ]
    headings = [
        "",
        "control, %",
        "distinct-2",
        "self-BLEU",
        "perplexity",
        *(f"{title}, %" for title in STUDENTS.values()),
    ]
    return [
        "Accuracy in %. The prompted texts are those of the table above about three domains.",
        "",
        *rows(headings, body),
    ]


def _spread(values: list[float]) -> str:
    return spread(values, usual=SEEDS)


def of_table3(table: Table) -> Cells:
    """Table 3's cells of the seeds that another table has, with the same settings as that one."""
    whole = table3.TABLE.as_stated if table.name.endswith(PAPER) else table3.TABLE
    seeds = {str(seed) for setting in table.settings for seed in table.seeds.get(setting.name, table.profile.seeds)}
    return {key: cell for key, cell in (cells_of(whole) if whole else {}).items() if key.split("/")[2] in seeds}


def _ways(steered: Setting) -> list[tuple[Setting, str]]:
    asked = (s for s in fig5.SETTINGS if s.teachers_of == steered.name)
    return [(steered, "steered"), *((s, fig5.TITLES[s.name.split("-")[1]]) for s in asked)]


def _quality(part: Part) -> list[str]:
    """control, distinct-2, self-BLEU and perplexity: means over the seeds."""
    found = [part.values("written", key) for key in QUALITY]
    shown = [f"{sum(v) / len(v):.{d}f}" if v else "–" for v, d in zip(found, QUALITY.values(), strict=True)]
    return [_spread(part.values("written", "control")), *shown]
