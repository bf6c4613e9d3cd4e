"""Routing of real texts by StrataNet's confidences, with statistics of real texts and of generated ones.

The statistics come from the pool's texts: the teachers' own labelled ones, or those generated for each teacher. The test texts are routed. This is repeated
with a second teacher of twice the width: its states beside a copy of them with noise of a hundredth of their spread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from alloykit.data import Texts
from alloykit.knowledge.sweep.sweep import sweep
from alloykit.methods.protocol import ModelShape
from alloykit.methods.stratanet.method import StrataNet
from alloykit.outputs import Rows, Source, TeacherRows, chunks
from benchmarks.harness.stages import Stages

KINDS = ("rmd", "md", "msp")
DOUBLED = "rmd, doubled"


def owners(stages: Stages, pool: str) -> dict[str, Any]:
    """By kind of confidence and block of the student: how often the largest one is that of a teacher that knows the text, mean over the teachers."""
    test, own = (stages.texts_of(path, want_labels=True) for path in (stages.test(), stages.pool(pool)))
    found: dict[str, Any] = {"texts": len(own), "tested": len(test)}
    for name in (*KINDS, DOUBLED):
        doubled = name == DOUBLED
        spec = {"name": "stratanet", "confidence": "rmd" if doubled else name}
        sources = [_read(stages, pool, texts, spec) for texts in (own, test)]
        known, asked = map(Doubled, sources) if doubled else sources
        prepared = stages.prepared(pool, test, spec)
        shapes = prepared.context.teachers
        context = replace(prepared.context, generated=known, teachers=_doubled(shapes) if doubled else shapes)
        method = StrataNet(prepared.method.options)
        context = replace(context, state=dict(method.fit(known, context)))
        odds = torch.cat([method.log_odds(rows, context) for rows in chunks(asked)])
        knows = prepared.space.has_label()[:, prepared.labels(test)]
        found[name] = [_balanced(odds[..., b].argmax(-1), knows) for b in range(odds.shape[-1])]
    return found


def _read(stages: Stages, pool: str, texts: Texts, spec: dict[str, Any]) -> Source:
    """With the teachers' states of all blocks."""
    prepared = stages.prepared(pool, texts, spec)
    sweep(prepared.infos, texts, prepared.store(stages.knowledge(pool)), prepared.sweep_options())
    return stages.outputs(pool, texts, spec)[1]


def _doubled(shapes: Sequence[ModelShape]) -> tuple[ModelShape, ...]:
    first, second, *rest = shapes
    return (first, ModelShape(2 * second.hidden_size, second.layers), *rest)


def _balanced(routed: Tensor, knows: Tensor) -> float:
    """routed [n], knows [N, n] → share, mean over the texts of each teacher."""
    right = knows[routed, torch.arange(len(routed))]
    return float(torch.stack([right[known].double().mean() for known in knows if bool(known.any())]).mean())


@dataclass(frozen=True)
class Doubled:
    """A source whose second teacher has states of twice the width."""

    source: Source

    def __len__(self) -> int:
        return len(self.source)

    def rows(self, indices: Sequence[int] | Tensor) -> Rows:
        rows = self.source.rows(indices)
        first, second, *rest = rows.teachers
        return replace(rows, teachers=(first, _wide(second), *rest))


def _wide(teacher: TeacherRows) -> TeacherRows:
    noise = torch.Generator().manual_seed(0)
    states = teacher.pooled_states or ()
    wide = tuple(torch.cat([s, s + 0.01 * s.float().std() * torch.randn(s.shape, generator=noise)], -1) for s in states)
    return replace(teacher, pooled_states=wide)
