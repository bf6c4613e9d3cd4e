"""How accurate the routed answers are, estimated without labels (ours: Alloy, Eqs. 16, 17).

    Â = routed · (skill + confidence) / 2          routed = same^{3/4}                                                           (16)
    Â_c = min(1, Â · P_c Q_c / (P Q))                                                                                           (17)

A routed answer is right if the right teacher gives it, and this teacher is right. same is the share of texts that two mixtures send to the same teacher:
one sees only the teachers' own states, the other only the neutral encoder's. If each alone were right on a share π and their errors were independent, both would
be right on π²; if they were wrong about the same texts, on π. So π is between same^{1/2} and same; we take the middle exponent. Where there is one kind of
states, routed is another share, without an exponent: the texts that the mixture of all texts and the mixture of the half without the text send to the same teacher. Two teachers count as one if both know the
most likely label of the first mixture, and that of the second. skill is Eq. 10, how often the states of a text and its teacher's answer choose the same label of this teacher;
confidence is the mean probability of the answer of i*(x) in Eq. 12. With few texts the skill is too low, and the confidence is nearly always too high.
None is a guarantee: both views can be wrong about the same texts. P and Q are the shares of texts with the same teacher, and with the same label, before chance
is subtracted; P_c and Q_c are these shares among the texts whose most likely label is c.

If the mixture has a background, the estimate is about the texts outside of it. With labelled texts of nearly all labels (few_labels.py: FewLabels.covers), the mean confidence of the calibrated ρ (Eq. 14) is the
estimate, over all texts and over those whose most likely label is c.
"""

from __future__ import annotations

import torch
from torch import Tensor

from alloykit.methods.alloy.acceptance import MIN_SKILL
from alloykit.methods.alloy.cross_fit import CrossFitted, label_skill, same_label
from alloykit.methods.alloy.views import UNLIKE
from alloykit.methods.protocol import EstimatedAccuracy, State

DOUBT = (  # measured; a test compares it with the results
    "Two views of the texts often name different labels, as a warning says. In eight tested cases of this kind the estimate was wrong by 13 points on average, and in the worst "
    "one 42 points too high."
)
TOO_LOW = (  # measured; the same test
    "The states of the texts say little about the labels of one teacher (a skill below a third), for example because some labels are much more frequent than others. "
    "Then the estimate is probably too low: in one tested case by 27 points."
)
USUALLY = "Where we tested this estimate, it was usually a few points wrong, and too high where similar labels belong to different teachers."
VIEWS = 0.75  # exponent of the share of texts that both views send to the same teacher


def estimate(
    scores: Tensor,
    same: Tensor,
    halves: CrossFitted,
    answers: Tensor,
    confidence: Tensor,
    owners: Tensor,
    answered: Tensor | None = None,
    *,
    views: bool,
) -> dict[str, Tensor]:
    """Â, [] and Â_c, [C], float64; nan for a label that no text gets. scores, answers (log a): [n, C]; owners: [N, C]; answered
    [n, N] bool: which teacher has an answer to which text, None: all.

    same: which texts both mixtures send to the same teacher, [n] bool; views: whether these are the two views, and not two halves; confidence: [n]."""
    teacher = same.double()
    label = same_label(scores, halves.state_scores, answers, owners, answered).double()
    skill = max(label_skill(scores, halves.state_scores, answers, owners, answered), 0.0)
    routed = teacher.mean() ** (VIEWS if views else 1.0)
    whole = routed * (skill + confidence.mean()) / 2
    chosen, each = scores.argmax(-1), []
    for c in range(scores.shape[1]):
        of_label = chosen == c
        share = teacher[of_label].mean() * label[of_label].mean() / (teacher.mean() * label.mean()).clamp(min=1e-12)
        each.append((whole * share).clamp(max=1))
    return {
        "estimated_accuracy": whole,
        "estimated_by_label": torch.stack(each),
        "estimated_with": torch.tensor(0),
    }


def estimate_from_labels(rho: Tensor, texts: int) -> dict[str, Tensor]:
    """The same, from ρ of the pool. rho: [n, C]. texts: how many labelled texts calibrated it."""
    confidence, chosen = rho.amax(-1), rho.argmax(-1)
    each = torch.stack([confidence[chosen == c].mean() for c in range(rho.shape[1])])
    return {
        "estimated_accuracy": confidence.mean(),
        "estimated_by_label": each,
        "estimated_with": torch.tensor(texts),
    }


def estimate_of(state: State) -> EstimatedAccuracy | None:
    """What `fit` found; None for a fit without a mixture."""
    if "estimated_accuracy" not in state:
        return None
    by_label = tuple(None if value != value else value for value in state["estimated_by_label"].tolist())
    # A fit of an earlier version took its estimate from all labelled texts, if there were any.
    labelled = int(state.get("estimated_with", state.get("labelled", 0)))
    doubt, tested = ("", "") if labelled else (_doubt(state), USUALLY)
    return EstimatedAccuracy(float(state["estimated_accuracy"]), by_label, labelled, doubt, tested)


def _doubt(state: State) -> str:
    """Why an estimate without labels may be wrong; empty without a reason."""
    if float(state.get("label_agreement", 1.0)) < UNLIKE:
        return DOUBT
    return TOO_LOW if float(state["skill"]) < MIN_SKILL else ""
