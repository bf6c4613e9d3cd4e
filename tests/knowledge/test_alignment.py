"""Tokens of two tokenizers meet where they stand for the same characters."""

from __future__ import annotations

import unicodedata

import pytest
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from alloykit.errors import AlloyError
from alloykit.knowledge.online.token_alignment import TokenSpans, alignment, overlaps, spans_of

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]


def characters(text: str) -> PreTrainedTokenizerFast:
    """Every character of some text is a token."""
    return wrapped(
        Tokenizer(models.WordLevel({t: i for i, t in enumerate([*SPECIAL, *sorted(set(text))])}, "[UNK]")),
        pre_tokenizers.Split("", "isolated"),
    )


def words(*known: str) -> PreTrainedTokenizerFast:
    return wrapped(
        Tokenizer(models.WordLevel({t: i for i, t in enumerate([*SPECIAL, *known])}, "[UNK]")),
        pre_tokenizers.WhitespaceSplit(),
    )


def wrapped(backend: Tokenizer, split: pre_tokenizers.PreTokenizer) -> PreTrainedTokenizerFast:
    backend.pre_tokenizer = split
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    )


def met(
    student: PreTrainedTokenizerFast,
    teacher: PreTrainedTokenizerFast,
    text: str,
    pair: str | None = None,
    cut: int = 64,
) -> list[list[int]]:
    pairs = None if pair is None else [pair]
    return overlaps(spans_of(student, [text], pairs, 64)[0], spans_of(teacher, [text], pairs, cut)[0])


def test_words_meet_their_characters_and_the_other_way_round() -> None:
    text = "the card"
    whole, letters = words("the", "card"), characters(text)
    # letters: [CLS] t h e _ c a r d [SEP]
    assert met(whole, letters, text) == [[0], [1, 2, 3], [5, 6, 7, 8], []]
    assert met(letters, whole, text) == [[0], [1], [1], [1], [], [2], [2], [2], [2], []]


def test_the_same_tokens_are_each_others_separators_too() -> None:
    whole = words("the", "card")
    assert met(whole, whole, "the card") == [[0], [1], [2], [3]]


def test_texts_of_a_pair_are_kept_apart() -> None:
    whole, letters = words("the", "card"), characters("the card")
    # letters: [CLS] t h e [SEP] c a r d [SEP]
    assert met(whole, letters, "the", "card") == [[0], [1, 2, 3], [], [5, 6, 7, 8], []]


def test_a_teacher_that_reads_less_leaves_the_rest_without_a_counterpart() -> None:
    whole, letters = words("the", "card"), characters("the card")
    # letters, five at most: [CLS] t h e [SEP]
    assert met(whole, letters, "the card", cut=5) == [[0], [1, 2, 3], [], []]


def test_each_row_is_the_mean_over_its_counterparts() -> None:
    text = ["the card", "card"]
    whole, letters = words("the", "card"), characters("the card")
    own, theirs = spans_of(whole, text, None, 64), spans_of(letters, text, None, 64)
    weights = alignment(own, theirs, (4, 10))
    assert weights.shape == (2, 4, 10)
    assert torch.equal(weights.sum(-1), torch.tensor([[1.0, 1, 1, 0], [1, 1, 0, 0]]))
    assert weights[0, 1].tolist() == pytest.approx([0, 1 / 3, 1 / 3, 1 / 3, 0, 0, 0, 0, 0, 0])


@pytest.mark.parametrize("left", [(False, True), (True, False), (True, True)])
def test_padding_on_the_left_moves_rows_and_columns(left: tuple[bool, bool]) -> None:
    texts = ["the card", "card"]
    whole, letters = words("the", "card"), characters("the card")
    own, theirs = spans_of(whole, texts, None, 64), spans_of(letters, texts, None, 64)
    right, moved = alignment(own, theirs, (4, 10)), alignment(own, theirs, (4, 10), left)
    assert torch.equal(moved[0], right[0]), "the longest has no padding"
    rows, columns = (4 - 3 if left[0] else 0), (10 - 6 if left[1] else 0)
    assert torch.equal(moved[1], right[1].roll((rows, columns), (0, 1)))


def test_a_brute_force_over_random_spans() -> None:
    g = torch.Generator().manual_seed(0)

    def drawn(n: int) -> TokenSpans:
        """Tokens of random widths, some characters belonging to none."""
        spans, at = [(-1, 0, 0)], 0
        for _ in range(n):
            at += int(torch.randint(0, 3, (1,), generator=g))
            width = int(torch.randint(1, 4, (1,), generator=g))
            spans.append((0, at, at + width))
            at += width
        return TokenSpans(tuple(range(len(spans))), tuple(spans))

    for _ in range(200):
        a, b = drawn(8), drawn(11)
        expected = [
            [m for m, (v, c, d) in enumerate(b.spans) if v == w == 0 and c < y and x < d] for w, x, y in a.spans
        ]
        expected[0] = [0]
        assert overlaps(a, b) == expected


def test_a_slow_tokenizer_is_refused() -> None:
    class Slow:
        is_fast = False

    with pytest.raises(AlloyError, match="fast tokenizer"):
        spans_of(Slow(), ["a"], None, 8)


TEXTS = [
    "the courier was late again",
    "naïve café, déjà vu",  # precomposed
    "nai\u0308ve cafe\u0301 de\u0301ja\u0300 vu",  # combining marks
    "lost 📦 parcel 👩‍👩‍👧 gone",  # an emoji that is one character, and one that is five
    "我的包裹丢了 refund 请",
    "ＡＢＣ ﬁne ½",  # full width and a ligature, which some normalisers expand
    "  spaces   and\ttabs ",
    "supercalifragilistic",
]


def trained(kind: str) -> PreTrainedTokenizerFast:
    """A tokenizer of each family, trained on the texts."""
    if kind == "byte-level BPE":
        model = Tokenizer(models.BPE(unk_token=None))
        model.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        trainer = trainers.BpeTrainer(vocab_size=400, special_tokens=["[PAD]", "[CLS]", "[SEP]"],
                                      initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)  # fmt: skip
    elif kind == "WordPiece":
        model = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        model.normalizer = normalizers.BertNormalizer()
        model.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer = trainers.WordPieceTrainer(
            vocab_size=150, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]"], show_progress=False
        )
    else:
        model = Tokenizer(models.Unigram())
        model.normalizer = normalizers.NFKC()
        model.pre_tokenizer = pre_tokenizers.Metaspace()
        trainer = trainers.UnigramTrainer(vocab_size=90, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]"], unk_token="[UNK]",
                                          show_progress=False)  # fmt: skip
    model.train_from_iterator(TEXTS * 3, trainer)
    model.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(t, model.token_to_id(t)) for t in ("[CLS]", "[SEP]")],
    )  # fmt: skip
    return PreTrainedTokenizerFast(tokenizer_object=model, pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]")


KINDS = ("byte-level BPE", "WordPiece", "Unigram")


def stands_for(tokenizer: PreTrainedTokenizerFast, kind: str, token: int, span: str) -> bool:
    """Whether a token's own letters are those of the characters that it is said to stand for, as its tokenizer writes them."""
    written = tokenizer.convert_ids_to_tokens(token)
    if kind == "byte-level BPE":  # a token may be some of the bytes of one character
        spoken = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False).pre_tokenize_str(span)
        return written in "".join(part for part, _ in spoken)
    if written == "[UNK]":
        return bool(span.strip())
    bare, normal = letters(written.removeprefix("##").replace("▁", " ")), letters(span)
    return bare in normal or (not bare and not normal)


def letters(text: str) -> str:
    """Without case, accents, joiners and spaces around: normalisers compose an accent with its letter, or drop it."""
    return "".join(
        c for c in unicodedata.normalize("NFKD", text).lower() if unicodedata.category(c) not in ("Mn", "Cf")
    ).strip()


@pytest.mark.parametrize("mine", KINDS)
@pytest.mark.parametrize("theirs", KINDS)
@pytest.mark.parametrize("length", [64, 6], ids=["whole", "cut short"])
def test_families_of_tokenizers_meet_wherever_their_characters_do(mine: str, theirs: str, length: int) -> None:
    """Against the definition: two tokens meet if they share a character; each row is the mean over its counterparts."""
    a, b = trained(mine), trained(theirs)
    own, other = spans_of(a, TEXTS, None, length), spans_of(b, TEXTS, None, length)
    weights = alignment(own, other, (max(len(t.ids) for t in own), max(len(t.ids) for t in other)))
    met = 0
    for n, text in enumerate(TEXTS):
        if own[n] == other[n]:
            continue  # the same tokens are each other's, separators too
        for i, (w, start, end) in enumerate(own[n].spans):
            assert 0 <= start <= end <= len(text)
            if w < 0:
                continue
            assert stands_for(a, mine, own[n].ids[i], text[start:end]), (mine, text[start:end])
            shared = [
                j for j, (v, c, d) in enumerate(other[n].spans) if v == w and set(range(start, end)) & set(range(c, d))
            ]
            met += len(shared)
            row = weights[n, i]
            assert torch.nonzero(row).flatten().tolist() == shared, (text, text[start:end])
            if shared:
                assert row.sum() == pytest.approx(1)
                assert row[shared[0]] == pytest.approx(1 / len(shared))
    assert met > (30 if length == 64 else 10) or mine == theirs


def test_one_emoji_is_many_bytes_and_all_of_them_mean_it() -> None:
    byte, word = trained("byte-level BPE"), trained("Unigram")
    text = TEXTS[3]
    (own,), (other,) = spans_of(byte, [text], None, 64), spans_of(word, [text], None, 64)
    at = text.index("📦")
    pieces = [i for i, (w, a, b) in enumerate(own.spans) if w == 0 and a <= at < b]
    whole = [j for j, (w, a, b) in enumerate(other.spans) if w == 0 and a <= at < b]
    assert pieces
    assert len(whole) == 1
    rows = alignment([own], [other], (len(own.ids), len(other.ids)))[0]
    assert all(rows[i, whole[0]] > 0 for i in pieces)
