"""The last layer for the first token alone gives the same answers, gradients and dropout, or is not used."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import tiny
import torch
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from transformers import AutoModelForSequenceClassification

from alloykit.models.dropout import dropout_active
from alloykit.models.fast_dropout import FastMasks
from alloykit.models.last_layer import LeanLastLayer

LEAN = {"bert", "roberta", "distilbert", "electra"}


@pytest.fixture(scope="module", params=sorted(tiny.SIZES))
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("lean") / request.param
    tiny.classifier(folder, ["a", "b", "c"], request.param, seed=4)
    found = AutoModelForSequenceClassification.from_pretrained(folder)
    found.kind = request.param
    return found


def batch() -> dict[str, torch.Tensor]:
    ids = torch.randint(5, 40, (6, 9), generator=torch.Generator().manual_seed(0))
    return {"input_ids": ids, "attention_mask": (torch.arange(9) < torch.tensor([[9], [7], [5], [3], [2], [9]])).long()}


def test_answers_and_gradients_are_the_same(model: Any) -> None:
    model.eval()
    lean = LeanLastLayer(model)
    assert lean.is_active is (model.kind in LEAN), (
        "an architecture that is not known to read only its first token is left alone"
    )
    found = []
    for context in (None, lean):
        model.zero_grad()
        if context is None:
            logits = model(**batch()).logits
        else:
            with context:
                logits = model(**batch()).logits
        logits.square().sum().backward()
        found.append((logits.detach(), {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}))
    torch.testing.assert_close(found[1][0], found[0][0], rtol=1e-4, atol=1e-5)
    assert found[0][1].keys() == found[1][1].keys()
    for name, gradient in found[0][1].items():
        torch.testing.assert_close(found[1][1][name], gradient, rtol=1e-3, atol=1e-4)


def test_less_is_computed(model: Any) -> None:
    model.eval()
    lean, seen = LeanLastLayer(model), []
    hooks = [
        m.register_forward_hook(lambda module, inputs, output: seen.append(inputs[0].shape[:-1].numel()))
        for m in model.modules()
        if isinstance(m, torch.nn.Linear)
    ]
    with torch.no_grad():
        model(**batch())
        whole, _ = sum(seen), seen.clear()
        with lean:
            model(**batch())
    for hook in hooks:
        hook.remove()
    assert (sum(seen) < whole) is lean.is_active


def test_afterwards_the_model_is_what_it_was(model: Any) -> None:
    model.eval()
    lean = LeanLastLayer(model)
    with pytest.raises(RuntimeError, match="stop"), lean:
        raise RuntimeError("stop")
    states = model(**batch(), output_hidden_states=True).hidden_states
    assert all(s.shape[1] == 9 for s in states)


@pytest.mark.slow
@pytest.mark.parametrize("masks", ["stock", "bytes"])
def test_dropout_has_the_same_mean_and_variance(masks: str, tmp_path: Path) -> None:
    """Over 300 passes, within five standard errors, for every text and class."""
    tiny.classifier(tmp_path / "t", ["a", "b"], "bert", seed=4)
    model = AutoModelForSequenceClassification.from_pretrained(tmp_path / "t").eval()
    lean, drawn, n = LeanLastLayer(model), [], 300
    torch.manual_seed(0)
    for active in (False, True):
        with torch.no_grad(), dropout_active(model):
            found = []
            for k in range(n):
                with FastMasks(2 * k + active) if masks == "bytes" else torch.no_grad():
                    if active:
                        with lean:
                            found.append(model(**batch()).logits.softmax(-1))
                    else:
                        found.append(model(**batch()).logits.softmax(-1))
        drawn.append(torch.stack(found).double())
    a, b = drawn
    error = ((a.var(0) + b.var(0)) / n).sqrt()
    assert ((a.mean(0) - b.mean(0)).abs() < 5 * error).all()
    fourth = ((a - a.mean(0)) ** 4).mean(0) / a.var(0) ** 2
    spread = ((fourth - 1) * 2 / n).sqrt()
    assert ((b.var(0) / a.var(0)).log().abs() < 5 * spread).all()


class _Dropouts(TorchFunctionMode):
    """Notes the rate of every dropout that acts."""

    def __init__(self) -> None:
        super().__init__()
        self.rates: list[tuple[str, float]] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = kwargs or {}
        if func is functional.scaled_dot_product_attention:
            self.rates.append(("attention", found["dropout_p"] if "dropout_p" in found else args[4]))
        elif func is functional.dropout and found.get("training", args[2] if len(args) > 2 else True):
            self.rates.append(("states", found["p"] if "p" in found else args[1]))
        return func(*args, **found)


@pytest.mark.parametrize("way", ["passes", "training"])
def test_every_dropout_acts_at_its_rate(model: Any, way: str) -> None:
    """In Monte-Carlo passes and in training, also that of the last layer's attention."""
    model.train(way == "training")
    seen = []
    for context in (nullcontext(), LeanLastLayer(model)):
        with torch.no_grad(), dropout_active(model) if way == "passes" else nullcontext(), context, _Dropouts() as mode:
            model(**batch())
        seen.append(mode.rates)
    model.eval()
    assert seen[0] == seen[1]
    assert model.kind not in LEAN or [kind for kind, rate in seen[0] if rate > 0].count("attention") == 3


def test_a_model_that_reads_other_tokens_too_is_found_out(tmp_path: Path) -> None:
    tiny.classifier(tmp_path / "t", ["a", "b"], "bert", seed=4)
    model = AutoModelForSequenceClassification.from_pretrained(tmp_path / "t").eval()
    whole = model.bert.pooler.forward
    model.bert.pooler.forward = lambda states: whole(states.mean(1, keepdim=True))
    assert not LeanLastLayer(model).is_active
