"""What a classifier's last linear layer reads."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import nn
from transformers import AutoModelForSequenceClassification

from alloykit.models.head_input import HeadInput, logits_layers
from alloykit.models.last_layer import LeanLastLayer


def test_the_head_gives_the_logits_of_its_input(models: dict[str, Path]) -> None:
    model = AutoModelForSequenceClassification.from_pretrained(models["billing"]).eval()
    batch: dict[str, Any] = {"input_ids": torch.arange(10, 22).view(3, 4), "attention_mask": torch.ones(3, 4).long()}
    head = HeadInput(model)
    assert head.width == model.config.hidden_size
    for lean in (False, True):
        with torch.no_grad(), LeanLastLayer(model) if lean else torch.no_grad(), head:
            logits = model(**batch).logits
            states = head.states(logits)
        assert states.shape == (3, head.width)
        assert head.head is not None
        assert torch.allclose(head.head(states), logits, atol=1e-5)
    model(**batch)
    assert not head._seen, "it notes nothing when it is not active"


class Decoder(nn.Module):
    """Logits at every token; the answer is that at the last real one, as transformers' decoders give it."""

    def __init__(self) -> None:
        super().__init__()
        self.score, self.config = nn.Linear(5, 3, bias=False), SimpleNamespace(num_labels=3)

    def forward(self, hidden: torch.Tensor, length: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.score(hidden)[torch.arange(len(hidden)), length - 1]
        return found


def test_the_state_of_the_token_that_a_decoder_answers_with() -> None:
    hidden, length = torch.randn(4, 6, 5, generator=torch.Generator().manual_seed(0)), torch.tensor([6, 2, 4, 1])
    model = Decoder()
    with HeadInput(model) as head:
        states = head.states(model(hidden, length))
    assert states.equal(hidden[torch.arange(4), length - 1])


def test_a_model_without_such_a_layer() -> None:
    model = nn.Sequential(nn.Linear(4, 5))
    model.config = SimpleNamespace(num_labels=3)  # type: ignore[assignment]
    assert HeadInput(model).width is None


class Unusual(nn.Module):
    """Its head is defined before its encoder, which has a layer of the same size."""

    base_model_prefix = "encoder"

    def __init__(self) -> None:
        super().__init__()
        self.classifier, self.config = nn.Linear(5, 3), SimpleNamespace(num_labels=3)
        self.encoder = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 5))


def test_a_layer_of_the_encoder_gives_no_logits() -> None:
    model = Unusual()
    assert list(logits_layers(model)) == ["classifier"]
    assert HeadInput(model).head is model.classifier
