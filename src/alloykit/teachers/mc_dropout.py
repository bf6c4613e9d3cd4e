"""Monte-Carlo passes (MUKA Eqs. 3, 7–8). A sampler is replaceable: it turns a batch into K sampled distributions."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Protocol

import torch
from torch import Tensor

from alloykit.errors import AlloyError
from alloykit.models.dropout import dropout_active
from alloykit.models.fast_dropout import FastMasks, covers_all_dropout
from alloykit.progress import log_line


class Sampler(Protocol):
    """Samples distributions with dropout. `name` is recorded in the store, so that outputs of different samplers are not mixed."""

    name: str

    def sample(self, model: Any, batch: Mapping[str, Tensor], passes: int) -> Tensor:
        """softmax(z(x; W_k)) for k = 1..passes: [passes, B, C_i] float32. Draws from torch's default generator."""
        ...


class StockDropout:
    """The model's own dropout, hidden and attention, one full pass after another."""

    name = "stock"

    def sample(self, model: Any, batch: Mapping[str, Tensor], passes: int) -> Tensor:
        """As `Sampler.sample`."""
        with dropout_active(model):
            sampled = [model(**batch).logits.float().softmax(-1) for _ in range(passes)]
        return torch.stack(sampled)


class ByteDropout:
    """Masks from raw random bytes, for CPUs: the same distribution as `StockDropout`, other random numbers, faster."""

    name = "bytes"

    def sample(self, model: Any, batch: Mapping[str, Tensor], passes: int) -> Tensor:
        """As `Sampler.sample`."""
        seed = int(torch.randint(2**62, (1,)))
        with dropout_active(model), FastMasks(seed):
            sampled = [model(**batch).logits.float().softmax(-1) for _ in range(passes)]
        return torch.stack(sampled)


def choose_sampler(model: Any, batch: Mapping[str, Tensor], teacher: str, *, compiled: bool) -> Sampler:
    """The fast sampler if it covers all dropout of a teacher's model, which is tried with a batch; else stock dropout, with a message."""
    if model.device.type != "cpu" or compiled:  # compiled masks are faster still
        return StockDropout()
    if covers_all_dropout(model, batch):
        return ByteDropout()
    log_line(f"teacher {teacher}: its dropout is not torch's own, so its passes run at the speed of stock dropout")
    return StockDropout()


def key(seed: int, teacher: str, shard: str | int, chunk: int) -> int:
    """The generator's seed for one unit: the same in every process. 63 bits."""
    return int.from_bytes(hashlib.sha256(f"{seed}|{teacher}|{shard}|{chunk}".encode()).digest()[:8], "big") >> 1


def check_varies(plain: Tensor, sampled: Tensor, teacher: str) -> None:
    """AlloyError if no pass differs from the plain one: [B, C_i] against [K, B, C_i] probabilities.

    A probability of a label that the teacher is certain about varies by less than 1e-7. So its ratio to the plain one counts there."""
    if ((sampled - plain).abs() <= (1e-3 * plain).clamp(max=1e-7)).all():
        raise AlloyError(
            expected=f"Monte-Carlo passes of teacher '{teacher}' that differ from each other",
            got="zero variance: dropout does not act in this model (its rates are 0, or its probabilities are exactly 0 and 1)",
            hint="Set the rate in the recipe, `method: {dropout: 0.1}`, or use `passes: 0` for the plain entropy.",
        )
