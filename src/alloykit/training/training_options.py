"""The recipe's `student:` and `training:` blocks."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from alloykit.blocks import Block, ModelSpec, PathText, Seed
from alloykit.models.long_texts import LongTexts

TrackerName = Literal[
    "tensorboard", "wandb", "mlflow", "trackio", "comet_ml", "clearml", "neptune", "swanlab", "codecarbon"
]


class StudentSpec(ModelSpec):
    """An encoder to train, and how many of its layers to keep."""

    model: PathText
    """A folder, a hub id, or bundled:minilm."""
    layers: int | None = Field(None, gt=0)
    """How many of the encoder's layers to keep; all if not given."""
    keep: Literal["first", "last", "even"] = "first"
    """Which layers to keep: the first, the last, or evenly spaced ones, which include the last."""
    head: Literal["plain", "pooled"] = "plain"
    """plain: the encoder's own classification head, so that the student is an ordinary Hugging Face classifier; pooled: MT-BERT's
    attentive pooling (models/heads.py), which only alloykit loads."""
    dropout: float | None = Field(None, ge=0, lt=1)
    """Sets every dropout rate of the encoder and its head; the rates of its configuration if not given."""
    continues: PathText | None = None
    """The folder of an earlier student of the same encoder and layers: training starts from its weights. Labels that it does not know start anew."""


class TrainingOptions(Block):
    """The batch size is MUKA's (§4.1), the warm-up that of its authors' code; learning rate and epochs follow the rule of training/schedule.py."""

    without_effect: ClassVar[tuple[str, ...]] = ("save_every_seconds", "report_to")

    epochs: float | None = Field(None, gt=0, le=10_000)
    """How often each text is learned from; if not given, three times, or more often where that gives too few steps."""
    learning_rate: float | None = Field(None, gt=0, le=10)
    """The highest rate, after the warm-up; if not given, it depends on the encoder's depth and width."""
    batch_size: int = Field(32, gt=0)
    """Texts per optimiser step, before accumulation. Several processes share them."""
    accumulate: int = Field(1, gt=0)
    """Batches whose gradients are added up for one optimiser step."""
    max_length: int = Field(128, gt=1)
    """Tokens per text, for teachers and student."""
    long_texts: LongTexts = "head"
    """What the student reads of a longer text, as in `inference:`. It is written into its config.json. With mean it averages over all chunks
    when it predicts, and trains on the beginning."""
    warmup: float = Field(0.1, ge=0, lt=1)
    """Share of the steps over which the learning rate rises."""
    weight_decay: float = Field(0.01, ge=0)
    """AdamW's weight decay."""
    max_grad_norm: float = Field(1.0, gt=0)
    """Gradients with a larger norm are scaled down to this norm."""
    scheduler: Literal["linear", "cosine", "polynomial", "constant", "constant_with_warmup", "inverse_sqrt"] = "linear"
    """How the learning rate falls after the warm-up."""
    seed: Seed = 0
    """Seed of the student's new head, the order of the texts, the held-out texts and dropout. Another order of the teachers acts like another seed."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """auto: bfloat16 on a GPU and on CPUs with native bfloat16, else float32. Weights are always float32."""
    compile: bool = False
    """Compile the student with torch.compile. This takes about a minute, and is worth it on a GPU with many texts."""
    select: Literal["unlabelled", "labelled", "last"] = "unlabelled"
    """Which checkpoint becomes the student. unlabelled: the one with the lowest loss on held-out texts; labelled: the most accurate
    one on the labelled validation texts; last: the last one."""
    tolerance: float = Field(0.0, ge=0, le=100)
    """With `select: unlabelled`, the earliest checkpoint is taken whose loss is at most this many standard errors above the lowest."""
    held_out: float = Field(0.05, ge=0, lt=0.5)
    """Share of the texts that are held out of training to select the checkpoint; at least 50 texts (but never more than a fifth), at most 2,000."""
    check_every: int | None = Field(None, gt=0)
    """Steps between checks; if not given, 100: fewer in a short training (at least 3 checks), more in a long one (at most 20 checks)."""
    save_every_seconds: float = Field(30.0, ge=0)
    """Seconds of training between two checkpoints to go on from after a kill. They are written at checks. If a checkpoint takes long, at least twenty times its
    seconds pass before the next one; 0: a checkpoint at every check."""
    report_to: list[TrackerName] = Field(default_factory=list)
    """Trackers that get the losses, the speed of the teachers and the test results: tensorboard, trackio, mlflow, wandb, …"""
    arguments: dict[str, Any] = Field(default_factory=dict)
    """More arguments of transformers' `TrainingArguments`, for instance `{fsdp: true}` or `{optim: adamw_torch_fused}`. Possible are `optim`,
    `optim_args`, `adam_beta1`, `adam_beta2`, `adam_epsilon`, `lr_scheduler_kwargs`, `tf32`, `torch_compile_backend`, `torch_compile_mode`,
    `torch_empty_cache_steps`, `full_determinism`, `fsdp`, `fsdp_config`, `ddp_find_unused_parameters`, `ddp_bucket_cap_mb`, `ddp_backend` and
    `ddp_timeout`."""
