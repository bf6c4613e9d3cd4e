"""RL-KD's own settings ("Implementation Details") and MT-BERT's (§3.1), for `--profile paper`.

Roles keep the names of the small profile's models. GLUE's test labels are not public: the test texts are the official development set, and the validation
texts a part of the official training set that no model learns from. OhSumed stands for MIND here too.
"""

from __future__ import annotations

from typing import Any

from benchmarks.distill.methods import RL, Methods
from benchmarks.harness.profiles import Profile

BERT, UNILM = (
    "google-bert/bert-base-uncased",
    "microsoft/mpnet-base",
)  # transformers does not load UniLMv2: MPNet stands for it
SEEDS = (0, 1, 2, 3, 4)  # Table 5; §3.1

_OTHERS: dict[str, Any] = {"warmup": 0.1, "scheduler": "linear", "max_grad_norm": 1.0, "select": "labelled"}
_RLKD: dict[str, Any] = {  # one value of each grid: 1e-5, 2e-5, 5e-5
    "epochs": 4, "learning_rate": 2e-5, "batch_size": 32, "weight_decay": 0.01, **_OTHERS,
}  # fmt: skip
_MTBERT: dict[str, Any] = {"epochs": 3, "batch_size": 64, "weight_decay": 0.0, **_OTHERS}  # epochs are not stated

RLKD_PROFILE = Profile(
    name="rlkd-paper",
    texts=None,
    test=None,
    encoders={
        "minilm6": {"model": BERT},
        "minilm4": {"model": "xlnet/xlnet-base-cased"},
        "minilm3": {"model": "albert/albert-base-v2"},
        "roberta": {"model": "FacebookAI/roberta-base"},
        "student2": {"model": BERT, "layers": 3, "keep": "first"},
    },
    max_length=128,
    teacher=_RLKD,
    student=_RLKD,
    seeds=SEEDS,
)
MTBERT_PROFILE = Profile(
    name="mtbert-paper",
    texts=None,
    test=None,
    encoders={
        "minilm6": {"model": UNILM},  # the best teacher: the students are its first layers
        "minilm4": {"model": BERT},
        "roberta": {"model": "FacebookAI/roberta-base"},
        "student3": {"model": UNILM, "layers": 6, "keep": "first"},
        "pooled3": {"model": UNILM, "layers": 6, "keep": "first", "head": "pooled"},
        "student2": {"model": UNILM, "layers": 4, "keep": "first"},
    },
    max_length=128,  # not stated
    teacher={"learning_rate": 2e-6, **_MTBERT},
    student={"learning_rate": 5e-6, **_MTBERT},
    seeds=SEEDS,
)
POLICY: dict[str, Any] = {"pretrain_epochs": 4, "gamma": 0.5, "encoder": BERT}  # γ: one of 0.3, 0.5, 0.7, 0.9
TEMPERATURE = 10.0  # one of 5, 10, 20


def rlkd_methods(methods: Methods) -> Methods:
    """The same methods as the paper runs them: T of its grid, and RL-KD after four epochs of pre-training, without the small profile's budget of steps."""

    def whole(name: str, spec: dict[str, Any]) -> dict[str, Any]:
        if isinstance(spec.get("of"), dict):
            spec = spec | {"of": whole(name, spec["of"])}
        if "temperature" in spec:
            spec = spec | {"temperature": TEMPERATURE}
        if name in RL:
            spec = {k: v for k, v in spec.items() if k not in ("training", "validate_every")} | POLICY
        return spec

    return {name: whole(name, spec) for name, spec in methods.items()}
