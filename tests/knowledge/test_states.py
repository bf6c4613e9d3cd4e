"""Pooled states come from the store, token states from living teachers; both are the model's own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import tiny
import torch
from knowing import SENTENCES, direct, files, info, read, swept, table, untouched
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from alloykit.errors import AlloyError
from alloykit.knowledge.online.online_source import OnlineSource
from alloykit.knowledge.store.reader import StoredKnowledge
from alloykit.models.tokens import pad
from alloykit.teachers.hugging_face import HuggingFaceInfo
from alloykit.teachers.protocol import Reading

LAYERS = {"billing": (1, 3), "delivery": (2,)}


@torch.inference_mode()
def states(folder: Path, text: str, layer: int) -> torch.Tensor:
    """The model's own token states of one text, alone. [L, d]"""
    model = AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32).eval()
    batch = AutoTokenizer.from_pretrained(folder)(text, truncation=True, max_length=32, return_tensors="pt")
    return model(**batch, output_hidden_states=True).hidden_states[layer][0]


@pytest.mark.slow
def test_pooled_states_are_the_mean_over_real_tokens(
    billing: HuggingFaceInfo, delivery: HuggingFaceInfo, models: dict[str, Path], tmp_path: Path
) -> None:
    store = swept(tmp_path, [billing, delivery], layers=LAYERS)
    source = StoredKnowledge(store, ["billing", "delivery"], table(SENTENCES).ids(), passes=4, layers=LAYERS)
    picks = [39, 0, 17, 17]
    rows = source.rows(picks)
    for teacher, (name, layers) in zip(rows.teachers, LAYERS.items(), strict=True):
        assert teacher.pooled_states is not None
        assert len(teacher.pooled_states) == len(layers)
        for layer, found in zip(layers, teacher.pooled_states, strict=True):
            assert found.dtype == torch.float16
            expected = torch.stack([states(models[name], SENTENCES[i], layer).mean(0) for i in picks])
            torch.testing.assert_close(found.float(), expected, rtol=2e-3, atol=2e-3)
    plain = read(store, ["billing", "delivery"], passes=4).rows(picks)
    assert plain.teachers[0].pooled_states is None
    assert torch.equal(plain.teachers[1].logits, rows.teachers[1].logits)


@pytest.mark.parametrize("layers", [(0, 2), (1, 3)], ids=["early", "the last too"])
def test_one_pass_gives_logits_and_states(
    billing: HuggingFaceInfo,
    models: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    layers: tuple[int, ...],
) -> None:
    """Every text is read once, and its logits are the model's own."""
    texts: list[int] = []

    def counting(tokenizer: Any, encodings: Sequence[Any]) -> Any:
        texts.append(len(encodings))
        return pad(tokenizer, encodings)

    monkeypatch.setattr("alloykit.models.forward.pad", counting)
    store = swept(tmp_path / "both", [billing], passes=0, layers={"billing": layers})
    assert sum(texts) == len(SENTENCES)
    both = read(store, ["billing"]).rows(range(40)).teachers[0].logits
    torch.testing.assert_close(both, direct(models["billing"], SENTENCES), rtol=1e-4, atol=1e-5)


def test_layers_are_added_to_a_finished_store(billing: HuggingFaceInfo, tmp_path: Path) -> None:
    swept(tmp_path, [billing])
    before = files(tmp_path)
    store = swept(tmp_path, [billing], layers={"billing": (2,)})
    assert all(".pooled-02." in name for name in untouched(before, tmp_path))
    with pytest.raises(AlloyError, match=r"billing/./00000-.*pooled-03 missing"):
        StoredKnowledge(store, ["billing"], table(SENTENCES).ids(), layers={"billing": (3,)})


def test_token_states_of_the_same_tokenizer_are_the_models_own(
    billing: HuggingFaceInfo, models: dict[str, Path], tmp_path: Path
) -> None:
    store = swept(tmp_path, [billing])
    teacher = billing.load(Reading(max_length=32))
    live = OnlineSource(
        read(store, ["billing"]),
        ["billing"],
        {"billing": teacher},
        {"billing": (1, 3)},
        table(SENTENCES),
        teacher.tokenizer,
        32,
    )
    picks = [5, 30, 5]
    [said] = live.rows(torch.tensor(picks)).teachers
    assert said.token_states is not None
    assert said.token_mask is not None
    assert len(live) == len(SENTENCES)
    assert torch.equal(said.logits, read(store, ["billing"]).rows(picks).teachers[0].logits)
    for n, i in enumerate(picks):
        for layer, found in zip((1, 3), said.token_states, strict=True):
            expected = states(models["billing"], SENTENCES[i], layer)
            assert int(said.token_mask[n].sum()) == len(expected)
            torch.testing.assert_close(found[n, : len(expected)], expected, rtol=1e-4, atol=1e-5)
            assert not found.requires_grad
            assert not found.is_inference()


def test_a_teacher_that_pads_on_the_left_meets_a_student_that_pads_on_the_right(
    billing: HuggingFaceInfo, tmp_path: Path
) -> None:
    store = swept(tmp_path, [billing])
    teacher = billing.load(Reading(max_length=32))
    student = billing.load(Reading(max_length=32)).tokenizer
    teacher.tokenizer.padding_side = "left"
    live = OnlineSource(
        read(store, ["billing"]), ["billing"], {"billing": teacher}, {"billing": (2,)}, table(SENTENCES), student, 32
    )
    picks = [5, 30]
    [said] = live.rows(torch.tensor(picks)).teachers
    assert said.token_states is not None
    assert said.token_mask is not None
    batch = teacher.batch(teacher.encode([SENTENCES[i] for i in picks]))
    with torch.no_grad():
        own = teacher.model(**batch, output_hidden_states=True).hidden_states[2]
    lengths = [int(n) for n in batch["attention_mask"].sum(-1)]
    assert lengths[0] != lengths[1], "one of them has padding"
    for n, length in enumerate(lengths):
        assert said.token_mask[n].tolist() == [t < length for t in range(max(lengths))]
        torch.testing.assert_close(said.token_states[0][n, :length], own[n, -length:], rtol=1e-5, atol=1e-6)


def test_token_states_of_another_tokenizer_are_means_over_what_overlaps(tmp_path: Path) -> None:
    """The student's tokenizer knows whole words; the teacher's splits one of them."""
    folder = tiny.classifier(tmp_path / "t", ["a", "b"])
    teacher = info(folder).load(Reading(max_length=32))
    store = swept(tmp_path / "k", [info(folder)], ["the card"])
    from tokenizers import pre_tokenizers

    words = tiny.tokenizer()
    words.backend_tokenizer.pre_tokenizer = pre_tokenizers.Split(" card", "isolated")  # "the", " card" (unknown)
    live = OnlineSource(
        StoredKnowledge(store, ["t"], table(["the card"]).ids()),
        ["t"],
        {"t": teacher},
        {"t": (3,)},
        table(["the card"]),
        words,
        32,
    )
    [said] = live.rows([0]).teachers
    own = states(folder, "the card", 3)  # [CLS] the card [SEP]
    assert said.token_states is not None
    assert said.token_mask is not None
    assert said.token_mask.tolist() == [[True, True, True, False]]
    torch.testing.assert_close(said.token_states[0][0, :3], own[:3], rtol=1e-4, atol=1e-5)
