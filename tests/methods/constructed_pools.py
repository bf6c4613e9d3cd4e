"""Pools with known source teachers: clusters of states. The first teacher is more confident on everything than the others."""

from __future__ import annotations

import copy
import math
import statistics
from typing import Any, Literal

import torch
from torch import Tensor

from alloykit.labels import LabelSpace
from alloykit.methods.alloy.method import Alloy
from alloykit.methods.alloy.report import findings
from alloykit.methods.protocol import Context, ModelShape
from alloykit.methods.registry import create
from alloykit.outputs import Rows, TeacherRows

LABELS = (("a", "b"), ("c", "d"))


class Pool:
    """Every label, and what is foreign, a cluster of states; the first teacher is surer of everything than the others are of their own.

    `constant`: foreign texts all get the first teacher's first label. `widths`: of each teacher's states.
    `encoder`: whether there are states of an encoder too, and whether they have the same clusters or others.
    """

    def __init__(
        self, counts: tuple[int, ...], groups: tuple[tuple[str, ...], ...] = LABELS, *, foreign: int = 0, seed: int = 0,
        apart: float = 4.0, constant: bool = False, widths: tuple[int, ...] | None = None,
        encoder: Literal["alike", "other"] | None = None,
    ) -> None:  # fmt: skip
        self.space, g = LabelSpace.union(groups), torch.Generator().manual_seed(seed)
        kinds = self.space.size
        self.labels = torch.cat([torch.full((n,), c) for c, n in enumerate((*counts, foreign))])
        n, width = len(self.labels), kinds + 20
        states = (apart * torch.eye(kinds + 1, width))[self.labels] + torch.randn(n, width, generator=g)
        self.widths, teachers = widths or (width,) * len(groups), []
        for i, names in enumerate(groups):
            own = torch.tensor([*self.space.has_label()[i].tolist(), False])[self.labels]
            place = torch.tensor([names.index(y) if y in names else 0 for y in (*self.space.names, "")])[self.labels]
            elsewhere = torch.randint(len(names), (n,), generator=g)
            if constant and i == 0:
                elsewhere = torch.where(self.labels == kinds, 0, elsewhere)
            sure = torch.where(own, 3.0, 2.0) + (1.5 if i == 0 else 0.0) + torch.randn(n, generator=g)
            logits = torch.nn.functional.one_hot(torch.where(own, place, elsewhere), len(names)) * sure[:, None]
            own_states = states @ torch.linalg.qr(torch.randn(max(width, self.widths[i]), width, generator=g))[0].T
            teachers.append(TeacherRows(logits, pooled_states=(own_states[:, : self.widths[i]].half(),) * 3))
        groups_of_encoder = self.labels if encoder == "alike" else torch.randint(kinds, (n,), generator=g)
        of_encoder = apart * torch.eye(kinds + 1, width)[groups_of_encoder] + torch.randn(n, width, generator=g)
        self.everything = Rows(tuple(teachers), text_states=None if encoder is None else of_encoder.half())

    def __len__(self) -> int:
        return len(self.labels)

    def rows(self, indices: Any) -> Rows:
        at = torch.as_tensor(list(indices))
        states = self.everything.text_states
        return Rows(tuple(TeacherRows(t.logits[at], pooled_states=tuple(s[at] for s in t.pooled_states or ()))
                          for t in self.everything.teachers), text_states=None if states is None else states[at])  # fmt: skip

    def in_order(self, at: Tensor) -> Pool:
        """The same texts in another order. at: [n], a permutation."""
        found = copy.copy(self)
        found.everything, found.labels = self.rows(at.tolist()), self.labels[at]
        return found

    @property
    def known(self) -> Tensor:
        return self.labels < self.space.size


def routed(spec: dict[str, Any] | str, pool: Pool) -> tuple[Tensor, Tensor, dict[str, Any]]:
    """The owner that the method names, [n], v, and the method's notes."""
    method, shapes = create(spec), tuple(ModelShape(w, 3) for w in pool.widths)
    bare = Context(pool.space, teachers=shapes)
    context = Context(pool.space, dict(method.fit(pool, bare)), teachers=shapes)
    found = method.supervise(pool.rows(range(len(pool))), context)
    assert found is not None
    assert found.teacher_weights is not None
    names = [f"teacher {i + 1}" for i in range(len(shapes))]
    notes = findings(context, names, method.options) if isinstance(method, Alloy) else {}
    return found.teacher_weights.argmax(-1), found.weights, {**notes, "outcome": context.state.get("outcome")}


def by_energy_in_a_loop(pool: Pool) -> tuple[list[list[float]], list[list[float]], list[float]]:
    """Weights, targets and v where the mixture is not used, text by text (Eqs. 2, 7, 8, 25, 26)."""
    spaces = pool.space.teachers
    energies = [[math.log(sum(map(math.exp, z))) for z in t.logits.double().tolist()] for t in pool.everything.teachers]
    mean = [statistics.fmean(e) for e in energies]
    spread = [statistics.pstdev(e) for e in energies]
    weights, targets, v = [], [], []
    for x in range(len(pool)):
        w = [len(s) * math.exp(2 * (e[x] - m) / d) for s, e, m, d in zip(spaces, energies, mean, spread, strict=True)]
        answers = []
        for labels, teacher in zip(spaces, pool.everything.teachers, strict=True):
            z = [math.exp(value) for value in teacher.logits[x].double().tolist()]
            answers.append({label: value / sum(z) for label, value in zip(labels, z, strict=True)})
        r = {}
        for c in pool.space.names:
            of = [i for i, labels in enumerate(spaces) if c in labels]
            r[c] = math.prod(answers[i][c] for i in of) ** (1 / len(of)) * sum(w[i] for i in of)
        r = {c: value / sum(r.values()) for c, value in r.items()}
        weights.append([sum(r[c] / sum(c in other for other in spaces) for c in labels) for labels in spaces])
        targets.append([sum(g * a.get(c, 0.0) for g, a in zip(weights[-1], answers, strict=True)) for c in r])
        known = [sum(r[c] for c in labels) for labels in spaces]
        best = spaces[known.index(max(known))]
        v.append(max(0.0, max(known) - max(sum(r[c] for c in labels if c not in best) for labels in spaces)) + 1e-6)
    return weights, targets, v


def right(owner: Tensor, pool: Pool) -> float:
    """Of the texts that somebody knows, how many go to a teacher that does; the mean over the teachers' own."""
    knows = pool.space.has_label()
    said = knows[owner[pool.known], pool.labels[pool.known]].double()
    each = [said[knows[i][pool.labels[pool.known]]] for i in range(len(knows))]
    return float(torch.stack([e.mean() for e in each if len(e)]).mean())
