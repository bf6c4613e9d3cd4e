"""What is said of one text."""

from __future__ import annotations

import pytest
import torch

from alloykit.serving.question_answers import one_answer


def test_a_text_with_many_labels_is_answered_without_a_tensor_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    p = torch.rand(2000, generator=torch.Generator().manual_seed(0)).softmax(-1)
    labels, best = [f"label of {i}" for i in range(2000)], int(p.argmax())
    every = {label: round(float(q), 6) for label, q in zip(labels, p, strict=True)}
    with monkeypatch.context() as patched:
        patched.setattr(torch.Tensor, "__iter__", lambda self: pytest.fail("one tensor for every label"))
        short, whole = (
            one_answer(labels, p, multi_label=False, all_probabilities=of_all, digits=6) for of_all in (False, True)
        )
    assert short == {"label": labels[best], "probability": every[labels[best]]}
    assert whole == {**short, "probabilities": every}
