"""Fast dropout on a CPU: masks from raw random bytes (ours).

Torch's dropout draws one Bernoulli number per element on one thread, and with dropout torch has no fused attention on a
CPU. Here one random byte decides about each element: it is dropped if the byte is below round(256 · p). So the rate is exact to
1/512, and masks are independent across elements, rows and passes. Torch's own dropout functions are intercepted while the mode is
active, so it works for hidden states and attention in every architecture that uses these functions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from alloykit.models.dropout import dropout_active

# Independent streams of bytes, so that several threads can draw. The number is fixed, so that masks do not depend on the number of threads.
STREAMS = 4
PARALLEL = 1 << 18  # bytes; from this size on several threads are faster
SCORES = 1 << 19  # attention weights at a time: 2 MB, which fit into a core's cache


class FastMasks(TorchFunctionMode):
    """While active, every dropout and every fused attention with dropout uses masks from streams of random bytes."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.streams = [np.random.SFC64(s) for s in np.random.SeedSequence(seed).spawn(STREAMS)]

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
        return input * self._keep(input.shape, threshold, input.dtype) * (256 / (256 - threshold))

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
        threshold = round(256 * dropout_p)
        if dropout_p == 0.0 or threshold == 256 or is_causal or enable_gqa:
            rest = {"is_causal": is_causal, "scale": scale, "enable_gqa": enable_gqa}
            return fused(query, key, value, attn_mask, dropout_p, **rest)  # type: ignore[no-any-return]
        if attn_mask is not None:
            # Not -inf: with a window, padding far from the text attends to nothing, and its softmax would be NaN.
            lowest = torch.finfo(query.dtype).min / 2
            if attn_mask.dtype == torch.bool:
                attn_mask = torch.zeros(attn_mask.shape, dtype=query.dtype).masked_fill_(~attn_mask, lowest)
            else:
                attn_mask = attn_mask.clamp(min=lowest)
        query = query * (scale or 1 / math.sqrt(query.shape[-1]))
        value = value * (256 / (256 - threshold))  # scaled in place of the weights, which are larger
        needs_gradient = torch.is_grad_enabled() and query.requires_grad
        per_row = math.prod(query.shape[1:-1]) * key.shape[-2]
        rows = len(query) if needs_gradient else max(1, SCORES // per_row)
        per_row_mask = attn_mask is not None and attn_mask.dim() == query.dim() and len(attn_mask) == len(query)
        out = []
        for start in range(0, len(query), rows):
            part = slice(start, start + rows)
            weights = query[part] @ key[part].transpose(-2, -1)
            if attn_mask is not None:
                weights += attn_mask[part] if per_row_mask else attn_mask
            weights = weights.softmax(-1)
            keep = self._keep(weights.shape, threshold, weights.dtype)
            weights = weights * keep if needs_gradient else weights.mul_(keep)
            out.append(weights @ value[part])
        return out[0] if len(out) == 1 else torch.cat(out)

    def _keep(self, shape: Sequence[int], threshold: int, dtype: torch.dtype) -> Tensor:
        """A mask of ones, with zeros at the rate threshold / 256."""
        n = math.prod(shape)
        # numpy compares bytes, torch converts them to floats: each is ten times faster at it than the other.
        mask = np.greater_equal(self._bytes(n), threshold).view(np.uint8)
        return torch.from_numpy(mask).to(dtype).view(tuple(shape))

    def _bytes(self, n: int) -> np.ndarray[Any, Any]:
        if n < PARALLEL:
            return self.streams[0].random_raw(-(-n // 8)).view(np.uint8)[:n]  # type: ignore[no-any-return]
        out, step = np.empty(-(-n // (8 * STREAMS)) * STREAMS, np.uint64), -(-n // (8 * STREAMS))

        def draw(i: int) -> None:
            out[i * step : (i + 1) * step] = self.streams[i].random_raw(step)

        list(_pool(min(STREAMS, torch.get_num_threads())).map(draw, range(STREAMS)))
        return out.view(np.uint8)[:n]


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="alloykit-masks")


def covers_all_dropout(model: nn.Module, batch: Mapping[str, Tensor]) -> bool:
    """Whether all dropout of this model uses our masks, and our masks are used at all.

    False for an architecture that draws its masks in another way. Its passes must use its own dropout.
    """
    operations, masks = _RandomOperations(), FastMasks(0)
    before = [stream.state["state"]["state"].tolist() for stream in masks.streams]
    with torch.random.fork_rng(), torch.inference_mode(), dropout_active(model), masks, operations:
        model(**batch)
    drew = before != [stream.state["state"]["state"].tolist() for stream in masks.streams]
    return drew and not operations.seen


class _RandomOperations(TorchDispatchMode):
    """Records the operations that draw from torch's own generators."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if torch.Tag.nondeterministic_seeded in func.tags:
            self.seen.add(str(func))
        return func(*args, **(kwargs or {}))
