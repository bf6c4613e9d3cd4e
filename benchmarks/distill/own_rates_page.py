"""The section of the students with alloykit's default rates: beside those at one rate, and against fine-tuning."""

from __future__ import annotations

from functools import partial

from benchmarks.distill import larger, larger_page, own_rates
from benchmarks.harness.data import MANY
from benchmarks.harness.sections import Cells, cells_of
from benchmarks.harness.summary import Part, spread
from benchmarks.harness.table import Table

OTHERS = {"disjoint": "others", MANY: "many_others"}  # what stands in the names of their students here
SIX = "-six"


def body(table: Table, cells: Cells) -> list[str]:
    """Only settings that have cells."""
    ran = [s for s in table.settings if any(key.startswith(f"{s.name}/") for key in cells)]
    found, before = _of_one_pool(cells), cells_of(larger.TABLE)
    told = "Students of two layers. In brackets: at 3e-4, from the table above, without MPNet-base."
    return larger_page.tables(
        table,
        {s.name: Part(found, s.name, "shared") for s in ran},
        {s.name: Part(before, s.datasets[0], "shared") for s in ran},
        told,
        *_students(),
        partial(spread, usual=3),
    )


def _students() -> tuple[list[str], list[str]]:
    """The names on the page of the students of two layers and of six."""
    longer = (*own_rates.LONGER_ON_LABELS, *(_named(name, "disjoint") for name in own_rates.LONGER_ON_OTHERS))
    others = [f"vanilla_kd-{which}" for which in OTHERS.values()]
    return (
        [*own_rates.TWO_LAYERS, *others, *(name for name in longer if not name.endswith(SIX))],
        [*own_rates.SIX_LAYERS, *(name + SIX for name in others), *(name for name in longer if name.endswith(SIX))],
    )


def _named(method: str, pool: str) -> str:
    """A method in the pool of other texts, with this pool in its name."""
    name = method.removesuffix(SIX)
    return f"{name}-{OTHERS[pool]}{method.removeprefix(name)}"


def _of_one_pool(cells: Cells) -> Cells:
    """With the students of other texts as further methods of the pool "shared". All pools have the same test texts."""
    found = dict(cells)
    for key, cell in cells.items():
        setting, pool, seed, method = key.split("/")
        if pool in OTHERS:
            found[f"{setting}/shared/{seed}/{_named(method, pool)}"] = cell
    return found
