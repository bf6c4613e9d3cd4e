"""StrataNet, Fig. 5 with a language model that follows prompts: SmolLM2-135M asked in other ways than with one prompt, which is `domains`'.

AG News, Table 3's teachers and tests, as many texts, and everything in float32, as in `domains`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from benchmarks.harness.table import Table
from benchmarks.stratanet import domains
from benchmarks.stratanet.fig5 import MANY_WAYS, PROMPTS, TITLES
from benchmarks.stratanet.larger import STRENGTH
from benchmarks.stratanet.methods import GENERATION, SIZES, K
from benchmarks.stratanet.owners import owners
from benchmarks.stratanet.smollm2 import asked
from benchmarks.stratanet.written import written

PROMPTED = next(s for s in domains.SETTINGS if s.teachers_of == "ag_news")
PROMPT = PROMPTS["ag_news"]
WAYS: dict[str, dict[str, Any]] = {
    "diversified": asked("prompt", PROMPT, 1.0) | MANY_WAYS,
    "alone": asked("none", PROMPT, 1.0),
    "steered": asked("teacher", PROMPT, STRENGTH["teacher"]),
}
SETTINGS = tuple(
    replace(
        PROMPTED,
        name=f"{PROMPTED.name}-{way}",
        title=TITLES.get(way, way),
        generation=GENERATION | options | {"precision": "float32"},
    )
    for way, options in WAYS.items()
)
TABLE = Table(
    "stratanet", "fig5_larger", "Fig. 5 with SmolLM2-135M", SETTINGS, {"generated": tuple(domains.METHODS)}, domains.METHODS,
    seeds={s.name: (0,) for s in SETTINGS}, seed_by_seed=True, analyses={"owners": owners, "written": written}, **SIZES | {"passes": K},
)  # fmt: skip
