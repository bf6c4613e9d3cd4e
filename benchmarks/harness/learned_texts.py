"""The texts that a teacher learns from, where they are not simply those of its labels."""

from __future__ import annotations

import random
from pathlib import Path

from benchmarks.harness.data import read, write
from benchmarks.harness.settings import OTHER, TeacherPlan

SHARE, LEAST = 0.1, 8  # a teacher of few texts: this share of its own, but at least so many for each label
WRONG = 0.4  # a teacher of noisy labels: this share of its texts has a label drawn at random from its own


def learned_texts(plan: TeacherPlan, texts: Path, folder: Path, i: int) -> Path:
    """texts: of all labels. folder: where a changed copy is written, once. i: the teacher's place in its setting."""
    if not plan.other and plan.flaw not in ("few", "noisy"):
        return texts
    target = folder / f"{texts.stem}-of-teacher{i + 1}{plan.flaw and '-' + plan.flaw}.parquet"
    if not target.exists():
        table, draw = read(texts), random.Random(f"{plan.flaw} {texts.stem} {i}")
        rows = list(zip(table["text"], table["label"], strict=True))
        if plan.other:
            rows = [(text, label if label in plan.labels else OTHER) for text, label in rows]
        if plan.flaw == "few":
            rows = _few(rows, plan, draw)
        if plan.flaw == "noisy":
            rows = [
                (text, draw.choice(plan.learned) if label in plan.learned and draw.random() < WRONG else label)
                for text, label in rows
            ]
        write({"text": [text for text, _ in rows], "label": [label for _, label in rows]}, target)
    return target


def _few(rows: list[tuple[str, str]], plan: TeacherPlan, draw: random.Random) -> list[tuple[str, str]]:
    """Of each label that the teacher learns."""
    kept: list[tuple[str, str]] = []
    for name in plan.learned:
        there = [row for row in rows if row[1] == name]
        kept += draw.sample(there, min(len(there), max(LEAST, round(SHARE * len(there)))))
    return draw.sample(kept, len(kept))
