"""Static 8-bit quantisation of matrix products: the form that changes the products least on the calibration texts.

    x W + b  ≈  s_x s_W (x̂ − z) Ŵ + b̂        x̂ = round(x / (d s_x)) + z in 0…255        Ŵ = round(d W / s_W) in −63…63

d has one value for each input channel, and moves large channels of x into W (Xiao et al. 2023, SmoothQuant, eq. 4). The calibration texts
fix s_x and z, so that an answer does not depend on the other texts of its batch. s_W has one value for each output channel. b̂ is b plus the
mean error. Weights have 7 bits. So the 16-bit sums of processors without VNNI cannot overflow, and all processors compute the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
WEIGHT_STEPS, INPUT_STEPS = 63, 255
ROWS = 768  # token states per matrix with which its form is chosen
MIGRATIONS = (0.0, 0.35, 0.5, 0.65)  # SmoothQuant's α; 0: no migration
CLIPPED = (0.0, 1e-5, 1e-4, 1e-3)  # share of the values at each end that the range leaves out
FLOOR = 1e-6


@dataclass(frozen=True)
class Int8Form:
    """How the products of one tensor with its weight matrices are computed in 8 bits.

    divisor: d, [d_in], None if it is 1 everywhere. scale, zero_point: of the input. weights: name of a matrix → (int8 [d_in, d_out],
    s_W [d_out], the value to add to the bias [d_out]). error: squared error of the products divided by their squares.
    """

    divisor: Floats | None
    scale: float
    zero_point: int
    weights: dict[str, tuple[NDArray[np.int8], Floats, Floats]] = field(repr=False)
    error: float


def sample_rows(run: Callable[[dict[str, Any]], Sequence[Floats]], batches: Sequence[dict[str, Any]]) -> list[Floats]:
    """States of real tokens, evenly spread over the batches: [about `ROWS`, d] for each output of `run`.

    run: a padded batch with its attention mask → tensors [B, L, d], or [B, 1, d] of first tokens.
    """
    tokens = sum(int(batch["attention_mask"].sum()) for batch in batches)
    texts = sum(len(batch["attention_mask"]) for batch in batches)
    found: list[list[Floats]] = []
    for batch in batches:
        mask = batch["attention_mask"].astype(bool)
        outputs = run(batch)
        found = found or [[] for _ in outputs]
        for kept, states in zip(found, outputs, strict=True):
            whole = states.shape[:2] == mask.shape
            real = states[mask] if whole else states.reshape(-1, states.shape[-1])
            kept.append(real[:: max(1, (tokens if whole else texts) // ROWS)])
    return [np.concatenate(kept) for kept in found]


def choose_form(rows: Floats, weights: dict[str, Floats]) -> Int8Form:
    """The migration and the range with the smallest squared error of x W on these rows. rows: [n, d_in]. weights: [d_in, d_out] each."""
    exact = {name: rows @ weight for name, weight in weights.items()}
    size = sum(float((product**2).sum()) for product in exact.values()) or 1.0
    reach, weight_reach = np.abs(rows).max(0), np.max([np.abs(w).max(1) for w in weights.values()], axis=0)
    best: Int8Form | None = None
    for alpha in MIGRATIONS:
        divisor = _divisor(reach, weight_reach, alpha) if alpha else None
        inputs = rows if divisor is None else rows / divisor
        quantized = {name: _weights(w if divisor is None else w * divisor[:, None]) for name, w in weights.items()}
        ordered = np.sort(inputs, axis=None)
        for clipped in CLIPPED:
            end = int(clipped * (len(ordered) - 1))
            scale, zero = _range(float(ordered[end]), float(ordered[-1 - end]))
            rounded = ((np.clip(np.rint(inputs / scale) + zero, 0, INPUT_STEPS) - zero) * scale).astype(np.float32)
            parts, error = {}, 0.0
            for name, (integers, steps) in quantized.items():
                off = exact[name] - (rounded @ integers.astype(np.float32)) * steps
                shift = off.mean(0)
                error += float(((off - shift) ** 2).sum())
                parts[name] = (integers, steps, shift.astype(np.float32))
            if best is None or error / size < best.error:
                best = Int8Form(divisor, scale, zero, parts, error / size)
    assert best is not None
    return best


def _divisor(reach: Floats, weight_reach: Floats, alpha: float) -> Floats:
    """d of each input channel, with geometric mean 1."""
    logs = alpha * np.log(np.maximum(reach, FLOOR)) - (1 - alpha) * np.log(np.maximum(weight_reach, FLOOR))
    divisor: Floats = np.exp(np.clip(logs - logs.mean(), -4, 4)).astype(np.float32)
    return divisor


def _weights(matrix: Floats) -> tuple[NDArray[np.int8], Floats]:
    """int8 [d_in, d_out] and the steps [d_out]."""
    steps = (np.maximum(np.abs(matrix).max(0), FLOOR) / WEIGHT_STEPS).astype(np.float32)
    return np.rint(matrix / steps).astype(np.int8), steps


def _range(low: float, high: float) -> tuple[float, int]:
    """Step and zero point of the range, which always holds 0."""
    low, high = min(low, 0.0), max(high, 0.0, FLOOR)
    scale = (high - low) / INPUT_STEPS
    return scale, int(np.clip(np.rint(-low / scale), 0, INPUT_STEPS))
