"""Independent parts of StrataNet: blocks of layers, the confidence of every block, and signs of collapsed states."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from alloykit.errors import AlloyError
from alloykit.methods.layers import uniform
from alloykit.methods.protocol import Context, State
from alloykit.outputs import FITTED_TO, Rows, TeacherRows, chunks, sample
from alloykit.stats.mahalanobis import Gaussians, fit_logistic

MIN_TEXTS = 8  # texts of a teacher's labels, in each half


def blocks(layers: int, depth: int) -> list[list[int]]:
    """`depth` contiguous groups of a teacher's layers 1..L, as even as possible; a shallower teacher's layers serve several blocks."""
    if layers < depth:
        return [[layer] for layer in uniform(depth, layers)]
    return [part.tolist() for part in np.array_split(np.arange(1, layers + 1), depth)]


def pooled_blocks(teacher: TeacherRows, depth: int) -> Tensor:
    """z^b: the mean over each block's layers of the text's pooled states. [B, depth, d_i] float32"""
    if teacher.pooled_states is None:
        raise TypeError("stratanet needs the teachers' pooled states")
    layers = [s.float() for s in teacher.pooled_states]
    groups = blocks(len(layers), depth)
    return torch.stack([torch.stack([layers[layer - 1] for layer in group]).mean(0) for group in groups], 1)


def fit_confidence(context: Context, *, relative: bool, mixed: bool) -> State:
    """For every teacher i and block b: Gaussians, and the logistic curve that turns their distances into a confidence (ours).

    "i.b.…": the Gaussians of one half of the texts of teacher i's labels. mixed: their background also has as many texts of other labels.
    "i.b.curve", [2]: slope and intercept. The curve separates the other half from as many further texts of other labels. Texts of labels that
    several teachers share are left out of this half, unless too few remain. AlloyError for too few texts.
    """
    source, space, depth = sample(context.generated_source, FITTED_TO), context.space, context.student_shape.layers
    labels, states = [], [list[Tensor]() for _ in context.teachers]
    for rows in chunks(source):
        if rows.labels is None:
            raise TypeError("the generated texts need labels")
        labels.append(rows.labels)
        for i, teacher in enumerate(rows.teachers):
            states[i].append(pooled_blocks(teacher, depth))
    y, knows = torch.cat(labels), space.has_label()
    alone = knows[:, y].sum(0) == 1
    found: dict[str, Tensor] = {}
    for i, name in enumerate(space.teachers):
        z = torch.cat(states[i])
        known, others = torch.nonzero(knows[i, y]).flatten(), torch.nonzero(~knows[i, y]).flatten()
        known = known[_shuffled(len(known))]
        fitted, held = known[: len(known) // 2], known[len(known) // 2 :]
        if len(held[alone[held]]) >= MIN_TEXTS:
            held = held[alone[held]]
        others = others[_shuffled(len(others))]
        ground = others[: min(len(fitted), len(others) // 2)]
        away = others[len(ground) :][: len(held)]
        if min(map(len, (fitted, held, ground, away))) < MIN_TEXTS:
            raise AlloyError(
                expected=f"at least {2 * MIN_TEXTS} texts of teacher {i + 1}'s labels ({', '.join(name)}), and as many of labels that it does not know",
                got=f"{len(known)} and {len(others)}",
                hint="Generate more texts: `generation: {per_class: …}`. If a teacher knows all labels, there are no other texts to compare "
                "its texts with: use `confidence: msp`, which needs none.",
            )
        classes, grounds = (torch.unique(y[part], return_inverse=True)[1] for part in (fitted, ground))
        is_own = torch.cat([torch.ones(len(held)), torch.zeros(len(away))]).bool()
        for b in range(depth):
            gaussians = Gaussians.fit(z[fitted, b], classes, others=(z[ground, b], grounds) if mixed else None)
            both = z[torch.cat([held, away]), b]
            scores = gaussians.relative(both) if relative else gaussians.distance(both)
            found |= gaussians.state(f"{i}.{b}") | {f"{i}.{b}.curve": fit_logistic(scores, is_own)}
    return found


def _shuffled(n: int) -> Tensor:
    """The same order whatever the order of the teachers. [n]"""
    return torch.randperm(n, generator=torch.Generator().manual_seed(0))


class Confidence:
    """log c_i^b / (1 − c_i^b) of any texts, from what `fit_confidence` found."""

    def __init__(self, context: Context, *, relative: bool) -> None:
        self.context, self.relative = context, relative

    def __call__(self, rows: Rows, depth: int) -> Tensor:
        """[B, N, depth] float64."""
        found = []
        for i, teacher in enumerate(rows.teachers):
            z = pooled_blocks(teacher, depth)
            found.append(torch.stack([self._block(i, b, z[:, b]) for b in range(depth)], -1))
        return torch.stack(found, 1)

    def _block(self, i: int, b: int, z: Tensor) -> Tensor:
        state = self.context.state
        gaussians = Gaussians.of(state, f"{i}.{b}", z.device)
        slope, intercept = state[f"{i}.{b}.curve"].to(z.device)
        score = gaussians.relative(z) if self.relative else gaussians.distance(z)
        odds: Tensor = slope * score + intercept
        return odds


def normalised_distance(a: Tensor, b: Tensor) -> Tensor:
    """‖a/‖a‖ − b/‖b‖‖² (Eq. 7). [B, d] each → [B]"""
    return ((functional.normalize(a, dim=-1) - functional.normalize(b, dim=-1)) ** 2).sum(-1)


def collapse(states: Tensor) -> tuple[float, float] | None:
    """Mean cosine between different texts' states, and their effective rank exp(−Σ p log p), p the shares of the singular values
    of the centred states. None for fewer than three texts."""
    n = len(states)
    if n < 3:
        return None
    x = states.detach().float().cpu()
    unit = functional.normalize(x, dim=-1)
    cosine = float(((unit @ unit.T).sum() - n) / (n * (n - 1)))
    values = torch.linalg.svdvals(x - x.mean(0))
    shares = values / values.sum().clamp(min=1e-12)
    return cosine, float(torch.exp(-torch.xlogy(shares, shares).sum()))
