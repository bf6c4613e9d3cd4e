"""A run with more outputs than may be copied reads its rows from the files of the store. They are the same."""

from __future__ import annotations

import dataclasses
import pickle
from pathlib import Path

import pytest
import torch
from knowing import SENTENCES, read, swept

from alloykit.errors import AlloyError
from alloykit.knowledge.online.encoder_states import WithTextStates
from alloykit.knowledge.store import reader, unit_rows
from alloykit.knowledge.store.reader import StoredKnowledge
from alloykit.knowledge.store.store import Store
from alloykit.knowledge.store.with_labelled import WithLabelled
from alloykit.knowledge.without_states import without_states
from alloykit.outputs import Rows
from alloykit.teachers.hugging_face import HuggingFaceInfo

pytestmark = pytest.mark.slow

TEXTS = [*SENTENCES[5:], SENTENCES[7], *SENTENCES[:3]]  # not in the order of the store, not all, one twice


@pytest.fixture(scope="module")
def store(billing: HuggingFaceInfo, delivery: HuggingFaceInfo, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """40 texts in three shards, two teachers, 8 passes, pooled states of two layers of one of them. Read only."""
    place = tmp_path_factory.mktemp("store") / "k"
    return swept(place, [billing, delivery], passes=8, layers={"delivery": (1, 2)})


def tensors(rows: Rows) -> list[torch.Tensor]:
    values = [v for t in rows.teachers for v in dataclasses.astuple(t)]
    flat = [x for v in values for x in (v if isinstance(v, tuple) else (v,))]
    return [x for x in flat if x is not None]


@pytest.mark.parametrize("passes", [0, 3, 8])
def test_rows_and_variance_are_those_of_a_copy(store: Store, passes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    layers = {"delivery": (2, 1)}
    copied = read(store, ["billing", "delivery"], TEXTS, passes=passes, layers=layers)
    orders = ([3, 0, 36, 17, 17, 35], list(range(len(TEXTS)))[::-1], [])
    expected = [tensors(copied.rows(order)) for order in orders]
    monkeypatch.setattr(reader, "COPIED", 0)
    monkeypatch.setattr(unit_rows, "OPEN", 3)  # files are closed and opened again
    source = read(store, ["billing", "delivery"], TEXTS, passes=passes, layers=layers)
    for each in (source, pickle.loads(pickle.dumps(source))):
        for order, wanted in zip(orders, expected, strict=True):
            found = tensors(each.rows(order))
            assert len(found) == len(wanted)
            assert all(torch.equal(a, b) and a.dtype == b.dtype for a, b in zip(found, wanted, strict=True))
    assert source._copy.file is None
    for name in ("billing", "delivery"):
        assert source.pass_variance(name) == copied.pass_variance(name)


@pytest.mark.parametrize("copied", [True, False])
def test_without_states_reads_the_same_answers(store: Store, copied: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not copied:
        monkeypatch.setattr(reader, "COPIED", 0)
    full = read(store, ["billing", "delivery"], TEXTS, passes=8, layers={"delivery": (2, 1)})
    labelled = WithLabelled(WithTextStates(full, torch.zeros(len(TEXTS), 3)), full, torch.zeros(len(TEXTS)).long())
    for source, offset in ((full, 0), (labelled, 0), (labelled, len(TEXTS))):
        plain = without_states(source)
        with monkeypatch.context() as reading:
            for read_again in ("_pooled_of", "_load"):
                reading.setattr(StoredKnowledge, read_again, lambda *_: pytest.fail("the store's files are read again"))
            rows = plain.rows([offset + 3, offset])
        assert rows.text_states is None
        assert all(t.pooled_states is None for t in rows.teachers)
        for teacher, wanted in zip(rows.teachers, full.rows([3, 0]).teachers, strict=True):
            assert torch.equal(teacher.logits, wanted.logits)
            assert torch.equal(teacher.probability_sum, wanted.probability_sum)
    assert full.rows([0]).teachers[1].pooled_states is not None, "the first source still reads them"


def test_a_damaged_file_is_found_before_a_row_is_read(
    billing: HuggingFaceInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = swept(tmp_path / "k", [billing])
    file = next((tmp_path / "k/teachers/billing").glob("*/00001-*.logits.safetensors"))
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    monkeypatch.setattr(reader, "COPIED", 0)
    source: StoredKnowledge = read(store, ["billing"])
    with pytest.raises(AlloyError, match="corrupt"):
        source.rows([0])
