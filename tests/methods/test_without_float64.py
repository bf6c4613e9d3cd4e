"""Apple's GPUs refuse float64. Here tensors of such a device are imitated on the CPU: what is computed from one stays there."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from random_rows import SPECS, losses, made, student_logits
from torch.utils._pytree import tree_flatten, tree_map

from alloykit import outputs
from alloykit.methods.registry import create
from alloykit.outputs import Rows


class Metal(torch.Tensor):
    """A tensor on a device without float64. `.cpu()` gives a plain one."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.Tensor.cpu:
            return args[0].as_subclass(torch.Tensor).clone()
        found = super().__torch_function__(func, types, args, kwargs or {})
        if any(isinstance(part, torch.Tensor) and part.dtype == torch.float64 for part in tree_flatten(found)[0]):
            raise TypeError("Cannot convert a Metal tensor to float64")
        return found


def on_metal(tensor: Any) -> Any:
    return tensor.as_subclass(Metal) if isinstance(tensor, torch.Tensor) else tensor


@pytest.fixture(autouse=True)
def no_float64(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outputs, "has_float64", lambda _: False)
    monkeypatch.setattr("alloykit.methods.alloy.method.accepted", lambda *_: True)  # on random texts no fit is


def test_the_imitation_refuses_float64() -> None:
    with pytest.raises(TypeError, match="float64"):
        on_metal(torch.ones(2)).double()
    with pytest.raises(TypeError, match="float64"):
        torch.add(on_metal(torch.ones(2)), torch.ones(2).double())
    assert on_metal(torch.ones(2)).cpu().double().dtype == torch.float64


@pytest.mark.parametrize("spec", [s for s in SPECS if create(s).phases()], ids=str)
def test_every_method_has_the_same_loss_there(spec: dict[str, Any]) -> None:
    method, rows, context = made(spec, "overlapping", b=4)
    logits = student_logits(rows, context)
    wanted = losses(method, rows, context, logits)
    there = Rows.from_batch(tree_map(on_metal, rows.to_batch()))
    found = losses(method, there, context, on_metal(logits))
    assert found.keys() == wanted.keys()
    for name, term in found.items():
        torch.testing.assert_close(term.as_subclass(torch.Tensor), wanted[name])
