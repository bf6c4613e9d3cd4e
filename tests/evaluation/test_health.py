"""What is said of a teacher without labels: what its tokenizer can read, how sure it is, and the sentences about it."""

import pytest
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from alloykit.evaluation.health import health_warnings, output_statistics, tokenizer_statistics

VOCABULARY = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "my",
    "card",
    "##s",
    "pay",
    "##ment",
    "late",
    *"我的包裹丢了",
    *"odr",
    "##d",
    "##r",
]


@pytest.fixture(scope="module")
def wordpiece() -> PreTrainedTokenizerFast:
    backend = Tokenizer(models.WordPiece({w: i for i, w in enumerate(VOCABULARY)}, unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    )


def byte_level(**special) -> PreTrainedTokenizerFast:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    backend = Tokenizer(models.BPE({w: i for i, w in enumerate(["<|end|>", *alphabet])}, []))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return PreTrainedTokenizerFast(tokenizer_object=backend, **special)


def read(tokenizer, texts, max_length=16):
    return tokenizer_statistics(tokenizer(texts, add_special_tokens=False).input_ids, texts, tokenizer, max_length)


def counted(tokenizer, pieces, text, max_length=10_000):
    """`reading` of one text that was cut into so many pieces."""
    return tokenizer_statistics([[5] * pieces], [text], tokenizer, max_length)


def test_unknown_pieces_are_counted_by_hand(wordpiece):
    texts = [
        "My cards",
        "late payments xyz",
        "",
        "zzz card qqq late",
    ]  # 3, 1 + 3 + [UNK], 0 and 4 pieces, two of them [UNK]
    found = read(wordpiece, texts)
    assert found["unknown_tokens"] == pytest.approx(3 / 12)
    assert found["tokens"] == pytest.approx(12 / 4 + 2)
    assert found["pieces_per_character"] == pytest.approx(12 / (7 + 15 + 0 + 14))
    assert found["spelled_out"] is False
    assert read(wordpiece, ["my card", "late cards"])["unknown_tokens"] == 0.0
    assert read(wordpiece, ["hola", "que tal"])["unknown_tokens"] == 1.0


def test_truncation_leaves_room_for_special_tokens(wordpiece):
    texts = ["my " * n for n in (3, 4, 5, 9)]
    found = read(wordpiece, texts, max_length=6)  # room for four pieces
    assert found["truncated_texts"] == pytest.approx(2 / 4)
    assert found["lost_tokens"] == pytest.approx((1 + 5) / 21)
    whole = read(wordpiece, texts, max_length=11)
    assert (whole["truncated_texts"], whole["lost_tokens"]) == (0, 0)
    assert read(wordpiece, texts, max_length=10)["truncated_texts"] == pytest.approx(1 / 4)
    tight = read(wordpiece, texts, max_length=1)  # room for one, never for none
    assert tight["lost_tokens"] == pytest.approx((2 + 3 + 4 + 8) / 21)


def test_words_cut_into_letters_are_spelled_out(wordpiece):
    found = read(wordpiece, ["drr drd"])
    assert found["unknown_tokens"] == 0
    assert found["pieces_per_character"] == 1.0
    assert found["spelled_out"] is True


@pytest.mark.parametrize(
    ("text", "most"),
    [("abcdefghij", 6), ("abcde fghij\n", 6), ("обещание", 4), ("我的包裹丢了我的包裹", 15), ("ひらがなカタカナひら", 15)]
    + [("한국어한국어한국어한", 15), ("ภาษาไทยภาษ", 15), ("abcd我的包裹", 4), ("abcd我的包裹丢", 13)],
)  # fmt: skip
def test_spelling_out_begins_later_in_scripts_without_words(text, most, wordpiece):
    """0.6 pieces per character, 1.5 where most characters are of such a script; spaces are no characters."""
    assert counted(wordpiece, most, text)["spelled_out"] is False
    assert counted(wordpiece, most + 1, text)["spelled_out"] is True


def test_chinese_by_characters_is_not_spelled_out(wordpiece):
    found = read(wordpiece, ["我的包裹丢了", "my 包裹丢了"])
    assert found["unknown_tokens"] == 0
    assert found["pieces_per_character"] == pytest.approx(11 / 12)
    assert found["spelled_out"] is False


def test_byte_level_tokenizers_know_every_piece():
    texts = ["my card", "卡"]
    end = "<|end|>"
    for known in ((), ("unk", "eos"), ("unk", "bos"), ("bos", "eos")):
        special = {f"{kind}_token": end for kind in known}
        found = read(byte_level(**special), texts)
        assert found["unknown_tokens"] is None
        assert found["tokens"] == pytest.approx((7 + 3) / 2)  # no special tokens are added
    assert read(byte_level(unk_token="<|end|>", eos_token="a"), texts)["unknown_tokens"] == 0.0


def test_behaviour_by_hand():
    p = torch.tensor([[0.7, 0.2, 0.1], [0.0, 1.0, 0.0], [0.3, 0.3001, 0.3999], [0.0, 0.9991, 0.0009], [0.0, 0.0, 1.0]])
    found = output_statistics(p, 0.25, ["a", "b", "c"])
    assert found["max_probability"] == pytest.approx((0.7 + 1 + 0.3999 + 0.9991 + 1) / 5)
    assert found["excess"] == pytest.approx(found["max_probability"] - 1 / 3)
    assert found["saturated_texts"] == pytest.approx(3 / 5)
    assert found["predicted"] == {"a": 1, "b": 2, "c": 2}
    assert found["pass_variance"] == 0.25
    assert output_statistics(p, None, ["a", "b", "c"])["pass_variance"] is None
    assert output_statistics(p[1:2], None, ["a", "b", "c"])["predicted"] == {"a": 0, "b": 1, "c": 0}
    guess = output_statistics(torch.full((7, 4), 0.25), None, list("abcd"))
    assert guess["excess"] == pytest.approx(0)
    almost = torch.tensor([[0.9989, 0.0011]])
    assert output_statistics(almost, None, ["a", "b"])["saturated_texts"] == 0


FINE = {
    "max_probability": 0.8, "excess": 0.3, "saturated_texts": 0.2, "pass_variance": 1e-3, "predicted": {"a": 50, "b": 50},
    "unknown_tokens": 0.01, "truncated_texts": 0.1, "lost_tokens": 0.05, "tokens": 12.0, "pieces_per_character": 0.3,
    "spelled_out": False,
}  # fmt: skip


@pytest.mark.parametrize(
    ("below", "above", "sentence"),
    [
        ({"saturated_texts": 0.99}, {"saturated_texts": 0.991}, "on 99.1 % of the texts: its outputs are saturated"),
        (
            {"pass_variance": 1e-6},
            {"pass_variance": 9.9e-7},
            "almost the same probabilities in all Monte-Carlo passes (variance 9.9e-07)",
        ),
        ({"pass_variance": None}, {"pass_variance": 0.0}, "passes (variance 0.0e+00)"),
        ({"unknown_tokens": 0.05}, {"unknown_tokens": 0.06}, "does not know 6 % of the tokens ([UNK])"),
        ({"unknown_tokens": None}, {"unknown_tokens": 1.0}, "does not know 100 % of the tokens ([UNK])"),
        (
            {"pieces_per_character": 0.9},
            {"spelled_out": True, "pieces_per_character": 0.9},
            "very short tokens (0.90 tokens per character)",
        ),
        (
            {"truncated_texts": 0.5},
            {"truncated_texts": 0.51, "lost_tokens": 0.3},
            "only the beginning of 51 % of the texts and misses 30 % of all tokens",
        ),
        ({"pass_variance": None, "dropout": 0.1}, {"pass_variance": None, "dropout": 0.0}, "with dropout rates of 0"),
        ({"dropout": 0.0}, {"pass_variance": 0.0, "dropout": 0.0}, "almost the same probabilities"),
        ({"predicted": {"a": 5, "b": 95}}, {"predicted": {"a": 4, "b": 96}}, "predicts 'b' on 96 % of the texts"),
    ],
)
def test_a_warning_appears_beyond_its_threshold(below, above, sentence):
    assert health_warnings({"x": FINE, "y": FINE | below}) == []
    [found] = health_warnings({"x": FINE, "y": FINE | above})
    assert found.startswith("teacher 'y' ")
    assert sentence in found


def test_unknown_pieces_are_named_before_spelling():
    both = FINE | {"unknown_tokens": 0.5, "spelled_out": True}
    [found] = health_warnings({"x": both})
    assert "[UNK]" in found
    [found] = health_warnings({"x": both | {"unknown_tokens": None}})
    assert "very short tokens" in found


def test_every_teacher_has_sentences_of_its_own():
    seen = {
        "saturated_texts": 1.0,
        "predicted": {"a": 9, "b": 0},
        "pass_variance": None,
    }  # of texts that nobody tokenized
    found = health_warnings({"x": seen, "y": FINE, "z": seen})
    assert [s.split("'")[1] for s in found] == ["x", "x", "z", "z"]
    assert health_warnings({}) == []
