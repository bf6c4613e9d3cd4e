"""Each text meets its own knowledge, whatever the order; the texts to check by are other texts."""

import numpy as np
import tiny
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from random_rows import Pool, rows_of
from tokenizers import processors

from alloykit.data import load_texts
from alloykit.outputs import LabelsOnly, Rows, chunks
from alloykit.training.dataset import Collator, split_held_out, tokenize

N = 12


def prepared(words, texts):
    return tokenize(load_texts(texts), words, 32)


def check(batch, order, rows, words, texts):
    known = Rows.from_batch(batch["rows"])
    assert batch["row"].tolist() == order
    assert torch.equal(known.labels, rows.labels[order])
    for found, everything in zip(known.teachers, rows.teachers, strict=True):
        assert torch.equal(found.logits, everything.logits[order])
        assert torch.equal(found.probability_sum, everything.probability_sum[order])
        assert torch.equal(found.passes, everything.passes[order])
    for i, row in enumerate(order):
        real = batch["input_ids"][i][batch["attention_mask"][i].bool()].tolist()
        assert real == words(texts[row])["input_ids"]


def test_shuffled_texts_keep_their_knowledge(words):
    texts, rows = tiny.texts(N), rows_of("disjoint", N)
    dataset = prepared(words, texts)
    collate = Collator(words, Pool(rows))
    for order in ([0, 1, 2, 3], [7, 2, 11, 0, 5], [3], list(range(N))[::-1]):
        check(collate([dataset[i] for i in order]), order, rows, words, texts)
    some = dataset.select([9, 4, 7])
    check(collate([some[i] for i in range(3)]), [9, 4, 7], rows, words, texts)
    fewer = some.select([2, 0])
    check(collate([fewer[0], fewer[1]]), [7, 9], rows, words, texts)
    assert fewer.lengths[np.arange(2)].tolist() == [len(dataset[7]["input_ids"]), len(dataset[9]["input_ids"])]


def test_duplicates_keep_their_number_and_read_the_same_row(words):
    """A text that occurs twice is two rows of the table; asking one row twice gives the same knowledge twice."""
    texts = [*tiny.texts(3), tiny.texts(3)[0]]
    dataset = prepared(words, texts)
    assert [dataset[i]["row"] for i in range(len(dataset))] == [0, 1, 2, 3]
    assert dataset[0]["input_ids"] == dataset[3]["input_ids"]
    rows = rows_of("disjoint", 4)
    batch = Collator(words, Pool(rows))([dataset[i] for i in (1, 1, 3)])
    check(batch, [1, 1, 3], rows, words, texts)
    known = Rows.from_batch(batch["rows"])
    assert torch.equal(known.teachers[0].logits[0], known.teachers[0].logits[1])


def test_batches_are_padded_to_their_longest(words):
    dataset = prepared(words, ["refund", "refund the card please", "refund the"])
    batch = Collator(words, Pool(rows_of("disjoint", 3)))([dataset[0], dataset[2]])
    assert batch["input_ids"].shape == batch["attention_mask"].shape == (2, 4)
    assert batch["attention_mask"].sum(-1).tolist() == [3, 4]
    assert (batch["input_ids"][0, 3:] == words.pad_token_id).all()


def test_long_texts_are_cut(words):
    long = load_texts([" ".join(["refund"] * 50), "card"])
    dataset = tokenize(long, words, 7)
    assert [len(dataset[i]["input_ids"]) for i in (0, 1)] == [7, 3]
    assert dataset.lengths[np.arange(2)].tolist() == [7, 3]


def test_pairs_are_joined(words):
    pairs = load_texts([("refund", "card"), ("bill", "box")])
    dataset, kinds = tokenize(pairs, words, 32), words("bill", "box")
    assert dataset[1] == {"row": 1} | {k: kinds[k] for k in kinds}


def test_which_of_two_texts_a_token_belongs_to_is_kept():
    words = tiny.tokenizer()
    words.model_input_names = ["input_ids", "token_type_ids", "attention_mask"]
    words.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    dataset, expected = (
        tokenize(load_texts([("refund", "card box"), ("bill", None)]), words, 32),
        words("refund", "card box"),
    )
    assert 1 in expected["token_type_ids"]
    assert dataset[0] == {"row": 0} | {k: expected[k] for k in expected}
    assert dataset[1]["token_type_ids"] == words("bill")["token_type_ids"]


def test_many_texts_are_read_back_as_they_were(words):
    """More than are tokenised at a time, of all lengths."""
    texts = [" ".join(["refund"] * (1 + n % 9)) for n in range(2_345)]
    dataset = prepared(words, texts)
    assert len(dataset) == 2_345
    for i in (0, 999, 1000, 1001, 1999, 2000, 2344):
        assert dataset[i]["input_ids"] == words(texts[i])["input_ids"]
    assert dataset.lengths[np.arange(2_345)].tolist() == [len(dataset[i]["input_ids"]) for i in range(2_345)]


def test_rows_survive_the_way_through_a_batch():
    rows = rows_of("disjoint", 3)
    again = Rows.from_batch(rows.to_batch())
    assert torch.equal(again.labels, rows.labels)
    assert all(torch.equal(a.logits, b.logits) for a, b in zip(again.teachers, rows.teachers, strict=True))
    bare = Rows.from_batch(Rows((), None).to_batch())
    assert bare.labels is None
    assert bare.teachers == ()


def test_chunks_cover_a_source_in_order():
    rows = rows_of("disjoint", 7)
    found = list(chunks(Pool(rows), 3))
    assert [len(part.labels) for part in found] == [3, 3, 1]
    assert torch.equal(torch.cat([part.teachers[1].logits for part in found]), rows.teachers[1].logits)
    only = LabelsOnly(rows.labels)
    assert torch.equal(torch.cat([part.labels for part in chunks(only, 3)]), rows.labels)
    assert only.rows(torch.tensor([4, 4])).labels.tolist() == [rows.labels[4]] * 2


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(st.integers(0, 1500), st.floats(0.001, 0.49), st.integers(0, 5))
def test_held_out_texts_are_no_training_texts(n, share, seed):
    training, held_out = split_held_out(n, share, seed)
    assert sorted([*training, *held_out]) == list(range(n))
    assert list(training) == sorted(training)
    assert held_out.tolist() == sorted(held_out)
    assert len(held_out) == min(max(round(n * share), 50), n // 5)
    assert split_held_out(n, share, seed)[1].tolist() == held_out.tolist()


def test_held_out_sizes_and_seeds():
    assert [list(part) for part in split_held_out(10, 0, 0)] == [list(range(10)), []]
    sizes = [len(split_held_out(n, 0.05, 0)[1]) for n in (4, 100, 300, 2000, 10_000, 100_000)]
    assert sizes == [0, 20, 50, 100, 500, 2000]
    first, second = (split_held_out(300, 0.05, seed)[1].tolist() for seed in (0, 1))
    assert first != second
    assert first != list(range(50))
