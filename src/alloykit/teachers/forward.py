"""A teacher's passes over the texts of one shard, in batches under a budget of tokens that shrinks if memory runs out."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

import torch
from torch import Tensor

from alloykit.losses.hidden import masked_mean
from alloykit.models.forward import Advance, Budget, RunBatch, forward_texts
from alloykit.models.long_texts import Chunks
from alloykit.models.token_states import layers_of
from alloykit.precision import stored_states
from alloykit.teachers.mc_dropout import Sampler
from alloykit.teachers.protocol import TeacherInfo


class Passing(Protocol):
    """What a pass needs of a teacher."""

    model: Any
    tokenizer: Any
    device: torch.device
    lean: AbstractContextManager[Any]
    """Inside it, the last layer computes only what the logits need."""
    one_length: bool
    """Whether it reads texts of the same length together."""

    @property
    def info(self) -> TeacherInfo: ...


def plain_pass(teacher: Passing, encodings: Sequence[Any], budget: Budget, advance: Advance) -> Tensor:
    """Logits of the deterministic pass, [n, C_i] float32."""
    return plain_and_pooled(teacher, encodings, (), budget, advance)[0]


def plain_and_pooled(
    teacher: Passing, encodings: Sequence[Any], layers: Sequence[int], budget: Budget, advance: Advance
) -> tuple[Tensor, Tensor]:
    """The logits, and from the same pass the mean of each text's token states per layer (1 is the first above the embeddings):
    [n, C_i] float32 and [layers, n, d_i] float16."""
    shape = teacher.info.gives.states
    classes, width = len(teacher.info.labels), shape.hidden_size if shape else 0
    # The lean last layer has no states.
    lean = nullcontext() if shape and shape.layers in layers else teacher.lean

    def run(batch: dict[str, Tensor]) -> Tensor:
        with lean:
            output = teacher.model(**batch, output_hidden_states=bool(layers))
        states = layers_of(output) if layers else ()
        means = [masked_mean(states[layer].float(), batch["attention_mask"]) for layer in layers]
        return torch.cat([output.logits.float(), *means], -1)[None]

    found = _all(teacher, encodings, budget, run, 1, advance, classes + len(layers) * width)[0]
    if isinstance(encodings, Chunks):
        logits = encodings.mean_logits(found[:, :classes], multi_label=teacher.info.gives.multi_label)
        found = torch.cat([logits, encodings.mean(found[:, classes:])], -1)
    states = stored_states(found[:, classes:]).reshape(len(found), len(layers), width).transpose(0, 1)
    return found[:, :classes].clone(), states.contiguous()


def sampled_passes(
    teacher: Passing,
    encodings: Sequence[Any],
    budget: Budget,
    sampler: Sampler,
    passes: int,
    seed: int,
    advance: Advance,
) -> Tensor:
    """Probabilities of Monte-Carlo passes, [passes, n, C_i] float32; the same for the same seed and batches."""
    with torch.random.fork_rng(), teacher.lean:
        torch.manual_seed(seed)
        found = _all(teacher, encodings, budget, lambda b: sampler.sample(teacher.model, b, passes), passes, advance)
    return encodings.mean(found) if isinstance(encodings, Chunks) else found


def _all(
    teacher: Passing,
    encodings: Sequence[Any],
    budget: Budget,
    run: RunBatch,
    passes: int,
    advance: Advance,
    width: int | None = None,
) -> Tensor:
    """The outputs of all texts, or of all chunks."""
    chunks = encodings if isinstance(encodings, Chunks) else None
    found = forward_texts(
        run, encodings, teacher.model, teacher.tokenizer, device=teacher.device, width=width or len(teacher.info.labels),
        budget=budget, name=f"teacher '{teacher.info.name}'", passes=passes,
        one_length=teacher.one_length,
        advance=advance if chunks is None else lambda n: None,
    )  # fmt: skip
    if chunks is not None:
        advance(passes * chunks.texts)  # texts are counted, not chunks
    return found
