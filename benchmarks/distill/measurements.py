"""Two parts of the page that are not tables of cells: size and speed, and the constructed task."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.distill import selection, size
from benchmarks.harness.profiles import TASKS
from benchmarks.harness.sections import measured, note, ran
from benchmarks.harness.sets import SETS
from benchmarks.harness.summary import rows

MEANS = {
    "prefers_the_right_teacher": "prefers the right one, %",
    "selects_the_right_one": "selects the right one, %",
    "selects_the_wrong_one": "selects the wrong one, %",
    "selected_none": "none selected, %",
}


def sizes() -> list[str]:
    lines, found = ["## Size and speed", ""], measured("distill", "size")
    if found is None:
        return [*lines, "Not run yet.", ""]
    f = found["figures"]
    body = []
    for role, about in f["models"].items():
        row = [role, f"{about['layers']} × {about['width']}", f"{about['parameters'] / 1e6:.1f} M"]
        body.append([*row, f"{f['texts_per_second'][role]:,.0f}", *(_times(f, s, role) for s in size.STUDENTS)])
    rate = f"{f['texts_per_second']['all four']:,.0f}"
    body.append(
        ["all four teachers, one after the other", "", "", rate, *(_times(f, s, "all four") for s in size.STUDENTS)]
    )
    return [
        *lines,
        f"The first {f['texts']} training texts of {SETS[f['data']].title}, at most {TASKS.max_length} tokens, in float32; medians of {f['rounds']} rounds, in each of "
        "which every model has its turn. Last columns: how many times as long as this student it takes (in brackets: the middle half of the rounds).",
        "",
        *rows(["", "layers × width", "parameters", "texts per second", *(f"against {s}" for s in size.STUDENTS)], body),
        *ran(found),
    ]  # fmt: skip


def _times(figures: Mapping[str, Any], student: str, role: str) -> str:
    one = figures["times_a_student"][student].get(role)
    return "–" if one is None else f"{one['ratio']:.1f} ({one['from']:.1f}–{one['to']:.1f})"


def policy(notes: Path) -> list[str]:
    lines, found = ["## Does RL-KD's policy learn? A constructed task", ""], measured("distill", "selection")
    if found is None:
        return [*lines, "Not run yet.", ""]
    f = found["figures"]
    body = []
    for reward in selection.REWARDS:
        runs = f["rewards"][reward]
        each = [100 * r["right_of_those_selected"] for r in runs]
        means = [100 * float(np.mean([r[key] for r in runs])) for key in MEANS]
        body.append(
            [reward, f"{np.mean(each):.1f} ({', '.join(f'{x:.0f}' for x in each)})", *(f"{x:.1f}" for x in means)]
        )
    return [
        *lines,
        f"{f['texts']:,} texts; of two teachers one is right on half of them and wrong on the rest, the other the other way round "
        "(`benchmarks/distill/selection.py`). Of the teachers that a policy selects which has learnt nothing, 50 % are right.",
        "",
        *rows(["reward", "right of those selected, % (by seed)", *MEANS.values()], body),
        *note(notes, "selection"),
        *ran(found),
    ]  # fmt: skip
