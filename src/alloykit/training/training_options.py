"""The recipe's `student:` and `training:` blocks."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from alloykit.blocks import Block, ModelSpec, PathText, Seed

Tracker = Literal[
    "tensorboard", "wandb", "mlflow", "trackio", "comet_ml", "clearml", "neptune", "swanlab", "codecarbon"
]


class StudentSpec(ModelSpec):
    """An encoder to train, and how much of it to keep."""

    model: PathText
    """A folder, a hub id, or bundled:minilm."""
    layers: int | None = Field(None, gt=0)
    """How many of the encoder's layers to keep; all if not given."""
    keep: Literal["first", "last", "even"] = "first"
    """Which ones: the first, the last, or evenly spaced with the last one always in."""
    head: Literal["plain", "pooled"] = "plain"
    """plain: the encoder's own classification head, so that the student is an ordinary Hugging Face classifier; pooled: MT-BERT's
    attentive pooling (models/heads.py), which only alloykit loads."""
    dropout: float | None = Field(None, ge=0, lt=1)
    """Every dropout rate of the encoder and its head; those of its configuration if not given."""


class TrainingOptions(Block):
    """Batch size, warm-up and weight decay are MUKA's (§4.1); learning rate and epochs follow the rule of training/schedule.py."""

    epochs: float | None = Field(None, gt=0, le=10_000)
    """How often each text is learned from; if not given, three times, and so often that there are enough steps."""
    learning_rate: float | None = Field(None, gt=0, le=10)
    """The highest rate, after the warm-up; if not given, by the encoder's depth and width."""
    batch_size: int = Field(32, gt=0)
    """Texts per optimiser step and device, before accumulation."""
    accumulate: int = Field(1, gt=0)
    """Batches whose gradients are added up before a step."""
    max_length: int = Field(128, gt=1)
    """Tokens per text, for teachers and student."""
    warmup: float = Field(0.1, ge=0, lt=1)
    """Share of the steps over which the learning rate rises."""
    weight_decay: float = Field(0.01, ge=0)
    """Of AdamW."""
    max_grad_norm: float = Field(1.0, gt=0)
    """Longer gradients are shortened to this norm."""
    scheduler: Literal["linear", "cosine", "polynomial", "constant", "constant_with_warmup", "inverse_sqrt"] = "linear"
    """How the learning rate falls after the warm-up."""
    seed: Seed = 0
    """Seed of the student's new head, the order of the texts, the held-out texts and dropout."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """auto: bfloat16 (weights stay in float32) on a GPU and on CPUs that multiply in it natively, else float32."""
    compile: bool = False
    """The student through torch.compile: worth its first minute on a GPU and many texts."""
    select: Literal["unlabelled", "labelled", "last"] = "unlabelled"
    """Which checkpoint becomes the student: the one of the lowest loss on held-out texts without labels; the most accurate on
    labelled validation texts; or the last."""
    tolerance: float = Field(0.0, ge=0, le=100)
    """With `select: unlabelled`, the earliest checkpoint whose loss is at most so many standard errors above the lowest."""
    held_out: float = Field(0.05, ge=0, lt=0.5)
    """Share of the texts kept out of training to select by; at least 50 (never over a fifth), at most 2,000."""
    check_every: int | None = Field(None, gt=0)
    """Steps between checks; 100 if not given, but at most 20 checks in all."""
    report_to: list[Tracker] = Field(default_factory=list)
    """Trackers of transformers: tensorboard, wandb, mlflow, trackio, …"""
