"""The methods of both tables, and their names on the page."""

from __future__ import annotations

from typing import Any

from benchmarks.alloy.settings import POOLS

Methods = dict[str, dict[str, Any]]

K = 8  # MUKA's Monte-Carlo passes
PASSES = {pool: K if pool == "disjoint" else 0 for pool in POOLS}  # elsewhere only what one plain pass gives
ALLOY: dict[str, Any] = {"name": "alloy"}
EIGHTH = "target_alone"  # Alloy's eighth version, as this method is called in tables
EIGHTH_VERSION: dict[str, Any] = ALLOY | {"own_labels": 0.0}

# What Alloy does with a pool that is too small for its mixture
BY_ENERGY: dict[str, Any] = ALLOY | {"min_texts": 1_000_000}

# Targets: what needs no labels, and oracle routing, which does
RIVALS: Methods = {
    "ensemble": {"name": "ensemble"},
    "muka-soft": {"name": "muka", "mode": "soft", "passes": K},
    "muka-plain": {"name": "muka", "mode": "soft", "passes": 0},
    "energy": {"name": "muka", "mode": "hard", "confidence": "energy"},
    "max_logit": {"name": "muka", "mode": "hard", "confidence": "max_logit"},
}
ORACLE: Methods = {"oracle": {"name": "oracle"}}
# Variants of Alloy, each compared with it: name on the page -> method block
ABLATIONS: Methods = {
    "teachers' states alone": ALLOY | {"encoder": None},
    "32 dimensions": ALLOY | {"dimensions": 32},
    "no background": ALLOY | {"background": False},
}

# Students
TEACHERS: Methods = {"teachers": {"name": "teachers"}}
RIVAL_STUDENTS: Methods = {
    "vanilla_kd": {"name": "vanilla_kd"},
    "uhc": {"name": "uhc"},
    "muka-soft": RIVALS["muka-soft"],
    "energy": RIVALS["energy"],
    "max_logit": RIVALS["max_logit"],
}
STUDENTS: Methods = {
    **TEACHERS,
    "alloy": ALLOY,
    EIGHTH: EIGHTH_VERSION,
    **RIVAL_STUDENTS,
    "gate": {"name": "student of the gate"},  # learns from the pool's labels, as oracle routing does
    **ORACLE,
}
CORE = ("teachers", "alloy", "vanilla_kd", "energy", "oracle")

TITLES = {
    "ensemble": "Ensemble",
    "vanilla_kd": "Vanilla KD",
    "uhc": "UHC",
    "muka-soft": f"MUKA-Soft (K = {K})",
    "muka-plain": "MUKA-Soft (plain pass)",
    "energy": "Energy",
    "max_logit": "Largest logit",
    "alloy": "Alloy",
    EIGHTH: "Alloy, `own_labels: 0`",
    "gate": "Supervised gate",
    "oracle": "Oracle routing",
}
