"""The supervised gate: a linear classifier of the same states that learns from the pool's labels."""

from __future__ import annotations

from typing import Any

import torch
from sklearn.linear_model import LogisticRegression
from torch import Tensor

from alloykit.methods.alloy.mixture import Whitening
from alloykit.methods.early_states import all_early_states
from alloykit.outputs import Source, chunks
from benchmarks.harness.stages import Stages

ALLOY = {"name": "routing", "of": {"name": "alloy"}}  # asks for the same states


def gate(stages: Stages, pool: str) -> dict[str, Any]:
    """It learns from one half of the pool's labelled texts and routes the other half, both ways; for the test texts it learns from all."""
    path, test = stages.pool(pool), stages.test()
    z, y, knows = _states(stages, pool, path)
    tested, truth, _ = _states(stages, pool, test)
    whiten = Whitening.fit(z, 64)
    half = torch.arange(len(z)) % 2 == 0
    predicted = torch.empty_like(y)
    for one, other in ((half, ~half), (~half, half)):
        predicted[other] = _answers(whiten(z[one]), y[one], whiten(z[other]))
    answers = _answers(whiten(z), y, whiten(tested))
    return {**_right(answers, truth, knows), "pool": {"texts": len(z), **_right(predicted, y, knows)}}


def _states(stages: Stages, pool: str, path: Any) -> tuple[Tensor, Tensor, Tensor]:
    texts = stages.texts_of(path, want_labels=True)
    prepared, source = stages.outputs(pool, texts, ALLOY)
    return _gathered(source), prepared.labels(texts), prepared.space.knows()


def _gathered(source: Source) -> Tensor:
    return torch.cat([all_early_states(rows) for rows in chunks(source)])


def _answers(z: Tensor, y: Tensor, asked: Tensor) -> Tensor:
    model = LogisticRegression(C=0.1, max_iter=1000).fit(z.numpy(), y.numpy())
    return torch.from_numpy(model.predict(asked.numpy()))


def _right(predicted: Tensor, truth: Tensor, knows: Tensor) -> dict[str, float]:
    """Routing accuracy: does some teacher know both the answered label and the true one?"""
    right = (knows[:, predicted] & knows[:, truth]).any(0)
    each = [right[known].double().mean() for known in knows[:, truth] if bool(known.any())]
    return {"right_teacher": float(right.double().mean()), "right_teacher_balanced": float(torch.stack(each).mean())}
