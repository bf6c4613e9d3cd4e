"""How many tokens of a text a model can read."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from alloykit.models.tokens import most_tokens

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
