"""Alloy: teachers weighted by whose texts a text lies among, in their own early states (ours).

Per text x, from a mixture over all labels that is fitted once to the unlabelled pool (methods/alloy/mixture.py, Eqs. 2–6), and is as sure as
halves of the pool bear each other out (methods/alloy/cross_fit.py, Eq. 7):

    γ_i(x): how much teacher i owns x          r_0(x): how much nobody does          lead(x): methods/alloy/acceptance.py, Eq. 8

    T(x) = ½ Σ_i γ_i Pad_i(p̃_i) + ½ r(x) / (1 − r_0)          p̃_i: teacher i's answer, sharpened where it is flat (methods/alloy/sharpness.py, Eq. 1)
    v(x) = (1 − r_0) lead + 1e-6
    L = mean_x v(x) KL(T(x) ‖ S(x))

Half of the target is what the teachers answer, half what their answers and states together say. With disjoint label sets lead = γ_(1) − γ_(2).

Where the pool is too small, or one half of it does not bear out what was fitted to the other (teachers are no surer of what they got there
than of the other teachers' texts: Eq. 9; or the two call too many texts by different labels: Eq. 10), MUKA's weights of the same confidences
serve instead, and the run says so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import torch
from pydantic import Field
from torch import Tensor

from alloykit.labels import LabelSpace
from alloykit.methods.alloy.acceptance import borne_out, knowing, lead, surer
from alloykit.methods.alloy.cross_fit import agreement, crossed, exponent
from alloykit.methods.alloy.early_states import MOST, all_early_states, early_layers
from alloykit.methods.alloy.mixture import Ownership, Whitening, begin, half_standardised, start, teachers_share
from alloykit.methods.alloy.report import routing_sections
from alloykit.methods.alloy.sharpness import power, sharpened
from alloykit.methods.muka import Muka, MukaOptions
from alloykit.methods.protocol import Context, Method, MethodOptions, Needs, State, Supervision
from alloykit.methods.report_sections import MethodReport
from alloykit.outputs import Rows, Source, chunks, sample

WHOLE, FEW, CONTRADICTED = 0, 1, 2  # what the fit came to
FLOOR = 1e-6
EXAMPLES = 12  # texts that changed owner, kept for the report
DOUBT = 1.64  # standard errors: chance alone comes so far once in twenty times
AGREED = 2 / 3  # of the texts that somebody knows, at least: the same label by both halves' mixtures
LOST = 0.25  # alarm: a label that had many texts is left with less than this share of `texts_per_label`
NOBODYS = 0.4  # alarm: more than this share of the texts are nobody's


class AlloyOptions(MethodOptions):
    confidence: Literal["entropy", "percentile", "mixture", "density"] = "entropy"
    """What the fit starts from, and falls back to: as MUKA's option of this name, without Monte-Carlo passes."""
    dimensions: int = Field(32, gt=0)
    """D: principal components of the teachers' states; fewer where there are less than eight texts for each."""
    texts_per_label: int = Field(20, gt=0)
    """Below so many texts for every label of the union the fit is not attempted; nor is it believed of a teacher that ends with less than a quarter of them."""
    min_texts: int = Field(300, gt=0)
    """Nor below so many texts in all."""


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
        return Needs(pooled_states=True)

    def teacher_layers(self, context: Context) -> tuple[tuple[int, ...], ...]:
        """The embeddings, and the layers at one and two thirds of the depth."""
        return tuple(early_layers(t.layers) for t in context.teachers)

    def warnings(self, context: Context) -> list[str]:
        return self.muka.warnings(context)

    def least(self, space: LabelSpace) -> int:
        """How many texts a fit needs."""
        return max(self.options.min_texts, self.options.texts_per_label * space.size)

    def fit(self, pool: Source, context: Context) -> State:
        """The mixture, from at most 4,096 texts (or as many as it needs); and what came of it."""
        begun, space = dict(self.muka.fit(pool, context)), context.space
        fitted, least = Context(space, begun), self.least(space)
        if len(pool) < least or len(space.teachers) == 1:
            return begun | {"outcome": torch.tensor(FEW), "texts": torch.tensor(len(pool))}
        drawn, confidences, states, said = sample(pool, max(MOST, least)), [], [], []
        for rows in chunks(drawn):
            confidences.append(self.muka.confidences(rows, fitted))
            states.append(all_early_states(rows))
            said.append([t.probabilities() for t in rows.teachers])
        each = [torch.cat(of_one) for of_one in zip(*said, strict=True)]
        powers = [power(p) for p in each]
        a = log_answers(space, [sharpened(p, beta) for p, beta in zip(each, powers, strict=True)])
        c, owners, everything = torch.cat(confidences), space.knows(), torch.cat(states)
        del states
        whitening = Whitening.fit(everything, self.options.dimensions)
        z, evidence = whitening(everything), half_standardised(c, c)
        mixture = Ownership.fit(z, a, owners, evidence)
        scores, halves = mixture.scores(z, a), crossed(z, a, owners, evidence)
        mixture = replace(mixture, exponent=exponent(scores, halves))
        r, r0 = mixture.posterior(z, a)
        held, fewest = owners.double(), self.options.texts_per_label // 4
        other = torch.softmax(halves, -1)[:, :-1]
        own, known = other @ held.T > 0.5, other.sum(-1, keepdim=True) > 0.5
        believed = surer(c, own, known & ~own, fewest)
        first = begin(a, owners, evidence)[0]
        agreed = agreement(scores, halves, r0)
        trusted = borne_out(believed, DOUBT) and agreed >= AGREED
        found = {
            "outcome": torch.tensor(WHOLE if trusted else CONTRADICTED), "texts": torch.tensor(len(c)),
            "surer": believed, "agreed": torch.tensor(agreed, dtype=torch.float64), "powers": torch.tensor(powers, dtype=torch.float64),
            "labels": torch.stack([first.sum(0) / first.sum(), r.sum(0) / r.sum()]) * len(c),
        }  # fmt: skip
        found |= _moved(drawn.positions, start(evidence)[0], r, r0, owners)
        return begun | found | vars(whitening) | mixture.state()

    def supervise(self, rows: Rows, context: Context) -> Supervision:
        if int(context.state["outcome"]) != WHOLE:
            return self.muka.supervise(rows, context)
        answers, (r, r0) = self._answers(rows, context), self.posterior(rows, context)
        owners = context.space.knows().to(r.device)
        gamma = teachers_share(r, r0, owners)
        taught = torch.stack([gamma[:, i, None] * context.space.scatter(i, p) for i, p in enumerate(answers)]).sum(0)
        known = r.sum(-1, keepdim=True)  # 1 − r_0, without its rounding
        targets = torch.where(known > 1e-9, 0.5 * taught + 0.5 * r / known.clamp(min=1e-9), taught)
        v = (1 - r0) * lead(r, r0, owners) + FLOOR
        return Supervision(targets.float(), v.float(), gamma.float())

    def posterior(self, rows: Rows, context: Context) -> tuple[Tensor, Tensor]:
        """r [B, C] and r_0 [B] of any texts, float64."""
        answers = log_answers(context.space, self._answers(rows, context))
        device = answers.device
        whitening = Whitening(*(context.state[k].to(device) for k in ("shift", "scale", "directions")))
        return Ownership.of(context.state, device).posterior(whitening(all_early_states(rows)), answers)

    def _answers(self, rows: Rows, context: Context) -> list[Tensor]:
        """p̃ of Eq. 1."""
        powers = context.state["powers"].tolist()
        return [sharpened(t.probabilities(), beta) for t, beta in zip(rows.teachers, powers, strict=True)]

    def fit_report(self, context: Context, teachers: Sequence[str]) -> MethodReport:
        found = self.findings(context, teachers)
        return MethodReport(
            warnings=tuple(found.get("warnings", ())), sections=routing_sections(found, teachers, DOUBT, AGREED)
        )

    def findings(self, context: Context, names: Sequence[str]) -> dict[str, Any]:
        """Shares of the pool by round, how sure each teacher is of its own, which texts changed owner, and what looks wrong."""
        state = context.state
        outcome, texts = int(state["outcome"]), int(state["texts"])
        if len(names) == 1:
            return {"texts": texts}  # every text is its own
        if outcome == FEW:
            few = f"{texts} texts are too few to see whose they are ({self.least(context.space)} are needed): MUKA's weights serve"
            return {"texts": texts, "warnings": [few]}
        course, judged = state["course"].tolist(), state["surer"]
        examples = zip(state["examples"].tolist(), state["examples_shares"].tolist(), strict=True)
        return {
            "texts": texts,
            "used": outcome == WHOLE,
            "shares": {name: [row[k] for row in course] for k, name in enumerate([*names, "nobody"])},
            "changed": float(state["moved"]),
            "agreed": float(state["agreed"]),
            "exponent": float(state["exponent"]),
            "powers": dict(zip(names, state["powers"].tolist(), strict=True)),
            "surer": {name: t if math.isfinite(t) else None for name, t in zip(names, judged.tolist(), strict=True)},
            "examples": [
                {"position": at, "from": names[a], "to": names[b], "share_at_first": first, "share": last}
                for (at, a, b), (first, last) in examples
            ],
            "warnings": _why_not(names, course[-1][:-1], judged, float(state["agreed"]), texts) if outcome != WHOLE else self._alarms(context, names),
        }  # fmt: skip

    def _alarms(self, context: Context, teachers: Sequence[str]) -> list[str]:
        """What a fit that is used may have wrong: teachers whose texts look like others', labels that lost theirs, and much that is nobody's."""
        state, names = context.state, context.space.names
        first, last = state["labels"].tolist()
        least = self.options.texts_per_label
        lost = [c for c in range(len(names)) if first[c] >= least and last[c] < LOST * least]
        warnings = [
            f"of the texts that seem to be {name}'s it is no surer than of the other teachers'"
            for name, t in zip(teachers, state["surer"].tolist(), strict=True)
            if t <= DOUBT
        ]
        warnings += [
            f"of the {first[c]:.0f} texts that seemed to be '{names[c]}' at first {last[c]:.0f} are left" for c in lost
        ]
        if (nobodys := float(state["course"][-1, -1])) > NOBODYS:
            warnings.append(f"{nobodys:.0%} of the texts seem to be nobody's")
        return warnings


def _why_not(names: Sequence[str], shares: Sequence[float], judged: Tensor, agreed: float, texts: int) -> list[str]:
    """Why a fit is not used, teacher by teacher, and as a whole."""
    if bool(judged.isnan().all()):
        return ["every teacher seems to know every text, so that nothing can be told apart: MUKA's weights serve"]
    found = []
    for name, share, t in zip(names, shares, judged.tolist(), strict=True):
        if t == -math.inf:
            found.append(f"hardly any text ({share * texts:.0f}) seems to be {name}'s")
        elif t <= -DOUBT:
            found.append(f"{name} is surer of the other teachers' texts than of those that seem its own")
    if not found and not borne_out(judged, DOUBT):
        found.append("the teachers are no surer of the texts that seem their own than of the others'")
    if agreed < AGREED:
        found.append(
            f"fitted to one half of the texts and to the other, it calls only {agreed:.1%} of those that somebody knows by the same label"
        )
    return [f"{line}: MUKA's weights serve" for line in found]


def _moved(positions: Tensor, first: Tensor, r: Tensor, r0: Tensor, owners: Tensor) -> dict[str, Tensor]:
    """The share of texts whose label, in the end, the teacher of the start does not know; the clearest of them."""
    k = knowing(r, r0, owners)
    before, after = first.argmax(-1), k.argmax(-1)
    moved = ~owners[before, r.argmax(-1)]
    clearest = torch.where(moved, lead(r, r0, owners) * (1 - r0), -torch.ones_like(r0)).argsort(
        descending=True, stable=True
    )
    shown = clearest[: min(EXAMPLES, int(moved.sum()))]
    who = after[shown].unsqueeze(1)
    return {
        "moved": moved.double().mean(),
        "examples": torch.stack([positions[shown], before[shown], after[shown]], -1),
        "examples_shares": torch.cat([first[shown].gather(1, who), k[shown].gather(1, who)], -1),
    }


def log_answers(space: LabelSpace, probabilities: list[Tensor]) -> Tensor:
    """log a_c of Eq. 3: the mean over a label's owners of log p_i(c | x). [B, C] float64"""
    known = space.knows().to(probabilities[0].device)
    logs = [space.scatter(i, p.double().clamp(min=1e-12).log()) for i, p in enumerate(probabilities)]
    return torch.stack(logs).sum(0) / known.sum(0)
