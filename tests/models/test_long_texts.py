"""Which tokens of a long text are kept, and what the chunks of a text say together."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
import tiny
import torch
from transformers.models.bert.tokenization_bert_legacy import BertTokenizerLegacy

from alloykit.models.long_texts import Chunks, encode_long
from alloykit.models.tokens import encode

LENGTH = 12
CLS, SEP = 2, 3
TEXTS = ["late", " ".join(tiny.WORDS[:9]), " ".join(tiny.WORDS[:10]), " ".join(tiny.WORDS[:11]), " ".join(tiny.WORDS)]
PAIRS = [" ".join(tiny.WORDS[50 - n : 50]) for n in (1, 4, 5, 6, 30)]


@pytest.fixture(scope="module", params=["fast", "slow"])
def tokenizer(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    if request.param == "fast":
        return tiny.tokenizer()
    file = tmp_path_factory.mktemp("slow") / "vocab.txt"
    file.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *dict.fromkeys(tiny.WORDS)]))
    return BertTokenizerLegacy(str(file))


def ids(tokenizer: Any, text: str) -> list[int]:
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])


def read(tokenizer: Any, how: Any, texts: list[str], pairs: Any = None) -> list[list[int]]:
    encoded = encode_long(tokenizer, texts, pairs, LENGTH, how)
    assert all(len(values) == len(e["input_ids"]) <= LENGTH for e in encoded for values in e.values())
    return [e["input_ids"] for e in encoded]


def test_single_texts(tokenizer: Any) -> None:
    for text in TEXTS:
        whole, room = ids(tokenizer, text), LENGTH - 2
        long = len(whole) > room
        assert read(tokenizer, "head", [text]) == [[CLS, *whole[:room], SEP]]
        assert read(tokenizer, "tail", [text]) == [[CLS, *whole[-room:], SEP]]
        both = [*whole[:2], *whole[-8:]] if long else whole
        assert read(tokenizer, "head_tail", [text]) == [[CLS, *both, SEP]]


def test_of_a_pair_the_longer_text_is_cut_first(tokenizer: Any) -> None:
    """By the lengths that the tokenizer itself keeps."""
    for text in TEXTS:
        for pair in PAIRS:
            first, second = ids(tokenizer, text), ids(tokenizer, pair)
            (head,) = encode(tokenizer, [text], [pair], LENGTH)
            (tail,) = encode_long(tokenizer, [text], [pair], LENGTH, "tail")
            a, b = (values.index(SEP) - 1 for values in (head["input_ids"], tail["input_ids"]))
            assert a == b or (abs(a - b) == 1 and not tokenizer.is_fast), (
                "slow ones give an odd token to the other text"
            )
            rest = len(head["input_ids"]) - b - 3
            assert tail["input_ids"] == [CLS, *first[len(first) - b :], SEP, *second[len(second) - rest :], SEP]
            assert tail.keys() == head.keys()


@pytest.mark.parametrize("how", ["head", "tail", "head_tail", "mean"])
def test_long_texts_and_pairs_give_no_warning(tokenizer: Any, how: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[logging.LogRecord] = []
    handler = logging.Handler()
    monkeypatch.setattr(handler, "emit", said.append)
    monkeypatch.setattr(tokenizer, "model_max_length", LENGTH)
    logger = logging.getLogger("transformers")
    logger.addHandler(handler)
    read(tokenizer, how, TEXTS)
    read(tokenizer, how, TEXTS, PAIRS[::-1])
    logger.removeHandler(handler)
    assert not [record.getMessage() for record in said]


def test_the_tail_is_what_a_tokenizer_keeps_that_truncates_on_the_left() -> None:
    left = tiny.tokenizer()
    left.truncation_side = "left"
    assert encode_long(tiny.tokenizer(), TEXTS, PAIRS, LENGTH, "tail") == encode(left, TEXTS, PAIRS, LENGTH)


def test_chunks_have_every_token_once_and_are_equally_long(tokenizer: Any) -> None:
    chunks = encode_long(tokenizer, TEXTS, None, LENGTH, "mean")
    assert isinstance(chunks, Chunks)
    assert chunks.owners.tolist() == [0, 1, 2, 3, 3, *[4] * 6]
    for i, text in enumerate(TEXTS):
        mine = [c["input_ids"] for c, owner in zip(chunks, chunks.owners.tolist(), strict=True) if owner == i]
        assert all(c[0] == CLS and c[-1] == SEP and len(c) <= LENGTH for c in mine)
        assert [token for c in mine for token in c[1:-1]] == ids(tokenizer, text)
        assert max(map(len, mine)) - min(map(len, mine)) <= 1


def test_every_chunk_of_a_pair_has_the_shorter_text(tokenizer: Any) -> None:
    texts, pairs = ["late", TEXTS[-1], "lost box", TEXTS[-1]], [TEXTS[-1], "late", None, TEXTS[-1]]
    chunks = encode_long(tokenizer, texts, pairs, LENGTH, "mean")
    assert isinstance(chunks, Chunks)
    whole, late = ids(tokenizer, TEXTS[-1]), ids(tokenizer, "late")
    for i in (0, 1):
        mine = [c["input_ids"] for c, owner in zip(chunks, chunks.owners.tolist(), strict=True) if owner == i]
        parts = [c[3:-1] if i == 0 else c[1:-3] for c in mine]
        assert [token for part in parts for token in part] == whole
        assert all((c[1:2] if i == 0 else c[-2:-1]) == late for c in mine)
    assert [c["input_ids"] for c, owner in zip(chunks, chunks.owners.tolist(), strict=True) if owner == 2] == [
        [CLS, *ids(tokenizer, "lost box"), SEP]
    ]
    both = [c["input_ids"] for c, owner in zip(chunks, chunks.owners.tolist(), strict=True) if owner == 3]
    assert all(c.count(SEP) == 2 and len(c) <= LENGTH for c in both), "of two long texts one keeps half of the room"


def test_what_the_chunks_of_a_text_say_together() -> None:
    chunks = Chunks([[{}], [{}, {}, {}], [{}, {}]])
    logits = torch.randn(6, 4, generator=torch.Generator().manual_seed(0)) * 5
    found = chunks.mean_logits(logits)
    assert torch.equal(found[0], logits[0]), "the logits of a text of one chunk are its own"
    for i, part in ((1, logits[1:4].double()), (2, logits[4:].double())):
        torch.testing.assert_close(found[i].double().softmax(-1), part.softmax(-1).mean(0), rtol=1e-5, atol=1e-7)
        energy = part.logsumexp(-1).mean()
        torch.testing.assert_close(found[i].double().logsumexp(-1), energy, rtol=1e-5, atol=1e-5)
    passes = logits.softmax(-1).expand(2, 6, 4)
    by_hand = torch.stack([passes[:, 0], passes[:, 1:4].mean(1), passes[:, 4:].mean(1)], 1)
    torch.testing.assert_close(chunks.mean(passes), by_hand)


def test_certain_chunks_that_disagree_stay_finite() -> None:
    found = Chunks([[{}, {}]]).mean_logits(torch.tensor([[900.0, -900.0, 0.0], [-900.0, 900.0, 0.0]]))
    assert found.isfinite().all()
    torch.testing.assert_close(found.softmax(-1), torch.tensor([[0.5, 0.5, 0.0]]))


def test_a_damaged_setting_in_a_folder_is_refused(tmp_path: Path) -> None:
    from alloykit.errors import AlloyError
    from alloykit.serving.predictor import Predictor

    folder = tiny.classifier(tmp_path / "model", ["a", "b"])
    config = folder / "config.json"
    config.write_text(config.read_text().replace("{", '{"alloykit_long_texts": "all",', 1))
    with pytest.raises(AlloyError, match=r"head, tail, head_tail or mean.*got .*'all'"):
        Predictor.load(folder)
