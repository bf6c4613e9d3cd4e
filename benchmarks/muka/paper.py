"""MUKA's own settings (§4.1, §4.4, Appendix A, and the authors' scripts where the paper is silent), for `--profile paper`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.harness.profiles import Profile

CODE = {
    "warmup": 0.1,
    "weight_decay": 0.0,
    "scheduler": "linear",
    "max_grad_norm": 1.0,
}  # the authors' scripts, and their library's defaults
PROFILE = Profile(
    name="muka-paper",
    texts=None,
    test=None,
    encoders={
        "english": {"model": "google-bert/bert-base-uncased"},
        "english-large": {"model": "google-bert/bert-large-uncased"},
        "english-bpe": {"model": "FacebookAI/roberta-base"},
        "mpnet": {"model": "microsoft/mpnet-base"},  # ours: not in the paper
        "chinese": {"model": "hfl/chinese-bert-wwm-ext"},
        "chinese-other": {"model": "hfl/chinese-roberta-wwm-ext-large"},
        "multilingual": {"model": "google-bert/bert-base-multilingual-cased"},
    },
    max_length=128,
    # Of teachers, too, the best checkpoint on validation texts
    teacher={"epochs": 3, "learning_rate": 2e-5, "batch_size": 64, "select": "labelled", **CODE},
    student={"epochs": 3, "learning_rate": 2e-5, "batch_size": 32, "select": "labelled", "check_every": 100, **CODE},
    seeds=(0, 1, 2),
)


def stated(methods: Mapping[str, dict[str, Any]], **more: Any) -> dict[str, Any]:
    """A table's fields as the paper states them. CFL compares all tokens, as the authors' code does."""
    whole = {name: spec | {"features": "tokens"} if spec["name"] == "cfl" else spec for name, spec in methods.items()}
    return {"profile": PROFILE, "methods": whole, "only": {}, **more}
