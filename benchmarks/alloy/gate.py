"""The supervised gate: a linear classifier of the teachers' states that learns from the pool's labels, and asks the teachers that know its answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from torch import Tensor

from alloykit.data import Texts
from alloykit.methods.early_states import early_states
from alloykit.outputs import Rows, chunks
from benchmarks.alloy.scores import scores
from benchmarks.harness.stages import Stages

EARLY = {"name": "routing", "of": {"name": "muka", "confidence": "density"}}  # gathers the early states


def all_early_states(rows: Rows) -> Tensor:
    """The early states of all teachers and layers, side by side. [B, Σ_i layers_i d_i] float64."""
    return torch.cat([s for teacher in rows.teachers for s in early_states(teacher)], -1)


@dataclass(frozen=True)
class Gate:
    """`reads`: a method whose knowledge has the states. `states`: of a batch of rows, [B, d]. `dimensions`: principal components of them."""

    reads: dict[str, Any] = field(default_factory=lambda: EARLY)
    states: Callable[[Rows], Tensor] = all_early_states
    dimensions: int = 64

    def __call__(self, stages: Stages, pool: str) -> dict[str, Any]:
        """It learns from one half of the pool's labelled texts and is asked about the other half, both ways; for the test texts it learns from all."""
        labelled = stages.texts_of(stages.pool(pool), want_labels=True)
        test = stages.texts_of(stages.test(pool), want_labels=True)
        (z, y, answers), (tested, truth, answered) = (self._read(stages, pool, texts) for texts in (labelled, test))
        knows, components = stages.setting.space.has_label(), self._components(z)
        z, tested = _transformed(components, z), _transformed(components, tested)
        routed = _asked(answers, knows, _by_halves(z, y))
        on_test = _asked(answered, knows, _learned(z, y, tested))
        return {"pool": scores(routed, y), "test": scores(on_test, truth, each=True)}

    def named(self, stages: Stages, pool: str) -> tuple[Texts, Tensor]:
        """The pool's labelled texts, and the label that the gate names for each, having learned from the other half. [n] int64, positions in the union."""
        labelled = stages.texts_of(stages.pool(pool), want_labels=True)
        z, y, _ = self._read(stages, pool, labelled)
        return labelled, _by_halves(_transformed(self._components(z), z), y)

    def _components(self, z: Tensor) -> PCA:
        count = min(self.dimensions, len(z) // 2, z.shape[1])
        return PCA(count, whiten=True, svd_solver="randomized", random_state=0).fit(z.numpy())

    def _read(self, stages: Stages, pool: str, texts: Texts) -> tuple[Tensor, Tensor, Tensor]:
        """States [n, d], labels [n], and what every teacher says of every label, [n, N, C]."""
        prepared, source = stages.outputs(pool, texts, self.reads)
        states, answers = [], []
        for rows in chunks(source):
            states.append(self.states(rows))
            padded = [prepared.space.scatter(i, t.probabilities()) for i, t in enumerate(rows.teachers)]
            answers.append(torch.stack(padded, 1))
        return torch.cat(states), prepared.labels(texts), torch.cat(answers)


def _transformed(components: PCA, z: Tensor) -> Tensor:
    return torch.from_numpy(components.transform(z.numpy()))


def _by_halves(z: Tensor, y: Tensor) -> Tensor:
    """For each text, what a classifier that learned from the other half says. [n]"""
    half, named = torch.arange(len(z)) % 2 == 0, torch.empty_like(y)
    for one, other in ((half, ~half), (~half, half)):
        named[other] = _learned(z[one], y[one], z[other])
    return named


def _learned(z: Tensor, y: Tensor, asked: Tensor) -> Tensor:
    model = LogisticRegression(C=0.1, max_iter=1000).fit(z.numpy(), y.numpy())
    return torch.from_numpy(model.predict(asked.numpy()))


def _asked(answers: Tensor, knows: Tensor, named: Tensor) -> Tensor:
    """The answer of the teachers that know the named label. [n]"""
    owners = knows[:, named].T.to(answers.dtype)
    return (owners.unsqueeze(-1) * answers).sum(1).argmax(-1)
