"""mmd2 against a plain loop, and its gradient."""

from __future__ import annotations

import loops
import pytest
import torch
from torch import Tensor

from alloykit.losses.mmd import mmd2


def test_mmd() -> None:
    g = torch.Generator().manual_seed(0)
    for n, m in ((3, 3), (5, 2), (1, 1)):
        x, y = torch.randn(n, 4, generator=g).double(), 1 + torch.randn(m, 4, generator=g).double()
        assert float(mmd2(x, y)) == pytest.approx(loops.mmd2(x.tolist(), y.tolist()), rel=1e-9)
    assert float(mmd2(x, x)) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("spread", [0.1, 0.01])
def test_bfloat16_does_not_lose_the_difference_of_similar_features(spread: float) -> None:
    """Under autocast, as in a training on a GPU: 2 − 2 cos of similar features has no digits in bfloat16."""
    g = torch.Generator().manual_seed(2)
    x, y = (1 + spread * (torch.randn(8, 16, generator=g) + at) for at in (0.0, torch.eye(16)[0] * 3))
    exact = float(mmd2(x.double(), y.double()))
    with torch.autocast("cpu", torch.bfloat16):
        assert float(mmd2(x, y)) == pytest.approx(exact, rel=1e-2)
    assert exact > 0.05


def test_mmd_gradient_with_the_kernels_width_held() -> None:
    g = torch.Generator().manual_seed(1)
    x, y = torch.randn(4, 3, generator=g).double().requires_grad_(), torch.randn(5, 3, generator=g).double()
    mmd2(x, y).backward()
    assert x.grad is not None
    step = 1e-6
    with torch.no_grad():
        u, v = (torch.nn.functional.normalize(t, dim=-1) for t in (x, y))
        sigma2 = (
            torch.cdist(u, u).square().mean()
            + torch.cdist(v, v).square().mean()
            + 2 * torch.cdist(u, v).square().mean()
        ) / 4

    def held(t: Tensor) -> float:
        u = torch.nn.functional.normalize(t, dim=-1)
        k = [torch.cdist(a, b).square() for a, b in ((u, u), (v, v), (u, v))]
        return float(
            sum(
                sum(w * torch.exp(-d / (2 * s * sigma2)).mean() for d, w in zip(k, (1, 1, -2), strict=True))
                for s in (0.25, 0.5, 1, 2, 4)
            )
        )

    for i in range(4):
        for j in range(3):
            up, down = x.detach().clone(), x.detach().clone()
            up[i, j] += step
            down[i, j] -= step
            assert float(x.grad[i, j]) == pytest.approx((held(up) - held(down)) / (2 * step), abs=1e-5)
