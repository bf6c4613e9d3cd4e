"""What the student computes for some texts besides their labels: energies, states, and whether they are foreign."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor

from alloykit.losses.hidden import masked_mean
from alloykit.models.forward import Budget, forward_texts
from alloykit.models.long_texts import Chunks, encode_long
from alloykit.serving.predictor import TOKENS_PER_BATCH, Predictor
from alloykit.stats.none_of_these import UNUSUAL


@dataclass(frozen=True)
class StudentReading:
    """n texts, in their order, on the CPU.

    `probabilities`: softmax(logits / T), [n, C] float32, T the student's temperature. `energy`: log Σ_c exp(logits_c), [n] float32: large
    where a logit is large, as for texts like those of the training (Liu et al., 2020, without their minus sign). Of a multi-label student,
    sigmoids and Σ_c log(1 + exp(logits_c)) (Wang et al., 2021: the joint energy). `states`: the mean of the
    last layer's states over the tokens of each text, [n, d] float32; None if it was not asked for.
    `foreign`: whether the text is more unusual than 95 % of the pool's (stats/none_of_these.py), [n] bool; None for a student without that score.
    """

    probabilities: Tensor
    energy: Tensor
    states: Tensor | None = None
    foreign: Tensor | None = None


def read_by_student(
    student: Predictor, texts: Sequence[str], pairs: Sequence[str | None] | None = None, *, states: bool = False
) -> StudentReading:
    """Let the student read some texts. pairs: the second text of each, or None. states: also give `states`. AlloyError as `Predictor`."""
    encodings = encode_long(student.tokenizer, texts, pairs, student.max_length, student.long_texts)
    chunks = encodings if isinstance(encodings, Chunks) else None
    labels = len(student.labels)

    fitted = student.fitted_none_of_these if student.knows_unusual else None
    width = student.model.config.hidden_size if states else 0
    of_head = 0 if fitted is None else 2 if chunks is None else student.states_width or 0

    def run(batch: dict[str, Tensor]) -> Tensor:
        lean, watched = nullcontext() if states else student.lean, student.head_input if fitted else nullcontext()
        with lean, watched as head:
            out = student.model(**batch, output_hidden_states=states)
        logits = out.logits.float()
        parts = [logits]
        if states:
            parts.append(masked_mean(out.hidden_states[-1].float(), batch["attention_mask"]))
        if head is not None and fitted is not None:
            read = head.states(out.logits).cpu()  # a text in chunks is measured by its mean states
            parts.append((read if chunks is not None else fitted.measures(read)).to(logits))
        return torch.cat(parts, -1)[None]

    found = forward_texts(
        run, encodings, student.model, student.tokenizer, device=student.device,
        width=labels + width + of_head, budget=Budget(TOKENS_PER_BATCH), name="student", one_length=student.one_length,
    )[0]  # fmt: skip
    logits = found[:, :labels]
    if chunks is not None:
        logits, found = chunks.mean_logits(logits, multi_label=student.multi_label), chunks.mean(found)
    foreign = None
    if fitted is not None:
        last = found[:, labels + width :]
        foreign = fitted.score(last if chunks is None else fitted.measures(last)) >= UNUSUAL
    return StudentReading(
        student.parts[0].probabilities(logits),
        torch.nn.functional.softplus(logits).sum(-1) if student.multi_label else logits.logsumexp(-1),
        found[:, labels : labels + width] if states else None,
        foreign,
    )
