"""Which texts to label next: those that student and teachers are least confident about, spread over the labels and over the student's states (ours).

    u(x) = mean of  1 − (S_(1) − S_(2)),   1 − (Q_(1) − Q_(2)),   JS(S, Q)

S are the student's probabilities, Q those of the method's target; (1) and (2) are the two largest. JS is the Jensen–Shannon divergence in
bits, from 0 to 1. Without a target, u is the first term alone.

Every label gets the same share of the n texts, by the student's answers; a label with too few texts leaves its share to the others. Within a
label, the texts with the largest u are grouped by k-means on their states, as many groups as its share, and the text with the largest u of
each group is chosen. So one kind of text is not chosen a hundred times.

Where a text may have several labels, the margin of a text is that of its least certain label, min_c |2 S_c − 1|, and JS is the largest over the labels, between
the label given and not given. A text counts to its least certain label.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from torch import Tensor

from alloykit.labels import GIVEN
from alloykit.stats.entropy import entropy

UPPER = 0.5  # share of a label's texts that are grouped: those with the largest u
PER_GROUP = 10  # texts to group for each text to choose, at least
SMALL_MARGIN = 0.5  # below it, a text's reason names the two most probable labels
FAR = 0.2  # above this divergence student and target disagree, also if they give the same label


@dataclass(frozen=True)
class Usefulness:
    """Per text, all [n] float64: u, and its three terms as margins and divergence. Without a target, the last two are None."""

    score: Tensor
    student_margin: Tensor
    target_margin: Tensor | None
    divergence: Tensor | None


def usefulness(student: Tensor, target: Tensor | None) -> Usefulness:
    """u of n texts. student, target: probabilities, [n, C]."""
    s = student.double()
    margin = top_margin(s)
    if target is None:
        return Usefulness(1 - margin, margin, None, None)
    q = target.double()
    divergence = ((entropy((s + q) / 2) - (entropy(s) + entropy(q)) / 2) / math.log(2)).clamp(0, 1)
    target_margin = top_margin(q)
    return Usefulness((1 - margin + 1 - target_margin + divergence) / 3, margin, target_margin, divergence)


def usefulness_of_several(student: Tensor, target: Tensor | None) -> Usefulness:
    """u of n texts that may have several labels. student, target: probabilities of each label, [n, C]."""
    s = student.double()
    margin = label_margins(s).min(-1).values
    if target is None:
        return Usefulness(1 - margin, margin, None, None)
    both = [torch.stack([p, 1 - p], -1) for p in (s, target.double())]
    divergence = (entropy((both[0] + both[1]) / 2) - (entropy(both[0]) + entropy(both[1])) / 2) / math.log(2)
    largest, target_margin = divergence.clamp(0, 1).max(-1).values, label_margins(target.double()).min(-1).values
    return Usefulness((1 - margin + 1 - target_margin + largest) / 3, margin, target_margin, largest)


def label_margins(probabilities: Tensor) -> Tensor:
    """How far each label's probability is from 0.5, from 0 to 1: |2 p − 1|."""
    return (2 * probabilities - 1).abs()


def top_margin(probabilities: Tensor) -> Tensor:
    """Largest minus second largest probability. [n, C] → [n]."""
    if probabilities.shape[-1] < 2:
        return torch.ones(len(probabilities), dtype=probabilities.dtype)
    best = probabilities.topk(2, -1).values
    return best[:, 0] - best[:, 1]


def choose_texts(score: Tensor, labels: Tensor, states: Tensor, n: int) -> list[int]:
    """Positions of the n texts to label, the largest u first. Fewer if there are not so many.

    score: u, [N]. labels: the student's answer, [N] int64. states: [N, d]. The same input gives the same positions.
    """
    by_label = {int(c): torch.nonzero(labels == c).squeeze(1).numpy() for c in sorted(set(labels.tolist()))}
    u, z = score.numpy(), torch.nn.functional.normalize(states.float(), dim=-1).numpy()
    chosen: list[int] = []
    for label, share in equal_shares({c: len(at) for c, at in by_label.items()}, n).items():
        at = by_label[label]
        order = at[np.argsort(-u[at], kind="stable")]
        candidates = order[: max(math.ceil(UPPER * len(order)), min(len(order), PER_GROUP * share))]
        chosen += _one_of_each_group(candidates, z, share)
    return sorted(chosen, key=lambda i: (-float(u[i]), i))


def equal_shares(available: dict[int, int], n: int) -> dict[int, int]:
    """How many texts each label gets: as equal as possible, at most what it has. available: label → number of its texts."""
    given = dict.fromkeys(available, 0)
    for _ in range(min(n, sum(available.values()))):
        able = [c for c in available if given[c] < available[c]]
        given[min(able, key=lambda c: (given[c], c))] += 1
    return {c: k for c, k in given.items() if k}


def _one_of_each_group(candidates: NDArray[np.int64], z: NDArray[np.float32], groups: int) -> list[int]:
    """The first candidate of each group; then, if some texts are equal and there are fewer groups, the first ones that are left."""
    if groups >= len(candidates):
        return [int(i) for i in candidates]
    different = len(np.unique(z[candidates], axis=0))
    group = KMeans(min(groups, different), n_init=1, random_state=0).fit(z[candidates]).labels_
    _, first = np.unique(group, return_index=True)
    rest = [i for i in range(len(candidates)) if i not in set(first.tolist())]
    return [int(candidates[i]) for i in [*first.tolist(), *rest][:groups]]


def reason(position: int, found: Usefulness, student: Tensor, target: Tensor | None, names: tuple[str, ...]) -> str:
    """Why a text was chosen, in words. student, target: [n, C]."""
    parts = []
    first, second = (names[c] for c in _two_most_probable(student[position]))
    if float(found.student_margin[position]) < SMALL_MARGIN:
        parts.append(f"the student hesitates between {first} and {second}")
    if target is not None and found.target_margin is not None and found.divergence is not None:
        mine, other = (names[c] for c in _two_most_probable(target[position]))
        if mine != first:
            parts.append(f"the student answers {first}, the teachers {mine}")
        elif float(found.divergence[position]) > FAR:
            parts.append(f"the student and the teachers are not equally confident about {first}")
        if float(found.target_margin[position]) < SMALL_MARGIN:
            parts.append(f"the teachers hesitate between {mine} and {other}")
    return "; ".join(parts) or f"it stands for other texts with the label {first}"


def reason_of_several(
    position: int, found: Usefulness, student: Tensor, target: Tensor | None, names: tuple[str, ...]
) -> str:
    """Why a text that may have several labels was chosen, in words. student, target: [n, C]."""
    s, parts = student[position], []
    if float(found.student_margin[position]) < SMALL_MARGIN:
        parts.append(f"the student is not confident about {names[int(label_margins(s).argmin())]}")
    if target is not None and found.target_margin is not None:
        t = target[position]
        differ = torch.where((s >= GIVEN) != (t >= GIVEN), (s - t).abs(), 0.0)
        if float(differ.max()) > 0:
            parts.append(f"student and teachers disagree on {names[int(differ.argmax())]}")
        if float(found.target_margin[position]) < SMALL_MARGIN:
            parts.append(f"the teachers are not confident about {names[int(label_margins(t).argmin())]}")
    return "; ".join(parts) or "it stands for other texts with the same labels"


def _two_most_probable(probabilities: Tensor) -> tuple[int, int]:
    order = probabilities.argsort(descending=True, stable=True).tolist()
    return order[0], order[min(1, len(order) - 1)]
