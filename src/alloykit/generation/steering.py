"""Weighted decoding (StrataNet, Eq. 1): the language model's likeliest tokens, weighed by what a teacher says of each continuation.

    P(x_t | x_<t, c) ∝ P_LM(x_t | x_<t) · P_T(c | x_≤t)^γ

Only the top m tokens are weighed, all others are left out. Continuations reach the teacher as text, through its own tokenizer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import LogitsProcessor

Judge = Callable[[Sequence[str]], Tensor]
"""Texts → log P_T(· | text), [n, C_i] float32."""


class Steering(LogitsProcessor):  # type: ignore[misc]
    """A logits processor for `generate()`, for a batch of sequences that each want a class of their own.

    `classes`: [B] int64, positions in the teacher's labels. `prompt`: tokens at the beginning that the teacher does not see.
    Batched over sequences and candidates: one call of `judge` per step.
    """

    def __init__(
        self,
        tokenizer: Any,
        judge: Judge,
        classes: Tensor,
        *,
        candidates: int,
        strength: float,
        every: int,
        prompt: int,
    ) -> None:
        self.tokenizer, self.judge, self.classes = tokenizer, judge, classes
        self.candidates, self.strength, self.every, self.prompt = candidates, strength, every, prompt
        self.reads = 0  # different continuations that the teacher has read, step by step

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """input_ids [B, L], scores [B, V] (logits) → scores with −∞ outside of the top m, [B, V]."""
        written = input_ids.shape[1] - self.prompt
        if self.strength == 0 or written % self.every:
            return scores
        logs = torch.log_softmax(scores.float(), -1)
        top = logs.topk(min(self.candidates, logs.shape[-1]), -1)
        texts = self._continuations(input_ids[:, self.prompt :], top.indices)
        self.reads += len(set(texts))
        said = self.judge(texts).to(scores.device).view(*top.indices.shape, -1)  # [B, m, C]
        wanted = self.classes.to(scores.device).view(-1, 1, 1).expand(-1, said.shape[1], 1)
        weighed = top.values + self.strength * said.gather(-1, wanted).squeeze(-1)
        out = torch.full_like(scores, float("-inf"))
        return out.scatter(-1, top.indices, weighed.to(scores.dtype))

    def _continuations(self, written: Tensor, candidates: Tensor) -> list[str]:
        """The text so far with each candidate behind it, sequence by sequence. [B, L'], [B, m] → B·m texts."""
        rows = [
            [*before, token]
            for before, tokens in zip(written.tolist(), candidates.tolist(), strict=True)
            for token in tokens
        ]
        return list(self.tokenizer.batch_decode(rows, skip_special_tokens=True, clean_up_tokenization_spaces=False))
