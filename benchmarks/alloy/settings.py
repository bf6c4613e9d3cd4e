"""Which teachers and which pools both tables have, and on which sets the method was chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from benchmarks.harness.data import NATURAL
from benchmarks.harness.settings import Setting, dealt, flawed, overlapping, split, uneven

CHOICE = ("ag_news", "abstracts5", "banking77")  # the method may be changed for what comes of these sets
REPORTED = (
    "google_snippets",
    "stackoverflow20",
    "ohsumed",
    "thucnews_titles",
)  # not (but StackOverflow, by the tenth version)
LATER = (  # tried after the ninth version; in `outside`
    "genres",
    "cnews_1k",
    "reuters_r8",
    "newsgroups20",
    "bbc_news",
    "wordnet_nouns",
    "wordnet_verbs",
    "languages",
    "slovene_forum",
    "reuters_r52",
    "fortunes",
    "moods",
    "diagnoses",
    "programs",
    "bible",
)
TEACHERS = {
    "ag_news": (2,), "abstracts5": (2,), "banking77": (3, 10), "google_snippets": (2,), "stackoverflow20": (2, 4),
    "ohsumed": (4,), "thucnews_titles": (2,),
}  # fmt: skip
DEALS = {"ag_news": 2}  # three pairs of labels are possible, and one is the split by topic
OVERLAPPING = (("banking77", 3), ("stackoverflow20", 4))
UNEVEN = ("banking77", "google_snippets", "stackoverflow20", "ohsumed", "thucnews_titles")
BARELY = ("ag_news", "google_snippets")
FEW_POOLS = ("shared", "foreign10", "foreign50", "skew5-first")  # only with labels by topic, and only once a set
POOLS = ("disjoint", NATURAL, *FEW_POOLS)
# Students of Alloy and of the best rival differ by less than 3 points: five seeds
CLOSE = tuple(f"stackoverflow20{rest}" for rest in ("/disjoint", "-4/disjoint", "/skew5-first", f"/{NATURAL}"))


def settings() -> tuple[Setting, ...]:
    """All sets by topic, then all with their first deal, and so on: what is finished first is of all sets."""
    found = list(by_topics())
    for deal in (1, 2, 3):
        found += [
            _dealt(name, n, deal) for name, counts in TEACHERS.items() for n in counts if deal <= DEALS.get(name, 3)
        ]
    for name, n in OVERLAPPING:
        at = by_topic(name, n)
        about = {"name": f"{at.name}-overlap", "title": f"{at.title}, overlapping"}
        found.append(overlapping(name, n, encoder_of(name), **about))
    for name in BARELY:
        at = by_topic(name, 2)
        found.append(flawed(at, "barely", (0, 1), name=f"{name}-barely", title=f"{at.title}, barely trained"))
    return tuple(found)


def in_float32(setting: Setting) -> bool:
    """Whether the targets of these teachers are computed in float32 (`more_targets`), not in bfloat16 (`targets`)."""
    return setting.name.endswith(("-deal2", "-deal3")) or setting.name == "banking77-3-overlap"


def unevens() -> tuple[Setting, ...]:
    """Two teachers, of which one knows four times as many labels as the other one. In `more_targets` only."""
    return tuple(uneven(name, encoder_of(name)) for name in UNEVEN)


def by_topics() -> tuple[Setting, ...]:
    return tuple(by_topic(name, n) for name, counts in TEACHERS.items() for n in counts)


def varied(every: Sequence[Setting]) -> list[str]:
    """Those whose teachers are not simply cut by topic: dealt, overlapping or barely trained."""
    cut = {s.name for s in by_topics()}
    return [s.name for s in every if s.name not in cut]


def few() -> list[str]:
    """One setting by topic of every set."""
    return [by_topic(name, counts[0]).name for name, counts in TEACHERS.items()]


def in_order(every: Sequence[Setting]) -> list[Setting]:
    """Set by set, as a page lists them; sets of other tables come last."""
    order = list(dict.fromkeys([*TEACHERS, *map(set_of, every)]))
    return sorted(every, key=lambda setting: order.index(set_of(setting)))


def set_of(setting: Setting) -> str:
    """The data set that a setting counts for: its first one."""
    return setting.datasets[0]


def by_topic(name: str, n: int, encoder: str | None = None) -> Setting:
    plain = split(name, n, encoder or encoder_of(name))
    return replace(plain, name=f"{name}-{n}", title=f"{plain.title}, {n} teachers") if n > 2 else plain


def _dealt(name: str, n: int, deal: int) -> Setting:
    at = by_topic(name, n)
    return dealt(name, n, deal, encoder_of(name), name=f"{at.name}-deal{deal}", title=f"{at.title}, deal {deal}")


def encoder_of(name: str) -> str:
    return "chinese" if name == "thucnews_titles" else "english-trimmed"
