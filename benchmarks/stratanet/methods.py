"""The methods of StrataNet's tables, their titles, and the settings of the small generator."""

from __future__ import annotations

from typing import Any

Methods = dict[str, dict[str, Any]]

K = 8  # MUKA's Monte-Carlo passes here
GENERATION: dict[str, Any] = {  # small: m = 64 and the teacher at every eighth token (the paper: 200, and every token)
    "language_model": "models/lm-general",
    "candidates": 64,
    "top_k": 0,
    "top_p": 1.0,
    "every": 8,
    "strength": 10.0,  # of 1, 3 and 10 the one with the most control over AG News' texts of seed 0 (the generator's table)
    "min_tokens": 12,
    "max_tokens": 40,
    "batch_size": 50,
}
NARROW: dict[str, Any] = {"candidates": 16, "top_k": 8, "top_p": 0.9, "every": 4}  # of the first run (narrow.py)
SIZES: dict[str, Any] = {  # of all three tables
    "generation": GENERATION
    | {"texts": 1000},  # of all classes of all teachers together: as many as there are real ones
    "texts": 1000,
    "test": 500,
    "passes": 0,
    # as many steps as the paper's ten epochs of batches of 16 have, in half the time; a third of them is too few for StrataNet
    "student": {"batch_size": 8, "epochs": 5},
}
STRATANET: Methods = {"stratanet": {"name": "stratanet"}}
BASELINES: Methods = {
    "vanilla_kd": {"name": "vanilla_kd"},
    # `texts`: embeddings of all classes in each of its three rounds
    "as_dfd": {"name": "as_dfd", "texts": 200, "training": {"epochs": 6}},
    "muka-soft": {"name": "muka", "mode": "soft", "passes": K},
    "muka-hard": {"name": "muka", "mode": "hard", "passes": K},
}
VARIANTS: Methods = {  # Figs. 3A, 3B
    "stratanet-md": {"name": "stratanet", "confidence": "md"},
    "stratanet-msp": {"name": "stratanet", "confidence": "msp"},
    "stratanet-mul": {"name": "stratanet", "amalgam": "mul"},
    "stratanet-noST": {"name": "stratanet", "amalgam": "linear"},
}
LAMBDAS = (0.1, 0.3, 0.5, 0.7, 0.9)  # Fig. 4
SWEEP: Methods = {  # 0.7 is Table 3's
    f"stratanet-{value}": {"name": "stratanet", "intermediate": value} for value in LAMBDAS if value != 0.7
}
