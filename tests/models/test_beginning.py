"""Of a long text only a beginning is tokenised, and the tokens are always those of the whole text."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import PreTrainedTokenizerFast

from alloykit.knowledge.online.token_alignment import spans_of
from alloykit.models.beginning import beginning, is_local
from alloykit.models.tokens import encode, encode_untruncated

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
NAMES = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token", "mask_token"), SPECIAL, strict=True))
CORPUS = [
    "the parcel was lost, and my card is charged twice!", "Où est l'été? C'est l'hiver… don't we've", "日本語の文章です。 中文 也 有",
    "aaaa aaaaaaaa bbbb", "12345 678 9", "x  y   z    spaces", "naïve café coöperate", "emoji 🙂🙂 end",
]  # fmt: skip
Backend = Callable[[], Tokenizer]


def word_piece() -> Tokenizer:
    backend = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=20))
    backend.normalizer, backend.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    backend.train_from_iterator(CORPUS, trainers.WordPieceTrainer(vocab_size=150, special_tokens=SPECIAL))
    return backend


def byte_bpe() -> Tokenizer:
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer, backend.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, special_tokens=SPECIAL, initial_alphabet=alphabet)
    backend.train_from_iterator(CORPUS + [" " * n + "x" for n in range(1, 30)], trainer)
    return backend


def unigram() -> Tokenizer:
    backend = Tokenizer(models.Unigram())
    backend.normalizer = normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), "▁"), normalizers.Replace("``", '"')]
    )
    backend.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    trainer = trainers.UnigramTrainer(vocab_size=120, special_tokens=SPECIAL, unk_token="[UNK]")
    backend.train_from_iterator(CORPUS, trainer)
    return backend


def unigram_of_spaces() -> Tokenizer:
    backend = unigram()
    backend.normalizer = normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents(), normalizers.Lowercase()])
    backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    return backend


KINDS: dict[str, Backend] = {
    "WordPiece": word_piece, "byte-level BPE": byte_bpe, "Unigram": unigram, "Unigram of spaces": unigram_of_spaces,
}  # fmt: skip


def wrapped(backend: Tokenizer, **settings: Any) -> PreTrainedTokenizerFast:
    ids = [(token, backend.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ids
    )
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, **NAMES, **settings)
    # Tokens that the text is searched for before anything else: with spaces around, within a word only, or swallowed.
    tokenizer.add_tokens([AddedToken("<url>", lstrip=True, rstrip=True), AddedToken("café", single_word=True)])
    return tokenizer


@pytest.fixture(scope="module")
def tokenizers() -> dict[str, PreTrainedTokenizerFast]:
    return {name: wrapped(build()) for name, build in KINDS.items()}


def full(tokenizer: Any, text: str, pair: str | None, max_length: int) -> dict[str, list[int]]:
    # As lists: an empty second text by itself would count as none.
    found = tokenizer([text], None if pair is None else [pair], truncation=True, max_length=max_length)
    return {key: found[key][0] for key in found}


PIECES = st.one_of(
    st.sampled_from(["the ", "parcel", " ", "  ", " " * 40, "\n", "\t ", "don't", "x" * 30, "x" * 90, "<url>", " <url> ", "café", "cafés",
                     "e\u0301", "\u0301" * 5, "日本", "🙂", "``", "▁", "▁▁ ", "[MASK]", "\u0600 ", "ﬁ ", "\u00a0", "a" * 120 + " ", "¨", "'s"]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
)  # fmt: skip
TEXT = st.builds(
    lambda pieces, times: "".join(pieces) * times, st.lists(PIECES, min_size=1, max_size=8), st.integers(1, 5)
)


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(
    text=TEXT,
    pair=st.one_of(st.none(), TEXT, st.just("short one")),
    max_length=st.integers(4, 7),
    side=st.sampled_from(["right", "left"]),
)
def test_the_tokens_are_those_of_the_whole_text(tokenizers, name, text, pair, max_length, side) -> None:
    tokenizer = tokenizers[name]
    tokenizer.truncation_side = side
    assert encode(tokenizer, [text], [pair], max_length) == [full(tokenizer, text, pair, max_length)]


def long_text(seed: int, words: int) -> str:
    chosen = random.Random(seed)
    return "".join(
        chosen.choice(["the ", "lost ", "parcel, ", "日本 ", "été! ", "x" * 25 + " ", "  "]) for _ in range(words)
    )


@pytest.mark.parametrize("name", KINDS)
def test_a_long_text_is_cut(tokenizers, name) -> None:
    tokenizer, text = tokenizers[name], long_text(0, 5000)
    tokenizer.truncation_side = "right"
    assert is_local(tokenizer)
    part, _ = beginning(tokenizer, text, None, 32)
    assert len(part) < 4000
    assert text.startswith(part)
    first, second = beginning(tokenizer, text, "short", 32)
    assert len(first) < 4000
    assert second == "short"
    first, second = beginning(tokenizer, "short", text, 32)
    assert first == "short"
    assert len(second or "") < 4000
    assert encode(tokenizer, [text, "short"], ["short", text], 32) == [
        full(tokenizer, text, "short", 32),
        full(tokenizer, "short", text, 32),
    ]
    assert spans_of(tokenizer, [text], None, 32)[0].ids == tuple(full(tokenizer, text, None, 32)["input_ids"])


@pytest.mark.slow
def test_of_a_pair_the_other_text_decides_how_much_is_kept(tokenizers) -> None:
    tokenizer, text = tokenizers["WordPiece"], long_text(1, 3_000)
    tokenizer.truncation_side = "right"
    for words in (1, 5, 15, 31, 60, 120):
        other = "the " * words
        assert encode(tokenizer, [text], [other], 33) == [full(tokenizer, text, other, 33)]
        assert encode(tokenizer, [other], [text], 33) == [full(tokenizer, other, text, 33)]


def whole_text_is_read(tokenizer: Any) -> bool:
    text = long_text(2, 5000)
    return beginning(tokenizer, text, None, 32) == (text, None)


class Overriding(PreTrainedTokenizerFast):
    def _encode_plus(self, *inputs: Any, **options: Any) -> Any:
        return super()._encode_plus(*inputs, **options)


def spoiled(change: Callable[[Tokenizer], Any]) -> PreTrainedTokenizerFast:
    backend = word_piece()
    change(backend)
    return wrapped(backend)


def with_normalizer(normalizer: Any) -> PreTrainedTokenizerFast:
    return spoiled(lambda backend: setattr(backend, "normalizer", normalizer))


def with_pre_tokenizer(pre_tokenizer: Any) -> PreTrainedTokenizerFast:
    return spoiled(lambda backend: setattr(backend, "pre_tokenizer", pre_tokenizer))


def with_token(token: str) -> PreTrainedTokenizerFast:
    tokenizer = wrapped(word_piece())
    tokenizer.add_tokens([token])
    return tokenizer


def from_the_left() -> PreTrainedTokenizerFast:
    tokenizer = wrapped(word_piece())
    tokenizer.truncation_side = "left"
    return tokenizer


@pytest.mark.parametrize(
    "build",
    [
        lambda: with_normalizer(normalizers.Replace(Regex("x(?=.*y)"), "z")),
        lambda: with_normalizer(normalizers.Replace(" ", "")),
        lambda: with_normalizer(normalizers.Replace("t p", "q")),
        lambda: with_pre_tokenizer(pre_tokenizers.Split(Regex(".*"), "isolated")),
        lambda: with_pre_tokenizer(pre_tokenizers.ByteLevel(use_regex=False)),
        lambda: with_pre_tokenizer(pre_tokenizers.Metaspace(split=False)),
        lambda: with_pre_tokenizer(None),
        lambda: with_token("New York"),
        lambda: with_token("x▁y"),
        from_the_left,
        lambda: Overriding(tokenizer_object=word_piece(), **NAMES),
    ],
)
def test_a_tokenizer_that_may_look_further_reads_the_whole_text(build: Callable[[], Any]) -> None:
    assert whole_text_is_read(build())


def test_an_added_token_may_lie_across_every_place_to_cut() -> None:
    tokenizer = with_token("York New")
    text = "York New " * 3000
    assert encode(tokenizer, [text], None, 32) == [full(tokenizer, text, None, 32)]


def test_a_text_without_a_place_to_cut_is_read_whole(tokenizers) -> None:
    tokenizer = tokenizers["Unigram"]
    tokenizer.truncation_side = "right"
    for text in ("日本語" * 5000, "a" * 20_000, "\u3000é" * 8000, " " * 20_000 + "end"):
        assert beginning(tokenizer, text, None, 16) == (text, None)
        assert encode(tokenizer, [text], None, 16) == [full(tokenizer, text, None, 16)]


def test_a_beginning_grows_until_it_has_enough_tokens(tokenizers) -> None:
    tokenizer, unread = tokenizers["WordPiece"], ("x" * 500 + " ") * 400  # one [UNK] for 501 characters
    tokenizer.truncation_side = "right"
    part, _ = beginning(tokenizer, unread, None, 32)
    assert 32 * 501 <= len(part) < len(unread) / 2
    assert encode(tokenizer, [unread], None, 32) == [full(tokenizer, unread, None, 32)]


def test_many_long_texts_are_not_tokenised_at_once(tokenizers, monkeypatch) -> None:
    tokenizer = tokenizers["byte-level BPE"]
    tokenizer.truncation_side = "left"
    monkeypatch.setattr("alloykit.models.tokens.MAX_CHARACTERS", 1000)
    texts = [long_text(n, 60 + n) for n in range(12)]
    given: list[int] = []
    call = type(tokenizer).__call__

    def counted(self: Any, text: Any, *rest: Any, **options: Any) -> Any:
        given.append(sum(map(len, text)))
        return call(self, text, *rest, **options)

    monkeypatch.setattr(type(tokenizer), "__call__", counted)
    found = encode(tokenizer, texts, None, 16)
    assert max(given) <= max(1000, *map(len, texts))
    assert sum(given) == sum(map(len, texts))
    monkeypatch.undo()
    assert found == [full(tokenizer, text, None, 16) for text in texts]
    ids = [tokenizer(text, add_special_tokens=False).input_ids for text in texts]
    assert [row.tolist() for row in encode_untruncated(tokenizer, texts)] == ids
