"""What the teachers and the method said about the pool, without any label."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from alloykit.labels import LabelSpace
from alloykit.methods.base import Context, Method
from alloykit.rows import Source, chunks

SURE = 0.9
SATURATED = 0.999


def summarise(method: Method, source: Source, context: Context, teachers: list[str]) -> dict[str, Any] | None:
    """Texts, Σv and effective sample size (Σv)²/Σv² per predicted label, and each teacher's share of the pool.

    None for methods without a single target.
    """
    parts = [method.supervise(rows, context) for rows in chunks(source)]
    if not parts or any(p is None for p in parts):
        return None
    found = [p for p in parts if p is not None]
    v = torch.cat([p.weights for p in found]).double()
    label = torch.cat([p.targets.argmax(-1) for p in found])
    summary: dict[str, Any] = {
        "texts": len(v),
        "weight": float(v.sum()),
        "effective_sample_size": _ess(v),
        "labels": {
            name: {
                "texts": int((label == c).sum()),
                "weight": float(v[label == c].sum()),
                "effective_sample_size": _ess(v[label == c]),
            }
            for c, name in enumerate(context.space.names)
        },
    }
    if all(p.teacher_weights is not None for p in found):
        w = torch.cat([p.teacher_weights for p in found if p.teacher_weights is not None])
        summary["teacher_share"] = {name: float(w[:, i].mean()) for i, name in enumerate(teachers)}
    return summary


def cautions(source: Source, space: LabelSpace, teachers: list[str]) -> list[str]:
    """Sentences about teachers that look wrong on this pool: saturated outputs, shared labels that clash."""
    probabilities = [
        torch.cat([rows.teachers[i].probabilities() for rows in chunks(source)]) for i in range(len(teachers))
    ]
    found = []
    for name, p in zip(teachers, probabilities, strict=True):
        share = float((p.max(-1).values > SATURATED).double().mean())
        if share > 0.99:
            found.append(
                f"teacher '{name}' gives more than {SATURATED} to one label on {share:.1%} of the texts: its outputs are "
                "saturated, so its confidence says little about which texts it knows."
            )
    return found + _clashes(probabilities, space, teachers)


def _clashes(probabilities: list[Tensor], space: LabelSpace, teachers: list[str]) -> list[str]:
    """Shared labels on which confident teachers keep disagreeing: perhaps one name stands for two things."""
    found = []
    tops = [space.index(i)[p.argmax(-1)] for i, p in enumerate(probabilities)]
    sure = [p.max(-1).values >= SURE for p in probabilities]
    for label, owners in space.shared().items():
        c = space.position(label)
        for n, a in enumerate(owners):
            for b in owners[n + 1 :]:
                both = sure[a] & sure[b] & ((tops[a] == c) | (tops[b] == c))
                clash = both & (tops[a] != tops[b])
                if int(both.sum()) >= 10 and int(clash.sum()) > 0.5 * int(both.sum()):
                    found.append(
                        f"label '{label}' is shared by teachers '{teachers[a]}' and '{teachers[b]}', but of {int(both.sum())} "
                        f"texts on which both are sure (at least {SURE}) and one says '{label}', they disagree on "
                        f"{int(clash.sum())}. If the name means different things, set `labels: {{keep_apart: [{label}]}}`."
                    )
    return found


def _ess(v: Tensor) -> float:
    squares = float((v**2).sum())
    return float(v.sum()) ** 2 / squares if squares > 0 else 0.0
