"""The imitation of a device without float64. Every method is tested with it by the rules of alloykit.testing."""

import pytest
import torch
from random_rows import SPECS

from alloykit.methods.registry import create, methods
from alloykit.outputs import has_float64
from alloykit.testing import check_rule
from alloykit.testing.without_float64 import there


def test_the_imitation_refuses_float64() -> None:
    with pytest.raises(TypeError, match="float64"):
        there(torch.ones(2)).double()
    with pytest.raises(TypeError, match="float64"):
        torch.add(there(torch.ones(2)), torch.ones(2).double())
    assert there(torch.ones(2)).cpu().double().dtype == torch.float64
    assert there("a") == "a"


def test_which_devices_have_none() -> None:
    assert [has_float64(torch.device(name)) for name in ("cpu", "cuda", "mps")] == [True, True, False]


@pytest.mark.parametrize("spec", [s for s in SPECS if create(s).phases()], ids=str)
def test_every_method_has_the_same_loss_there(spec: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alloykit.methods.alloy.method.accepted", lambda *_: True)  # on random texts no fit is
    options = {key: value for key, value in spec.items() if key != "name"}
    check_rule(methods()[spec["name"]], "devices without float64", options)
