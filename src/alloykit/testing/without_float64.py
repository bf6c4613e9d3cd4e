"""An imitation of a device without float64, as Apple's GPUs are: what is computed from one of its tensors stays there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch
from torch.utils._pytree import tree_leaves, tree_map

from alloykit.outputs import Rows


class DeviceTensor(torch.Tensor):
    """A tensor on that device. TypeError if float64 would be computed from it; `.cpu()` gives an ordinary tensor."""

    @classmethod
    def __torch_function__(
        cls,
        func: Callable[..., Any],
        types: Sequence[Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if func is torch.Tensor.cpu:
            return off_device(args[0]).clone()
        found = super().__torch_function__(func, types, args, kwargs or {})  # type: ignore[no-untyped-call]
        if any(isinstance(part, torch.Tensor) and part.dtype == torch.float64 for part in tree_leaves(found)):
            raise TypeError("float64 is computed on the student's device, which may have none (Apple's mps)")
        return found


@contextmanager
def device_without_float64() -> Iterator[None]:
    """All devices are without float64 while the block runs."""
    with mock.patch("alloykit.outputs.has_float64", return_value=False):
        yield


def on_device(tensor: Any) -> Any:
    """A tensor as one of that device; anything else as it is."""
    return tensor.as_subclass(DeviceTensor) if isinstance(tensor, torch.Tensor) else tensor


def off_device(tensor: torch.Tensor) -> torch.Tensor:
    """The ordinary tensor."""
    return tensor.as_subclass(torch.Tensor)


def rows_on_device(rows: Rows) -> Rows:
    """Rows whose tensors are on that device."""
    return Rows.from_batch(tree_map(on_device, rows.to_batch()))
