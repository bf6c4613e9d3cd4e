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

from alloykit.models import fast_dropout
from alloykit.models.fast_dropout import FastMasks, covers_all_dropout
from alloykit.teachers.hugging_face import HuggingFaceSpec, HuggingFaceTeacher, read_teacher_info
from alloykit.teachers.mc_dropout import ByteDropout, StockDropout
from alloykit.teachers.protocol import Reading

PASSES = 128


def loaded(folder: Path, architecture: str) -> tuple[HuggingFaceTeacher, dict[str, Tensor]]:
    tiny.classifier(folder, ["a", "b", "c"], architecture, seed=1, logit_scale=1.0)
    teacher = read_teacher_info(HuggingFaceSpec(model=str(folder)), "t").load(Reading(dropout=0.1))
    return teacher, teacher.batch(teacher.encode(tiny.texts(4, seed=5)))


def draw(sampler: Any, teacher: HuggingFaceTeacher, batch: dict[str, Tensor], seed: int) -> np.ndarray:
    torch.manual_seed(seed)
    with torch.inference_mode():
        return (
            sampler.sample(teacher.model, batch, PASSES)[:, :, :2].double().numpy()
        )  # the third is one minus the others


@pytest.mark.slow
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
    with FastMasks(0):
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


@pytest.mark.slow
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
        with FastMasks(0):
            ours = functional.scaled_dot_product_attention(q, k, v, mask, dropout_p=1e-4)
        assert torch.allclose(ours, plain, atol=1e-6)


def test_attention_is_finite_where_a_token_attends_to_nothing() -> None:
    q, k, v = (torch.randn(2, 3, 5, 8, generator=torch.Generator().manual_seed(0)) for _ in range(3))
    additive = torch.zeros(2, 1, 5, 5)
    additive[:, :, 3:] = float("-inf")
    for mask in (additive, additive == 0):
        plain = functional.scaled_dot_product_attention(q, k, v, mask)
        with FastMasks(0):
            ours = functional.scaled_dot_product_attention(q, k, v, mask, dropout_p=1e-4)
        assert torch.allclose(ours[:, :, :3], plain[:, :, :3], atol=1e-6)
        assert bool(ours.isfinite().all())


def test_passes_are_finite_with_a_window_of_attention(tmp_path: Path) -> None:
    """Padding farther from a short text than the window attends to nothing."""
    teacher, _ = loaded(tmp_path, "modernbert")
    batch = teacher.batch(teacher.encode(["card", " ".join(tiny.WORDS[:40])]))
    with torch.inference_mode():
        assert bool(ByteDropout().sample(teacher.model, batch, 2).isfinite().all())


@pytest.mark.parametrize("masked", [False, True])
def test_attention_in_pieces_and_in_one_piece_are_the_same(masked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each piece takes its rows of the mask; with the rate at almost one half, half of the weights are dropped."""
    generator = torch.Generator().manual_seed(0)
    q, k = (torch.randn(6, 2, 16, 8, generator=generator) for _ in range(2))
    eye = torch.eye(16).expand(6, 2, 16, 16)  # the output is the weights themselves
    mask = (torch.rand(6, 1, 1, 16, generator=generator) > 0.3) if masked else None
    weights = functional.scaled_dot_product_attention(q, k, eye, mask)
    for scores in (1, 2 * 16 * 16 * 2, 1 << 19):
        monkeypatch.setattr(fast_dropout, "SCORES", scores)
        with FastMasks(1), torch.no_grad():
            out = functional.scaled_dot_product_attention(q, k, eye, mask, dropout_p=0.5)
        kept = out != 0
        assert torch.allclose(out, torch.where(kept, 2 * weights, 0.0), atol=1e-6)
        share = kept[weights > 0].double().mean()
        assert abs(share - 0.5) < 4 * 0.5 / np.sqrt(int((weights > 0).sum()))


def test_large_and_small_masks_have_the_rate_and_all_streams_differ() -> None:
    with FastMasks(5):
        small, large = (
            functional.dropout(torch.ones(9_999), 0.3, True),
            functional.dropout(torch.ones(1_000_003), 0.3, True),
        )
    for drawn in (small, large):
        rate = (drawn == 0).double().mean()
        assert abs(rate - 77 / 256) < 4 * np.sqrt(0.21 / drawn.numel())
    a = (large == 0).double()
    step = -(-1_000_003 // 32) * 8
    for i in range(1, fast_dropout.STREAMS):
        part = a[i * step : (i + 1) * step]
        assert abs(float(np.corrcoef(a[: len(part)], part)[0, 1])) < 4 / np.sqrt(len(part))


def test_gradients_are_those_of_the_masked_computation() -> None:
    """Backward through dropout and attention, against plain autograd with the masks that were drawn."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(5, 7, generator=generator, requires_grad=True)
    with FastMasks(2):
        out = functional.dropout(x, 0.4, True)
    out.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad, torch.where(out == 0, 0.0, 256 / (256 - 102)))

    q, k = (torch.randn(2, 1, 4, 8, generator=generator, dtype=torch.float64) for _ in range(2))
    eye = torch.eye(4, dtype=torch.float64).expand(2, 1, 4, 4)
    q.requires_grad_(True)
    with FastMasks(2):
        out = functional.scaled_dot_product_attention(q, k, eye, dropout_p=0.25)
    (out * torch.arange(4.0, dtype=torch.float64)).sum().backward()
    again = q.detach().requires_grad_(True)
    plain = (again / 8**0.5 @ k.transpose(-2, -1)).softmax(-1) * (out != 0) * (256 / 192)
    (plain * torch.arange(4.0, dtype=torch.float64)).sum().backward()
    assert q.grad is not None
    assert again.grad is not None
    assert torch.allclose(q.grad, again.grad)


@pytest.mark.parametrize("architecture", tiny.SIZES)
def test_every_architecture_listed_is_caught(architecture: str, tmp_path: Path) -> None:
    teacher, batch = loaded(tmp_path, architecture)
    assert covers_all_dropout(teacher.model, batch)
    assert teacher.sampler == "bytes"


def test_another_kind_of_dropout_falls_back_to_stock_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class OwnDropout(torch.nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x * torch.bernoulli(torch.full_like(x, 0.9)) if self.training else x

    teacher, batch = loaded(tmp_path, "bert")
    teacher.model.bert.encoder.layer[1].output.dropout = OwnDropout()
    assert not covers_all_dropout(teacher.model, batch)
    assert teacher.sampler == "stock"
    assert "speed of stock dropout" in capsys.readouterr().err
    # Where nothing is dropped at all the masks do not act either, and the check of the variance says what is wrong.
    still = teacher.info.load(Reading(dropout=0.0))
    assert not covers_all_dropout(still.model, batch)


@pytest.mark.parametrize(("rate", "expected"), [(0.0, 1.0), (1.0, 0.0)])
def test_extreme_rates(rate: float, expected: float) -> None:
    with FastMasks(0):
        assert torch.equal(functional.dropout(torch.ones(9), rate, True), torch.full((9,), expected))
        assert torch.equal(functional.dropout(torch.ones(9), 0.5, False), torch.ones(9))
