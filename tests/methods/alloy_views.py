"""Small views for Alloy's tests, and its mixture in plain float64 loops (Eqs. 3–6, 18, 19)."""

from __future__ import annotations

import math

import numpy as np
import torch

from alloykit.labels import LabelSpace
from alloykit.methods.alloy.method import log_answers
from alloykit.methods.alloy.mixture import ITERATIONS, View

OVERLAPPING = LabelSpace.union([["a", "b", "c"], ["c", "d"]])
OWNERS = OVERLAPPING.has_label()


def drawn(n: int = 40, seed: int = 0, *, partly: bool = False) -> tuple[View, list[torch.Tensor]]:
    """A view of n texts in four clusters, and both teachers' probabilities. partly: each teacher has no answer to a fifth of the texts."""
    g = torch.Generator().manual_seed(seed)
    z = torch.randn(n, 3, generator=g).double() + 2 * torch.nn.functional.one_hot(torch.arange(n) % 4, 4)[:, :3]
    p = [torch.softmax(2 * torch.randn(n, k, generator=g).double(), -1) for k in (3, 2)]
    answered = torch.arange(n)[:, None] % 5 != torch.tensor([0, 2]) if partly else None
    return View(z, log_answers(OVERLAPPING, p, answered), torch.randn(n, 2, generator=g).double(), answered), p


def drawn_with_foreign(*, partly: bool = False) -> tuple[View, list[torch.Tensor]]:
    """As `drawn`; a third of the texts lies elsewhere, and no teacher has a large energy there."""
    view, p = drawn(45, partly=partly)
    foreign = (torch.arange(45) % 3 == 0).double()[:, None]
    return View(view.z - 3 * foreign, view.answers, view.energies - foreign, view.answered), p


def normal(z: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> float:
    """Less (2π)^{D/2}, which every density has."""
    apart = z - mean
    return float(np.exp(-0.5 * apart @ np.linalg.inv(covariance) @ apart) / math.sqrt(np.linalg.det(covariance)))


def by_loops(view: View, p: list[np.ndarray], *, background: bool = False) -> tuple[list[list[float]], list[float]]:
    """r and b after the last iteration: Eqs. 3–6, 18 and 19."""
    z, e = view.z.numpy(), view.energies.numpy()
    n, d = z.shape
    owners = {0: [0], 1: [0], 2: [0, 1], 3: [1]}
    there = np.ones((n, 2), bool) if view.answered is None else view.answered.numpy()

    def answer(x: int, c: int) -> float:
        name = OVERLAPPING.names[c]
        said = [p[i][x, OVERLAPPING.teachers[i].index(name)] for i in owners[c] if there[x, i]]
        return math.prod(said) ** (1 / len(said)) if said else 0.0

    def gaussian(i: int, weights: list[float]) -> tuple[float, float]:
        weights = [w * there[x, i] for x, w in enumerate(weights)]
        mean = sum(w * e[x, i] for x, w in enumerate(weights)) / sum(weights)
        return mean, sum(w * (e[x, i] - mean) ** 2 for x, w in enumerate(weights)) / sum(weights) + 0.01

    def density(value: float, about: tuple[float, float]) -> float:
        return math.exp(-0.5 * (value - about[0]) ** 2 / about[1]) / math.sqrt(about[1])

    sd = np.concatenate([e[x, there[x]] - e[x, there[x]].mean() for x in range(n)]).std()
    r = []
    for x in range(n):
        g = np.exp(e[x] / sd) * there[x]
        each = [answer(x, c) * sum(g[i] for i in owners[c]) for c in owners]
        r.append([v / sum(each) for v in each])
    largest = np.where(there, e, -np.inf).max(1)
    middle = float(np.median(largest))
    b = [0.9 / (1 + math.exp(-(middle - m) / 0.25)) if background else 0.0 for m in largest]
    for _ in range(ITERATIONS):
        w = [[r[x][c] * (1 - b[x]) for c in owners] for x in range(n)]
        count = [sum(w[x][c] for x in range(n)) for c in owners]
        clear = [[w[x][c] ** 2 for c in owners] for x in range(n)]
        mu = [sum(clear[x][c] * z[x] for x in range(n)) / sum(clear[x][c] for x in range(n)) for c in owners]
        within = sum(w[x][c] * np.outer(z[x] - mu[c], z[x] - mu[c]) for x in range(n) for c in owners) / sum(count)
        sigma = 0.25 * within + 0.75 * np.trace(within) / d * np.eye(d)
        if background:
            mu0 = sum(b[x] * z[x] for x in range(n)) / sum(b)
            within0 = sum(b[x] * np.outer(z[x] - mu0, z[x] - mu0) for x in range(n)) / sum(b)
            sigma0, pi0 = 0.25 * within0 + 0.75 * np.trace(within0) / d * np.eye(d), sum(b) / n
        by_states = []
        for x in range(n):
            each = [math.sqrt(count[c]) * normal(z[x], mu[c], sigma) * answer(x, c) for c in owners]
            by_states.append([v / sum(each) for v in each])
        known = [
            [(1 - b[x]) * sum(by_states[x][c] for c in owners if i in owners[c]) for x in range(n)] for i in (0, 1)
        ]
        inside = [gaussian(i, known[i]) for i in (0, 1)]
        outside = [gaussian(i, [1 - k for k in known[i]]) for i in (0, 1)]
        for x in range(n):
            ratio = [density(e[x, i], inside[i]) / density(e[x, i], outside[i]) if there[x, i] else 1.0 for i in (0, 1)]
            each = [by_states[x][c] * math.prod(ratio[i] for i in owners[c]) for c in owners]
            r[x] = [v / sum(each) for v in each]
            if background:
                root = [math.sqrt(k) / sum(math.sqrt(j) for j in count) for k in count]
                labels = sum(
                    (1 - pi0)
                    * root[c]
                    * normal(z[x], mu[c], sigma)
                    * answer(x, c)
                    * math.prod(ratio[i] for i in owners[c])
                    for c in owners
                )
                other = math.exp(-2) * pi0 * normal(z[x], mu0, sigma0)
                b[x] = other / (other + labels)
    return r, b
