"""What fails for some texts only is found when a model is loaded, or cannot fail at all."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import tiny
import torch
import transformers
from hostile import LABELS, edit

from alloykit import AlloyError
from alloykit.blocks import ModelSpec
from alloykit.generation.writer import FiniteScores
from alloykit.models.loading import load_classifier, load_encoder, load_language_model
from alloykit.models.tokens import encode, pad

Load = Callable[[ModelSpec], tuple[Any, Any]]
KINDS: dict[str, tuple[Callable[[Path], Path], Load]] = {
    "classifier": (lambda folder: tiny.classifier(folder, LABELS), load_classifier),
    "encoder": (tiny.encoder, load_encoder),
    "student": (tiny.encoder, lambda spec: load_encoder(spec, head=True)),
    "language model": (tiny.language_model, load_language_model),
}


def spoil(folder: Path, part: str, value: float, row: int | None = None) -> str:
    """Set the first weight whose name ends with `part`, or one row of it. Returns its name."""
    path = folder / "model.safetensors"
    tensors = safetensors.torch.load_file(path)
    name = next(name for name in sorted(tensors) if name.endswith(part))
    tensors[name][slice(None) if row is None else row] = value
    safetensors.torch.save_file(tensors, path, {"format": "pt"})
    return name


@pytest.mark.parametrize("value", [float("inf"), float("nan")])
@pytest.mark.parametrize("kind", KINDS)
def test_weights_that_are_not_finite_are_refused_also_where_short_texts_do_not_reach(
    kind: str, value: float, tmp_path: Path
) -> None:
    make, load = KINDS[kind]
    folder = make(tmp_path / "model")
    name = spoil(folder, "wpe.weight" if kind == "language model" else "position_embeddings.weight", value, row=40)
    with pytest.raises(AlloyError, match="NaN or infinity") as caught:
        load(ModelSpec(model=str(folder)))
    assert name.removeprefix("bert.") in str(caught.value), "an encoder leaves out the prefix"
    assert str(folder) in str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
def test_finite_weights_whose_output_overflows_are_refused(kind: str, tmp_path: Path) -> None:
    make, load = KINDS[kind]
    folder = make(tmp_path / "model")
    spoil(folder, "ln_f.weight" if kind == "language model" else "layer.0.output.LayerNorm.weight", 3e38)
    with pytest.raises(AlloyError, match="finite output"):
        load(ModelSpec(model=str(folder)))


def test_a_language_model_that_cannot_write_is_refused(tmp_path: Path) -> None:
    folder = tiny.language_model(tmp_path / "lm")
    edit(folder, "generation_config.json", repetition_penalty=-1.0)
    with pytest.raises(AlloyError, match="penalty"):
        load_language_model(ModelSpec(model=str(folder)))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_no_token_is_drawn_from_scores_that_are_not_finite(value: float) -> None:
    scores = torch.tensor([[0.0, float("-inf"), 1.0]])
    check = FiniteScores("lm")
    assert check(torch.zeros(1, 1), scores) is scores
    scores[0, 0] = value
    with pytest.raises(AlloyError, match="'lm'"):
        check(torch.zeros(1, 1), scores)


def test_the_mask_is_there_also_where_the_tokenizer_does_not_name_it(tmp_path: Path) -> None:
    folder = tiny.classifier(tmp_path / "model", LABELS)
    edit(folder, "tokenizer_config.json", model_input_names=["input_ids"])
    model, tokenizer = load_classifier(ModelSpec(model=str(folder)))
    encodings = encode(tokenizer, ["refund", "my parcel is late"], ["the card", None], 16)
    assert [e["attention_mask"] for e in encodings] == [[1] * len(e["input_ids"]) for e in encodings]
    alone = torch.cat([model(**pad(tokenizer, [e])).logits for e in encodings])
    torch.testing.assert_close(model(**pad(tokenizer, encodings)).logits, alone)


@pytest.mark.parametrize("kind", ["classifier", "encoder"])
def test_a_feed_forward_in_chunks_does_not_limit_the_lengths(kind: str, tmp_path: Path) -> None:
    make, load = KINDS[kind]
    folder = make(tmp_path / "model")
    edit(folder, chunk_size_feed_forward=3)
    model, _ = load(ModelSpec(model=str(folder)))
    for length in (3, 7, 17):
        ids = torch.full((1, length), 6)
        assert model(input_ids=ids, attention_mask=torch.ones_like(ids))[0].isfinite().all()
    model.save_pretrained(tmp_path / "saved")
    assert not json.loads((tmp_path / "saved" / "config.json").read_text()).get("chunk_size_feed_forward")


@pytest.mark.parametrize("kind", [transformers.LlamaConfig, transformers.BartConfig])
def test_only_what_writes_texts_keeps_keys_and_values(kind: Any, tmp_path: Path) -> None:
    words = tiny.tokenizer()
    words.save_pretrained(tmp_path / "classifier")
    config = kind(vocab_size=len(words), pad_token_id=0, bos_token_id=2, eos_token_id=3, num_labels=2, id2label=dict(enumerate(LABELS)),
                  hidden_size=32, intermediate_size=64, d_model=32, num_hidden_layers=2, num_attention_heads=4, encoder_layers=2,
                  decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64)  # fmt: skip
    fresh = transformers.AutoModelForSequenceClassification.from_config(config).eval()
    fresh.save_pretrained(tmp_path / "classifier")
    model, words = load_classifier(ModelSpec(model=str(tmp_path / "classifier")))
    batch = pad(words, encode(words, ["refund the card"], None, 16))
    with torch.no_grad():
        found, wanted = model.eval()(**batch), fresh(**batch)
    assert wanted.past_key_values is not None
    assert found.past_key_values is None
    torch.testing.assert_close(found.logits, wanted.logits)
    assert load_language_model(ModelSpec(model=str(tiny.language_model(tmp_path / "lm"))))[0].config.use_cache
