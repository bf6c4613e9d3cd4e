"""Each text meets its own knowledge, whatever the order; the texts to check by are other texts."""

import tiny
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from random_rows import Pool, rows_of

from alloykit.data import load_texts
from alloykit.rows import LabelsOnly, Rows, chunks
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
    shuffled = dataset.shuffle(seed=3)
    order = list(shuffled["row"])
    assert order != list(range(N))
    check(collate(list(shuffled)), order, rows, words, texts)
    check(collate(list(dataset.select([9, 4]))), [9, 4], rows, words, texts)


def test_duplicates_keep_their_number_and_read_the_same_row(words):
    """A text that occurs twice is two rows of the table; asking one row twice gives the same knowledge twice."""
    texts = [*tiny.texts(3), tiny.texts(3)[0]]
    dataset = prepared(words, texts)
    assert list(dataset["row"]) == [0, 1, 2, 3]
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
    assert [len(row) for row in tokenize(long, words, 7)["input_ids"]] == [7, 3]


def test_pairs_are_joined(words):
    pairs = load_texts([("refund", "card"), ("bill", "box")])
    assert tokenize(pairs, words, 32)["input_ids"][1] == words("bill", "box")["input_ids"]


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
    assert sorted(training + held_out) == list(range(n))
    assert training == sorted(training)
    assert held_out == sorted(held_out)
    assert len(held_out) == min(max(round(n * share), 50), n // 5)
    assert split_held_out(n, share, seed) == (training, held_out)


def test_held_out_sizes_and_seeds():
    assert split_held_out(10, 0, 0) == (list(range(10)), [])
    assert [len(split_held_out(n, 0.05, 0)[1]) for n in (4, 100, 300, 2000, 10_000)] == [0, 20, 50, 100, 500]
    assert split_held_out(300, 0.05, 0) != split_held_out(300, 0.05, 1)
    assert split_held_out(300, 0.05, 0)[1] != list(range(50))
