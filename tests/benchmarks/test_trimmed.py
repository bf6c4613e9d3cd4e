"""An encoder without the word pieces that no text has gives the same answers."""

from __future__ import annotations

from pathlib import Path

import torch
from transformers import AutoModel, AutoTokenizer

from alloykit.models.location import bundled_minilm
from benchmarks.harness.trimmed import trimmed


def test_a_trimmed_encoder_answers_as_the_whole_one(tmp_path: Path) -> None:
    texts = ["Stocks fell sharply in Johannesburg.", "an unbelievable goal " * 9]
    folder = trimmed(lambda: texts, tmp_path / "encoder", tokens=12)
    assert trimmed(lambda: 1 / 0, folder) == folder, "a finished one is taken as it is"  # type: ignore[arg-type, return-value]
    found = []
    for source in (bundled_minilm(), folder):
        model, tokenizer = AutoModel.from_pretrained(source).eval(), AutoTokenizer.from_pretrained(source)
        batch = tokenizer(texts, truncation=True, max_length=12, padding=True, return_tensors="pt")
        with torch.no_grad():
            found.append(
                (model(**batch).last_hidden_state[:, :5], [tokenizer.convert_ids_to_tokens(i) for i in batch.input_ids])
            )
        assert len(tokenizer(texts[1]).input_ids) == 29, "truncation is not saved with the tokenizer"
    torch.testing.assert_close(found[0][0], found[1][0])
    assert found[0][1] == found[1][1]
    assert len(AutoTokenizer.from_pretrained(folder)) < 130
