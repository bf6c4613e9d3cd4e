"""results/long_texts.md: the figures of results/long_texts/answers.json."""

from __future__ import annotations

from typing import Any

from alloykit.files import write_atomic
from benchmarks.harness.results import RESULTS
from benchmarks.harness.sections import measured, ran
from benchmarks.harness.summary import rows
from benchmarks.long_texts.answers import LENGTH, LONGER, SETTINGS


def write() -> None:
    lines = ["# Long texts", ""]
    made = measured("long_texts", "answers")
    lines += ["Not measured yet.", ""] if made is None else [*_answers(made["figures"]), *ran(made)]
    write_atomic(RESULTS / "long_texts.md", "\n".join(lines).rstrip() + "\n")


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"


def _answers(f: dict[str, Any]) -> list[str]:
    s, teachers = f["settings"], f["teachers"]
    ways = [*SETTINGS, *(f"head, {length} tokens" for length in LONGER)]
    return [
        "What should a model read of a text that is too long for it? [Four ways](../../docs/guide/texts.md#long-texts): the beginning (`head`), the end (`tail`), some of both (`head_tail`), or all pieces, with the mean of the answers (`mean`).",
        "",
        f"OhSumed, its {s['labels']} most frequent labels; each of the two teachers knows half of them. {s['train']} training texts, {s['test']} test texts of {f['tokens']} tokens "
        f"on average; {_percent(f['longer'])} % are longer than the {LENGTH} tokens that the models read. All models have three layers of MiniLM. Teachers were trained on the beginning of the texts, "
        "students on what the row says (with `mean` on the beginning). One seed: a difference of less than about five points may be chance.",
        "",
        "Accuracy of a teacher on texts of its own labels, in per cent, by what it reads:",
        "",
        *rows(["reads", *(f"teacher {name}" for name in teachers)], [[w, *(_percent(t[w]) for t in teachers.values())] for w in ways]),
        "Accuracy on all labels, in per cent, where teachers and student read long texts in the same way:",
        "",
        *rows(
            ["read", "ensemble", "routing", "student", "the same student, head"],
            [
                [how, *(_percent(f["students"][how].get(k)) for k in ("ensemble", "routing", "student", "student, head"))]
                for how in SETTINGS
            ],
        ),
    ]  # fmt: skip
