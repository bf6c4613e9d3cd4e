"""Early states: where texts of different owners lie apart (ours).

Fine-tuning turns the last layers towards a teacher's own labels, so that any text looks like one of them there; the embeddings and the
layers of the first two thirds still tell what a text is about.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from alloykit.outputs import Rows, Source, TeacherRows, chunks
from alloykit.stats.density import density, fit_density
from alloykit.stats.entropy import confidence

MOST = 4096  # texts that anything is fitted on


def early_layers(layers: int) -> tuple[int, ...]:
    """The embeddings, and the layers at one and at two thirds of the depth."""
    return tuple(sorted({0, round(layers / 3), round(2 * layers / 3)}))


def early_states(teacher: TeacherRows) -> list[Tensor]:
    """One teacher's pooled states of these layers, [B, d_i] float64 each. TypeError where there are none."""
    if teacher.pooled_states is None:
        raise TypeError("this needs the teachers' pooled states")
    return [s.double() for s in teacher.pooled_states]


def all_early_states(rows: Rows) -> Tensor:
    """Of all teachers and layers, side by side. [B, Σ_i layers_i d_i] float64."""
    return torch.cat([s for teacher in rows.teachers for s in early_states(teacher)], -1)


def fit_densities(pool: Source) -> dict[str, Tensor]:
    """stats/density.py for every teacher, as "density.i.…"; their surest texts by the entropy of the plain pass."""
    c, states, answers = list[Tensor](), list[list[list[Tensor]]](), list[list[Tensor]]()
    for rows in chunks(pool):
        c.append(torch.stack([confidence(t.probabilities()) for t in rows.teachers], -1))
        states.append([early_states(t) for t in rows.teachers])
        answers.append([t.logits.argmax(-1) for t in rows.teachers])
    found: dict[str, Tensor] = {}
    n = len(states[0])
    for i in range(n):
        layers = [torch.cat(parts) for parts in zip(*(s[i] for s in states), strict=True)]
        fitted = fit_density(layers, torch.cat([a[i] for a in answers]), torch.cat(c)[:, i], n)
        found |= {f"density.{i}.{key}": value for key, value in fitted.items()}
    return found


def densities(rows: Rows, state: Mapping[str, Tensor]) -> Tensor:
    """Every teacher's confidence by density. [B, N] float64"""
    each = []
    for i, teacher in enumerate(rows.teachers):
        mine = f"density.{i}."
        each.append(
            density(early_states(teacher), {k.removeprefix(mine): v for k, v in state.items() if k.startswith(mine)})
        )
    return torch.stack(each, -1)
