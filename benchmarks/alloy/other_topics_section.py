"""The part of the page about pools of other topics: targets, and students."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from alloykit.methods.alloy.acceptance import MIN_DEPENDENCE
from alloykit.methods.alloy.views import UNLIKE
from benchmarks.alloy.methods import TITLES
from benchmarks.alloy.targets_of_files import HEADINGS, OWN, accuracies_of
from benchmarks.harness.sections import measured, measured_section
from benchmarks.harness.sets import SETS
from benchmarks.harness.summary import rows

Pools = Sequence[Mapping[str, Any]]
SOURCES = {OWN: "*the set's own*", "wiki_sentences": "Wikipedia sentences"}
WORDS = (
    "The teachers are those of the settings above (seed 0), and the pool is the set's own texts, or texts that are all about something else. Accuracy of the targets on the set's own test texts, in %. No student is trained. "
    f"κ: how often the teachers' states and the encoder's states give a text the same label, beyond chance ([Eq. 27](../../docs/methods/alloy.md#do-the-texts-fit-the-labels)). Below {UNLIKE} Alloy warns. "
    f"κ′: how often both name the same teacher, beyond chance ([Eq. 31](../../docs/methods/alloy.md#do-the-texts-fit-the-labels)). If κ is below {UNLIKE} and κ′ below {MIN_DEPENDENCE} / √(N − 1) with N teachers, Alloy does not use its mixture. "
    "Both limits were chosen on AG News, 5Abstracts and Banking77 with the same teachers, the second where N is 2."
)
OF_STUDENTS = (
    "Students that learn from such texts, with the same teachers. Accuracy on the set's own test texts, in %; one seed. Where Alloy does not use its mixture, its student learns from the ensemble, as that of Vanilla KD does, "
    "and from what each teacher says of its own labels, as that of UHC does."
)


def other_topics_section() -> list[str]:
    return [
        *measured_section("Pools of other topics", WORDS, measured("alloy", "other_topics"), _body),
        *measured_section(
            "Students of other topics", OF_STUDENTS, measured("alloy", "other_topics_students"), _students
        ),
    ]


def _students(figures: Mapping[str, Any]) -> list[str]:
    methods = ("alloy", "vanilla_kd", "uhc")
    body = [
        [p["title"], "choice" if p["choice"] else "reported", _named(p["source"]), _kappa(p["label_agreement"]), _kappa(p["teacher_agreement"]),
         "yes" if p["used"] else "no", *(f"{100 * p['accuracy'][name]:.1f}" for name in methods)]
        for p in figures["pools"]
    ]  # fmt: skip
    headings = ["teachers of", "kind of set", "texts of", "κ", "κ′", "the mixture is used"]
    return rows([*headings, *(TITLES[name] for name in methods)], body)


def _body(figures: Mapping[str, Any]) -> list[str]:
    pools = figures["pools"]
    body = [
        [p["title"], "choice" if p["choice"] else "reported", _named(p["source"]), f"{p['texts']:,}", _kappa(p["label_agreement"]),
         _kappa(p["teacher_agreement"]), _told(p),
         *accuracies_of([p])]
        for p in pools
    ]  # fmt: skip
    own, other = ([p for p in pools if (p["source"] == OWN) == which] for which in (True, False))
    body += [
        [f"*mean, {name}*", "", "", "", "", "", "", *accuracies_of(these)]
        for name, these in (("own texts", own), ("other topics", other))
        if these
    ]
    headings = ["teachers of", "kind of set", "texts of", "texts", "κ", "κ′", "Alloy says", *HEADINGS]
    return [*rows(headings, body), _sentence(own, other), ""]


def _sentence(own: Pools, other: Pools) -> str:
    said = {name: sum(bool(p["warned"]) for p in these) for name, these in (("own", own), ("other", other))}
    return f"Alloy warns in {said['other']} of {len(other)} pools of other topics, and in {said['own']} of {len(own)} pools of the set's own texts."


def _told(pool: Mapping[str, Any]) -> str:
    if not pool["used"]:
        return "the mixture is not used"
    return "warning" if pool["warned"] else ""


def _kappa(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}".replace("-", "−")


def _named(source: str) -> str:
    return SOURCES[source] if source in SOURCES else SETS[source].title
