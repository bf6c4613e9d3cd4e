"""StrataNet's own settings (Table 4, Appendix A), for `--profile paper`. Values that the paper does not give are ours and marked as such."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.harness.profiles import Profile

BERT, ROBERTA = "google-bert/bert-base-uncased", "FacebookAI/roberta-base"
DROPOUT = 0.2  # Table 4
PROFILE = Profile(
    name="stratanet-paper",
    texts=None,
    test=None,
    encoders={
        "english": {"model": BERT},
        "english-large": {"model": "google-bert/bert-large-uncased"},  # ours: the paper's other teachers are RoBERTa
        "english-bpe": {"model": ROBERTA},
        "english-small": {"model": BERT, "layers": 4},
    },
    students={
        "english": {"model": BERT, "layers": 6, "keep": "first", "dropout": DROPOUT},
        "english-small": {"model": BERT, "layers": 4, "keep": "first", "dropout": DROPOUT},
    },
    max_length=128,  # not stated
    teacher={  # Table 4's rate; the rest is not stated, and MUKA's
        "epochs": 3, "learning_rate": 2e-5, "batch_size": 64, "select": "labelled",
        "warmup": 0.1, "weight_decay": 0.01, "scheduler": "linear", "max_grad_norm": 1.0,
    },
    student={
        "epochs": 10, "learning_rate": 2e-5, "batch_size": 16, "warmup": 0.2,  # two epochs of ten
        "weight_decay": 0.01, "scheduler": "linear", "max_grad_norm": 1.0,
    },
    seeds=(0, 1, 2),  # §6.3: three runs
    sets={"ohsumed": {"generation": {"language_model": "microsoft/biogpt"}}},
)  # fmt: skip
GENERATION: dict[str, Any] = {
    "language_model": "openai-community/gpt2",
    "per_class": 1000,  # not in the paper: ours
    "candidates": 200,
    "top_k": 40,  # not in the paper: ours
    "top_p": 0.9,
    "strength": 1.0,  # γ, not in the paper: ours
    "every": 1,
    "max_tokens": 128,
}
INSTRUCTED = "meta-llama/Llama-2-7b-chat-hf"  # B.2: prompted
PASSES = 16  # MUKA's own


def stated(methods: Mapping[str, dict[str, Any]], **more: Any) -> dict[str, Any]:
    """A table's fields as the paper states them: MUKA with its own passes, AS-DFD with its default sizes (the paper's are lost)."""
    whole = {name: _whole(spec) for name, spec in methods.items()}
    return {"profile": PROFILE, "methods": whole, "generation": GENERATION, "passes": PASSES, **more}


def _whole(spec: dict[str, Any]) -> dict[str, Any]:
    if spec["name"] == "muka":
        return spec | {"passes": PASSES}
    if spec["name"] == "as_dfd":
        return {key: value for key, value in spec.items() if key not in ("texts", "training")}
    return spec
