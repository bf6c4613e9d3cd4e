"""Density as confidence: how similar a text's early states are to those of a teacher's most confident texts (ours; stats/density.py)."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from alloykit.methods.early_states import early_states
from alloykit.outputs import Rows, Source, chunks
from alloykit.stats.density import density, fit_density
from alloykit.stats.entropy import confidence


def fit_densities(pool: Source) -> dict[str, Tensor]:
    """stats/density.py for every teacher, as "density.i.…". A teacher's most confident texts are those of the lowest entropy without dropout."""
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
    """The confidence of every teacher. [B, N] float64"""
    each = []
    for i, teacher in enumerate(rows.teachers):
        mine = f"density.{i}."
        each.append(
            density(early_states(teacher), {k.removeprefix(mine): v for k, v in state.items() if k.startswith(mine)})
        )
    return torch.stack(each, -1)
