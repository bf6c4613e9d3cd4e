"""What the mixture sees of a text: principal components of the teachers' early states and of a neutral encoder's state (ours: Alloy, Eq. 1).

    h(x) = [ early states of all teachers, each dimension standardised over the pool, divided by √d_T ;
             2 · encoder state / its length, centred over the pool, divided by its standard deviation over the pool ]
    z(x) = the first D principal components of h over the pool, divided by one number so that their mean variance is 1           (1)

The teachers' part has the total variance 1, and the encoder's part the total variance 4. The components keep their relative variances, so
directions in which texts differ more count more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
import torch
from torch import Tensor

from alloykit.methods.early_states import early_states
from alloykit.outputs import Rows
from alloykit.progress import log_line

ENCODER_WEIGHT = 2.0
TEXTS_PER_DIMENSION = 4
SMALL = 512  # with at most so many texts or dimensions, the components are computed exactly
MIN_DEVIATION = 1e-6
SLOW = 40_000_000  # numbers; the principal components of more take seconds
COLUMNS, ROWS = 1024, 1024  # of the states that are in float64 at once: with many teachers, all of them are gigabytes


def raw_states(rows: Rows) -> tuple[Tensor, int]:
    """The teachers' early states and the encoder's state divided by its length, side by side. [B, d] float32, and how many of the d are the
    teachers'. TypeError where there are neither."""
    parts = [s.float() for teacher in rows.teachers if teacher.pooled_states for s in early_states(teacher)]
    of_teachers = sum(part.shape[1] for part in parts)
    if rows.text_states is not None:
        parts.append(torch.nn.functional.normalize(rows.text_states.float(), dim=-1))
    if not parts:
        raise TypeError("this needs the teachers' pooled states, or the states of an encoder")
    return torch.cat(parts, -1), of_teachers


@dataclass(frozen=True)
class StateSpace:
    """Eq. 1, fitted. `shift`, `scale`: [d]; `directions`: [d, D]; all float64."""

    shift: Tensor
    scale: Tensor
    directions: Tensor

    @classmethod
    def fit(cls, states: Tensor, of_teachers: int, dimensions: int) -> StateSpace:
        """states [n, d], as `raw_states` gives them. At most `dimensions` components, and one for every four texts."""
        from sklearn.decomposition import PCA

        shift, deviation = _moments(states)
        teachers, encoder = deviation[:of_teachers], deviation[of_teachers:]
        scale = torch.cat(
            [
                1 / (teachers.clamp(min=MIN_DEVIATION) * max(1, of_teachers) ** 0.5),
                (ENCODER_WEIGHT / encoder.square().sum().sqrt().clamp(min=MIN_DEVIATION)).expand(len(encoder)),
            ]
        )
        centred = (states - shift.float()).mul_(scale.float()).numpy()
        n = max(1, min(dimensions, len(states) // TEXTS_PER_DIMENSION, *(size - 1 for size in centred.shape)))
        if centred.size > SLOW:
            log_line(
                f"Alloy: the principal components of {len(states):,} texts' states in {centred.shape[1]:,} dimensions"
            )
        solver = "full" if min(centred.shape) <= SMALL else "randomized"
        with np.errstate(divide="ignore", invalid="ignore"):  # of equal texts the shares of the variance are 0 / 0
            found = PCA(n, svd_solver=solver, random_state=0, copy=False).fit(centred)
        directions = torch.from_numpy(np.ascontiguousarray(found.components_.T)).double()
        variance = float(np.mean(found.explained_variance_))
        return cls(shift, scale, directions / max(variance, MIN_DEVIATION**2) ** 0.5)

    @classmethod
    def of(cls, state: Mapping[str, Tensor], device: torch.device) -> StateSpace:
        return cls(**{f.name: state[f.name].to(device) for f in fields(cls)})

    def __call__(self, states: Tensor) -> Tensor:
        """[B, d] → [B, D] float64."""
        return torch.cat(
            [((part.double() - self.shift) * self.scale) @ self.directions for part in torch.split(states, ROWS)]
        )


def _moments(states: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of each column, [d] float64 each."""
    found = [
        (part.mean(0), part.std(0, correction=0)) for part in (c.double() for c in torch.split(states, COLUMNS, 1))
    ]
    means, deviations = zip(*found, strict=True)
    return torch.cat(means), torch.cat(deviations)
