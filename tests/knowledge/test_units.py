"""The names of a store's files, and what they must hold."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from alloykit.knowledge.store.records import TeacherRecord
from alloykit.knowledge.store.units import (
    ids_unit,
    keeps_single_passes,
    logits_unit,
    parsed,
    passes_unit,
    pooled_unit,
    wrong,
)

SHARD = "00000-5f2c"
MODEL = TeacherRecord(
    weights=64 * "a", tokenizer=64 * "b", max_length=8, compute_format="float32", classes=2, width=5
)  # fmt: skip
FUNCTION = TeacherRecord(identity="a function", classes=2)
NAN = torch.nan


def passes(**changes: Tensor | None) -> dict[str, Tensor]:
    tensors: dict[str, Tensor | None] = {
        "probability_sum": torch.ones(3, 2),
        "passes": torch.full((3,), 4, dtype=torch.int32),
        "per_pass": torch.ones(4, 3, 2),
    }
    return {name: tensor for name, tensor in (tensors | changes).items() if tensor is not None}


def logits(*rows: list[float]) -> dict[str, Tensor]:
    return {"logits": torch.tensor(rows)}


@pytest.mark.parametrize(
    ("kind", "tensors", "about", "words"),
    [
        ("logits", logits([0.0, 1.0], [0.0, 0.0], [1.0, 2.0]), MODEL, None),
        ("logits", logits([0.0, 1.0], [NAN, NAN], [1.0, 2.0]), FUNCTION, None),
        ("logits", logits([0.0, 1.0], [NAN, NAN], [1.0, 2.0]), MODEL, "NaN or infinity"),
        ("logits", logits([0.0, 1.0], [NAN, 0.0], [1.0, 2.0]), FUNCTION, "NaN or infinity"),
        ("logits", logits([0.0, 1.0], [0.0, torch.inf], [1.0, 2.0]), FUNCTION, "NaN or infinity"),
        ("logits", logits([0.0, 1.0], [1.0, 2.0]), MODEL, "logits [2, 2] float32"),
        ("pooled", {"pooled": torch.ones(3, 5).half()}, MODEL, None),
        ("pooled", {"pooled": torch.ones(3, 5)}, MODEL, "pooled [3, 5] float32"),
        ("passes", passes(), MODEL, None),
        ("passes", passes(per_pass=None), MODEL, None),
        ("passes", passes(passes=None), MODEL, "per_pass [4, 3, 2] float32, probability_sum [3, 2] float32"),
        ("passes", passes(passes=torch.full((3,), 3, dtype=torch.int32)), MODEL, "other numbers of them"),
        ("passes", passes(probability_sum=torch.full((3, 2), NAN)), FUNCTION, "NaN or infinity"),
    ],
)
def test_what_a_unit_must_hold(kind: str, tensors: dict[str, Tensor], about: TeacherRecord, words: str | None) -> None:
    """A text without an answer is a whole row of NaN, and only a teacher that is no model has some."""
    found = wrong(tensors, kind, 3, about)
    assert (None if found is None else found[1]) == words


def test_the_parts_of_the_name_of_a_unit() -> None:
    for teacher in ("t", "a.b", "org/model", "x.logits"):
        for unit, kind in (
            (logits_unit(teacher, SHARD), "logits"),
            (passes_unit(teacher, SHARD, 12), "passes"),
            (pooled_unit(teacher, SHARD, 3), "pooled"),
        ):
            found = parsed(unit)
            assert found is not None
            assert (found.teacher, found.shard, found.kind) == (teacher, SHARD, kind)
    assert passes_unit("t", SHARD, 12) == "teachers/t/5/00000-5f2c.passes-0012"
    assert ids_unit(SHARD) == "shards/5/00000-5f2c"
    for unit in (ids_unit(SHARD), "teachers/t/teacher", "teachers/t/5/00000-5f2c.x.logits"):
        assert parsed(unit) is None


@pytest.mark.parametrize(
    ("start", "classes", "asked", "kept"),
    [(0, 64, 8, True), (0, 65, 8, False), (4, 65, 8, False), (4, 65, 7, True), (0, 65, 7, False), (0, 65, 1, True)],
)
def test_single_passes_of_many_classes_are_kept_where_not_all_are_asked_for(
    start: int, classes: int, asked: int, kept: bool
) -> None:
    assert keeps_single_passes(passes_unit("t-1", SHARD, start), classes, asked) is kept


@pytest.mark.parametrize("lacking", ["weights", "tokenizer", "max_length", "compute_format"])
def test_a_record_of_a_model_names_all_of_it(lacking: str) -> None:
    about = MODEL.model_dump(exclude_unset=True)
    del about[lacking]
    with pytest.raises(ValueError, match="or an identity"):
        TeacherRecord.model_validate(about)
    TeacherRecord.model_validate(about | {"identity": "x"})
