"""The imitation of a device without float64. The rules of alloykit.testing test every method with it."""

import pytest
import torch

from alloykit.outputs import has_float64
from alloykit.testing.without_float64 import on_device


def test_the_imitation_refuses_float64() -> None:
    with pytest.raises(TypeError, match="float64"):
        on_device(torch.ones(2)).double()
    with pytest.raises(TypeError, match="float64"):
        torch.add(on_device(torch.ones(2)), torch.ones(2).double())
    assert on_device(torch.ones(2)).cpu().double().dtype == torch.float64
    assert on_device("a") == "a"


def test_which_devices_have_none() -> None:
    assert [has_float64(torch.device(name)) for name in ("cpu", "cuda", "mps")] == [True, True, False]
