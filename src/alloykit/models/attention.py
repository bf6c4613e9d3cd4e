"""Attention scores before their softmax. No model returns them, so they are recorded where eager attention calls softmax."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from alloykit.errors import AlloyError
from alloykit.models.token_states import text_part


class AttentionScores(TorchFunctionMode):
    """While active, records the input of every four-dimensional softmax, with its gradient. `of` returns the inputs by layer."""

    def __init__(self) -> None:
        super().__init__()
        self._scores: list[Tensor] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in (functional.softmax, Tensor.softmax):
            scores = args[0] if args else kwargs["input"]
            if scores.dim() == 4:
                self._scores.append(scores)
        return func(*args, **kwargs)

    def of(self, model: Any) -> tuple[Tensor, ...]:
        """One tensor per layer, [B, H, L, L]. AlloyError for an architecture whose scores cannot be recorded."""
        layers = text_part(model.config).num_hidden_layers
        if len(self._scores) != layers:
            raise AlloyError(
                expected=f"attention scores of {layers} layers from {type(model).__name__}",
                got=f"{len(self._scores)}: it computes attention in another way",
                hint="Take a BERT-like model, or a method that does not compare attention.",
            )
        if _hides_later_tokens(self._scores[0].detach()):
            raise AlloyError(
                expected=f"attention of each token to the whole text from {type(model).__name__}",
                got="attention to earlier tokens only: it is a decoder",
                hint="Take a BERT-like model, or a method that does not compare attention.",
            )
        return tuple(self._scores)


def _hides_later_tokens(scores: Tensor) -> bool:
    """Whether no token of any text sees a later one. In a batch of an encoder the longest text has no padding. scores: [B, H, L, L]."""
    later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
    return bool(later.any()) and bool((scores[..., later] < torch.finfo(scores.dtype).min / 2).all())


def use_eager_attention(model: Any) -> None:
    """Switch a model to eager attention, so that its scores can be recorded. AlloyError if it has none."""
    try:
        model.set_attn_implementation("eager")
    except (ValueError, AttributeError) as error:
        raise AlloyError(
            expected=f"a model with eager attention, instead of {type(model).__name__}",
            got=str(error).splitlines()[0],
            hint="Take another model, or a method that does not compare attention.",
        ) from error
