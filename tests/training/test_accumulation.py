"""Four batches of eight are one batch of thirty-two, for every method whose texts do not influence each other."""

import pytest
import tiny
import torch
from random_rows import SPECS, context_of, losses, rows_of, space_of
from small_training import logged, new_student, run

from alloykit.methods.registry import create

UNCOUPLED = {s["name"]: s for s in reversed(SPECS) if create(s).phases() and not create(s).batch_coupled}  # one of each


def same_weights(a, b):
    for (name, one), other in zip(a.state_dict().items(), b.state_dict().values(), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=2e-6, msg=lambda m, name=name: f"{name}: {m}")


@pytest.mark.slow
@pytest.mark.parametrize("spec", UNCOUPLED.values(), ids=str)
def test_four_times_eight_is_thirty_two(spec, quiet_encoder, tmp_path):
    """30 texts: the last small batch has six. The norm of the gradient too, since Adam forgives a wrong scale."""
    whole, one = run(spec, quiet_encoder, tmp_path / "1x32", double=True, batch_size=32)
    parts, four = run(spec, quiet_encoder, tmp_path / "4x8", double=True, batch_size=8, accumulate=4)
    assert one.steps == four.steps == 2 * len(create(spec).phases())
    torch.testing.assert_close(
        torch.tensor(logged(four, "grad_norm")), torch.tensor(logged(one, "grad_norm")), rtol=1e-4, atol=1e-6
    )
    torch.testing.assert_close(
        torch.tensor(logged(four, "loss")), torch.tensor(logged(one, "loss")), rtol=1e-4, atol=1e-6
    )
    same_weights(whole, parts)


@pytest.mark.parametrize("n", [46, 33])
def test_a_last_step_of_fewer_small_batches(n, quiet_encoder, tmp_path):
    """46 = 32 + 14: the last step has batches of 8 and 6; 33: a single text."""
    whole, one = run({"name": "muka"}, quiet_encoder, tmp_path / "1x32", n=n, double=True, batch_size=32)
    parts, four = run({"name": "muka"}, quiet_encoder, tmp_path / "4x8", n=n, double=True, batch_size=8, accumulate=4)
    assert one.steps == four.steps == 4
    torch.testing.assert_close(
        torch.tensor(logged(four, "grad_norm")), torch.tensor(logged(one, "grad_norm")), rtol=1e-4, atol=1e-6
    )
    same_weights(whole, parts)


def test_the_first_gradient_is_that_of_the_mean_over_texts(quiet_encoder, tmp_path):
    """Against plain autograd, so that both ways of cutting cannot be wrong together."""
    spec = {"name": "muka", "mode": "hard"}
    _, fitted = run(spec, quiet_encoder, tmp_path / "run", batch_size=8, accumulate=4, epochs=1)
    student, words = new_student(quiet_encoder)
    rows, method = rows_of("disjoint", 30, seed=3), create(spec)
    inputs = words(tiny.texts(30, seed=8), padding=True, return_tensors="pt")
    context = context_of(method, rows, space_of("disjoint"))
    loss = sum(losses(method, rows, context, student.eval()(**inputs).logits).values()).mean()
    loss.backward()
    norm = torch.stack([p.grad.norm() for p in student.parameters() if p.grad is not None]).norm().item()
    assert logged(fitted, "loss")[0] == pytest.approx(loss.item(), rel=1e-3)
    assert logged(fitted, "grad_norm")[0] == pytest.approx(norm, rel=1e-3)


def test_a_batch_coupled_method_does_depend_on_the_cut(quiet_encoder, tmp_path):
    """The comparison above can fail."""
    spec = {"name": "muka", "normalise": "batch"}
    whole, _ = run(spec, quiet_encoder, tmp_path / "1x32", double=True, batch_size=32)
    parts, _ = run(spec, quiet_encoder, tmp_path / "4x8", double=True, batch_size=8, accumulate=4)
    with pytest.raises(AssertionError):
        same_weights(whole, parts)
