"""Attention scores before their softmax, which no model returns: read where eager attention hands them to it."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from alloykit.errors import AlloyError


class AttentionScores(TorchFunctionMode):
    """While active, keeps what every softmax of four dimensions is given, with its gradient. `of` gives them by layer."""

    def __init__(self) -> None:
        super().__init__()
        self._found: list[Tensor] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in (functional.softmax, Tensor.softmax):
            given = args[0] if args else kwargs["input"]
            if given.dim() == 4:
                self._found.append(given)
        return func(*args, **kwargs)

    def of(self, model: Any) -> tuple[Tensor, ...]:
        """One tensor per layer, [B, H, L, L]. AlloyError for an architecture whose scores are not to be seen."""
        layers = model.config.num_hidden_layers
        if len(self._found) != layers:
            raise AlloyError(
                expected=f"attention scores of {layers} layers from {type(model).__name__}",
                got=f"{len(self._found)}: its attention is computed in some other way",
                hint="Take a BERT-like model, or a method that does not compare attention.",
            )
        return tuple(self._found)


def write_out_attention(model: Any) -> None:
    """Have a model compute its attention step by step, so that scores can be seen. AlloyError if it cannot."""
    try:
        model.set_attn_implementation("eager")
    except (ValueError, AttributeError) as error:
        raise AlloyError(
            expected=f"a model whose attention can be computed step by step, instead of {type(model).__name__}",
            got=str(error).splitlines()[0],
            hint="Take another model, or a method that does not compare attention.",
        ) from error
