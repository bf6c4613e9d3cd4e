"""Temperature, top-k and nucleus sampling without sorting the whole vocabulary.

The same tokens remain as with the three logits processors of transformers, whose nucleus sampling sorts the whole vocabulary at each step.
"""

from __future__ import annotations

import torch
from torch import Tensor
from transformers import LogitsProcessor

FIRST = 128  # tokens in which the nucleus is looked for first; then in eight times as many, and so on


class Sampling(LogitsProcessor):  # type: ignore[misc]
    """A logits processor for `generate()`: divides by `temperature`, then keeps the `top_k` best tokens (0: all), and of these the fewest
    that have the probability `top_p` together."""

    def __init__(self, temperature: float, top_k: int, top_p: float) -> None:
        self.temperature, self.top_k, self.top_p = temperature, top_k, top_p

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """scores [B, V] → [B, V] with −∞ for tokens that are left out. At least one token remains."""
        if self.temperature != 1.0:
            scores = scores / self.temperature
        if 0 < self.top_k < scores.shape[-1]:
            worst = scores.topk(self.top_k, -1).values[:, -1:]
            scores = scores.masked_fill(scores < worst, float("-inf"))
        return nucleus(scores, self.top_p) if self.top_p < 1.0 else scores


def nucleus(scores: Tensor, top_p: float) -> Tensor:
    """The scores with −∞ outside of the fewest most probable tokens that have the probability `top_p` together. [B, V]"""
    logs = scores - scores.logsumexp(-1, keepdim=True)
    size, width = scores.shape[-1], FIRST
    while True:
        best = logs.topk(min(width, size), -1)
        before = best.values.exp().cumsum(-1) - best.values.exp()  # probability of the better tokens
        if width >= size or bool((before[:, -1] >= top_p).all()):
            break
        width *= 8
    kept = torch.where(before < top_p, scores.gather(-1, best.indices), float("-inf"))
    return torch.full_like(scores, float("-inf")).scatter(-1, best.indices, kept)
