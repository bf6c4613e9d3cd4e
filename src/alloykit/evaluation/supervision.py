"""The outputs of the teachers and of the method on the pool, without labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from alloykit.labels import LabelSpace
from alloykit.methods.protocol import Context, Method
from alloykit.methods.requirements import supervised
from alloykit.outputs import Source, chunks
from alloykit.stats.entropy import confidence
from alloykit.yaml_files import yaml_on_one_line

CONFIDENT = 0.9  # the maximum probability from which a teacher is confident on a text
BINS = 20


def supervision_summary(method: Method, source: Source, context: Context, teachers: list[str]) -> dict[str, Any] | None:
    """The targets and weights that the method gives to the pool. None for methods without a single target.

    Per predicted label: texts, Σv, effective sample size (Σv)²/Σv², and each teacher's mean weight. Over the pool: each
    teacher's share, and a histogram of v(x) in equal bins from 0 to 1, or to its largest value if that is more.
    """
    parts = [supervised(method, rows, context, len(rows.teachers[0].logits)) for rows in chunks(source)]
    if not parts or any(p is None for p in parts):
        return None
    found = [p for p in parts if p is not None]
    v = torch.cat([p.weights for p in found]).double()
    label = torch.cat([p.targets.argmax(-1) for p in found])
    w = None
    if all(p.teacher_weights is not None for p in found):
        w = torch.cat([p.teacher_weights for p in found if p.teacher_weights is not None])
    top = max(1.0, float(v.max()))
    summary: dict[str, Any] = {
        "texts": len(v),
        "weight": float(v.sum()),
        "effective_sample_size": effective_sample_size(v),
        "weights": {"up_to": top, "counts": torch.histc(v, BINS, 0.0, top).int().tolist()},
        "labels": {
            name: {
                "texts": int((label == c).sum()),
                "weight": float(v[label == c].sum()),
                "effective_sample_size": effective_sample_size(v[label == c]),
                "teacher_share": _shares(None if w is None else w[label == c], teachers),
            }
            for c, name in enumerate(context.space.names)
        },
    }
    if w is not None:
        summary["teacher_share"] = _shares(w, teachers)
    return summary


def agreement(source: Source, space: LabelSpace, teachers: list[str]) -> dict[str, Any]:
    """How often the teachers agree on the pool. A teacher whose answer to a text does not count (`TeacherRows.counts`) is neither confident nor disagrees.

    `confident_teachers`: the number of texts on which no teacher, exactly one, or several are confident (maximum probability ≥ 0.9); with
    disjoint labels several confident teachers contradict each other. `shared`: per pair of teachers with common labels, of the
    texts on which one of them gives a common label, the share on which both give the same. `confidence`: per
    teacher a histogram over [0, 1] of c = 1 − u / log C_i on the texts where its answer counts.
    """
    n = len(teachers)
    outputs = _Outputs.of(source, n)
    confident = outputs.confident.sum(-1)
    c = outputs.confidence
    tops = torch.stack([space.index(i)[outputs.label[:, i]] for i in range(n)], -1)
    knows = space.has_label()
    shared = []
    for a in range(n):
        for b in range(a + 1, n):
            common = knows[a] & knows[b]
            either = (common[tops[:, a]] | common[tops[:, b]]) & outputs.counts[:, [a, b]].all(-1)
            if bool(either.any()):
                same = (tops[:, a] == tops[:, b])[either]
                pair = [teachers[a], teachers[b]]
                shared.append({"teachers": pair, "texts": int(either.sum()), "same": float(same.double().mean())})
    return {
        "confident_teachers": {
            "none": int((confident == 0).sum()),
            "one": int((confident == 1).sum()),
            "several": int((confident > 1).sum()),
        },
        "shared": shared,
        "confidence": {
            t: torch.histc(c[counts, i].clamp(0, 1), BINS, 0, 1).int().tolist()
            for i, (t, counts) in enumerate(zip(teachers, outputs.counts.T, strict=True))
        },
    }


def disagreement_warnings(source: Source, space: LabelSpace, teachers: list[str]) -> list[str]:
    """One sentence for each shared label on which two confident teachers mostly disagree: its name may have two meanings."""
    outputs, found = _Outputs.of(source, len(teachers)), list[str]()
    tops = [space.index(i)[outputs.label[:, i]] for i in range(len(teachers))]
    for label, owners in space.shared().items():
        c = space.position(label)
        for n, a in enumerate(owners):
            for b in owners[n + 1 :]:
                both = outputs.confident[:, [a, b]].all(-1) & ((tops[a] == c) | (tops[b] == c))
                clash = both & (tops[a] != tops[b])
                if int(both.sum()) >= 10 and int(clash.sum()) > 0.5 * int(both.sum()):
                    found.append(
                        f"label '{label}' is shared by teachers '{teachers[a]}' and '{teachers[b]}', but they disagree on "
                        f"{int(clash.sum())} of the {int(both.sum())} texts on which both are confident (at least {CONFIDENT}) and one predicts "
                        f"'{label}'. If it is a different class for each teacher, set `labels: {yaml_on_one_line({'keep_apart': [label]})}`. If it means "
                        f"'none of this teacher's other labels', set `labels: {yaml_on_one_line({'catch_all': [label]})}`."
                    )
    return found


def effective_sample_size(v: Tensor) -> float:
    """(Σv)² / Σv²: how many equally weighted texts these weights are worth. 0 if all are 0."""
    squares = float((v.double() ** 2).sum())
    return float(v.double().sum()) ** 2 / squares if squares > 0 else 0.0


@dataclass(frozen=True)
class _Outputs:
    """The teachers' outputs for a sample, read in one pass. `label`: [n, N] int64, the position of the most probable label among the teacher's own.
    `counts`: [n, N] bool, whether the teacher's answer counts. `confident`: [n, N] bool, whether it does, and this label has a probability of at least
    0.9 in the plain pass. `confidence`: [n, N], c = 1 − u / log C_i over the Monte-Carlo passes."""

    label: Tensor
    counts: Tensor
    confident: Tensor
    confidence: Tensor

    @classmethod
    def of(cls, source: Source, n: int) -> _Outputs:
        top, label, counts, confidences = [], [], [], []
        for rows in chunks(source):
            top.append(torch.stack([t.probabilities().max(-1).values for t in rows.teachers[:n]], -1))
            label.append(torch.stack([t.logits.argmax(-1) for t in rows.teachers[:n]], -1))
            some = rows.counts()
            counts.append(torch.ones_like(label[-1], dtype=torch.bool) if some is None else some[:, :n])
            confidences.append(torch.stack([confidence(t.mean_probabilities()) for t in rows.teachers[:n]], -1))
        counted = torch.cat(counts)
        return cls(torch.cat(label), counted, (torch.cat(top) >= CONFIDENT) & counted, torch.cat(confidences))


def _shares(w: Tensor | None, teachers: list[str]) -> dict[str, float] | None:
    if w is None or not len(w):
        return None
    return {name: float(w[:, i].double().mean()) for i, name in enumerate(teachers)}
