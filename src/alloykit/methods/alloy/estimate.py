"""How accurate the routed answers are, estimated without labels (ours: Alloy, Eqs. 16, 17).

    Â = agreement · skill                                                                                                       (16)
    Â_c = min(1, Â · g_c h_c / (g h))                                                                                           (17)

A routed answer is right if the right teacher gives it, and this teacher is right. agreement is the share of texts that two fits, each on half of
the pool, send to the same teacher. skill is Eq. 10: how often the states of a text and its teacher's answer, two views of the text, choose
the same label of this teacher. Neither is a guarantee: two fits can be wrong about the same texts. g and h are the shares of texts with the same
teacher, and with the same label, before chance is subtracted; g_c and h_c are these shares among the texts whose most likely label is c.

If the mixture has a background, the estimate is about the texts outside of it. With labelled texts, the mean confidence of the calibrated ρ (Eq. 14) is the estimate, over all texts and over those whose most likely label is c.
"""

from __future__ import annotations

import torch
from torch import Tensor

from alloykit.methods.alloy.cross_fit import CrossFitted, label_skill, same_label, same_teacher
from alloykit.methods.protocol import EstimatedAccuracy, State


def estimate(scores: Tensor, halves: CrossFitted, answers: Tensor, owners: Tensor) -> dict[str, Tensor]:
    """Â, [] and Â_c, [C], float64; nan for a label that no text gets. scores, answers (log a): [n, C]; owners: [N, C]."""
    teacher = same_teacher(scores, halves.scores, owners).double()
    label = same_label(scores, halves.state_scores, answers, owners).double()
    whole = teacher.mean() * max(label_skill(scores, halves.state_scores, answers, owners), 0.0)
    chosen, each = scores.argmax(-1), []
    for c in range(scores.shape[1]):
        of_label = chosen == c
        share = teacher[of_label].mean() * label[of_label].mean() / (teacher.mean() * label.mean()).clamp(min=1e-12)
        each.append((whole * share).clamp(max=1))
    return {"estimated_accuracy": whole, "estimated_by_label": torch.stack(each)}


def estimate_from_labels(rho: Tensor) -> dict[str, Tensor]:
    """The same, from ρ of the pool. rho: [n, C]."""
    confidence, chosen = rho.amax(-1), rho.argmax(-1)
    each = torch.stack([confidence[chosen == c].mean() for c in range(rho.shape[1])])
    return {"estimated_accuracy": confidence.mean(), "estimated_by_label": each}


def estimate_of(state: State) -> EstimatedAccuracy | None:
    """What `fit` found; None for a fit without a mixture."""
    if "estimated_accuracy" not in state:
        return None
    by_label = tuple(None if value != value else value for value in state["estimated_by_label"].tolist())
    return EstimatedAccuracy(float(state["estimated_accuracy"]), by_label, int(state.get("labelled", torch.tensor(0))))
