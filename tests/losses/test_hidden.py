"""Means over real tokens against plain sums."""

from __future__ import annotations

import pytest
import torch

from alloykit.losses.hidden import masked_mean, masked_mse


def test_masked_means() -> None:
    g = torch.Generator().manual_seed(0)
    a, b = torch.randn(2, 3, 4, generator=g).double(), torch.randn(2, 3, 4, generator=g).double()
    mask = torch.tensor([[1, 0, 1], [0, 0, 0]])
    expected = sum(float((a[0, t, d] - b[0, t, d]) ** 2) for t in (0, 2) for d in range(4)) / 8
    assert masked_mse(a, b, mask).tolist() == pytest.approx([expected, 0.0])
    assert masked_mean(a, mask)[0].tolist() == pytest.approx([float(a[0, 0, d] + a[0, 2, d]) / 2 for d in range(4)])


def test_the_mean_of_joined_tokens() -> None:
    states = torch.arange(12.0).view(2, 3, 2)  # of six tokens each, joined in pairs
    mask = torch.tensor([[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]])  # padded on the right, and on the left
    expected = [[(0 + 2) / 2, (1 + 3) / 2], [(8 + 10) / 2, (9 + 11) / 2]]
    assert masked_mean(states, mask).tolist() == expected
