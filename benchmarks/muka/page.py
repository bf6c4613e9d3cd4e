"""benchmarks/results/muka.md, from the committed results and the hand-written summary beside this file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from alloykit.files import write_atomic
from benchmarks.harness.data import FOREIGN_SHARE, POOLS, SETS
from benchmarks.harness.profiles import PROFILES
from benchmarks.harness.results import RESULTS
from benchmarks.harness.summary import Part, load, points, rows, spread
from benchmarks.muka.table1 import GRID, PAPER, TABLE

TITLES = {
    "supervised": "Supervised (upper bound)",
    "teacher1": "Teacher 1",
    "teacher2": "Teacher 2",
    "ensemble": "Ensemble",
    "routing-hard": "Routing by MUKA-Hard, no student",
    "routing-soft": "Routing by MUKA-Soft, no student",
    "pseudo-ensemble": "Pseudo-labels of the ensemble",
    "pseudo-muka": "Pseudo-labels of MUKA-Soft",
    "vanilla_kd": "Vanilla KD",
    "uhc": "UHC",
    "muka-hard": "MUKA-Hard",
    "muka-soft": "MUKA-Soft",
}
RIVALS = ("vanilla_kd", "uhc", "pseudo-ensemble", "pseudo-muka", "routing-soft", "ensemble")  # of those that a pool has


def write() -> None:
    found = load(RESULTS / "muka" / "table1.json")
    profile, cells = found["configuration"]["profile"], found["cells"]
    lines = [
        "# MUKA: our numbers beside the paper's",
        "",
        "Li et al. 2021, Table 1. The paper's models are BERT-base (110 M parameters), read 128 tokens and learn from whole "
        "training files; ours are much smaller, so levels are not comparable, only orders and differences are.",
        "",
        Path(__file__).with_name("summary.md").read_text(encoding="utf-8").strip(),
        "",
        "## Setting",
        "",
        f"`python -m benchmarks muka table1` (profile `{profile['name']}`, `OMP_NUM_THREADS=1`, several processes), commits "
        f"{', '.join(sorted({c['commit'] for c in cells.values() if 'commit' in c}))}. {_machine(cells)}",
        "",
        f"- Teachers and students: {profile['encoder']['layers']} evenly spaced layers of all-MiniLM-L6-v2 (17 M parameters), "
        f"{profile['max_length']} tokens. Teachers: {profile['teacher']['epochs']} epochs at {profile['teacher']['learning_rate']}; "
        f"students: {profile['student']['epochs']} epochs at {profile['student']['learning_rate']}, batch "
        f"{profile['student']['batch_size']}; {TABLE.passes} Monte-Carlo passes, dropout 0.1, τ = 0.2.",
        f"- {profile['texts']:,} texts per pool; {profile['test']:,} test texts (600 for 5Abstracts), drawn once from a fixed 60 % of "
        "the official test files. Two teachers; labels split as in the paper's Appendix A.",
        f"- Seeds {', '.join(map(str, profile['seeds']))}: each draws its own texts and trains its own teachers and students. "
        "± is the standard deviation over seeds.",
        "- The student's checkpoint is chosen without labels (the paper: by labelled validation accuracy).",
        "",
    ]
    for pool, what in POOLS.items():
        lines += [f"## Pool: {pool}", "", f"{what[0].upper()}{what[1:]}.", ""]
        if not any(key.split("/")[1] == pool for key in cells):
            lines += ["Not run yet.", ""]
            continue
        lines += _accuracies(cells, pool, paper=pool == "shared")
        lines += _comparisons(cells, pool)
    lines += _routing(cells) + _teachers(cells) + _failures(cells)
    write_atomic(RESULTS / "muka.md", "\n".join(lines).rstrip() + "\n")


def _machine(cells: dict[str, Any]) -> str:
    kinds = {tuple(c["environment"].values()) for c in cells.values() if c["status"] == "done"}
    return (
        "; ".join(
            f"Python {p}, torch {t}, transformers {f}, {n} thread(s), GPU: {g or 'none'}" for p, t, f, n, g in kinds
        )
        + "."
    )


def _accuracies(cells: dict[str, Any], pool: str, *, paper: bool) -> list[str]:
    headings = ["accuracy, %"]
    for name in TABLE.datasets:
        headings += [SETS[name].title] + (["paper"] if paper else [])
    body = []
    for method, title in TITLES.items():
        row = [title]
        for name in TABLE.datasets:
            row.append(spread(_values(Part(cells, name, pool), method)))
            if paper:
                stated = PAPER.get(method, {}).get(name)
                row.append("–" if stated is None else f"{stated[0]} ± {stated[1]}")
        if any(cell != "not run" for cell in row[1 :: 2 if paper else 1]):
            body.append(row)
    return rows(headings, body)


def _values(part: Part, method: str) -> list[float]:
    if method.startswith("teacher"):
        return part.values("teachers", "teachers", method, "accuracy")
    if method == "ensemble":
        return part.values("teachers", "ensemble", "accuracy")
    return part.values(method, "accuracy")


def _comparisons(cells: dict[str, Any], pool: str) -> list[str]:
    lines = []
    for ours in ("muka-soft", "muka-hard"):
        compared = {name: Part(cells, name, pool).compare(ours, RIVALS) for name in TABLE.datasets}
        if not any(compared.values()):
            continue
        lines += [
            f"{TITLES[ours]} less each rival, in points (95 % interval of a paired bootstrap over texts × seeds; bold: p < 0.05 "
            "after Holm's correction within the column; p of a paired t-test over seeds behind the semicolon):",
            "",
        ]
        body = []
        for rival in (r for r in RIVALS if any(r in found for found in compared.values())):
            cells_of_row = []
            for name in TABLE.datasets:
                one = compared[name].get(rival)
                cells_of_row.append(
                    points(one) + (f"; {one['t_test']:.3f}" if one and one["t_test"] == one["t_test"] else "")
                )
            body.append([TITLES[rival], *cells_of_row])
        lines += rows([f"{TITLES[ours]} −", *(SETS[n].title for n in TABLE.datasets)], body)
    return lines


def _routing(cells: dict[str, Any]) -> list[str]:
    lines = [
        "## Routing",
        "",
        "How often the teacher with the largest weight knows the text's label, and how much the weights v(x) leave of the pool "
        "((Σv)²/Σv² over the number of texts). Foreign texts are not counted as right or wrong; they are "
        f"{FOREIGN_SHARE:.0%} of their pool, and the last column is their share of Σv.",
        "",
    ]
    body = []
    for name in TABLE.datasets:
        for pool in GRID:
            part = Part(cells, name, pool)
            if part.seeds("routing-soft"):
                worth = [s["effective_sample_size"] / s["texts"] for s in part.values("routing-soft", "pool")]  # type: ignore[index]
                foreign = [v for v in part.values("routing-soft", "pool", "weight_on_foreign") if v is not None]
                body.append(
                    [SETS[name].title, pool, spread(part.values("routing-soft", "pool", "right_teacher")),
                     spread(part.values("routing-soft", "right_teacher")), spread(worth), spread(foreign) if foreign else "–"]
                )  # fmt: skip
    return lines + rows(
        ["", "pool", "right teacher, pool", "right teacher, test", "effective share", "Σv on foreign"], body
    )


def _teachers(cells: dict[str, Any]) -> list[str]:
    lines = [
        "## The teachers, and how sure they are of what they do not know",
        "",
        "Accuracy on test texts of their own labels; mean maximum probability (and less 1/C, what a guess would have) on test "
        "texts of their own labels, of the other teacher's labels, and on Wikipedia sentences.",
        "",
    ]
    body = []
    for name in TABLE.datasets:
        pool = "foreign" if Part(cells, name, "foreign").seeds("teachers") else "shared"
        part = Part(cells, name, pool)
        for teacher in ("teacher1", "teacher2"):
            if not part.seeds("teachers"):
                continue
            labels = part.cell(part.seeds("teachers")[0], "teachers")["teachers"][teacher]["labels"]
            row = [SETS[name].title, f"{teacher} ({', '.join(labels)})"]
            row.append(spread(part.values("teachers", "teachers", teacher, "accuracy_on_own")))
            for where in ("own", "others", "foreign"):
                values = part.values("teachers", "teachers", teacher, f"max_probability_on_{where}")
                known = [v for v in values if v is not None]
                row.append(f"{spread(known)} ({100 * (np.mean(known) - 1 / len(labels)):+.1f})" if known else "not run")
            body.append(row)
    headings = ["", "teacher", "accuracy, own", "own", "other teacher's", "foreign"]
    return lines + rows(headings, body)


def _failures(cells: dict[str, Any]) -> list[str]:
    failed = [f"- {key}: {cell['error']}" for key, cell in cells.items() if cell["status"] == "failed"]
    lines = ["## Failures and cells that were not run", ""]
    lines += failed or [f"None of the {len(cells)} cells that ran failed."]
    planned = [cell for cell in TABLE.cells(PROFILES["small"]) if cell.key not in cells]
    parts = sorted({(cell.dataset, cell.pool) for cell in planned})
    if planned:
        lines += ["", "Not run yet:"]
    for dataset, pool in parts:
        missing = [f"{c.method} {c.seed}" for c in planned if (c.dataset, c.pool) == (dataset, pool)]
        whole = sum(c.dataset == dataset and c.pool == pool for c in TABLE.cells(PROFILES["small"]))
        what = "all of it" if len(missing) == whole else ", ".join(missing)
        lines.append(f"- {SETS[dataset].title}, {pool}: {what}")
    return lines
