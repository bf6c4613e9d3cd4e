"""The papers' formulas as plain Python loops over lists of floats: slow, obvious, written without looking at src."""

from __future__ import annotations

import math
from collections.abc import Sequence

Vector = Sequence[float]


def softmax(z: Vector, temperature: float = 1.0) -> list[float]:
    top = max(z)
    e = [math.exp((v - top) / temperature) for v in z]
    total = math.fsum(e)
    return [v / total for v in e]


def kl(p: Vector, q: Vector) -> float:
    """KL(p ‖ q) = Σ p log(p / q), nothing where p is 0."""
    return math.fsum(a * (math.log(a) - math.log(b)) for a, b in zip(p, q, strict=True) if a > 0)


def entropy(p: Vector) -> float:
    return -math.fsum(a * math.log(a) for a in p if a > 0)


def confidence(p: Vector) -> float:
    """Eq. 13: 1 − u / log C."""
    return 1 - entropy(p) / math.log(len(p))


def union(label_sets: Sequence[Sequence[str]]) -> list[str]:
    names: list[str] = []
    for labels in label_sets:
        for label in labels:
            if label not in names:
                names.append(label)
    return names


def pad(p: Vector, labels: Sequence[str], names: Sequence[str]) -> list[float]:
    return [p[labels.index(name)] if name in labels else 0.0 for name in names]


def components(label_sets: Sequence[Sequence[str]]) -> dict[str, int]:
    """Label -> group of labels that teachers join together, by walking from teacher to teacher."""
    group: dict[str, int] = {}
    number = 0
    for start in label_sets:
        if start[0] in group:
            continue
        reached, todo = set(), list(start)
        while todo:
            label = todo.pop()
            if label not in reached:
                reached.add(label)
                todo += [other for labels in label_sets if label in labels for other in labels]
        group |= dict.fromkeys(reached, number)
        number += 1
    return group


def mixture_loss(target: Vector, logits: Vector, groups: Sequence[int], temperature: float) -> float:
    """methods.md §0: routing term KL(W ‖ Q) at T = 1, plus T² times the terms within the groups."""
    q = softmax(logits)
    loss = 0.0
    for g in sorted(set(groups)):
        members = [c for c in range(len(target)) if groups[c] == g]
        w, mass = sum(target[c] for c in members), sum(q[c] for c in members)
        if w == 0:
            continue
        inside = kl([target[c] / w for c in members], softmax([logits[c] for c in members], temperature))
        loss += w * math.log(w / mass) + temperature**2 * w * inside
    return loss


def ensemble(zs: Sequence[Vector], label_sets: Sequence[Sequence[str]]) -> list[float]:
    """Disjoint: logits side by side. Overlapping: each centred, shared classes averaged."""
    names = union(label_sets)
    overlapping = len(names) < sum(len(labels) for labels in label_sets)
    result = []
    for name in names:
        found = []
        for z, labels in zip(zs, label_sets, strict=True):
            if name in labels:
                found.append(z[labels.index(name)] - (sum(z) / len(z) if overlapping else 0.0))
        result.append(sum(found) / len(found))
    return result


def margin(confidences: Vector, tops: Sequence[str]) -> float:
    """Eq. 15 with the rule for shared classes: the lead over the best teacher that disagrees."""
    if len(confidences) == 1:
        return 1.0
    leader = max(range(len(confidences)), key=lambda i: confidences[i])
    rivals = [c for c, top in zip(confidences, tops, strict=True) if top != tops[leader]]
    return confidences[leader] - (max(rivals) if rivals else 0.0)


def percentile(c: float, pool: Vector) -> float:
    """Share of the pool below c, ties counting half."""
    return sum(1.0 if other < c else 0.5 if other == c else 0.0 for other in pool) / len(pool)


def energy(z: Vector) -> float:
    """log Σ_y exp z_y."""
    return max(z) + math.log(math.fsum(math.exp(v - max(z)) for v in z))


def normal_share(value: float, pool: Vector) -> float:
    """Φ((value − mean) / sd), mean and standard deviation over the pool; ½ where the pool has no spread."""
    mean = math.fsum(pool) / len(pool)
    sd = math.sqrt(math.fsum((other - mean) ** 2 for other in pool) / len(pool))
    return 0.5 * math.erfc(-(value - mean) / sd / math.sqrt(2)) if sd > 0 else 0.5


def weighted_sum(w: Vector, ps: Sequence[Vector], label_sets: Sequence[Sequence[str]]) -> list[float]:
    """Eq. 11: Σ_i w_i Pad_i(p_i)."""
    names = union(label_sets)
    padded = [pad(p, labels, names) for p, labels in zip(ps, label_sets, strict=True)]
    return [sum(w[i] * padded[i][c] for i in range(len(w))) for c in range(len(names))]


def mmd2(x: Sequence[Vector], y: Sequence[Vector]) -> float:
    """CFL: the squared distance of two sets of points, of length one, under a sum of five Gaussian kernels."""

    def unit(rows: Sequence[Vector]) -> list[list[float]]:
        return [[v / math.sqrt(sum(w * w for w in row)) for v in row] for row in rows]

    def distance(a: Vector, b: Vector) -> float:
        return math.fsum((p - q) ** 2 for p, q in zip(a, b, strict=True))

    def mean(values: list[float]) -> float:
        return sum(values) / len(values)

    x, y = unit(x), unit(y)
    xx = [distance(a, b) for a in x for b in x]
    yy = [distance(a, b) for a in y for b in y]
    xy = [distance(a, b) for a in x for b in y]
    sigma2 = (mean(xx) + mean(yy) + 2 * mean(xy)) / 4
    total = 0.0
    for scale in (0.25, 0.5, 1, 2, 4):
        k = [mean([math.exp(-d / (2 * scale * sigma2)) for d in ds]) for ds in (xx, yy, xy)]
        total += k[0] + k[1] - 2 * k[2]
    return total
