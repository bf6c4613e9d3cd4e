"""What a tokenizer makes of some texts."""

from types import SimpleNamespace

import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import ByT5Tokenizer, CanineTokenizer, PerceiverTokenizer, PreTrainedTokenizerFast

from alloykit.evaluation.tokenizer_statistics import language_doubt, tokenizer_statistics

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
    assert found["tokens_per_word"] == pytest.approx(12 / (2 + 3 + 0 + 4))
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
    assert found["tokens_per_word"] == 3.0
    assert found["spelled_out"] is True


WORDS = "one two three four five"


@pytest.mark.parametrize(
    ("text", "most"),
    [(WORDS, 7), (WORDS + "\n", 7), ("обещание дано", 2), ("it costs 2015, or a_b", 15), ("abcd我的包裹", 7)]
    + [("我的包裹丢了我的包裹", 15), ("ひらがなカタカナひら", 15), ("한국어한국어한국어한", 15), ("ภาษาไทยภาษ", 15), ("abcd我的包裹丢", 9)],
)  # fmt: skip
def test_spelling_out_begins_later_in_scripts_without_words(text, most, wordpiece):
    """1.4 tokens per word, each digit and each sign being a word; 1.5 per character where most characters are of a script without spaces."""
    assert counted(wordpiece, most, text)["spelled_out"] is False
    assert counted(wordpiece, most + 1, text)["spelled_out"] is True


def test_a_vocabulary_of_many_languages_may_split_more_words():
    large = SimpleNamespace(
        vocab_size=100_001, unk_token_id=1, eos_token_id=2, bos_token_id=3, num_special_tokens_to_add=lambda: 2
    )
    assert counted(large, 10, WORDS)["spelled_out"] is False
    assert counted(large, 11, WORDS)["spelled_out"] is True


def test_the_sentence_about_the_language():
    assert language_doubt({}) is None
    assert language_doubt({"unknown_tokens": 0.05, "spelled_out": False}) is None
    assert language_doubt({"unknown_tokens": 0.06}) == "does not know 6 % of the tokens of the texts ([UNK])"
    said = language_doubt({"unknown_tokens": None, "spelled_out": True, "tokens_per_word": 1.94})
    assert said.startswith("splits a word of the texts into 1.9 tokens on average")


def test_chinese_by_characters_is_not_spelled_out(wordpiece):
    found = read(wordpiece, ["我的包裹丢了", "my 包裹丢了"])
    assert found["unknown_tokens"] == 0
    assert found["tokens_per_word"] == pytest.approx(11 / 11)
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


@pytest.mark.parametrize(
    "kind", [ByT5Tokenizer, pytest.param(CanineTokenizer, marks=pytest.mark.slow), PerceiverTokenizer]
)
def test_characters_as_tokens_say_nothing_of_the_language(kind):
    found = read(kind(), ["my cards are late"], 100)
    assert found["tokens_per_word"] > 4
    assert language_doubt(found) is None
