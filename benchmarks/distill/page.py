"""benchmarks/results/distill.md: RL-KD's and MT-BERT's tables, and the constructed task, from the committed results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from alloykit.files import write_atomic
from benchmarks.distill import larger, larger_page, measurements, mtbert, mtbert_page, own_rates, own_rates_page, rlkd4
from benchmarks.distill.methods import FOUR, SHARED, TITLES
from benchmarks.harness.profiles import TASKS
from benchmarks.harness.results import RESULTS, numbers
from benchmarks.harness.sections import Cells, how_to_read, note, section
from benchmarks.harness.sets import SETS
from benchmarks.harness.summary import Part, points, rows, spread
from benchmarks.harness.table import Table

NOTES = Path(__file__).with_name("notes")
RLKD_PAPER = {  # Table 4, BERT-3: accuracy on QQP, MRPC, MNLI-mm, RTE, QNLI, SST-2
    "supervised": (88.3, 72.1, 74.6, 60.7, 83.3, 85.9),
    "kd-minilm6": (88.4, 74.0, 75.3, 56.7, 83.7, 87.5),
    "rand_single": (87.3, 70.6, 75.0, 51.6, 83.7, 86.0),
    "w_ensemble": (85.3, 74.8, 72.2, 56.7, 82.4, 87.5),
    "lr_dev_ensemble": (88.6, 71.8, 75.4, 54.9, 84.2, 86.8),
    "best_single": (88.6, 77.2, 75.1, 56.0, 84.1, 87.0),
    "rl_kd-reward1": (89.1, 76.0, 76.9, 61.4, 85.4, 89.1),
    "rl_kd-reward2": (89.1, 76.2, 77.4, 63.5, 84.8, 88.5),
    "rl_kd-reward3": (89.0, 76.7, 76.7, 64.6, 85.3, 89.1),
}
ORDER = ("qqp_10k", "mrpc", "mnli_10k", "rte", "qnli_10k", "sst2")
LR_DEV, EQUAL = "lr_dev_ensemble", "u_ensemble"
five = partial(spread, usual=5)
RL = [name for name in TITLES if name.startswith("rl_kd")]
SMALLER = {
    "w_ensemble": "W-Ensemble",
    "lr_dev_ensemble": "LR-Dev-Ensemble",
    "supervised": "FT",
    "u_ensemble": "U-Ensemble",
}


def write() -> None:
    head = [
        "# Several teachers of one task: our numbers beside the papers'",
        "",
        "Wu et al. 2021 (MT-BERT) and Yuan et al. 2021 (RL-KD). Their models are BERT-base and similar ones with 12 layers; their students have 3 to "
        "6. Ours are much smaller and learn from fewer texts, so compare only orders and differences, not levels.",
        "",
        *note(NOTES, "summary"),
    ]
    lines = [
        *_setting(),
        *measurements.sizes(),
        *measurements.policy(NOTES),
        *section(larger.TABLE, NOTES, larger_page.body),
        *section(own_rates.TABLE, NOTES, own_rates_page.body),
        *section(rlkd4.TABLE, NOTES, _rlkd),
        *section(mtbert.TABLE, NOTES, mtbert_page.body),
    ]
    write_atomic(RESULTS / "distill.md", "\n".join([*head, *how_to_read(lines), *lines]).rstrip() + "\n")


def _setting() -> list[str]:
    p = TASKS
    return [
        "## Setting",
        "",
        f"Profile `{p.name}`. {p.texts:,} training texts of each task, {p.validation} labelled texts to select the checkpoint, as in the papers, "
        f"{p.test:,} test texts at most, {p.max_length} tokens. Teachers: {p.teacher['epochs']} epochs at {p.teacher['learning_rate']}; "
        f"students: {p.student['epochs']} epochs at {p.student['learning_rate']}, batch {p.student['batch_size']}, the best checkpoint "
        "of each. TinyBERT has as many epochs again for its first stage. RL-KD's students learn for one epoch without and two with the policy, as long "
        "as the others; with the rewards of Eq. 7 the policy's steps come in addition. Every seed draws its own texts and trains its own teachers and students; "
        "± is the standard deviation over seeds: five in RL-KD's tables, three in MT-BERT's.",
        "",
        f"All methods of RL-KD's tables have α = {SHARED['alpha']:g} and T = {SHARED['temperature']:g}. RL-KD's authors choose among α = 0.2, 0.5, 0.7 and T = 5, 10, 20 on labelled "
        "texts; nothing was chosen here. RL-KD's reward is that of its row. alloykit's own defaults are `reward: improvement` and T = 1 "
        "([beside the paper's](../../docs/methods/rl-kd.md#our-defaults-beside-the-papers-settings)).",
        "",
        "Teachers: MiniLM of six layers, of four and of three evenly spaced ones, and the RoBERTa with byte-level BPE of 3 × 192 that was "
        "[trained here](encoders.md). Students: MiniLM of three or two evenly spaced layers. MiniLM has seen NLI (SNLI, MultiNLI) and Quora's "
        "duplicate questions in its own training, which helps it on MNLI and QQP.",
        "",
    ]


def _rlkd(table: Table, cells: Cells) -> list[str]:
    parts = {name: Part(cells, name, "shared") for name in ORDER}
    body = [["the most frequent label", *(five(_majority(parts[n])) for n in ORDER)]]
    body += [[f"teacher {encoder}", *(five(_teacher(parts[n], i)) for n in ORDER)] for i, encoder in enumerate(FOUR)]
    body.append(["a teacher drawn at random, in expectation", *(five(_drawn(parts[n])) for n in ORDER)])
    for name in rlkd4.ALONE:
        title = TITLES[name.removeprefix("routing-")]
        body.append([title, *(five(parts[n].values(name, "accuracy")) for n in ORDER)])
    lines = [
        "Teachers and their ensembles, without a student (Table 3):",
        "",
        *rows(["accuracy, %", *_titles(ORDER)], body),
        f"{TITLES[LR_DEV]} minus {TITLES[EQUAL]}, both without a student, in points:",
        "",
        *rows(
            ["", *_titles(ORDER)],
            [
                [
                    "",
                    *(
                        points(parts[n].compare(f"routing-{LR_DEV}", [f"routing-{EQUAL}"]).get(f"routing-{EQUAL}"))
                        for n in ORDER
                    ),
                ]
            ],
        ),
    ]
    body = []
    for method, title in TITLES.items():
        stated = RLKD_PAPER.get(method)
        body.append([title, *(
            five(parts[n].values(method, "accuracy")) + (f" [{stated[i]}]" if stated else "") for i, n in enumerate(ORDER)
        )])  # fmt: skip
    scored = [[title, *(five(parts[n].values(method, "macro_f1")) for n in ORDER)] for method, title in TITLES.items()]
    lines += [
        "Students of two layers (Table 4; in brackets the paper's BERT-3):",
        "",
        *rows(["accuracy, %", *_titles(ORDER)], body),
        "The same students by macro-F1:",
        "",
        *rows(["macro-F1, %", *_titles(ORDER)], scored),
    ]
    lines += [
        "How often the policy selected each teacher for a text during training, and how often none, in % (mean over labels and seeds):",
        "",
        *rows(["", "", *FOUR, "none"], [row for name in ORDER for row in _selected(parts[name], name)]),
    ]
    return lines + _against(parts, ORDER, RL, SMALLER)


def _selected(part: Part, name: str) -> list[list[str]]:
    body = []
    for method in RL:
        by_label = [label for seed in part.seeds(method) for label in part.cell(seed, method)["selection"].values()]
        if by_label:
            shares = np.mean([[*label["teachers"], label["none"]] for label in by_label], 0)
            body.append([SETS[name].title, TITLES[method], *(f"{100 * share:.0f}" for share in shares)])
    return body


def _teacher(part: Part, i: int) -> list[float]:
    return part.values("teachers", "teachers", f"teacher{i + 1}", "accuracy")


def _drawn(part: Part) -> list[float]:
    """The mean accuracy of the teachers, by seed."""
    each = [_teacher(part, i) for i in range(len(FOUR))]
    return [float(np.mean(seed)) for seed in zip(*each, strict=True)]


def _majority(part: Part) -> list[float]:
    """Accuracy of the most frequent label for every test text, by seed."""
    truth = [numbers(part.cell(seed, "teachers")["labels"]) for seed in part.seeds("teachers")]
    return [float(np.bincount(labels).max() / len(labels)) for labels in truth]


def _titles(names: Sequence[str]) -> list[str]:
    return [SETS[n].title for n in names]


def _against(
    parts: Mapping[str, Part], names: Sequence[str], ours: Sequence[str], rivals: Mapping[str, str]
) -> list[str]:
    """Table 5's comparisons, for every task: ours minus another method."""
    body = []
    for name in names:
        for mine in ours:
            found = parts[name].compare(mine, list(rivals))
            body.append([SETS[name].title, TITLES[mine], *(points(found.get(rival)) for rival in rivals)])
    return [
        "RL-KD minus another method, in points (Table 5; Holm's correction is within each row):",
        "",
        *rows(["", "", *(f"− {title}" for title in rivals.values())], body),
    ]
