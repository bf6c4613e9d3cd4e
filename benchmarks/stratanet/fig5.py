"""StrataNet, Fig. 5: students of texts from a language model with one prompt, with several prompts, and without a prompt.

The paper prompts Llama 2. The language model here was never taught to follow instructions: what is compared is the way of asking.
Two seeds of Table 3's three.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from benchmarks.harness.settings import split
from benchmarks.harness.table import Table
from benchmarks.stratanet.methods import BASELINES, SIZES, STRATANET, Methods
from benchmarks.stratanet.paper import INSTRUCTED, stated
from benchmarks.stratanet.written import written

METHODS: Methods = {
    "teachers": {"name": "teachers"},
    "written": {"name": "written"},
    **STRATANET,
    "vanilla_kd": BASELINES["vanilla_kd"],
}
PROMPTS = {
    "ag_news": "Generate a {label} news article:",
    "abstracts5": "Generate an abstract about {label}:",
}  # Table 6
ONE_WAY: dict[str, Any] = {"steer": "prompt", "top_k": 40, "top_p": 0.9}
MANY_WAYS: dict[str, Any] = {  # five temperatures, as in the paper; their values, and those of the other two, are lost
    "steer": "prompt",
    "temperature": [0.6, 0.8, 1.0, 1.2, 1.4],
    "top_p": [0.8, 0.9, 1.0],
    "top_k": [20, 40, 0],
}
WAYS: dict[str, dict[str, Any]] = {  # name → options; steered texts are Table 3's
    "prompted": ONE_WAY,
    "diversified": MANY_WAYS,
    "alone": {"steer": "none"},
}
TITLES = {"prompted": "prompted", "diversified": "prompted, diversified", "alone": "language model alone"}
SETTINGS = tuple(
    replace(
        split(name, 2),
        name=f"{name}-{way}",
        title=f"{split(name, 2).title}: {TITLES[way]}",
        teachers_of=name,
        generation=options | ({"prompt": prompt} if options["steer"] == "prompt" else {}),
    )
    for name, prompt in PROMPTS.items()
    for way, options in WAYS.items()
)
ASKED = tuple(  # the paper prompts Llama 2; GPT-2 is left alone
    replace(s, generation=dict(s.generation) | {"language_model": INSTRUCTED})
    if s.generation["steer"] == "prompt"
    else s
    for s in SETTINGS
)
TABLE = Table(
    "stratanet", "fig5", "Fig. 5: prompted texts", SETTINGS, {"generated": tuple(METHODS)}, METHODS,
    analyses={"written": written}, seeds={s.name: (0, 1) for s in SETTINGS},
    stated=stated(METHODS, passes=0, settings=ASKED), **SIZES,
)  # fmt: skip
