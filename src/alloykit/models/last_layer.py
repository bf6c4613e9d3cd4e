"""The last layer for the first token alone: a classifier that reads nothing else needs no other (ours; the same answers).

Keys and values are computed for all tokens, the query and everything behind it for the first. Of a layer's 24 d² operations per token
4 d² are left, which is 28 % of a model of three layers, and 7 % of one of twelve. A model is taken in only after its answers were
compared with those of the whole layer.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

Forward = Callable[..., Tensor]
Compute = Callable[[Any, Tensor, Tensor | None], Tensor]


class LeanLastLayer:
    """While active, the model computes its last layer for the first token of each text; nothing changes for a model that this
    would change. Hidden states and attention of the last layer must not be asked for meanwhile."""

    def __init__(self, model: Any) -> None:
        self.layer, self.lean = _last_layer(model)
        if self.layer is not None and not self._same(model):
            self.layer = None

    @property
    def acts(self) -> bool:
        return self.layer is not None

    def __enter__(self) -> None:
        if self.layer is not None:
            object.__setattr__(self.layer, "forward", self.lean)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.layer is not None:
            object.__delattr__(self.layer, "forward")

    @torch.no_grad()
    def _same(self, model: Any) -> bool:
        """Whether the logits of some made-up texts of different lengths stay what they are."""
        was, device = model.training, next(model.parameters()).device
        known = min(getattr(model.config, "vocab_size", 2), 1000)
        ids = (torch.arange(24, device=device).view(3, 8) * 37) % known
        mask = (torch.arange(8, device=device) < torch.tensor([[8], [5], [2]], device=device)).long()
        model.eval()
        try:
            with torch.random.fork_rng():
                whole = model(input_ids=ids, attention_mask=mask).logits.float()
                with self:
                    lean = model(input_ids=ids, attention_mask=mask).logits.float()
        except Exception:  # whatever this architecture does otherwise, it is left alone
            return False
        finally:
            model.train(was)
        close = 0.05 if next(model.parameters()).dtype == torch.bfloat16 else 1e-3
        return bool((whole - lean).abs().max() <= close * (1 + whole.abs().max()))


def _last_layer(model: Any) -> tuple[Any, Forward | None]:
    """The last layer of an encoder of a known build, and its lean forward; None for any other."""
    if getattr(model, "base_model_prefix", None) == "encoder":  # a pooled head reads all tokens
        return None, None
    stacks = [m for m in model.modules() if isinstance(m, nn.ModuleList) and len(m) == model.config.num_hidden_layers]
    if len(stacks) != 1:
        return None, None
    layer: Any = stacks[0][-1]
    for build, compute in BUILDS:
        if all(hasattr(layer, name) for name in build):
            return layer, partial(_forward, compute, layer)
    return None, None


def _forward(
    compute: Compute, layer: Any, hidden: Tensor, mask: Tensor | None = None, *rest: Any, **more: Any
) -> Tensor:
    """As transformers calls a layer: the mask comes second or by name."""
    return compute(layer, hidden, more.get("attention_mask", mask))


def _bert(layer: Any, hidden: Tensor, mask: Tensor | None) -> Tensor:
    own = layer.attention.self
    rate = own.dropout.p if layer.training else 0.0
    found = _attend(own.query, own.key, own.value, hidden, mask, own.num_attention_heads, rate)
    attended = layer.attention.output(found, hidden[:, :1])
    answer: Tensor = layer.output(layer.intermediate(attended), attended)
    return answer


def _distilbert(layer: Any, hidden: Tensor, mask: Tensor | None) -> Tensor:
    own = layer.attention
    rate = own.dropout.p if layer.training else 0.0
    found = own.out_lin(_attend(own.q_lin, own.k_lin, own.v_lin, hidden, mask, own.n_heads, rate))
    attended = layer.sa_layer_norm(found + hidden[:, :1])
    answer: Tensor = layer.output_layer_norm(layer.ffn(attended) + attended)
    return answer


def _attend(query: Any, key: Any, value: Any, hidden: Tensor, mask: Tensor | None, heads: int, rate: float) -> Tensor:
    """Attention of the first token to all. hidden [B, L, d] → [B, 1, d]."""

    def split(states: Tensor) -> Tensor:
        return states.view(*states.shape[:2], heads, -1).transpose(1, 2)

    first = split(query(hidden[:, :1]))
    seen = None if mask is None else mask[:, :, :1]
    found = functional.scaled_dot_product_attention(first, split(key(hidden)), split(value(hidden)), seen, rate)
    return found.transpose(1, 2).flatten(2)


BUILDS: tuple[tuple[tuple[str, ...], Compute], ...] = (  # what a layer of each build has, and how it is computed
    (("attention", "intermediate", "output"), _bert),
    (("attention", "sa_layer_norm", "ffn", "output_layer_norm"), _distilbert),
)
