"""Alloy: teachers weighted by whose texts a text lies among, in their own early states (ours; docs/alloy.md).

Per text x, from a mixture over all labels that is fitted once to the unlabelled pool (uncertainty/ownership.py, Eqs. 1–5):

    γ_i(x): how much teacher i owns x          r_0(x): how much nobody does

    T(x) = Σ_i γ_i Pad_i(p_i)                  v(x) = (1 − r_0) (γ_(1) − γ_(2)) + 1e-6
    L = mean_x v(x) KL(T(x) ‖ S(x))

With disjoint label sets that is v [KL(γ ‖ Q) + Σ_i γ_i KL(p_i ‖ q restricted to Y_i)], Q the student's masses of the teachers' labels.

Where the pool is too small, or one half of it does not bear out what was fitted to the other (some teacher is not surer, beyond doubt, of
what it got there than of the rest), MUKA's weights of the same confidences serve instead, and the run says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import torch
from pydantic import Field
from torch import Tensor

from alloykit.labels import LabelSpace
from alloykit.methods.base import Context, Method, MethodOptions, Needs, State, Supervision
from alloykit.methods.early_states import MOST, all_early_states, early_layers
from alloykit.methods.muka import Muka, MukaOptions
from alloykit.rows import Rows, Source, chunks, sample
from alloykit.uncertainty.ownership import (
    Ownership,
    Whitening,
    half_standardised,
    start,
    teachers_share,
)

WHOLE, FEW, CONTRADICTED = 0, 1, 2  # what the fit came to
FLOOR = 1e-6
EXAMPLES = 12  # texts that changed owner, kept for the report
DOUBT = 1.64  # standard errors: chance alone comes so far once in twenty times


class AlloyOptions(MethodOptions):
    confidence: Literal["entropy", "percentile", "mixture", "density"] = "entropy"
    """What the fit starts from, and falls back to: as MUKA's option of this name, without Monte-Carlo passes."""
    dimensions: int = Field(32, gt=0)
    """D: principal components of the teachers' states; fewer where there are less than eight texts for each."""
    texts_per_label: int = Field(20, gt=0)
    """Below so many texts for every label of the union the fit is not attempted."""


class Alloy(Method):
    """T(x) = Σ_i γ_i Pad_i(p_i), γ from a mixture fitted to the pool."""

    name = "alloy"
    title = "Alloy: teachers weighted by whose texts a text lies among"
    reference = "alloykit"
    Options = AlloyOptions
    options: AlloyOptions

    @property
    def muka(self) -> Muka:
        return Muka(MukaOptions(confidence=self.options.confidence, passes=0))

    @property
    def needs(self) -> Needs:
        return Needs(teachers=2, pooled_states=True)

    def teacher_layers(self, context: Context) -> tuple[tuple[int, ...], ...]:
        """The embeddings, and the layers at one and two thirds of the depth."""
        return tuple(early_layers(t.layers) for t in context.teachers)

    def fit(self, pool: Source, context: Context) -> State:
        """The mixture, from at most 4,096 texts; and what came of it."""
        begun = dict(self.muka.fit(pool, context))
        fitted = Context(context.space, begun)
        drawn, confidences, states, answers = sample(pool, MOST), [], [], []
        for rows in chunks(drawn):
            confidences.append(self.muka.confidences(rows, fitted))
            states.append(all_early_states(rows))
            answers.append(log_answers(context.space, [t.probabilities() for t in rows.teachers]))
        c, a, owners = torch.cat(confidences), torch.cat(answers), context.space.knows()
        if len(c) < self.options.texts_per_label * context.space.size:
            return begun | {"outcome": torch.tensor(FEW), "texts": torch.tensor(len(c))}
        whitening = Whitening.fit(torch.cat(states), self.options.dimensions)
        z, evidence = whitening(torch.cat(states)), half_standardised(c, c)
        mixture = Ownership.fit(z, a, owners, evidence)
        gamma = teachers_share(*mixture.posterior(z, a), owners)
        crossed, half = torch.empty_like(gamma), torch.arange(len(z)) % 2 == 0
        for one, other in ((half, ~half), (~half, half)):
            part = Ownership.fit(z[one], a[one], owners, evidence[one])
            crossed[other] = teachers_share(*part.posterior(z[other], a[other]), owners)
        before, after = start(evidence)[0].argmax(-1), gamma.argmax(-1)
        lead, moved, surer = _lead(gamma), before != after, _surer(c, crossed)
        clearest = torch.where(moved, lead, -torch.ones_like(lead)).argsort(descending=True, stable=True)
        shown = clearest[: min(EXAMPLES, int(moved.sum()))]
        outcome = torch.tensor(WHOLE if bool((surer > DOUBT).all()) else CONTRADICTED)
        found = {"outcome": outcome, "texts": torch.tensor(len(c)), "surer": surer, "moved": moved.double().mean()}
        found["examples"] = torch.stack([drawn.positions[shown], before[shown], after[shown]], -1)
        return begun | found | vars(whitening) | mixture.state()

    def supervise(self, rows: Rows, context: Context) -> Supervision:
        if int(context.state["outcome"]) != WHOLE:
            return self.muka.supervise(rows, context)
        probabilities = [t.probabilities() for t in rows.teachers]
        gamma, r0 = self.ownership(rows, context)
        targets = sum(
            (gamma[:, i, None] * context.space.scatter(i, p.double()) for i, p in enumerate(probabilities)),
            torch.zeros(1, dtype=torch.float64, device=gamma.device),
        )
        v = (1 - r0) * _lead(gamma) + FLOOR
        return Supervision(targets.float(), v.float(), gamma.float())

    def ownership(self, rows: Rows, context: Context) -> tuple[Tensor, Tensor]:
        """γ [B, N] and r_0 [B] of any texts, float64."""
        probabilities = [t.probabilities() for t in rows.teachers]
        answers, device = log_answers(context.space, probabilities), probabilities[0].device
        whitening = Whitening(*(context.state[k].to(device) for k in ("shift", "scale", "directions")))
        r, r0 = Ownership.of(context.state, device).posterior(whitening(all_early_states(rows)), answers)
        return teachers_share(r, r0, context.space.knows().to(device)), r0

    def account(self, context: Context, names: Sequence[str]) -> dict[str, Any]:
        """Shares of the pool by round, how sure each teacher is of its own, and which texts changed owner."""
        state = context.state
        outcome, texts, least = int(state["outcome"]), int(state["texts"]), self.options.texts_per_label
        if outcome == FEW:
            few = f"{texts} texts are too few to see whose they are ({least * context.space.size} are needed): MUKA's weights serve"
            return {"texts": texts, "warnings": [few]}
        course, surer, warnings = state["course"].tolist(), state["surer"].tolist(), []
        for i, name in enumerate(names):
            if surer[i] <= DOUBT:
                warnings.append(
                    f"{name} is no surer of the texts that seem its own than of the others: MUKA's weights serve"
                )
            elif course[-1][i] * texts < least:
                share = f"{course[-1][i]:.1%} of the texts seem to be {name}'s"
                warnings.append(f"{share}: its labels will be learned from next to nothing")
        return {
            "texts": texts,
            "shares": {name: [row[k] for row in course] for k, name in enumerate([*names, "nobody"])},
            "changed": float(state["moved"]),
            "surer": dict(zip(names, surer, strict=True)),
            "examples": [{"position": at, "from": names[a], "to": names[b]} for at, a, b in state["examples"].tolist()],
            "warnings": warnings,
        }


def _lead(gamma: Tensor) -> Tensor:
    """γ_(1) − γ_(2). [B, N] → [B]"""
    first, second = gamma.topk(2, -1).values.unbind(-1)
    return first - second


def _surer(c: Tensor, gamma: Tensor) -> Tensor:
    """How much surer each teacher is of its own texts than of the others', in standard errors; 0 where it has all or none. [N]"""
    owner, found = gamma.argmax(-1), []
    for i in range(c.shape[1]):
        own, rest = c[owner == i, i], c[owner != i, i]
        if min(len(own), len(rest)) < 2:
            found.append(torch.zeros((), dtype=c.dtype))
            continue
        error = (own.var() / len(own) + rest.var() / len(rest)).sqrt().clamp(min=1e-9)
        found.append((own.mean() - rest.mean()) / error)
    return torch.stack(found)


def log_answers(space: LabelSpace, probabilities: list[Tensor]) -> Tensor:
    """log a_c of Eq. 2: the mean over a label's owners of log p_i(c | x). [B, C] float64"""
    known = space.knows().to(probabilities[0].device)
    logs = [space.scatter(i, p.double().clamp(min=1e-12).log()) for i, p in enumerate(probabilities)]
    return torch.stack(logs).sum(0) / known.sum(0)
