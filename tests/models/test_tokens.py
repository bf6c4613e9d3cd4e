"""How many tokens of a text a model can read."""

from __future__ import annotations

from types import SimpleNamespace

import odd_architectures
import pytest
import torch
import transformers

from alloykit.models.tokens import most_tokens, usable_length

NEVER_SET = int(1e30)


@pytest.mark.parametrize(
    ("positions", "of_tokenizer", "most"),
    [
        (512, 64, 64),
        (64, 512, 64),
        (512, NEVER_SET, 512),
        (None, 64, 64),
        (None, NEVER_SET, None),
        (0, NEVER_SET, None),
    ],
)
def test_the_smaller_limit_counts(positions: int | None, of_tokenizer: int, most: int | None) -> None:
    config = SimpleNamespace() if positions is None else SimpleNamespace(max_position_embeddings=positions)
    assert most_tokens(config, SimpleNamespace(model_max_length=of_tokenizer)) == most


@pytest.mark.parametrize(
    ("architecture", "wanted", "tokens"),
    [
        ("bart", None, 80),
        ("gpt2", 1024, 80),
        ("opt", 1024, 80),
        ("t5", None, 512),
        ("t5", 1024, 1024),  # it has no such table
    ],
)
def test_a_table_of_positions_is_a_limit(architecture: str, wanted: int | None, tokens: int) -> None:
    with torch.device("meta"):
        model = transformers.AutoModel.from_config(odd_architectures.CONFIGS[architecture]())
    assert usable_length(model, SimpleNamespace(model_max_length=NEVER_SET), wanted) == tokens


def test_many_position_embeddings_are_all_used() -> None:
    config = odd_architectures.CONFIGS["bart"]()
    config.max_position_embeddings = 1024
    with torch.device("meta"):
        model = transformers.AutoModel.from_config(config)
    assert usable_length(model, SimpleNamespace(model_max_length=NEVER_SET), None) == 1024
