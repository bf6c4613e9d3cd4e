"""Alloy: each text is taught mostly by the teacher whose label clusters it falls into (ours).

A mixture over all labels is fitted once to the unlabelled pool. It gives for each text x:

    z(x), E_i(x): states and energies          methods/alloy/states.py, Eq. 1; methods/alloy/energies.py, Eqs. 2, 5
    texts that repeat others, left out of the fit              methods/alloy/repeated.py, Eq. 30
    r_c(x): how likely label c is              methods/alloy/mixture.py, Eqs. 3–6; softmax(α η), α by cross-fitting, Eq. 9
    γ_i(x), margin(x)                          methods/alloy/routing.py, Eqs. 7, 8
    T(x)                                       methods/alloy/target.py, Eqs. 11, 12
    b(x): how likely no teacher knows x        methods/alloy/background.py, Eqs. 18, 19; only if Eq. 20 finds such texts, otherwise 0
    f(x): 1, or what the energies say of the teacher       methods/alloy/energy_weights.py, Eqs. 28, 29; only if energies are clear
    v(x) = u(x) f(x) margin(x) + 1e-6          u(x) = 1 − ¾ b(x)                                                               (22)
    O(x): what each teacher says of its own labels             methods/own_labels.py, Eq. 23
    loss = mean_x [v(x) KL(T(x) ‖ S(x)) + λ u(x) O(x)]                                                                          (24)

If the pool is too small, energies and numbers of labels give the teachers their weights (methods/alloy/by_energy.py, Eqs. 25, 26). If the states cannot tell
labels apart, or two views of the texts often name different labels and different teachers (methods/alloy/acceptance.py), T is the ensemble's
(methods/alloy/by_ensemble.py, Eq. 32). In both cases the run warns.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from alloykit.labels import LabelSpace
from alloykit.methods.alloy.acceptance import ACCEPTED, TOO_FEW
from alloykit.methods.alloy.background_choice import ChosenMixture
from alloykit.methods.alloy.by_energy import FLOOR, by_energy
from alloykit.methods.alloy.by_ensemble import by_ensemble
from alloykit.methods.alloy.energy_weights import EnergyWeights
from alloykit.methods.alloy.estimate import estimate_of
from alloykit.methods.alloy.few_labels import FewLabels, answerable
from alloykit.methods.alloy.measures import fit_measures
from alloykit.methods.alloy.mixture import Anchors, View, joined_views
from alloykit.methods.alloy.options import STUDENT_ENCODER, AlloyOptions
from alloykit.methods.alloy.pool_view import PoolView
from alloykit.methods.alloy.read_pool import ReadPool
from alloykit.methods.alloy.report import alloy_report
from alloykit.methods.alloy.routing import routing_margin, teacher_weights
from alloykit.methods.alloy.states import StateSpace, raw_states
from alloykit.methods.alloy.target import target
from alloykit.methods.early_states import MAX_TEXTS, early_layers
from alloykit.methods.muka.logit_confidences import fit_logit_confidences, logit_scores
from alloykit.methods.own_labels import own_labels_kl
from alloykit.methods.protocol import (
    Context,
    EstimatedAccuracy,
    LossInputs,
    Method,
    Needs,
    State,
    Supervision,
    TextStates,
)
from alloykit.methods.report_sections import MethodReport
from alloykit.outputs import Rows, Source, chunks

MIN_PROBABILITY = 1e-12  # probability


class Alloy(Method):
    """T(x) = Σ_i γ_i [clarity_i Pad_i(p_i) + (1 − clarity_i) r restricted to Y_i], γ and r from a mixture fitted to the pool; and each teacher teaches its own labels."""

    name = "alloy"
    title = "Alloy: each text taught by the teacher whose label clusters it falls into"
    reference = "alloykit"
    loss_reads_states = False
    Options = AlloyOptions
    options: AlloyOptions

    @property
    def needs(self) -> Needs:
        encoder = self.options.encoder
        states = None if encoder is None else TextStates(None if encoder == STUDENT_ENCODER else encoder, "mean")
        return Needs(pooled_states=True, states_optional=True, text_states=states)

    def teacher_layers(self, context: Context) -> tuple[tuple[int, ...], ...]:
        """The embeddings, and the layers at one and two thirds of the depth."""
        return tuple(early_layers(t.layers) if t.layers else () for t in context.teachers)

    def fit(self, pool: Source, context: Context) -> State:
        """The mixture, from at most 4,096 texts (or as many as it needs), and whether it is used."""
        space, owners = context.space, context.space.has_label()
        least = self.options.least_texts(space)
        if len(pool) < self.options.min_texts or len(space.teachers) == 1:
            state = fit_logit_confidences(pool, context, "energy")
            return state | {"outcome": torch.tensor(TOO_FEW), "texts": torch.tensor(len(pool))}
        read = ReadPool.of(pool, max(MAX_TEXTS, least))
        state = fit_logit_confidences(read.texts_used(pool), context, "energy")
        texts, seen = self._seen_in(read, state, context)
        state |= {"texts": torch.tensor(len(texts)), "repeats": read.repeats.sum()}
        if len(texts) < least:
            return state | {"outcome": torch.tensor(TOO_FEW)}
        anchors = self._anchors(context, seen, state)
        chosen = ChosenMixture.fit(texts.view, owners, anchors, background=self.options.background, least=least)
        measures = fit_measures(texts, chosen, anchors, context, self.options.dimensions)
        return state | vars(seen) | chosen.state() | measures

    def _seen_in(self, read: ReadPool, state: State, context: Context) -> tuple[PoolView, StateSpace]:
        """The texts of the fit: those that are used and that some teacher has an answer to; and Eq. 1."""
        seen = read.state_space(self.options.dimensions)
        raw = torch.split(read.states, [len(rows.teachers[0].logits) for rows in read.batches])
        views = [self._view(rows, seen(s), state, context) for rows, s in zip(read.batches, raw, strict=True)]
        probabilities = [
            torch.cat([rows.teachers[i].probabilities() for rows in read.batches])
            for i in range(context.space.n_teachers)
        ]
        texts = PoolView(joined_views(views), read.positions, probabilities, read.states, read.of_teachers)
        some = torch.cat([_some_answer(rows) for rows in read.batches])
        used = read.used & some
        return (texts if bool(used.all()) else texts.part(used)), seen

    def supervise(self, rows: Rows, context: Context) -> Supervision:
        outcome, answered = int(context.state["outcome"]), _taken(rows)
        if outcome not in (ACCEPTED, TOO_FEW):
            return by_ensemble(rows, context, answered)
        if outcome == TOO_FEW:
            answers = log_answers(context.space, [t.probabilities() for t in rows.teachers], answered)
            return by_energy(rows, answers, self._energies(rows, context.state, context), context.space, answered)
        view, owners = self._seen(rows, context), context.space.has_label().to(rows.teachers[0].logits.device)
        device = view.z.device
        chosen = ChosenMixture.of(context.state, device)
        scores = chosen.scores(view, owners)
        if (few := FewLabels.of(context.state, device)) is not None:
            scores = few.scores(scores, view)
        r = torch.softmax(context.state["inverse_temperature"].to(device) * scores, -1)
        clear = context.state["clarity"].to(device)
        targets = target(context.space, [t.probabilities() for t in rows.teachers], r, clear, view.answered)
        u = chosen.counts(view, owners) if chosen.has_background else None
        by_energies = EnergyWeights.of(context.state, device)
        f = 1 if by_energies is None else by_energies(view.energies, r, owners, view.answered)
        v = (1 if u is None else u) * f * routing_margin(r, owners, view.answered) + FLOOR
        gamma = teacher_weights(r, owners, view.answered)
        return Supervision(targets.float(), v.float(), gamma.float(), None if u is None else u.float())

    def loss(self, inputs: LossInputs) -> dict[str, Tensor]:
        """Both terms of Eq. 24."""
        terms, weight = super().loss(inputs), self.options.own_labels
        if weight == 0:
            return terms
        own, u = own_labels_kl(inputs.rows, inputs.context.space, inputs.student.logits), inputs.target.counts
        return terms | {"own_labels": weight * (own if u is None else u.to(own) * own)}

    def fit_report(self, context: Context, teachers: Sequence[str]) -> MethodReport:
        return alloy_report(context, teachers, self.options)

    def estimated_accuracy(self, context: Context) -> EstimatedAccuracy | None:
        return estimate_of(context.state) if int(context.state["outcome"]) == ACCEPTED else None

    def _seen(self, rows: Rows, context: Context) -> View:
        """Any texts as the fitted mixture sees them."""
        space = StateSpace.of(context.state, rows.teachers[0].logits.device)
        return self._view(rows, space(raw_states(rows)[0]), context.state, context)

    def _anchors(self, context: Context, seen: StateSpace, state: State) -> Anchors | None:
        """The labelled texts as the mixture sees them; None without any. Those whose label no teacher with an answer knows are left out."""
        if context.labelled is None:
            return None
        views, labels, known = [], [], []
        for rows in chunks(context.labelled):
            assert rows.labels is not None
            views.append(self._view(rows, seen(raw_states(rows)[0]), state, context))
            labels.append(rows.labels)
            known.append(answerable(rows, context.space))
        at = torch.cat(known)
        return Anchors(joined_views(views), torch.cat(labels)).part(at) if bool(at.any()) else None

    def _view(self, rows: Rows, z: Tensor, state: State, context: Context) -> View:
        answered = _taken(rows)
        answers = log_answers(context.space, [t.probabilities() for t in rows.teachers], answered)
        return View(z, answers, self._energies(rows, state, context), answered)

    def _energies(self, rows: Rows, state: State, context: Context) -> Tensor:
        """E of Eq. 2, [B, N] float64."""
        energies = logit_scores(rows, context, "energy")
        mean, deviation = (state[key].to(energies.device) for key in ("logit_mean", "logit_deviation"))
        return (energies - mean) / deviation


def log_answers(space: LabelSpace, probabilities: list[Tensor], answered: Tensor | None = None) -> Tensor:
    """log a_c of Eqs. 3 and 4: the mean over the teachers that know c, and have an answer, of log p_i(c | x). [B, C] float64; log 1e-12 for a
    label that none of them knows."""
    known = space.has_label().to(probabilities[0].device)
    logs = [space.scatter(i, p.double().clamp(min=MIN_PROBABILITY).log()) for i, p in enumerate(probabilities)]
    if answered is None:
        return torch.stack(logs).sum(0) / known.sum(0)
    has, count = answered.double(), answered.double() @ known.double()
    total = torch.stack([has[:, i, None] * log for i, log in enumerate(logs)]).sum(0)
    return torch.where(count > 0, total / count.clamp(min=1), math.log(MIN_PROBABILITY))


def _taken(rows: Rows) -> Tensor | None:
    """Which answers are used, [B, N] bool: those that there are; of a text that no teacher answers, all (it is not learned from)."""
    answered = rows.counts()
    return None if answered is None else answered | ~answered.any(-1, keepdim=True)


def _some_answer(rows: Rows) -> Tensor:
    """Whether any teacher has an answer, [B] bool."""
    answered = rows.counts()
    return torch.ones(len(rows.teachers[0].logits), dtype=torch.bool) if answered is None else answered.any(-1)
