"""Figs. 3–6: a figure and a table each, from the committed cells."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot as plt

from benchmarks.harness.plots import BLUE, GREY, ORANGE, curves, save
from benchmarks.harness.sections import Cells, section, values_of
from benchmarks.harness.settings import Setting
from benchmarks.harness.summary import Part, rows, spread
from benchmarks.harness.table import Table
from benchmarks.muka import fig3, fig4, fig5, fig6
from benchmarks.muka.analyses import BINS
from benchmarks.muka.methods import TITLES

RIGHT, WRONG, THIRD = BLUE, ORANGE, GREY
PARTS = ("pool", "test")
NOTES = Path(__file__).with_name("notes")


def write() -> list[str]:
    """The sections, having saved results/muka/figN.svg."""
    drawn = ((fig3.TABLE, _fig3), (fig4.TABLE, _fig4), (fig5.TABLE, _fig5), (fig6.TABLE, _fig6))
    return [line for table, draw in drawn for line in section(table, NOTES, draw)]


def _done(table: Table, cells: Cells, method: str) -> list[tuple[Setting, Part]]:
    parts = [(s, Part(cells, s.name, "shared")) for s in table.settings]
    return [(s, part) for s, part in parts if part.seeds(method)]


def _per_seed(part: Part, method: str, get: Callable[[dict[str, Any]], float | None]) -> list[float]:
    found = [get(part.cell(seed, method)) for seed in part.seeds(method)]
    return [x for x in found if x is not None]


def _fig3(table: Table, cells: Cells) -> list[str]:
    done, kinds = _done(table, cells, "uncertainty"), ("one pass", "dropout")
    figure, axes = plt.subplots(len(done), 2, figsize=(8, 2.2 * len(done)), squeeze=False)
    edges = np.linspace(0, 1, BINS + 1)
    body = []
    for row, (setting, part) in zip(axes, done, strict=True):
        for axis, kind in zip(row, kinds, strict=True):
            for which, colour in (("right", RIGHT), ("wrong", WRONG)):
                counts = sum(
                    np.array(part.cell(s, "uncertainty")["parts"]["test"][kind][which])
                    for s in part.seeds("uncertainty")
                )
                axis.stairs(
                    counts / counts.sum(), edges, fill=True, alpha=0.45, color=colour, label=f"{which} teachers"
                )
            axis.set(title=f"{setting.title}, {kind}", xlabel="u / log C", ylabel="share", xlim=(0, 1))
        row[0].legend(frameon=False)
        for where in PARTS:
            for kind in kinds:
                body.append([setting.title, where, kind, *(
                    spread(_per_seed(part, "uncertainty", lambda c, k=key, w=where, d=kind: _inside(c["parts"][w][d], k)))
                    for key in (("below_tenth", "right"), ("below_tenth", "wrong"), ("auroc",), ("lowest_is_right",))
                )])  # fmt: skip
    return save(table, figure, "Normalised entropies of right and wrong teachers on test texts") + rows(
        [
            "",
            "texts",
            "u from",
            "teachers that know: u < 0.1, %",
            "teachers that do not: u < 0.1, %",
            "AUROC, %",
            "the teacher with the lowest u knows, %",
        ],
        body,
    )


def _inside(found: dict[str, Any], path: tuple[str, ...]) -> float:
    value: Any = found
    for key in path:
        value = value[key]
    return float(value)


def _fig4(table: Table, cells: Cells) -> list[str]:
    done = _done(table, cells, "supervision")
    body, groups = [], list(done[0][1].cell(done[0][1].seeds("supervision")[0], "supervision")["parts"]["pool"])
    bars = [("vanilla_kd", "all"), *(("muka-soft", g) for g in groups)]
    figure, axis = plt.subplots(figsize=(8, 3))
    for b, (method, group) in enumerate(bars):
        each = [
            _per_seed(part, "supervision", lambda c, m=method, g=group: c["parts"]["pool"][g][m]) for _, part in done
        ]
        at = np.arange(len(done)) + (b - 1.5) * 0.2
        spreads = [np.std(e, ddof=1) if len(e) > 1 else 0 for e in each]
        axis.bar(
            at,
            [np.mean(e) if e else 0 for e in each],
            0.19,
            yerr=spreads,
            label=f"{TITLES[method]}, {group}".replace(">=", "≥"),
            color=[THIRD, "#56b4e9", RIGHT, WRONG][b],
        )
    axis.set_xticks(range(len(done)), [s.title for s, _ in done])
    axis.set_ylabel("KL(reference ‖ supervision), nats")
    axis.legend(frameon=False, fontsize=8)
    for setting, part in done:
        for where in PARTS:
            for group in groups:
                texts = _per_seed(part, "supervision", lambda c, w=where, g=group: c["parts"][w][g]["texts"])
                every = _per_seed(part, "supervision", lambda c, w=where: c["parts"][w]["all"]["texts"])
                row = [setting.title, where, group, f"{100 * sum(texts) / sum(every):.0f} %"]
                for method in ("vanilla_kd", "muka-soft"):
                    kl = _per_seed(part, "supervision", lambda c, w=where, g=group, m=method: c["parts"][w][g][m])
                    row.append(f"{np.mean(kl):.2f} ± {np.std(kl, ddof=1):.2f}" if len(kl) > 1 else "–")
                body.append(row)
    return save(table, figure, "KL divergence of the supervision from a reference's answers") + rows(
        ["", "texts", "group", "share", "Vanilla KD, nats", "MUKA-Soft, nats"], body
    )


def _fig5(table: Table, cells: Cells) -> list[str]:
    done = _done(table, cells, "errors")
    setting, part = done[-1]  # drawn for the one with most labels, which is the paper's
    found = [part.cell(s, "errors") for s in part.seeds("errors")]
    labels, owners = found[0]["labels"], [o[0] for o in found[0]["owners"]]
    wrong = sum(np.array(c["parts"]["test"]["wrong"]) for c in found)
    confusion = sum(np.array(c["parts"]["test"]["confusion"]) for c in found)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
    left.barh(range(len(labels)), wrong / len(found), color=[(RIGHT, WRONG)[o % 2] for o in owners])
    left.set_yticks(range(len(labels)), labels)
    left.invert_yaxis()
    left.set_xlabel("wrongly routed test texts per seed (colour: the owner)")
    shown = right.imshow(confusion / confusion.sum(1, keepdims=True), cmap="Blues", vmin=0, vmax=1)
    right.set_xticks(range(len(labels)), labels, rotation=90)
    right.set_yticks(range(len(labels)), labels)
    right.set(xlabel="the reference says", ylabel="label")
    figure.colorbar(shown, ax=right)
    figure.suptitle(setting.title)
    body = []
    for one, p in done:
        for where in PARTS:
            share = _per_seed(p, "errors", lambda c, w=where: sum(c["parts"][w]["wrong"]) / sum(c["parts"][w]["texts"]))
            v = [
                _per_seed(p, "errors", lambda c, w=where, k=f"v_where_{k}": c["parts"][w][k])
                for k in ("wrong", "right")
            ]
            body.append([one.title, where, spread(share), *(f"{np.mean(x):.3f}" for x in v)])
    by_label = []
    for one, p in done:
        cells_of_seeds = [p.cell(s, "errors") for s in p.seeds("errors")]
        wrong = sum(np.array(c["parts"]["test"]["wrong"]) for c in cells_of_seeds)
        texts = sum(np.array(c["parts"]["test"]["texts"]) for c in cells_of_seeds)
        confused = sum(np.array(c["parts"]["test"]["confusion"]) for c in cells_of_seeds)
        for i, label in enumerate(cells_of_seeds[0]["labels"]):
            others = [(int(n), cells_of_seeds[0]["labels"][j]) for j, n in enumerate(confused[i]) if j != i]
            most = max(others)
            by_label.append([one.title, label, f"{100 * wrong[i] / texts[i]:.0f} %", f"{100 * confused[i, i] / texts[i]:.0f} %",
                             f"{most[1]} ({100 * most[0] / texts[i]:.0f} %)"])  # fmt: skip
    return [
        *save(table, figure, "Wrongly routed texts by label, and the reference's confusion"),
        *rows(["", "texts", "wrongly routed, %", "mean v, wrongly routed", "mean v, correctly routed"], body),
        "By label, on test texts of all seeds:",
        "",
        *rows(
            ["", "label", "wrongly routed", "recall of the reference", "the reference's most frequent error"], by_label
        ),
    ]


def _fig6(table: Table, cells: Cells) -> list[str]:
    parts = {s.title: Part(cells, s.name, "shared") for s in table.settings}
    lines = {title: {tau: values_of(p, f"muka-soft-{tau}") for tau in fig6.TAUS} for title, p in parts.items()}
    body = [[title, *(spread(v) if v else "–" for v in line.values())] for title, line in lines.items()]
    shown = curves(table, lines, "Accuracy of MUKA-Soft's student over the temperature", "τ", "log")
    return shown + rows(["τ", *fig6.TAUS], body)
