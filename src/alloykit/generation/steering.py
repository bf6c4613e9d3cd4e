"""Weighted decoding (StrataNet, Eq. 1): a teacher's probability of the class weights the language model's most probable tokens.

    P(x_t | x_<t, c) ∝ P_LM(x_t | x_<t) · P_T(c | x_≤t)^γ

Only the top m tokens are weighted, all others are left out. The teacher reads continuations as text, with its own tokenizer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import LogitsProcessor

Scorer = Callable[[Sequence[str]], Tensor]
"""Texts → log P_T(· | text), [n, C_i] float32."""


class Steering(LogitsProcessor):  # type: ignore[misc]
    """A logits processor for `generate()` that steers each sequence of a batch towards its own class.

    `classes`: [B] int64, positions in the teacher's labels. `prompt`: number of tokens at the beginning that the teacher does not read.
    Batched over sequences and candidates: one call of `scorer` per step.
    """

    def __init__(
        self,
        tokenizer: Any,
        scorer: Scorer,
        classes: Tensor,
        *,
        candidates: int,
        strength: float,
        every: int,
        prompt: int,
    ) -> None:
        self.tokenizer, self.scorer, self.classes = tokenizer, scorer, classes
        self.candidates, self.strength, self.every, self.prompt = candidates, strength, every, prompt
        self.reads = 0  # number of different continuations that the teacher has read

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """input_ids [B, L], scores [B, V] (logits) → scores with −∞ outside of the top m, [B, V]."""
        written = input_ids.shape[1] - self.prompt
        if self.strength == 0 or written % self.every:
            return scores
        logs = torch.log_softmax(scores.float(), -1)
        top = logs.topk(min(self.candidates, logs.shape[-1]), -1)
        texts = self._continuations(input_ids[:, self.prompt :], top.indices)
        self.reads += len(set(texts))
        log_probabilities = self.scorer(texts).to(scores.device).view(*top.indices.shape, -1)  # [B, m, C]
        wanted = self.classes.to(scores.device).view(-1, 1, 1).expand(-1, log_probabilities.shape[1], 1)
        weighted = top.values + self.strength * log_probabilities.gather(-1, wanted).squeeze(-1)
        out = torch.full_like(scores, float("-inf"))
        return out.scatter(-1, top.indices, weighted.to(scores.dtype))

    def _continuations(self, written: Tensor, candidates: Tensor) -> list[str]:
        """The text so far followed by each candidate, sequence by sequence. [B, L'], [B, m] → B·m texts."""
        rows = [
            [*before, token]
            for before, tokens in zip(written.tolist(), candidates.tolist(), strict=True)
            for token in tokens
        ]
        return list(self.tokenizer.batch_decode(rows, skip_special_tokens=True, clean_up_tokenization_spaces=False))
