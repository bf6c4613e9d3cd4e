"""Weighted decoding (StrataNet, Eq. 1): a teacher's probability of the class weights the language model's most probable tokens.

    p(x_t | x_<t, y) ∝ p_LM(x_t | x_<t) · p_i(y | x_≤t)^γ          y: the class; p_LM: the language model; p_i: teacher i

Only the top m tokens are weighted, all others are left out. The teacher reads continuations as text, with its own tokenizer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import LogitsProcessor

Scorer = Callable[[Sequence[str]], Tensor]
"""Texts → log p_i(· | text), [n, C_i] float32."""


class Steering(LogitsProcessor):  # type: ignore[misc]
    """A logits processor for `generate()` that steers each sequence of a batch towards its own class.

    `classes`: [B] int64, positions in the teacher's labels. `prompt`: number of tokens at the beginning that the teacher does not read.
    `top_p`: the teacher reads the fewest candidates that have this probability together. `stops`: ids of tokens that end a text; a text that
    has one is not read any more. Batched over sequences and candidates: one call of `scorer` per step.
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
        top_p: float = 1.0,
        stops: Sequence[int] = (),
    ) -> None:
        self.tokenizer, self.scorer, self.classes = tokenizer, scorer, classes
        self.candidates, self.strength, self.every, self.prompt = candidates, strength, every, prompt
        self.top_p, self.stops = top_p, torch.tensor(list(stops), dtype=torch.long)
        self.reads = 0  # number of different continuations that the teacher has read

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """input_ids [B, L], scores [B, V] (logits) → scores with −∞ outside of the candidates, [B, V]. Finished texts keep their scores."""
        written = input_ids[:, self.prompt :]
        if self.strength == 0 or written.shape[1] % self.every:
            return scores
        going = ~torch.isin(written, self.stops.to(written.device)).any(-1)
        if not bool(going.any()):
            return scores
        logs = torch.log_softmax(scores.float(), -1)
        top = logs.topk(min(self.candidates, logs.shape[-1]), -1)
        asked = going.unsqueeze(-1).expand_as(top.values)  # [B, m]
        if self.top_p < 1.0:
            asked = asked & (top.values.exp().cumsum(-1) - top.values.exp() < self.top_p)
        texts = self._continuations(written, top.indices, asked)
        self.reads += len(set(texts))
        log_probabilities = self.scorer(texts).to(scores.device)  # [number asked, C]
        wanted = self.classes.to(scores.device).unsqueeze(-1).expand_as(asked)[asked]
        weights = torch.full_like(top.values, float("-inf"))
        weights[asked] = self.strength * log_probabilities.gather(-1, wanted.unsqueeze(-1)).squeeze(-1)
        out = torch.full_like(scores, float("-inf")).scatter(-1, top.indices, (top.values + weights).to(scores.dtype))
        return torch.where(going.unsqueeze(-1), out, scores)

    def _continuations(self, written: Tensor, candidates: Tensor, asked: Tensor) -> list[str]:
        """The text so far followed by each candidate that is asked about, sequence by sequence. [B, L'], [B, m] each → as many texts."""
        before, tokens = written.tolist(), candidates[asked].tolist()
        rows = [[*before[row], token] for row, token in zip(asked.nonzero()[:, 0].tolist(), tokens, strict=True)]
        return list(self.tokenizer.batch_decode(rows, skip_special_tokens=True, clean_up_tokenization_spaces=False))
