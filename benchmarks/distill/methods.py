"""The methods of MT-BERT's and RL-KD's tables, as `method:` blocks of recipes, and their titles on the page."""

from __future__ import annotations

from typing import Any

Methods = dict[str, dict[str, Any]]

SHARED = {"alpha": 0.5, "temperature": 5.0}  # RL-KD's grid: alpha 0.2, 0.5, 0.7; T 5, 10, 20
FOUR = ("minilm6", "minilm4", "minilm3", "roberta")
SINGLE: Methods = {f"kd-{encoder}": {"name": "kd", "which": i, **SHARED} for i, encoder in enumerate(FOUR)}
STRATEGIES: Methods = {
    "u_ensemble": {"name": "u_ensemble", **SHARED},
    "rand_single": {"name": "rand_single", **SHARED},
    "w_ensemble": {"name": "w_ensemble", **SHARED},
    "lr_train_ensemble": {"name": "lr_train_ensemble", **SHARED},
    "lr_dev_ensemble": {"name": "lr_dev_ensemble", **SHARED},
    "best_single": {"name": "best_single", **SHARED},
}
RL: Methods = {  # as many steps of the student's as of the others: one epoch beforehand, two more; with Eq. 7's rewards every second step is the policy's
    f"rl_kd-{reward}": {
        "name": "rl_kd", "reward": reward, **SHARED, "pretrain_epochs": 1, "validate_every": 2,
        "training": {"epochs": 2 if reward == "improvement" else 4},
    }
    for reward in ("reward1", "reward2", "reward3", "improvement")
}  # fmt: skip
TITLES = {
    "supervised": "FT",
    "kd-minilm6": "V-KD from MiniLM-6",
    "kd-minilm4": "V-KD from MiniLM-4",
    "kd-minilm3": "V-KD from MiniLM-3",
    "kd-roberta": "V-KD from RoBERTa-3",
    "u_ensemble": "U-Ensemble",
    "rand_single": "Rand-Single-Ensemble",
    "w_ensemble": "W-Ensemble",
    "lr_train_ensemble": "LR-Train-Ensemble",
    "lr_dev_ensemble": "LR-Dev-Ensemble",
    "best_single": "Best-Single-Ensemble",
    "rl_kd-reward1": "RL-KD (reward1)",
    "rl_kd-reward2": "RL-KD (reward2)",
    "rl_kd-reward3": "RL-KD (reward3)",
    "rl_kd-improvement": "RL-KD (improvement, ours)",
}
