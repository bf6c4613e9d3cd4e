"""The part of the page about pools of other topics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from alloykit.methods.alloy.views import UNLIKE
from benchmarks.alloy.other_topics import OWN
from benchmarks.alloy.targets_of_a_file import WAYS
from benchmarks.harness.sections import measured, ran
from benchmarks.harness.sets import SETS
from benchmarks.harness.summary import rows

Pools = Sequence[Mapping[str, Any]]
TITLES = {
    "alloy": "Alloy",
    "by_energy": "Alloy without its mixture (Eq. 26)",
    "ensemble": "Ensemble",
    "energy": "Energy",
}
SOURCES = {OWN: "*the set's own*", "wiki_sentences": "Wikipedia sentences"}
WORDS = (
    "The teachers are those of the settings above (seed 0), and the pool is the set's own texts, or texts that are all about something else. Accuracy of the targets on the set's own test texts, in %. No student is trained. "
    f"κ: how often the teachers' states and the encoder's states give a text the same label, beyond chance ([Eq. 27](../../docs/methods/alloy.md#do-the-texts-fit-the-labels)). Below {UNLIKE} Alloy warns. "
    "This limit was chosen on AG News, 5Abstracts and Banking77 with the same teachers."
)


def other_topics_section() -> list[str]:
    found = measured("alloy", "other_topics")
    lines = ["## Pools of other topics", "", WORDS, ""]
    if found is None:
        return [*lines, "Not run yet.", ""]
    pools = found["figures"]["pools"]
    body = [
        [p["title"], "choice" if p["choice"] else "reported", _named(p["source"]), f"{p['texts']:,}", _kappa(p["label_agreement"]), _told(p),
         *(f"{100 * p['accuracy'][way]:.1f}" for way in WAYS)]
        for p in pools
    ]  # fmt: skip
    headings = ["teachers of", "kind of set", "texts of", "texts", "κ", "Alloy says", *(TITLES[way] for way in WAYS)]
    own, other = ([p for p in pools if (p["source"] == OWN) == which] for which in (True, False))
    return [*lines, *ran(found), *rows(headings, [*body, *_means(own, other)]), _sentence(own, other), ""]


def _means(own: Pools, other: Pools) -> list[list[str]]:
    return [
        [f"*mean, {name}*", "", "", "", "", "", *(f"{100 * np.mean([p['accuracy'][way] for p in these]):.1f}" for way in WAYS)]
        for name, these in (("own texts", own), ("other topics", other))
        if these
    ]  # fmt: skip


def _sentence(own: Pools, other: Pools) -> str:
    said = {name: sum(bool(p["warned"]) for p in these) for name, these in (("own", own), ("other", other))}
    return f"Alloy warns in {said['other']} of {len(other)} pools of other topics, and in {said['own']} of {len(own)} pools of the set's own texts."


def _told(pool: Mapping[str, Any]) -> str:
    if not pool["used"]:
        return "the mixture is not used"
    return "warning" if pool["warned"] else ""


def _kappa(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _named(source: str) -> str:
    return SOURCES[source] if source in SOURCES else SETS[source].title
