"""The blocks of a recipe as typed dictionaries, so that editors complete their keys in Python calls.

The pydantic models of the same blocks check the values; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypedDict


class TeacherDict(TypedDict, total=False):
    """One entry of `teachers:` with a model of transformers."""

    name: str | None
    model: str
    revision: str | None
    trust_remote_code: bool
    labels: dict[str, str] | None
    max_length: int | None
    long_texts: Literal["head", "tail", "head_tail", "mean"] | None


class AnswersDict(TypedDict, total=False):
    """One entry of `teachers:` with stored answers."""

    name: str | None
    answers: str
    labels: list[str] | None
    values: Literal["probabilities", "logits"]
    label: str | None
    confidence: str | None
    certainty: float | None
    top: str | None
    by: Literal["text", "row"]
    text: str
    text_pair: str | None


class PythonDict(TypedDict, total=False):
    """One entry of `teachers:` with a Python function."""

    name: str | None
    python: str
    labels: list[str]
    version: str


class SklearnDict(TypedDict, total=False):
    """One entry of `teachers:` with a classifier of scikit-learn."""

    name: str | None
    sklearn: str
    labels: dict[str, str] | None
    trusted: list[str]


class OnnxDict(TypedDict, total=False):
    """One entry of `teachers:` with an ONNX classifier."""

    name: str | None
    onnx: str
    file: str | None
    labels: dict[str, str] | None


class ZeroShotDict(TypedDict, total=False):
    """One entry of `teachers:` with an NLI model."""

    name: str | None
    zero_shot: str
    labels: list[str]
    hypothesis: str
    names: dict[str, str]
    entailment: str | None
    revision: str | None


class ServiceDict(TypedDict, total=False):
    """One entry of `teachers:` with a service."""

    name: str | None
    url: str
    key_env: str | None
    key_header: str
    parallel: int
    per_second: float | None
    timeout: float
    retries: int
    backoff: float
    max_requests: int | None
    cost_per_request: float | None
    max_cost: float | None
    format: Literal["openai", "tei", "json"]
    labels: list[str] | dict[str, str]
    model: str | None
    template: str
    logprobs: bool
    samples: int | None
    certainty: float | None
    request: dict[str, Any]
    answer: str | dict[str, str] | None
    values: Literal["probabilities", "logits"]
    batch: int
    version: str
    tolerance: float


class StudentDict(TypedDict, total=False):
    """The `student:` block."""

    model: str
    revision: str | None
    trust_remote_code: bool
    layers: int | None
    keep: Literal["first", "last", "even"]
    head: Literal["plain", "pooled"]
    dropout: float | None
    continues: str | None


class TextsPlaceDict(TypedDict, total=False):
    """One entry of `more:` in a block of texts."""

    text: str
    text_pair: str | None
    label: str | None
    label_names: list[str] | None
    label_separator: str | None
    bad_rows: Literal["drop", "refuse"]
    limit: int | None
    salt_env: str | None
    path: str | None
    dataset: str | None
    config: str | None
    split: str
    revision: str | None


class TextsDict(TextsPlaceDict, total=False):
    """The `texts:` block, and `data:` of labelled texts."""

    more: list[TextsPlaceDict] | None


class LabelsDict(TypedDict, total=False):
    """The `labels:` block."""

    aliases: dict[str, str]
    keep_apart: bool | list[str]
    catch_all: list[str] | None


class QuestionDict(TypedDict, total=False):
    """One entry of `questions:`."""

    teachers: Sequence[Any]
    method: str | dict[str, Any]
    labels: LabelsDict
    column: str | None


class TrainingDict(TypedDict, total=False):
    """The `training:` block."""

    epochs: float | None
    learning_rate: float | None
    batch_size: int
    accumulate: int
    max_length: int
    long_texts: Literal["head", "tail", "head_tail", "mean"]
    warmup: float
    weight_decay: float
    max_grad_norm: float
    scheduler: Literal["linear", "cosine", "polynomial", "constant", "constant_with_warmup", "inverse_sqrt"]
    seed: int
    precision: Literal["auto", "float32", "bfloat16"]
    compile: bool
    select: Literal["unlabelled", "labelled", "last"]
    tolerance: float
    held_out: float
    check_every: int | None
    save_every_seconds: float
    report_to: list[
        Literal["tensorboard", "wandb", "mlflow", "trackio", "comet_ml", "clearml", "neptune", "swanlab", "codecarbon"]
    ]
    arguments: dict[str, Any]


class InferenceDict(TypedDict, total=False):
    """The `inference:` block."""

    seed: int
    tokens_per_batch: int | None
    precision: Literal["auto", "float32", "bfloat16"]
    int8: bool
    compile: bool
    long_texts: Literal["head", "tail", "head_tail", "mean"] | None


class LanguageModelDict(TypedDict, total=False):
    """The language model of the `generation:` block."""

    model: str
    revision: str | None
    trust_remote_code: bool


class GenerationDict(TypedDict, total=False):
    """The `generation:` block."""

    language_model: str | LanguageModelDict
    per_class: int
    steer: Literal["teacher", "prompt", "both", "none"]
    candidates: int
    candidates_top_p: float
    top_k: int | list[int]
    top_p: float | list[float]
    strength: float
    every: int
    min_tokens: int
    max_tokens: int
    temperature: float | list[float]
    prompt: str
    descriptions: dict[str, str]
    start_token: str | None
    precision: Literal["auto", "float32", "bfloat16"]
    batch_size: int
    attempts: int
    seed: int


class ReportDict(TypedDict, total=False):
    """The `report:` block."""

    show_texts: bool


class EngineDict(TypedDict, total=False):
    """The `engine:` block."""

    name: Literal["local", "ray"]
    address: str | None
    workers: int | None
    gpus_per_worker: float
    cpus_per_worker: int
    trainers: int
