"""Alloy: each text is taught mostly by the teacher whose label clusters it falls into (ours).

Per text x, from a mixture over all labels that is fitted once to the unlabelled pool (methods/alloy/mixture.py, Eqs. 2–4, started as methods/alloy/initial.py, Eq. 6),
with posteriors tempered by two-fold cross-fitting (methods/alloy/cross_fit.py, Eq. 7):

    r_c(x), r_0(x): how likely label c is, and that no teacher knows the text
    γ_i(x): how much teacher i teaches the text (methods/alloy/routing.py, Eq. 5)          margin(x): methods/alloy/routing.py, Eq. 8

    T(x) = ½ Σ_i γ_i Pad_i(p̃_i) + ½ r(x) / (1 − r_0)          p̃_i: teacher i's answer, sharpened where it is flat (stats/temperature.py, Eq. 1)
    v(x) = (1 − r_0) margin + 1e-6
    L = mean_x v(x) KL(T(x) ‖ S(x))

Half of the target is what the teachers answer, half what their answers and states together say.

Where the pool is too small, or the fit is not accepted (methods/alloy/acceptance.py, Eqs. 9, 10), MUKA's weights from the same confidences are used
instead, and the run says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from alloykit.labels import LabelSpace
from alloykit.methods.alloy.acceptance import ACCEPTED, REJECTED, TOO_FEW, accepted, welch_t
from alloykit.methods.alloy.cross_fit import cross_fit, fit_inverse_temperature, label_agreement
from alloykit.methods.alloy.initial import half_standardised, initial_responsibilities, initial_weights
from alloykit.methods.alloy.mixture import LabelMixture, Whitening
from alloykit.methods.alloy.options import AlloyOptions
from alloykit.methods.alloy.report import alloy_report, texts_that_moved
from alloykit.methods.alloy.routing import margin, teacher_weights
from alloykit.methods.early_states import MOST_TEXTS, all_early_states, early_layers
from alloykit.methods.muka.method import Muka
from alloykit.methods.muka.options import MukaOptions
from alloykit.methods.protocol import Context, Method, Needs, State, Supervision
from alloykit.methods.report_sections import MethodReport
from alloykit.outputs import Rows, Source, chunks, sample
from alloykit.stats.temperature import fit_sharpening, sharpened

FLOOR = 1e-6


class Alloy(Method):
    """T(x) = ½ Σ_i γ_i Pad_i(p̃_i) + ½ r / (1 − r_0), γ and r from a mixture fitted to the pool."""

    name = "alloy"
    title = "Alloy: each text taught by the teacher whose label clusters it falls into"
    reference = "alloykit"
    Options = AlloyOptions
    options: AlloyOptions

    @property
    def muka(self) -> Muka:
        """Gives the confidences, and the weights where the fit is not accepted."""
        return Muka(MukaOptions(confidence=self.options.confidence, passes=0))

    @property
    def needs(self) -> Needs:
        return Needs(pooled_states=True)

    def teacher_layers(self, context: Context) -> tuple[tuple[int, ...], ...]:
        """The embeddings, and the layers at one and two thirds of the depth."""
        return tuple(early_layers(t.layers) for t in context.teachers)

    def fit(self, pool: Source, context: Context) -> State:
        """The mixture, from at most 4,096 texts (or as many as it needs), and whether it is accepted."""
        space = context.space
        state, least = dict(self.muka.fit(pool, context)), self.options.least_texts(space)
        if len(pool) < least or len(space.teachers) == 1:
            return state | {"outcome": torch.tensor(TOO_FEW), "texts": torch.tensor(len(pool))}
        sampled = sample(pool, max(MOST_TEXTS, least))
        c, outputs, states = self._read(sampled, Context(space, state))
        sharpening = [fit_sharpening(p) for p in outputs]
        answers = log_answers(space, [sharpened(p, s) for p, s in zip(outputs, sharpening, strict=True)])
        owners, whitening = space.knows(), Whitening.fit(states, self.options.dimensions)
        z, evidence = whitening(states), half_standardised(c, c)
        del states
        mixture = LabelMixture.fit(z, answers, owners, evidence)
        scores, cross_fitted = mixture.scores(z, answers), cross_fit(z, answers, owners, evidence)
        mixture = replace(mixture, inverse_temperature=fit_inverse_temperature(scores, cross_fitted))
        r, r0 = mixture.responsibilities(z, answers)
        t_by_teacher = welch_t(c, *assigned(cross_fitted, owners), self.options.texts_per_label // 4)
        agreement = label_agreement(scores, cross_fitted, r0)
        r_start = initial_responsibilities(answers, owners, evidence)[0]
        state |= {
            "outcome": torch.tensor(ACCEPTED if accepted(t_by_teacher, agreement) else REJECTED),
            "texts": torch.tensor(len(c)),
            "t_by_teacher": t_by_teacher,
            "agreement": torch.tensor(agreement, dtype=torch.float64),
            "sharpening": torch.tensor(sharpening, dtype=torch.float64),
            "texts_by_label": torch.stack([r_start.sum(0) / r_start.sum(), r.sum(0) / r.sum()]) * len(c),
        }
        state |= texts_that_moved(sampled.positions, initial_weights(evidence)[0], r, r0, owners)
        return state | vars(whitening) | mixture.state()

    def supervise(self, rows: Rows, context: Context) -> Supervision:
        if int(context.state["outcome"]) != ACCEPTED:
            return self.muka.supervise(rows, context)
        answers, (r, r0) = self._answers(rows, context), self.responsibilities(rows, context)
        owners = context.space.knows().to(r.device)
        gamma = teacher_weights(r, r0, owners)
        parts = [gamma[:, i, None] * context.space.scatter(i, p) for i, p in enumerate(answers)]
        answered = torch.stack(parts).sum(0)
        known = r.sum(-1, keepdim=True)  # 1 − r_0, without its rounding
        targets = torch.where(known > 1e-9, 0.5 * answered + 0.5 * r / known.clamp(min=1e-9), answered)
        v = (1 - r0) * margin(r, r0, owners) + FLOOR
        return Supervision(targets.float(), v.float(), gamma.float())

    def responsibilities(self, rows: Rows, context: Context) -> tuple[Tensor, Tensor]:
        """r [B, C] and r_0 [B] of any texts, float64."""
        answers = log_answers(context.space, self._answers(rows, context))
        z = Whitening.of(context.state, answers.device)(all_early_states(rows))
        return LabelMixture.of(context.state, answers.device).responsibilities(z, answers)

    def warnings(self, context: Context) -> list[str]:
        return self.muka.warnings(context)

    def fit_report(self, context: Context, teachers: Sequence[str]) -> MethodReport:
        return alloy_report(context, teachers, self.options)

    def _read(self, source: Source, context: Context) -> tuple[Tensor, list[Tensor], Tensor]:
        """Confidences [n, N], each teacher's probabilities [n, C_i], and early states [n, d]."""
        confidences, outputs, states = [], [], []
        for rows in chunks(source):
            confidences.append(self.muka.confidences(rows, context))
            outputs.append([t.probabilities() for t in rows.teachers])
            states.append(all_early_states(rows))
        return torch.cat(confidences), [torch.cat(p) for p in zip(*outputs, strict=True)], torch.cat(states)

    def _answers(self, rows: Rows, context: Context) -> list[Tensor]:
        """p̃ of Eq. 1."""
        sharpening = context.state["sharpening"].tolist()
        return [sharpened(t.probabilities(), s) for t, s in zip(rows.teachers, sharpening, strict=True)]


def log_answers(space: LabelSpace, probabilities: list[Tensor]) -> Tensor:
    """log a_c of Eq. 3: the mean over the teachers that know c of log p_i(c | x). [B, C] float64"""
    known = space.knows().to(probabilities[0].device)
    logs = [space.scatter(i, p.double().clamp(min=1e-12).log()) for i, p in enumerate(probabilities)]
    return torch.stack(logs).sum(0) / known.sum(0)


def assigned(cross_fitted: Tensor, owners: Tensor) -> tuple[Tensor, Tensor]:
    """By the mixture of the other half: the texts that are assigned to each teacher, and those that are assigned to others only. bool [n, N] each."""
    r = torch.softmax(cross_fitted, -1)[:, :-1]
    own, known = r @ owners.double().T > 0.5, r.sum(-1, keepdim=True) > 0.5
    return own, known & ~own
