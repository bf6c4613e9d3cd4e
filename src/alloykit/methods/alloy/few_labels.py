"""What a few labelled texts add: a classifier on states, answers and energies, combined with the mixture (ours: Alloy, Eqs. 13–15).

    q(x) = softmax(W [z(x), max(log a(x), −6), 2 E(x)] + bias) over L       multinomial logistic regression on the labelled texts      (13)
    ρ_c(x) ∝ exp(α′ η_c(x) + g_c(x))          g_c = β log q_c − log q̄ for c ∈ L, otherwise 0                                     (14)
    q̄(x) = Σ_{c ∈ L} exp(α′ η_c) q_c^β / Σ_{c ∈ L} exp(α′ η_c)
    α′, β = argmax mean_x log ρ_{label(x)}(x) over the labelled texts, 0.02 ≤ α′ ≤ 1, 0 ≤ β ≤ 2
    r_c(x) ∝ exp(α [η_c(x) + g_c(x) / α′])          α of Eq. 9                                                                  (15)

L: the labels that have a labelled text. The classifier knows nothing of the others. With q̄, the labels of L have the same probability together as without the
classifier, so it only divides this probability among them. If L has all labels, q̄ does not matter.

η are the mixture's scores, the logarithms of Eq. 6; the labelled texts are its anchors (methods/alloy/mixture.py). For α′ and β both parts are cross-fitted: a labelled text
is scored by a mixture and a classifier that were fitted without it. So the labelled texts decide the weights of mixture and classifier. β is 0
unless it raises the mean log ρ by more than its standard error over the labelled texts. With one text per label it is 0. With many labels
and twenty texts per label, the classifier counts more.

ρ is calibrated: if nine of ten texts of the pool have, by ρ, a label of L, its mean confidence over the pool estimates the accuracy of r. Students learn better from r, which is more confident. So the labelled
texts change the order of the labels in r, and α of Eq. 9 stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from alloykit.labels import LabelSpace
from alloykit.methods.alloy.mixture import Anchors, LabelMixture, View
from alloykit.outputs import Rows
from alloykit.progress import bar

FOLDS = 5
PENALTY = 0.1  # C of scikit-learn's LogisticRegression
MIN_ANSWER = -6.0
ENERGY_SCALE = 2.0
MIN_PROBABILITY = 1e-4
ALPHA, BETA = (0.02, 1.0), (0.0, 2.0)
SLOW = 100_000  # labelled texts times labels; the classifiers of more of them take seconds
COVERED = 0.9  # share of the pool
STARTS = ((0.1, 0.0), (0.1, 1.0))


@dataclass(frozen=True)
class LabelClassifier:
    """Eq. 13. `weights` [C, F], `bias` [C]; `seen` [C]: 1 for the labels that have a labelled text. All float64."""

    weights: Tensor
    bias: Tensor
    seen: Tensor

    @classmethod
    def fit(cls, anchors: Anchors) -> LabelClassifier:
        """All weights are 0 where the labelled texts have one label only."""
        from sklearn.linear_model import LogisticRegression

        features, labels = _features(anchors.view), anchors.labels
        c = anchors.view.answers.shape[1]
        weights, bias = torch.zeros(c, features.shape[1], dtype=torch.float64), torch.zeros(c, dtype=torch.float64)
        seen = labels.bincount(minlength=c) > 0
        if int(seen.sum()) > 1:
            found = LogisticRegression(C=PENALTY, max_iter=300).fit(features.numpy(), labels.numpy())
            w, b = torch.from_numpy(found.coef_).double(), torch.from_numpy(found.intercept_).double()
            if len(w) == 1:  # of two labels, for the second one
                w, b = torch.cat([torch.zeros_like(w), w]), torch.cat([torch.zeros_like(b), b])
            weights[seen], bias[seen] = w, b
        return cls(weights, bias, seen.double())

    @classmethod
    def of(cls, state: Mapping[str, Tensor], device: torch.device) -> LabelClassifier:
        return cls(**{f.name: state[f"classifier_{f.name}"].to(device) for f in fields(cls)})

    def state(self) -> dict[str, Tensor]:
        return {f"classifier_{name}": value for name, value in vars(self).items()}

    def log_probabilities(self, view: View) -> Tensor:
        """log q, [B, C]: of the labels that have a labelled text; 0 for the others."""
        logits, seen = _features(view) @ self.weights.T + self.bias, self.seen > 0
        q = torch.softmax(logits.masked_fill(~seen, -torch.inf), -1) + MIN_PROBABILITY
        return (q / q[:, seen].sum(-1, keepdim=True)).log().masked_fill(~seen, 0.0)


@dataclass(frozen=True)
class FewLabels:
    """Eq. 14, fitted. `alpha` (α′), `beta`: []. `accuracy`: share of the labelled texts that get their label from the cross-fitted ρ; `texts`: their number."""

    classifier: LabelClassifier
    alpha: Tensor
    beta: Tensor
    accuracy: float
    texts: int

    @classmethod
    def fit(cls, view: View, anchors: Anchors, owners: Tensor, *, background: bool = False) -> FewLabels:
        """view: the pool. owners [N, C] bool. background: whether the mixtures have one."""
        from scipy.optimize import minimize

        scores, logs, seen = (torch.zeros_like(anchors.view.answers) for _ in range(3))
        fold = _folds(anchors.labels)
        folds = [(fold == k, anchors.part(fold != k), anchors.view.part(fold == k)) for k in sorted(set(fold.tolist()))]
        for held, rest, asked in folds:
            scores[held] = LabelMixture.fit(view, owners, rest, background=background).scores(asked, owners)
        slow = anchors.view.answers.numel() > SLOW
        with bar("classifier of the labelled texts", len(folds) + 1 if slow else 0, "fits") as advance:
            for held, rest, asked in folds:
                without = LabelClassifier.fit(rest)
                logs[held], seen[held] = without.log_probabilities(asked), without.seen
                advance(int(slow))
            classifier = LabelClassifier.fit(anchors)
            advance(int(slow))

        def likelihood(at: Sequence[float]) -> Tensor:
            rho = torch.log_softmax(combined(at[0] * scores, at[1] * logs, seen), -1)
            return rho.gather(1, anchors.labels.unsqueeze(1)).squeeze(1)

        def best(limits: tuple[float, float]) -> list[float]:
            found = (
                minimize(lambda at: -float(likelihood(at).mean()), start, bounds=(ALPHA, limits), method="L-BFGS-B")
                for start in STARTS
            )
            return [float(value) for value in min(found, key=lambda each: float(each.fun)).x]

        chosen, mixture_only = best(BETA), best((0.0, 0.0))
        gained = likelihood(chosen) - likelihood(mixture_only)
        error = float(gained.std()) / len(gained) ** 0.5 if len(gained) > 1 else float("inf")
        if float(gained.mean()) <= error:
            chosen = mixture_only
        alpha, beta = (torch.tensor(value, dtype=torch.float64) for value in chosen)
        named = combined(alpha * scores, beta * logs, seen).argmax(-1)
        right = float((named == anchors.labels).double().mean())
        return cls(classifier, alpha, beta, right, len(anchors.labels))

    def covers(self, rho: Tensor) -> bool:
        """Whether the labelled texts say how accurate the routing is: whether nearly all texts of the pool have, by ρ [n, C], a label of L."""
        return float(self.classifier.seen[rho.argmax(-1)].mean()) >= COVERED

    def scores(self, mixture: Tensor, view: View) -> Tensor:
        """η + g / α′ of Eq. 15. mixture: η, [B, C]."""
        logs, seen = self.classifier.log_probabilities(view), self.classifier.seen
        return combined(self.alpha * mixture, self.beta * logs, seen) / self.alpha

    def state(self) -> dict[str, Tensor]:
        counts = {
            "labelled": torch.tensor(self.texts),
            "labelled_accuracy": torch.tensor(self.accuracy, dtype=torch.float64),
        }
        return self.classifier.state() | {"label_alpha": self.alpha, "label_beta": self.beta} | counts

    @classmethod
    def of(cls, state: Mapping[str, Tensor], device: torch.device) -> FewLabels | None:
        """None for a fit without labelled texts."""
        if "labelled" not in state:
            return None
        alpha, beta = (state[key].to(device) for key in ("label_alpha", "label_beta"))
        classifier = LabelClassifier.of(state, device)
        return cls(classifier, alpha, beta, float(state["labelled_accuracy"]), int(state["labelled"]))


def combined(mixture: Tensor, classifier: Tensor, seen: Tensor) -> Tensor:
    """The exponent of Eq. 14. mixture: α′ η, classifier: β log q, [B, C] each; seen: 1 for the labels of L, [C] or [B, C]."""
    of_seen = seen.expand_as(mixture) > 0
    moved = mixture + classifier
    before, after = (s.masked_fill(~of_seen, -torch.inf).logsumexp(-1, keepdim=True) for s in (mixture, moved))
    return torch.where(of_seen, moved + (before - after).nan_to_num(0.0), mixture)


def answerable(rows: Rows, space: LabelSpace) -> Tensor:
    """Which labelled texts have a label that a teacher with an answer knows, [B] bool. ValueError for rows without labels."""
    if rows.labels is None:
        raise ValueError("the rows have no labels")
    knows, answered = space.has_label().to(rows.labels.device)[:, rows.labels].T, rows.counts()
    return (knows if answered is None else knows & answered).any(-1)


def _features(view: View) -> Tensor:
    """[B, D + C + N]"""
    energies = view.energies if view.answered is None else view.energies.masked_fill(~view.answered, 0.0)
    return torch.cat([view.z, view.answers.clamp(min=MIN_ANSWER), ENERGY_SCALE * energies], -1)


def _folds(labels: Tensor) -> Tensor:
    """The fold of every text, [m] int64. The texts of a label are spread over all folds, and different labels begin in different folds."""
    fold = torch.empty_like(labels)
    for c in labels.bincount().nonzero().squeeze(1):
        at = torch.nonzero(labels == c).squeeze(1)
        fold[at] = (torch.arange(len(at)) + int(c)) % FOLDS
    return fold
