"""benchmarks/results/stratanet.md, from the committed results and what was written by hand in notes/."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from alloykit.files import write_atomic
from benchmarks.harness.data import DATA_FREE
from benchmarks.harness.profiles import SMALL
from benchmarks.harness.results import RESULTS
from benchmarks.harness.sections import (
    Cells,
    accuracies,
    cells_of,
    comparisons,
    how_to_read,
    measured,
    note,
    ran,
    section,
)
from benchmarks.harness.sets import OHSUMED
from benchmarks.harness.settings import Setting
from benchmarks.harness.summary import Part, rows, spread
from benchmarks.harness.table import Table
from benchmarks.stratanet import (
    domains,
    domains_page,
    fig4,
    fig5,
    fig5_larger,
    figures,
    larger,
    larger_page,
    narrow,
    table3,
    table5,
)
from benchmarks.stratanet.methods import BASELINES, NARROW, SIZES, K
from benchmarks.stratanet.owners import DOUBLED

NOTES = Path(__file__).with_name("notes")
AS_DFD = BASELINES["as_dfd"]
TITLES = {
    "supervised": "Supervised (upper bound)",
    **{f"teacher{i}": f"Teacher {i}" for i in range(1, 5)},
    "ensemble": "Ensemble",
    "vanilla_kd": "Vanilla KD",
    "as_dfd": "AS-DFD",
    "muka-soft": "MUKA-Soft",
    "muka-hard": "MUKA-Hard",
    "stratanet": "StrataNet",
    "stratanet-md": "– confidence from MD",
    "stratanet-msp": "– confidence from the maximum probability",
    "stratanet-mul": "– StrataNet_mul",
    "stratanet-noST": "– StrataNet_noST",
    "stratanet-small": "StrataNet, two layers",
    "as_dfd-small": "AS-DFD, two layers",
}
OWNERS = {
    "rmd": "RMD",
    "md": "MD",
    "msp": "maximum probability",
    DOUBLED: "RMD, second teacher twice as wide",
}
POOLS = {
    **DATA_FREE,
    "shared": "the teachers' own training texts, unlabelled: for comparison with students of generated texts",
}


def write() -> None:
    taught = SMALL.of_sets([OHSUMED.name], "teacher")
    head = [
        "# StrataNet: our numbers beside the paper's",
        "",
        "Vijayaraghavan et al. 2024. Their teachers are BERT-base, their generator GPT-2 of 124 M parameters and more; ours are MiniLM of three "
        "layers and a language model of 6 M parameters, so levels are not comparable, only orders and differences are.",
        "",
        *note(NOTES, "summary"),
    ]
    lines = [
        "## Setting",
        "",
        f"The generator: `{json.dumps(SIZES['generation'])}`, `texts` being those of all classes together. Its language model was trained on general text (Wikipedia sentences, news agencies, novels), never "
        "on the teachers' domains; perplexity per token 93 to 179 on held-out text of those sources. It is not instruction-tuned. "
        f"Students learn for {SIZES['student']['epochs']} epochs in batches of {SIZES['student']['batch_size']} (the paper: 10 and 16), AS-DFD's for {AS_DFD['training']['epochs']} in each of its three rounds, from {AS_DFD['texts']} embeddings each time: making them takes most of its time. "
        f"There are as many texts of every kind, {SIZES['texts']:,}. MUKA has K = {K}. OhSumed's teachers learn for {taught['epochs']} epochs in batches of {taught['batch_size']}: with the training of the other sets, a teacher answered one label to every text. That run came first and was withdrawn after its students were seen. Of three trainings this one had the highest accuracy of the teachers on training texts that they had not learned from (seed 0). Everything else is as on [MUKA's page](muka.md).",
        "",
        f"Hours of one core: {_hours()}.",
        "",
        *_generator(),
        *section(table3.TABLE, NOTES, _table3),
        *_folders(),
        *larger_page.speed(),
        *section(larger.TABLE, NOTES, larger_page.larger_section),
        *section(domains.TABLE, NOTES, domains_page.domains_section),
        *section(narrow.TABLE, NOTES, _narrow),
        *section(fig4.TABLE, NOTES, figures.fig4),
        *section(fig5.TABLE, NOTES, figures.prompted),
        *section(fig5_larger.TABLE, NOTES, figures.prompted_larger),
        *section(table5.TABLE, NOTES, _table5),
        *_samples(),
        *larger_page.samples(),
    ]
    write_atomic(RESULTS / "stratanet.md", "\n".join([*head, *how_to_read(lines), *lines]).rstrip() + "\n")


def _hours() -> str:
    """Hours of every table: its cells with the teachers, texts and outputs that they share."""
    modules = (table3, larger, domains, narrow, fig4, fig5, fig5_larger, table5)
    return ", ".join(
        f"{m.TABLE.name} {sum(sum(c.get('seconds', {}).values()) for c in cells_of(m.TABLE).values()) / 3600:.1f}"
        for m in modules
    )


def _generator() -> list[str]:
    lines, found = ["## The generator", ""], measured("stratanet", "generator")
    if found is None:
        return [*lines, "Not run yet.", ""]
    f = found["figures"]
    body = [
        [name, s["texts"], f"{100 * s['control']:.0f} %", f"{s['confidence']:.2f}", f"{s['distinct_2']:.2f}", f"{s['self_bleu']:.2f}",
         f"{s['perplexity']:.0f}", s["reads_per_text"], s["seconds_per_text"]]
        for name, s in f["settings"].items()
    ]  # fmt: skip
    loop = f["loop"]
    return [
        *lines,
        "Texts for the first teacher of AG News, one seed. Control: the share of the texts to which the teacher gives the intended class. Distinct-2 and self-BLEU depend on the number of texts.",
        "",
        *rows(
            [
                "",
                "texts",
                "control",
                "confidence",
                "distinct-2",
                "self-BLEU",
                "perplexity",
                "teacher calls per text",
                "s per text",
            ],
            body,
        ),
        f"The same four texts with one candidate read at a time: {loop['seconds']['one at a time']} s instead of {loop['seconds']['batched']} s, "
        f"{loop['ratio']} ×; {loop['same_texts']} of the 4 texts are the same.",
        "",
        *ran(found),
    ]


def _table3(table: Table, cells: Cells) -> list[str]:
    lines = []
    for pool, what in POOLS.items():
        lines += [f"### Texts: {pool}", "", f"{what[0].upper()}{what[1:]}.", ""]
        lines += accuracies(table, cells, pool, TITLES, table3.PAPER if pool in ("generated", "shared") else None)
    rivals = [m for m in table.grid["generated"] if m in TITLES and m != "stratanet"]  # those with a student
    lines += comparisons(table, cells, "generated", TITLES, ("stratanet",), rivals)
    return lines + _found(table.settings, cells)


def _narrow(table: Table, cells: Cells) -> list[str]:
    changed = ", ".join(f"{key} {value}" for key, value in NARROW.items())
    return [
        f"The first run: {changed}, and students of {SMALL.student['epochs']} epochs in batches of {narrow.TABLE.student['batch_size']}; everything else as above. "
        "Steps without the teacher also drew from the eight most probable tokens.",
        "",
        *accuracies(table, cells, "generated", TITLES),
        "Its Vanilla KD students of random words, and of Wikipedia sentences:",
        "",
        *accuracies(table, cells, "random", TITLES),
        *accuracies(table, cells, "cross", TITLES),
    ]


def _found(settings: Sequence[Setting], cells: Cells) -> list[str]:
    """Routing accuracy on real texts, by statistics of real texts and of generated ones, in the student's last block."""
    body = []
    for pool, what in (("shared", "the teachers' own labelled texts"), ("generated", "generated texts")):
        parts = [Part(cells, s.name, pool) for s in settings]
        for kind, title in OWNERS.items():
            found = [[p.cell(seed, "owners")[kind][-1] for seed in p.seeds("owners")] for p in parts]
            body.append([what, title, *(spread(values) for values in found)])
    return [
        "Routing accuracy: real test texts for which a teacher that knows them has the largest confidence, mean over the teachers, in %. RMD: relative Mahalanobis distance, MD: the plain one (last block; `benchmarks/stratanet/owners.py`):",
        "",
        *rows(["statistics of", "confidence", *(s.title for s in settings)], body),
    ]


def _table5(table: Table, cells: Cells) -> list[str]:
    shared = ("teachers", "stratanet", "stratanet-msp", "as_dfd", "vanilla_kd", "muka-soft")
    cells = cells | {k: c for k, c in figures.of_table3(table).items() if _is_of(k, "ag_news/generated", shared)}
    return [
        "The students with three layers and two equal teachers are those of Table 3 (two of its seeds). The paper's students have six and four layers.",
        "",
        *accuracies(table, cells, "generated", TITLES, table5.PAPER),
        *_owners(table, cells, ("stratanet", "stratanet-msp")),
        *_found(table5.ASKED, cells),
    ]


def _is_of(key: str, setting: str, methods: Sequence[str]) -> bool:
    return key.startswith(f"{setting}/") and key.rsplit("/", 1)[1] in methods


def _owners(table: Table, cells: Cells, methods: Sequence[str]) -> list[str]:
    """Routing accuracy: how often the teacher with the largest confidence knows the text."""
    parts = [Part(cells, s.name, "generated") for s in table.settings]
    body = [[TITLES[m], *(spread(p.values(m, "routing", "correct_teacher_balanced")) for p in parts)] for m in methods]
    heading = "routing accuracy on real test texts, mean over the teachers, %"
    return rows([heading, *(s.title for s in table.settings)], body)


def _folders() -> list[str]:
    found = measured("stratanet", "folders")
    if found is None:
        return []
    f = found["figures"]
    body = [[key, w["texts"], f"{100 * w['accuracy']:.1f} %", w["seconds"]] for key, w in f["ways"].items()]
    return [
        "## From two model folders, by the command line",
        "",
        "`alloykit amalgamate recipe.yaml`, AG News, seed 0; the first recipe has `texts: generate` and writes the texts; the last one gets them together with real texts.",
        "",
        *rows(["texts, method", "the student reads", "student's accuracy", "s"], body),
        f"Their ensemble reaches {100 * next(iter(f['ways'].values()))['ensemble']:.1f} %. "
        f"The texts are {'the same as' if f['same_texts_as_table_3'] else 'not the same as'} those of Table 3's cells.",
        "",
        *ran(found),
    ]


def _samples() -> list[str]:
    found = measured("stratanet", "samples")
    if found is None:
        return []
    lines = [
        "## Samples of generated text",
        "",
        f"The first of each class, as they came (seed 0; `{found['command']}`).",
        "",
    ]
    for setting, classes in found["figures"].items():
        body = [
            [label, text.replace("|", "/").replace("\n", " ")] for label, texts in classes.items() for text in texts
        ]
        lines += [f"### {setting}", "", *rows(["class", "text"], body)]
    return lines
