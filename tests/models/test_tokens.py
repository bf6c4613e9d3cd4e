"""How many tokens of a text a model can read."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import odd_architectures
import pytest
import tiny
import torch
import transformers
from tokenizers import normalizers, processors

from alloykit.knowledge.online.token_alignment import spans_of
from alloykit.models.tokens import most_tokens, usable_length
from alloykit.serving.predictor import Predictor

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


@pytest.mark.parametrize("long_texts", ["head", "tail", "mean"])
def test_a_text_of_which_the_tokenizer_leaves_nothing_has_one_token(long_texts: Any, tmp_path: Path) -> None:
    words = tiny.tokenizer()
    words.backend_tokenizer.post_processor = processors.TemplateProcessing(single="$A", pair="$A $B", special_tokens=[])
    words.backend_tokenizer.normalizer = normalizers.BertNormalizer()  # removes zero-width spaces
    folder = tiny.classifier(tmp_path / "model", ["a", "b"])
    words.save_pretrained(folder)
    student = Predictor.load(folder, device="cpu")
    student.long_texts = long_texts
    alone = student.probabilities(["\u200b"])
    torch.testing.assert_close(student.probabilities(["\u200b", "card lost"])[:1], alone)
    torch.testing.assert_close(student.probabilities(["unknownword"]), alone)
    spans = spans_of(words, ["\u200b"], None, 8)[0]
    assert (spans.ids, spans.spans) == ((words.unk_token_id,), ((-1, 0, 0),)), "no part of the text is compared"
