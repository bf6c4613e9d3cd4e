"""Attention scores before their softmax. No model returns them, so they are recorded where eager attention calls softmax."""

from __future__ import annotations

from typing import Any

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
        return tuple(self._scores)


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
