"""The part of the page about foreign texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.alloy.foreign import OF_A_SOURCE, SIZE, WAYS, gains
from benchmarks.harness.sections import measured, measured_section
from benchmarks.harness.sets import SETS
from benchmarks.harness.summary import rows

Pools = Sequence[Mapping[str, Any]]
TITLES = {"wiki_sentences": "Wikipedia sentences", "sst2": "SST-2", "qqp_10k": "QQP"}
WORDS = (
    "Pools of {size:,} texts, of which a part is replaced by texts of another source (at most {most}). Balanced accuracy of Alloy's targets minus that of the best rival (Ensemble, MUKA-Soft with one "
    "plain pass, Energy, Largest logit), over the texts with a known label, in points: without a background, always with one, and as "
    "[Eq. 20](../../docs/methods/alloy.md#texts-that-no-teacher-knows) decides (the default). No student is trained. Eq. 20 was chosen on the sets of the choice."
)


def foreign_section() -> list[str]:
    return measured_section(
        "Foreign texts", WORDS.format(size=SIZE, most=OF_A_SOURCE), measured("alloy", "foreign"), _body
    )


def _body(figures: Mapping[str, Any]) -> list[str]:
    lines, pools = list[str](), figures["pools"]
    for title, chosen in (("sets of the choice", True), ("reported sets", False)):
        these = [pool for pool in pools if pool["choice"] == chosen]
        lines += [f"### Foreign texts, {title}", "", *_by_source(these)]
    return [*lines, "### Foreign texts by setting, mean over the sources", "", *_by_setting(pools)]


def _by_source(pools: Pools) -> list[str]:
    body = []
    for share in sorted({pool["share"] for pool in pools}):
        for source in sorted({pool["source"] for pool in pools if pool["share"] == share}):
            these = [p for p in pools if p["share"] == share and p["source"] == source]
            body.append([f"{100 * share:.0f} %", _named(source), *_row(these)])
    foreign = [pool for pool in pools if pool["share"]]
    body.append(["*all with foreign texts*", "", *_row(foreign)])
    return rows(
        ["foreign", "source", "pools", *_headings(), "background used in", "b of foreign texts", "b of the others"],
        body,
    )


def _by_setting(pools: Pools) -> list[str]:
    body = []
    for setting in dict.fromkeys(pool["setting"] for pool in pools):
        for share in sorted({pool["share"] for pool in pools}):
            these = [p for p in pools if p["setting"] == setting and p["share"] == share]
            best = np.mean([max(p["rivals"].values()) for p in these])
            oracle = np.mean([p["oracle"] for p in these])
            body.append(
                [these[0]["title"], f"{100 * share:.0f} %", f"{100 * best:.1f}", f"{100 * oracle:.1f}", *_gains(these)]
            )
    return rows(["", "foreign", "best rival, %", "oracle routing, %", *_headings()], body)


def _headings() -> list[str]:
    return [f"{title}: mean (worst)" for title in ("without", "always", "by Eq. 20")]


def _row(pools: Pools) -> list[Any]:
    used = [pool for pool in pools if pool["used"]]
    shares = [
        [p[f"background_of_{part}"] for p in used if p[f"background_of_{part}"] is not None]
        for part in ("foreign", "own")
    ]
    return [len(pools), *_gains(pools), len(used), *(f"{np.mean(s):.2f}" if s else "–" for s in shares)]


def _gains(pools: Pools) -> list[str]:
    each = {way: gains(pools, way) for way in WAYS}
    return [f"{100 * np.mean(g):+.1f} ({100 * min(g):+.1f})".replace("-", "−") for g in each.values()]


def _named(source: str) -> str:
    return "–" if not source else TITLES.get(source) or SETS[source].title
