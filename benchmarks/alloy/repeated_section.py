"""The part of the page about pools in which texts repeat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.alloy import outside_targets
from benchmarks.alloy.targets_of_files import HEADINGS, OWN, accuracies_of
from benchmarks.harness.sections import Cells, cells_of, command, measured, measured_section
from benchmarks.harness.summary import rows

WORDS = (
    "The teachers are those of the settings above (seed 0). Some texts of the pool were added again and again, word for word or each time after another number. "
    "Accuracy of the targets on the set's own test texts, in %. No student is trained. "
    "Alloy leaves out of its fit what is nearly the same as three earlier texts ([Eq. 30](../../docs/methods/alloy.md#texts-that-repeat-others)). "
    "This rule was chosen on AG News and Banking77 with the same teachers and with pools of this kind."
)


def repeated_section() -> list[str]:
    return measured_section("Pools in which texts repeat", WORDS, measured("alloy", "repeated"), _body)


def _body(figures: Mapping[str, Any]) -> list[str]:
    pools = figures["pools"]
    body = [
        [p["title"], "choice" if p["choice"] else "reported", _repeats(p), f"{p['texts']:,}", f"{p['left_out']:,} of {p['left_out'] + p['fitted_to']:,}",
         *accuracies_of([p])]
        for p in pools
    ]  # fmt: skip
    own, other = ([p for p in pools if (p["kind"] == OWN) == which] for which in (True, False))
    body += [
        [f"*mean, {name}*", "", "", "", "", *accuracies_of(these)]
        for name, these in (("nothing repeated", own), ("with repeated texts", other))
    ]
    return [
        *rows(["teachers of", "kind of set", "repeated", "texts", "left out", *HEADINGS], body),
        *_later_sets(cells_of(outside_targets.TABLE)),
    ]


def _later_sets(cells: Cells) -> list[str]:
    """How many texts are left out where nothing was added."""
    found = [cell["repeats"] for cell in cells.values() if "repeats" in cell]
    if not found:
        return []
    return [
        f"In {len(found)} pools of [later sets](#later-sets-targets), to which no text was added, texts are left out in {sum(map(bool, found))}, {max(found):.0f} at most (`{command(outside_targets.TABLE)}`).",
        "",
    ]


def _repeats(pool: Mapping[str, Any]) -> str:
    if pool["kind"] == OWN:
        return "nothing"
    return f"{100 * pool['share']:g} % of the texts {pool['times']:,} times, {pool['kind']}"
