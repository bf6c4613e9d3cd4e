"""The part of the page about pools in which texts repeat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.alloy.other_topics_section import TITLES
from benchmarks.alloy.repeated import OWN
from benchmarks.alloy.targets_of_a_file import WAYS
from benchmarks.harness.sections import measured, ran
from benchmarks.harness.summary import rows

WORDS = (
    "The teachers are those of the settings above (seed 0). Some texts of the pool were added again and again, word for word or each time after another number. "
    "Accuracy of the targets on the set's own test texts, in %. No student is trained. "
    "Alloy leaves out of its fit what is nearly the same as three earlier texts ([Eq. 30](../../docs/methods/alloy.md#texts-that-repeat-others)). "
    "This rule was chosen on AG News and Banking77 with the same teachers and with pools of this kind."
)


def repeated_section() -> list[str]:
    found = measured("alloy", "repeated")
    lines = ["## Pools in which texts repeat", "", WORDS, ""]
    if found is None:
        return [*lines, "Not run yet.", ""]
    pools = found["figures"]["pools"]
    body = [
        [p["title"], "choice" if p["choice"] else "reported", _repeats(p), f"{p['texts']:,}", f"{p['left_out']:,} of {p['left_out'] + p['fitted_to']:,}",
         *(f"{100 * p['accuracy'][way]:.1f}" for way in WAYS)]
        for p in pools
    ]  # fmt: skip
    headings = ["teachers of", "kind of set", "repeated", "texts", "left out", *(TITLES[way] for way in WAYS)]
    means = [
        [f"*mean, {name}*", "", "", "", "", *(f"{100 * np.mean([p['accuracy'][way] for p in these]):.1f}" for way in WAYS)]
        for name, these in (
            ("own texts", [p for p in pools if p["kind"] == OWN]),
            ("with repeated texts", [p for p in pools if p["kind"] != OWN]),
        )
    ]  # fmt: skip
    return [*lines, *ran(found), *rows(headings, [*body, *means]), ""]


def _repeats(pool: Mapping[str, Any]) -> str:
    if pool["kind"] == OWN:
        return "nothing"
    return f"{100 * pool['share']:g} % of the texts {pool['times']:,} times, {pool['kind']}"
