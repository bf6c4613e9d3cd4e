"""The methods of MUKA's tables, as `method:` blocks of recipes, and their titles on the page."""

from __future__ import annotations

from typing import Any

Methods = dict[str, dict[str, Any]]

TEACHERS: Methods = {"teachers": {"name": "teachers"}}  # each teacher alone, and their ensemble
BASELINES: Methods = {
    "vanilla_kd": {"name": "vanilla_kd"},
    "dfa": {"name": "dfa"},
    "cfl": {"name": "cfl"},
    "uhc": {"name": "uhc"},
}
FROZEN: Methods = {  # the public code leaves the merge blocks out of the optimiser
    "dfa-frozen": {"name": "dfa", "frozen_blocks": True},
    "cfl-frozen": {"name": "cfl", "frozen_blocks": True},
}
MUKA: Methods = {
    "muka-soft": {"name": "muka", "mode": "soft"},
    "muka-hard": {"name": "muka", "mode": "hard"},
}
RULES = ("unlabelled", "labelled", "last")  # how a checkpoint is chosen
TITLES = {
    "supervised": "Supervised (upper bound)",
    **{f"teacher{i}": f"Teacher {i}" for i in range(1, 6)},
    "ensemble": "Ensemble",
    "routing-hard": "Routing by MUKA-Hard, no student",
    "routing-soft": "Routing by MUKA-Soft, no student",
    "pseudo-ensemble": "Pseudo-labels of the ensemble",
    "pseudo-muka": "Pseudo-labels of MUKA-Soft",
    "vanilla_kd": "Vanilla KD",
    "dfa": "DFA",
    "dfa-frozen": "DFA, merge blocks frozen",
    "cfl": "CFL",
    "cfl-frozen": "CFL, merge blocks frozen",
    "uhc": "UHC",
    "muka-hard": "MUKA-Hard",
    "alloy": "Alloy (ours)",
    "muka-hard-one-pass": "– one dropout pass (K = 1 in Eq. 3)",
    "muka-hard-no-dropout": "– one pass without dropout",
    "muka-hard-unweighted": "– w/o instance re-weighting",
    "muka-soft": "MUKA-Soft",
    "muka-soft-one-pass": "– one dropout pass (K = 1 in Eq. 3) ",
    "muka-soft-no-dropout": "– one pass without dropout ",
    "muka-soft-unweighted": "– w/o instance re-weighting ",
    **{
        f"{m}-{rule}": f"{title}, {rule}"
        for m, title in (("vanilla_kd", "Vanilla KD"), ("muka-soft", "MUKA-Soft"))
        for rule in RULES
    },
}
