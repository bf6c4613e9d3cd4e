"""The density of a teacher's early states (ours), against a plain float64 loop."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from alloykit.stats.density import FLOOR, density, fit_density


def test_density() -> None:
    g = torch.Generator().manual_seed(0)
    states = [torch.randn(60, 3, generator=g).double() for _ in range(2)]
    classes, confidence = torch.randint(2, (60,), generator=g), torch.rand(60, generator=g)
    fitted = fit_density(states, classes, confidence, 2)
    surest = sorted(range(60), key=lambda x: -float(confidence[x]))[:24]
    total = np.zeros(60)
    for z in (s.numpy() for s in states):
        mean, whole = z.mean(0), np.zeros((3, 3))
        for x in range(60):
            whole += np.outer(z[x] - mean, z[x] - mean) / 60
        kinds = {k: np.mean([z[x] for x in surest if classes[x] == k], 0) for k in (0, 1)}
        within = sum(np.outer(z[x] - kinds[int(classes[x])], z[x] - kinds[int(classes[x])]) for x in surest) / 24
        eye = FLOOR * z.var(0, ddof=1).mean() * np.eye(3)

        def far(x: int, m: np.ndarray, s: np.ndarray, z: np.ndarray = z) -> float:
            return float((z[x] - m) @ np.linalg.inv(s) @ (z[x] - m))

        within, whole = (
            within_shrunk(within, z[surest] - np.array([kinds[int(classes[x])] for x in surest])) + eye,
            within_shrunk(whole, z - mean),
        )
        scores = np.array([far(x, mean, whole) - min(far(x, m, within) for m in kinds.values()) for x in range(60)])
        total += scores / scores.std(ddof=1)
    wanted = 1 / (1 + np.exp(-(total - total.mean()) / total.std(ddof=1)))
    np.testing.assert_allclose(density(states, fitted).numpy(), wanted, rtol=1e-6)


@pytest.mark.parametrize("n", [1, 2, 50])
def test_equal_texts_have_equal_densities(n: int) -> None:
    """No spread at all, or a single text."""
    z = torch.randn(1, 4, generator=torch.Generator().manual_seed(0)).expand(n, 4)
    fitted = fit_density([z, z], torch.zeros(n, dtype=torch.long), torch.ones(n), 2)
    assert density([z, z], fitted).tolist() == pytest.approx([0.5] * n, abs=1e-3)


def within_shrunk(covariance: np.ndarray, centred: np.ndarray) -> np.ndarray:
    from sklearn.covariance import ledoit_wolf_shrinkage

    share = ledoit_wolf_shrinkage(centred, assume_centered=True)
    return (1 - share) * covariance + (share + 1e-9) * np.trace(covariance) / len(covariance) * np.eye(len(covariance))
