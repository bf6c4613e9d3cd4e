"""The loaded classifier that `predict`, `Run.predict` and `evaluate` use."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from alloykit.blocks import ModelSpec
from alloykit.errors import AlloyError
from alloykit.models.classifier_head import check_classifier_head
from alloykit.models.device import pick_device
from alloykit.models.export import estimated_accuracy_of, temperature_of
from alloykit.models.head_input import HeadInput
from alloykit.models.last_layer import LeanLastLayer
from alloykit.models.loading import load_classifier
from alloykit.models.long_texts import long_texts_of
from alloykit.models.padding import padding_changes_answers
from alloykit.models.problem_type import is_multi_label
from alloykit.models.questions import questions_of
from alloykit.models.tokens import usable_length
from alloykit.names import clean_names
from alloykit.serving.text_classifier import TextClassifier

TOKENS_PER_BATCH = 8192


class Predictor(TextClassifier):
    """A loaded classifier in PyTorch, on its device."""

    tokens_per_batch = TOKENS_PER_BATCH

    def __init__(
        self, model: Any, tokenizer: Any, max_length: int | None = None, folder: str | Path | None = None
    ) -> None:
        """model: on the device that computes. max_length: tokens per text; if not given, the limit in the model's folder. folder:
        where the model is from."""
        self.model, self.tokenizer, self.folder = model.eval(), tokenizer, None if folder is None else Path(folder)
        self.lean, self.head_input = LeanLastLayer(model), HeadInput(model)
        self.one_length = padding_changes_answers(model, tokenizer)
        self.max_length = usable_length(model, tokenizer, max_length)
        self.temperature = temperature_of(model.config)
        self.estimated_accuracy = estimated_accuracy_of(vars(model.config))
        self.long_texts = long_texts_of(model.config)
        self.labels = tuple(model.config.id2label[i] for i in range(model.config.num_labels))
        self.questions = questions_of(model.config)
        self.multi_label = is_multi_label(model.config)

    @classmethod
    def load(
        cls,
        folder: str | Path,
        max_length: int | None = None,
        device: str = "auto",
        *,
        trust_remote_code: bool = False,
    ) -> Predictor:
        """The classifier in a model folder. device: auto, cpu, cuda or mps. AlloyError if there is none."""
        folder = Path(folder)
        if not os.path.exists(folder / "config.json"):
            raise AlloyError(
                expected="a run folder with a student, or a model folder",
                got=f"'{str(folder)[:200]}'" + ("" if os.path.exists(folder) else ", which does not exist"),
                hint="Finish the run with `alloykit amalgamate`, or name the folder that holds config.json.",
            )
        model, tokenizer = load_classifier(ModelSpec(model=str(folder), trust_remote_code=trust_remote_code))
        check_classifier_head(model.config, f"in '{folder}'")
        clean_names(list(model.config.id2label.values()), f"the classifier in '{folder}'")  # answers are found by name
        return cls(model.to(pick_device(device)), tokenizer, max_length, folder)

    @property
    def device(self) -> torch.device:
        device: torch.device = self.model.device
        return device

    @property
    def states_width(self) -> int | None:
        return self.head_input.width

    @property
    def checked_model(self) -> Any:
        return self.model

    def forward(self, batch: dict[str, Tensor], states: bool) -> tuple[Tensor, Tensor | None]:
        with self.lean, self.head_input if states else nullcontext() as head:
            logits = self.model(**batch).logits
        return logits.float(), None if head is None else head.states(logits)
