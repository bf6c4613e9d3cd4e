"""MT-BERT's part of benchmarks/results/distill.md: Tables 2 and 3, Figs. 3–5, and their differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.distill import mtbert
from benchmarks.harness.sections import Cells
from benchmarks.harness.sets import SETS
from benchmarks.harness.summary import Part, points, rows, spread
from benchmarks.harness.table import Table

PAPER = {  # Table 2: SST-2 and RTE accuracy, six layers and four
    "distilbert": {"sst2": (92.5, 91.4), "rte": (58.4, 54.1)},
    "pkd": {"sst2": (92.0, 89.4), "rte": (65.5, 62.3)},
    "tinybert": {"sst2": (93.1, 92.6), "rte": (70.0, 66.6)},
    "mt_bert": {"sst2": (94.6, 93.9), "rte": (75.7, 73.8)},
}
APART, TOGETHER = "-apart", "-together"  # how settings end
WITHOUT_HIDDEN, POOLED = ", without hidden loss", "pooled-head"
OURS, NO_HIDDEN, ALONE = "mt_bert-student3", "mt_bert-no-hidden", "without co-finetuning"
BASELINES = {
    "supervised": "fine-tuned without teachers",
    "distilbert": "DistilBERT",
    "pkd": "BERT-PKD",
    "tinybert": "TinyBERT",
}
FIGURES = {
    "dissimilarity": "ensemble by dissimilarity, teachers fine-tuned separately",
    "adaptive": "adaptive ensemble, teachers fine-tuned separately",
    ALONE: ALONE,
    "mt_bert-unweighted": "without weights of the teachers",
    NO_HIDDEN: "without hidden loss",
    "mt_bert-no-distillation": "without distillation loss",
    "mt_bert-no-task": "without task loss",
    f"mt_bert-{POOLED}": "with the paper's pooled head",
    f"supervised-{POOLED}": "fine-tuned without teachers, with the pooled head",
}


def body(table: Table, cells: Cells) -> list[str]:
    parts = {name: _joined(cells, name) for name in mtbert.DATA}
    whole = {name: parts[name] for name in mtbert.WHOLE}
    return [*_table2(cells, parts), *_table3(whole), *_figures(whole)]


def _joined(cells: Cells, name: str) -> Part:
    """All cells of one data set under one setting, so that they can be compared: they have the same test texts."""
    found: Cells = {}
    for key, cell in cells.items():
        setting, pool, seed, method = key.split("/")
        if setting == name + APART:
            method = ALONE if method == OURS else method
        elif setting != name + TOGETHER and setting.startswith(f"{name}-"):
            some = setting.removeprefix(f"{name}-")
            method = {OURS: some, NO_HIDDEN: some + WITHOUT_HIDDEN}.get(method, "teachers")
        elif setting != name + TOGETHER:
            continue
        new = f"{name}/{pool}/{seed}/{method}"
        if method == "teachers" and "labels" in cell and "labels" in found.get(new, ()):
            assert found[new]["labels"] == cell["labels"], f"{key} has other test texts"
        found.setdefault(new, cell)
    return Part(found, name, "shared")


def _scores(part: Part, method: str) -> str:
    f1 = f" / {spread(part.values(method, 'macro_f1'))}" if part.setting == "ohsumed" else ""
    return spread(part.values(method, "accuracy")) + f1


def _headings(names: Sequence[str], first: str = "accuracy, % (OhSumed: / macro-F1)") -> list[str]:
    return [first, *(SETS[n].title for n in names)]


def _table2(cells: Cells, parts: Mapping[str, Part]) -> list[str]:
    def teacher(name: str, ending: str, i: int) -> str:
        return spread(
            Part(cells, name + ending, "shared").values("teachers", "teachers", f"teacher{i + 1}", "accuracy")
        )

    found = [
        [f"teacher {encoder}{more}", *(teacher(n, ending, i) for n in parts)]
        for ending, more in ((APART, ""), (TOGETHER, ", co-finetuned"))
        for i, encoder in enumerate(mtbert.THREE)
    ]
    for method, title in (BASELINES | {"mt_bert": "MT-BERT"}).items():
        for k, size in enumerate(mtbert.SIZES):
            stated = PAPER.get(method, {})
            each = [
                _scores(part, f"{method}-{size}") + (f" [{stated[n][k]}]" if n in stated else "")
                for n, part in parts.items()
            ]
            found.append([f"{title}, {size[-1]} layers", *each])
    lines = [
        "Table 2 (in brackets the paper's, of 6 and 4 layers). DistilBERT, BERT-PKD and TinyBERT have one teacher each: MiniLM with six layers, fine-tuned alone:",
        "",
        *rows(_headings(list(parts)), found),
    ]
    for size in mtbert.SIZES:
        rivals = {f"{method}-{size}": title for method, title in BASELINES.items()}
        lines += _against(parts, f"mt_bert-{size}", f"MT-BERT of {size[-1]} layers", rivals)
    return lines


def _table3(parts: Mapping[str, Part]) -> list[str]:
    first = mtbert.WHOLE[0]
    keys = [key.removeprefix(f"{first}-") for key in mtbert.ALL if key.startswith(f"{first}-")]
    rivals = {key: key.replace("-", " + ") for key in keys if f"-{key}" not in (APART, TOGETHER)}
    found = [["all three", *(_scores(part, OURS) for part in parts.values())]]
    for key, title in rivals.items():
        ways = ("", WITHOUT_HIDDEN) if mtbert.WEAKEST in key else ("",)
        found += [[title + way, *(_scores(part, key + way) for part in parts.values())] for way in ways]
    return [
        "Combinations of teachers (Table 3), students of three layers. A single teacher is fine-tuned alone, with its own head:",
        "",
        *rows(_headings(list(parts)), found),
        *_against(parts, OURS, "All three teachers", rivals),
    ]


def _figures(parts: Mapping[str, Part]) -> list[str]:
    found = [["MT-BERT", *(_scores(part, OURS) for part in parts.values())]]
    found += [[title, *(_scores(part, key) for part in parts.values())] for key, title in FIGURES.items()]
    return [
        "Ensembles (Fig. 3), MT-BERT without one of its parts (Figs. 4, 5), and the paper's pooled head; students with three layers:",
        "",
        *rows(_headings(list(parts)), found),
        *_against(parts, OURS, "MT-BERT", FIGURES),
        *_against(
            parts,
            f"mt_bert-{POOLED}",
            "MT-BERT with the pooled head",
            {f"supervised-{POOLED}": FIGURES[f"supervised-{POOLED}"]},
        ),
    ]


def _against(parts: Mapping[str, Part], ours: str, title: str, rivals: Mapping[str, str]) -> list[str]:
    found = {name: part.compare(ours, list(rivals)) for name, part in parts.items()}
    return [
        f"{title} minus …, in points of accuracy:",
        "",
        *rows(_headings(list(parts), ""), [[f"− {t}", *(points(f.get(r)) for f in found.values())] for r, t in rivals.items()]),
    ]  # fmt: skip
