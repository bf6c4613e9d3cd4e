"""Targets of teachers of which the first one is worse than the others, in float32. Is Alloy still better than the simplest rivals?"""

from collections.abc import Mapping
from dataclasses import replace

from benchmarks.alloy.profile import PROFILE
from benchmarks.alloy.settings import by_topic
from benchmarks.alloy.targets_alone import targets_alone
from benchmarks.harness.settings import Flaw, flawed

FLAWS: Mapping[Flaw, str] = {
    "noisy": "first teacher of noisy labels",
    "barely": "first teacher barely trained",
    "few": "first teacher of few texts",
}
TEACHERS = {"ag_news": 2, "abstracts5": 2, "banking77": 3, "google_snippets": 2, "stackoverflow20": 2}

TABLE = targets_alone(
    "unequal",
    "Teachers of unequal quality: targets",
    [
        flawed(at, flaw, (0,), name=f"{at.name}-{flaw}-first", title=f"{at.title}, {told}")
        for flaw, told in FLAWS.items()
        for at in (by_topic(name, n) for name, n in TEACHERS.items())
    ],
    replace(PROFILE, seeds=(0,)),
    seed_by_seed=True,
)
