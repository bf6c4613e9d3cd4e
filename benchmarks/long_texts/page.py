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
        f"OhSumed, its {s['labels']} most frequent labels, two teachers with half of them each, {s['train']} texts to train on and "
        f"{s['test']} test texts of {f['tokens']} tokens on average; {_percent(f['longer'])} % are longer than the {LENGTH} tokens that the models "
        "read. All models are three layers of MiniLM that were trained on the beginning of the texts, or, for students, on what the "
        "row says (with mean on the beginning). One seed: a difference of less than about five points may be chance.",
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
