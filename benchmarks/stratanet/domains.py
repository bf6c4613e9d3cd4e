"""StrataNet with texts that SmolLM2-135M was prompted for, in three domains: as many texts as Table 3 has, Table 3's teachers and tests.

Everything is computed in float32, the language model too, so that every CPU can run it.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.harness.settings import Setting, split
from benchmarks.harness.table import Table
from benchmarks.stratanet.fig5 import PROMPTS as TABLE_6
from benchmarks.stratanet.methods import BASELINES, GENERATION, SIZES, STRATANET, K, Methods
from benchmarks.stratanet.owners import owners
from benchmarks.stratanet.smollm2 import asked
from benchmarks.stratanet.written import written

PROMPTS = TABLE_6 | {"ohsumed": TABLE_6["abstracts5"]}  # the paper has none for OhSumed, whose texts are abstracts too
WORDS = {"CSAI": "artificial intelligence", "Trans": "transport"}  # as the data set's own list of labels says
METHODS: Methods = {
    "teachers": {"name": "teachers"},
    "written": {"name": "written"},
    "owners": {"name": "owners"},
    **STRATANET,
    "alloy": {"name": "alloy"},
    "muka-soft": BASELINES["muka-soft"],
    "vanilla_kd": BASELINES["vanilla_kd"],
    "intended": {"name": "supervised"},  # learns the labels that the texts were written for, without the teachers
}


def _setting(dataset: str) -> Setting:
    options = asked("prompt", PROMPTS[dataset], 1.0) | {"precision": "float32"}
    return replace(
        split(dataset, 2), name=f"{dataset}-smollm2", teachers_of=dataset, generation=GENERATION | options
    )  # fmt: skip


SETTINGS = tuple(map(_setting, ("ohsumed", "abstracts5", "ag_news")))
DESCRIBED = replace(
    SETTINGS[1], name=f"{SETTINGS[1].name}-described", title=f"{SETTINGS[1].title}, labels described",
    generation=dict(SETTINGS[1].generation) | {"descriptions": WORDS},
)  # fmt: skip
TABLE = Table(
    "stratanet", "domains", "Prompted texts of SmolLM2 in three domains",
    (*SETTINGS, DESCRIBED), {"generated": tuple(METHODS)}, METHODS,
    seed_by_seed=True, analyses={"owners": owners, "written": written}, **SIZES | {"passes": K},
)  # fmt: skip
