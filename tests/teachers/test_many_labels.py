"""Answers in many forms, of teachers with many labels."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from alloykit.teachers import answers
from alloykit.teachers.answers import logits_of


class _Labels(tuple[str, ...]):
    """Labels that must not be searched one after another."""

    def __contains__(self, label: object) -> bool:
        raise AssertionError("searched")


def test_many_labels_cost_no_search_and_no_check_of_foreign_types_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = _Labels(f"kind {i}" for i in range(100))
    p = torch.rand(2, 100, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).softmax(-1)

    class _Checked(type):
        def __instancecheck__(cls, value: Any) -> bool:
            return pytest.fail(f"{value} is a float already")

    monkeypatch.setattr(answers, "Complex", _Checked("Complex", (), {}))
    listed = logits_of(p.tolist(), labels, 2, "a")
    assert torch.allclose(listed.double().exp(), p, rtol=1e-6)
    assert logits_of([dict(zip(labels, row, strict=True)) for row in p.tolist()], labels, 2, "a").equal(listed)
