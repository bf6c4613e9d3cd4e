"""More than the labels of some texts: the student's probabilities, their energies, and the states that it reads them by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from alloykit.models.forward import Budget, forward_texts
from alloykit.models.tokens import encode
from alloykit.serving.predictor import TOKENS_PER_BATCH, Predictor


@dataclass(frozen=True)
class StudentReading:
    """n texts, in their order, on the CPU.

    `probabilities`: softmax(logits / T), [n, C] float32, T the student's temperature. `energy`: log Σ_c exp(logits_c), [n] float32: large
    where a logit is large, as for texts like those of the training (Liu et al., 2020, without their minus sign). `states`: the mean of the
    last layer's states over the tokens of each text, [n, d] float32; None if it was not asked for.
    `foreign`: whether none of the labels fits, [n] bool; None for a student without a score for that.
    """

    probabilities: Tensor
    energy: Tensor
    states: Tensor | None = None
    foreign: Tensor | None = None


def read_by_student(
    student: Predictor, texts: Sequence[str], pairs: Sequence[str | None] | None = None, *, states: bool = False
) -> StudentReading:
    """Let the student read some texts. pairs: the second text of each, or None. states: also give `states`. AlloyError as `Predictor`."""
    encodings = encode(student.tokenizer, texts, pairs, student.max_length)
    labels = len(student.labels)

    def run(batch: dict[str, Tensor]) -> Tensor:
        if not states:
            with student.lean:
                return torch.as_tensor(student.model(**batch).logits.float())[None]
        out = student.model(**batch, output_hidden_states=True)
        weights = batch["attention_mask"].unsqueeze(-1).float()
        mean = (out.hidden_states[-1].float() * weights).sum(1) / weights.sum(1).clamp(min=1)
        return torch.cat([out.logits.float(), mean], -1)[None]

    found = forward_texts(
        run, encodings, student.model, student.tokenizer, device=student.device,
        width=labels + (student.model.config.hidden_size if states else 0), budget=Budget(TOKENS_PER_BATCH), name="student",
    )[0]  # fmt: skip
    logits = found[:, :labels]
    return StudentReading(
        (logits / student.temperature).softmax(-1), logits.logsumexp(-1), found[:, labels:] if states else None
    )
