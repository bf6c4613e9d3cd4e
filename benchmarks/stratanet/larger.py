"""StrataNet with a larger generator: students of texts that SmolLM2-135M wrote, beside those of the small language model's texts.

One seed. γ is the one that `strength` chose on 5Abstracts' classes. A student with statistics of the teachers' own labelled texts that learns
from generated ones is the combination that Table 3 does not have.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from benchmarks.harness.settings import Setting, split
from benchmarks.harness.table import Table
from benchmarks.stratanet.fig5 import PROMPTS
from benchmarks.stratanet.methods import BASELINES, GENERATION, SIZES, STRATANET, K, Methods
from benchmarks.stratanet.owners import owners
from benchmarks.stratanet.smollm2 import WAYS, asked
from benchmarks.stratanet.written import written

TEXTS = 400  # of all classes of all teachers together
SMALL_MODEL = "small"  # the small language model, steered as in Table 3
STRENGTH = {"teacher": 10.0, "both": 3.0}  # by `strength`
METHODS: Methods = {
    "teachers": {"name": "teachers"},
    "written": {"name": "written"},
    "owners": {"name": "owners"},
    **STRATANET,
    "alloy": {"name": "alloy", "own_labels": 0.0},  # without Eq. 23
    "muka-soft": BASELINES["muka-soft"],
    "vanilla_kd": BASELINES["vanilla_kd"],
    "stratanet-real": {"name": "stratanet", "statistics": "shared"},
    "stratanet-own": {"name": "stratanet", "background": "own"},
    "stratanet-alone": {"name": "stratanet", "auxiliary": 0.0},
    "stratanet-msp": {"name": "stratanet", "confidence": "msp"},
}
ORDER = {  # the most decisive first
    "teacher": tuple(METHODS),
    SMALL_MODEL: ("teachers", "written", "owners", "stratanet", "alloy", "muka-soft", "vanilla_kd", "stratanet-real"),
    "prompt": ("teachers", "written", "owners", "stratanet", "alloy", "muka-soft", "vanilla_kd"),
    "none": ("teachers", "written", "owners", "stratanet", "alloy", "muka-soft", "vanilla_kd"),
    "both": ("teachers", "written", "owners", "stratanet", "alloy", "muka-soft", "vanilla_kd"),
}
TITLES = {SMALL_MODEL: "6 M parameters, steered"} | {way: f"SmolLM2, {title}" for way, title in WAYS.items()}


def _setting(dataset: str, way: str, prompt: str) -> Setting:
    """The teachers are those of Table 3."""
    options: dict[str, Any] = {} if way == SMALL_MODEL else asked(way, prompt, STRENGTH.get(way, 1.0))
    base = split(dataset, 2)
    return replace(
        base, name=f"{dataset}-{way}", title=TITLES[way], teachers_of=dataset, generation=GENERATION | options
    )


SETTINGS = tuple(_setting("ag_news", way, PROMPTS["ag_news"]) for way in ORDER)
REAL = replace(
    SETTINGS[0], name="ag_news-real", title="real texts"
)  # StrataNet with the statistics of the steered texts
TABLE = Table(
    "stratanet", "larger", "A larger generator: SmolLM2-135M", (*SETTINGS, REAL),
    {"generated": tuple(METHODS), "shared": ("teachers", "owners", "alloy", "stratanet", "muka-soft", "vanilla_kd")}, METHODS,
    limited={"generated": [s.name for s in SETTINGS], "shared": [REAL.name]},
    only={f"ag_news-{way}": methods for way, methods in ORDER.items()}, seeds={s.name: (0,) for s in (*SETTINGS, REAL)},
    analyses={"owners": owners, "written": written}, **SIZES | {"generation": GENERATION | {"texts": TEXTS}, "passes": K},
)  # fmt: skip
