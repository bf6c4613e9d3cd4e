"""Monte-Carlo dropout near the speed of a plain pass on a CPU: masks from raw random bytes (ours).

Stock dropout draws one Bernoulli number per element on one thread, which more than doubles the cost of a pass. Here one
random byte decides each element: it is dropped if the byte is below round(256 · p), so the rate is exact to 1/512, and
masks are independent across elements, rows and passes. Every architecture that drops through torch's own functions is
covered, hidden and attention alike, because those functions are intercepted while the pass runs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from alloykit.teachers.dropout import dropout_active


class ByteDropout:
    """A `Sampler` for CPUs; same distribution as `StockDropout`, other random numbers."""

    name = "bytes"

    def sample(self, model: Any, batch: Mapping[str, Tensor], passes: int) -> Tensor:
        seed = int(torch.randint(2**62, (1,)))
        with dropout_active(model), _FastMasks(seed):
            drawn = [model(**batch).logits.float().softmax(-1) for _ in range(passes)]
        return torch.stack(drawn)


class _FastMasks(TorchFunctionMode):
    """Answers every dropout and every fused attention with dropout by masks from one stream of bytes."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.stream = np.random.SFC64(seed)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is functional.dropout:
            return self._dropout(*args, **kwargs)
        if func is functional.scaled_dot_product_attention:
            return self._attention(func, *args, **kwargs)
        return func(*args, **kwargs)

    def _dropout(self, input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
        threshold = round(256 * p) if training else 0
        if threshold == 0:
            return input
        if threshold == 256:
            return torch.zeros_like(input)
        dropped = self._bytes(input.numel()).view(input.shape) < threshold
        return (input * (256 / (256 - threshold))).masked_fill_(dropped, 0.0)

    def _attention(
        self,
        fused: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> Tensor:
        if dropout_p == 0.0 or is_causal or enable_gqa:
            rest = {"is_causal": is_causal, "scale": scale, "enable_gqa": enable_gqa}
            return fused(query, key, value, attn_mask, dropout_p, **rest)  # type: ignore[no-any-return]
        weights = (query * (scale or 1 / math.sqrt(query.shape[-1]))) @ key.transpose(-2, -1)
        if attn_mask is not None:
            weights = (
                weights.masked_fill_(~attn_mask, float("-inf"))
                if attn_mask.dtype == torch.bool
                else weights.add_(attn_mask)
            )
        return self._dropout(weights.softmax(-1), dropout_p) @ value

    def _bytes(self, n: int) -> Tensor:
        return torch.from_numpy(self.stream.random_raw(-(-n // 8)).view(np.uint8)[:n])
