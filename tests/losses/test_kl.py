"""kl, reverse_kl and grouped_kl against plain loops, their identities and their gradients."""

import loops
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from alloykit.errors import AlloyError
from alloykit.losses.kl import grouped_kl, grouped_logsumexp, kl, reverse_kl

quick = settings(max_examples=40, deadline=None, derandomize=True, database=None)
seeds, temperatures = st.integers(0, 2**16), st.sampled_from([0.5, 1.0, 2.0, 5.0])


def draw(seed, b=3, c=6, zeros=False):
    """Targets [b, c] (with zeros where asked) and logits, float64."""
    g = torch.Generator().manual_seed(seed)
    target = torch.rand(b, c, generator=g, dtype=torch.float64)
    if zeros:
        target = target * (torch.rand(b, c, generator=g) > 0.5)
        target[:, 0] += 0.1
    return target / target.sum(-1, keepdim=True), 3 * torch.randn(b, c, generator=g, dtype=torch.float64)


def close(found, wanted):
    torch.testing.assert_close(found, torch.tensor(wanted, dtype=torch.float64), rtol=1e-9, atol=1e-11)


@quick
@given(seeds, temperatures, st.booleans())
def test_kl_is_the_sum_over_classes_times_t_squared(seed, t, zeros):
    target, logits = draw(seed, zeros=zeros)
    wanted = [t**2 * loops.kl(p, loops.softmax(s, t)) for p, s in zip(target.tolist(), logits.tolist(), strict=True)]
    close(kl(target, logits, t), wanted)
    assert (kl(target, logits, t) > -1e-12).all()


def test_kl_of_equal_distributions_is_zero_and_of_one_hot_is_cross_entropy():
    _, logits = draw(0)
    close(kl(torch.softmax(logits / 3, -1), logits, 3.0), [0.0] * 3)
    labels = torch.tensor([0, 4, 2])
    one_hot = torch.nn.functional.one_hot(labels, 6).double()
    torch.testing.assert_close(kl(one_hot, logits), torch.nn.functional.cross_entropy(logits, labels, reduction="none"))


@quick
@given(seeds, temperatures, st.sampled_from([0.001, 0.1, 0.5]))
def test_reverse_kl_smooths_the_target_and_swaps_the_sides(seed, t, smoothing):
    target, logits = draw(seed, zeros=True)
    wanted = []
    for p, s in zip(target.tolist(), logits.tolist(), strict=True):
        smoothed = [(1 - smoothing) * v + smoothing / len(p) for v in p]
        wanted.append(t**2 * loops.kl(loops.softmax(s, t), smoothed))
    close(reverse_kl(target, logits, smoothing, t), wanted)


def test_reverse_kl_without_smoothing_needs_a_target_without_zeros():
    target, logits = draw(1)
    close(
        reverse_kl(target, logits),
        [loops.kl(loops.softmax(s), p) for p, s in zip(target.tolist(), logits.tolist(), strict=True)],
    )
    target, logits = draw(1, zeros=True)
    with pytest.raises(AlloyError, match="smoothing"):
        reverse_kl(target, logits)


@quick
@given(seeds, temperatures, st.lists(st.integers(0, 2), min_size=6, max_size=6).filter(lambda g: set(g) == {0, 1, 2}))
def test_grouped_kl_softens_within_groups_only(seed, t, groups):
    target, logits = draw(seed, zeros=True)
    wanted = [loops.mixture_loss(p, s, groups, t) for p, s in zip(target.tolist(), logits.tolist(), strict=True)]
    close(grouped_kl(target, logits, torch.tensor(groups), t), wanted)


@quick
@given(seeds)
def test_grouped_kl_at_temperature_one_is_plain_kl(seed):
    target, logits = draw(seed, zeros=True)
    groups = torch.tensor([0, 1, 0, 2, 2, 1])
    torch.testing.assert_close(grouped_kl(target, logits, groups), kl(target, logits), rtol=1e-10, atol=1e-11)


@quick
@given(seeds, temperatures)
def test_disjoint_mixture_is_routing_plus_weighted_terms_within_teachers(seed, t):
    """methods.md §0, from the teachers' side: T(x) = Σ w_i Pad_i(p_i), p_i = softmax(z_i / T), w not softened."""
    g = torch.Generator().manual_seed(seed)
    w = torch.softmax(torch.randn(3, generator=g, dtype=torch.float64), -1).tolist()
    zs = [(2 * torch.randn(n, generator=g, dtype=torch.float64)).tolist() for n in (2, 3, 4)]
    ps = [loops.softmax(z, t) for z in zs]
    s = (2 * torch.randn(9, generator=g, dtype=torch.float64)).tolist()
    slices = [s[:2], s[2:5], s[5:]]
    q = loops.softmax(s)
    mass = [sum(q[:2]), sum(q[2:5]), sum(q[5:])]
    within = [loops.kl(p, loops.softmax(part, t)) for p, part in zip(ps, slices, strict=True)]
    wanted = loops.kl(w, mass) + t**2 * sum(a * b for a, b in zip(w, within, strict=True))
    target = torch.tensor([[w[i] * v for i, p in enumerate(ps) for v in p]], dtype=torch.float64)
    groups = torch.tensor([0, 0, 1, 1, 1, 2, 2, 2, 2])
    close(grouped_kl(target, torch.tensor([s], dtype=torch.float64), groups, t), [wanted])


def test_a_group_without_any_target_costs_only_routing():
    logits = torch.tensor([[1.0, 2.0, -1.0, 0.5]], dtype=torch.float64)
    target = torch.tensor([[0.25, 0.75, 0.0, 0.0]], dtype=torch.float64)
    groups = torch.tensor([0, 0, 1, 1])
    other = logits + torch.tensor([0, 0, 1.0, -3.0])
    q, q_other = torch.softmax(logits, -1)[0, :2].sum(), torch.softmax(other, -1)[0, :2].sum()
    difference = grouped_kl(target, other, groups, 2.0) - grouped_kl(target, logits, groups, 2.0)
    torch.testing.assert_close(difference, (q.log() - q_other.log())[None])


def test_grouped_logsumexp_sums_each_group():
    values = torch.tensor([[0.0, 1.0, 2.0, 3.0]], dtype=torch.float64)
    e = [1.0, 2.718281828459045, 7.38905609893065, 20.085536923187668]
    wanted = torch.tensor([[e[0] + e[3], e[1] + e[2]]], dtype=torch.float64).log()
    torch.testing.assert_close(grouped_logsumexp(values, torch.tensor([0, 1, 1, 0]), 2), wanted)


@pytest.mark.parametrize("t", [1.0, 2.5])
def test_gradients(t):
    target, logits = draw(5, b=2, zeros=True)
    logits.requires_grad_()
    groups = torch.tensor([0, 1, 0, 2, 2, 1])
    assert torch.autograd.gradcheck(lambda s: kl(target, s, t), logits)
    assert torch.autograd.gradcheck(lambda s: reverse_kl(target, s, 0.1, t), logits)
    assert torch.autograd.gradcheck(lambda s: grouped_kl(target, s, groups, t), logits)
    # Known in closed form: T² · (1/T) · (q − target), so gradients keep their size as T grows.
    (gradient,) = torch.autograd.grad(kl(target, logits, t).sum(), logits)
    torch.testing.assert_close(gradient, t * (torch.softmax(logits.detach() / t, -1) - target))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_extreme_logits_stay_finite(dtype):
    logits = torch.tensor([[60.0, -60.0, 60.0, -60.0]], dtype=dtype, requires_grad=True)
    target = torch.tensor([[0.0, 1.0, 0.0, 0.0]], dtype=dtype)
    for loss in (
        kl(target, logits),
        reverse_kl(target, logits, 0.01),
        grouped_kl(target, logits, torch.tensor([0, 0, 1, 1]), 2.0),
    ):
        (gradient,) = torch.autograd.grad(loss.sum(), logits, retain_graph=True)
        assert torch.isfinite(loss).all()
        assert torch.isfinite(gradient).all()
    assert kl(target, logits).item() == pytest.approx(120 + 0.6931471805599453)
