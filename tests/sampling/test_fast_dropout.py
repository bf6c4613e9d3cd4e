"""Fast dropout draws from the same distribution as stock dropout, in every architecture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny
import torch
from scipy import stats
from torch import Tensor
from torch.nn import functional

from alloykit.knowledge.fast_dropout import ByteDropout, _FastMasks
from alloykit.knowledge.sampling import StockDropout
from alloykit.teachers.teacher import Teacher, TeacherSpec, describe

PASSES = 256


def loaded(folder: Path, architecture: str) -> tuple[Teacher, dict[str, Tensor]]:
    tiny.classifier(folder, ["a", "b", "c"], architecture, seed=1, loudness=1.0)
    teacher = Teacher.load(describe(TeacherSpec(model=str(folder)), "t"), dropout=0.1)
    return teacher, teacher.batch(teacher.encode(tiny.texts(4, seed=5)))


def draw(sampler: Any, teacher: Teacher, batch: dict[str, Tensor], seed: int) -> np.ndarray:
    torch.manual_seed(seed)
    with torch.inference_mode():
        return (
            sampler.sample(teacher.model, batch, PASSES)[:, :, :2].double().numpy()
        )  # the third is one minus the others


@pytest.mark.parametrize("architecture", tiny.SIZES)
def test_mean_and_variance_match_stock_dropout(architecture: str, tmp_path: Path) -> None:
    """Welch's t and Levene's test on each text and class; at most the share of rejections that a 1 % test allows."""
    teacher, batch = loaded(tmp_path, architecture)
    fast, stock = draw(ByteDropout(), teacher, batch, 3), draw(StockDropout(), teacher, batch, 4)
    assert fast.std(0).min() > 0
    means = stats.ttest_ind(fast, stock, axis=0, equal_var=False).pvalue.reshape(-1)
    spreads = np.array([stats.levene(fast[:, b, c], stock[:, b, c]).pvalue for b in range(4) for c in range(2)])
    floor = 0.01 / (2 * len(means))  # 99 % for all comparisons of this architecture together
    assert means.min() > floor, means
    assert spreads.min() > floor, spreads


def test_rate_independence_and_scale() -> None:
    x = torch.ones(400, 500)
    with _FastMasks(0):
        first, second = functional.dropout(x, 0.1, True), functional.dropout(x, 0.1, True)
    a, b = (first == 0).double(), (second == 0).double()
    assert abs(a.mean() - 26 / 256) < 4 * np.sqrt(0.09 / x.numel())
    assert abs(26 / 256 - 0.1) <= 1 / 512
    kept = first[first != 0]
    assert torch.allclose(kept, torch.full_like(kept, 256 / 230))
    # Independent between passes, neighbours and rows: no correlation beyond chance.
    for u, v in ((a, b), (a[:, 1:], a[:, :-1]), (a[1:], a[:-1])):
        r = float(np.corrcoef(u.flatten().numpy(), v.flatten().numpy())[0, 1])
        assert abs(r) < 4 / np.sqrt(u.numel())


def test_same_seed_same_bits_and_nothing_outside(tmp_path: Path) -> None:
    teacher, batch = loaded(tmp_path, "bert")
    assert np.array_equal(draw(ByteDropout(), teacher, batch, 7), draw(ByteDropout(), teacher, batch, 7))
    assert not np.array_equal(draw(ByteDropout(), teacher, batch, 7), draw(ByteDropout(), teacher, batch, 8))
    with torch.inference_mode():
        assert torch.equal(teacher.model(**batch).logits, teacher.model(**batch).logits)


def test_attention_equals_torch_where_nothing_is_dropped() -> None:
    """The written-out attention, with a rate that rounds to zero, against torch's own."""
    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(2, 3, 5, 8, generator=generator) for _ in range(3))
    additive = torch.zeros(2, 1, 5, 5).masked_fill_(torch.arange(5) > 2, float("-inf"))
    for mask in (None, additive, additive == 0):
        plain = functional.scaled_dot_product_attention(q, k, v, mask)
        with _FastMasks(0):
            ours = functional.scaled_dot_product_attention(q, k, v, mask, dropout_p=1e-4)
        assert torch.allclose(ours, plain, atol=1e-6)


@pytest.mark.parametrize(("rate", "expected"), [(0.0, 1.0), (1.0, 0.0)])
def test_extreme_rates(rate: float, expected: float) -> None:
    with _FastMasks(0):
        assert torch.equal(functional.dropout(torch.ones(9), rate, True), torch.full((9,), expected))
        assert torch.equal(functional.dropout(torch.ones(9), 0.5, False), torch.ones(9))
