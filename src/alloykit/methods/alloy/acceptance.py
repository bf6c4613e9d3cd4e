"""Whether a fitted mixture is to be believed, and by how much one teacher leads (ours: Alloy, Eqs. 8, 9).

    k_i(x) = Σ_{c ∈ Y_i} r_c / (1 − r_0)         how likely it is that teacher i knows x's label; i* the largest
    lead(x) = k_{i*} − max_j Σ_{c ∈ Y_j \\ Y_{i*}} r_c / (1 − r_0)                                                           (8)
    surer_i = (mean of c_i over its own texts − mean over the other teachers') / standard error of that difference       (9)

With disjoint label sets k is γ and the lead is γ_(1) − γ_(2); a label that several teachers share counts for each, and none of them against another.
"""

from __future__ import annotations

import torch
from torch import Tensor


def knowing(r: Tensor, r0: Tensor, owners: Tensor) -> Tensor:
    """k, [B, N] float64. r [B, C], r0 [B], owners [N, C] bool."""
    return (r @ owners.double().T) / (1 - r0).clamp(min=1e-9).unsqueeze(-1)


def lead(r: Tensor, r0: Tensor, owners: Tensor) -> Tensor:
    """Eq. 8, [B] float64."""
    k, held = knowing(r, r0, owners), owners.double()
    best = k.argmax(-1)
    others = (r * (1 - held[best])) @ held.T / (1 - r0).clamp(min=1e-9).unsqueeze(-1)
    return (k.gather(1, best.unsqueeze(1)).squeeze(1) - others.amax(-1)).clamp(min=0)


def surer(c: Tensor, own: Tensor, rest: Tensor, fewest: int) -> Tensor:
    """Eq. 9 for every column, [K] float64. c, own, rest [n, K]: the confidence of the column's teacher, and which texts are compared.

    NaN where there is no rest to compare with; −∞ where there are fewer own texts than `fewest`.
    """
    found = []
    for column, mine, others in zip(c.T, own.T, rest.T, strict=True):
        inside, outside = column[mine], column[others]
        if len(outside) < 2:
            found.append(torch.full((), torch.nan, dtype=c.dtype))
        elif len(inside) < max(2, fewest):
            found.append(torch.full((), -torch.inf, dtype=c.dtype))
        else:
            error = (inside.var() / len(inside) + outside.var() / len(outside)).sqrt().clamp(min=1e-9)
            found.append((inside.mean() - outside.mean()) / error)
    return torch.stack(found)


def borne_out(found: Tensor, doubt: float) -> bool:
    """Of Eq. 9 for every teacher, [N]: each has texts, none is beyond doubt surer of the others' texts, and together they are surer of
    their own: Σ_i surer_i / √N > doubt. Teachers with nothing to compare (NaN) are not asked; where none can be, it is not."""
    asked = found[~found.isnan()]
    return len(asked) > 0 and bool((asked > -doubt).all()) and float(asked.sum()) > doubt * len(asked) ** 0.5
