"""A teacher's passes over the texts of one shard, in batches under a budget of tokens that shrinks if memory runs out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from alloykit.errors import AlloyError
from alloykit.knowledge.sampling import Sampler
from alloykit.knowledge.store import CHUNK
from alloykit.losses.hidden import masked_mean
from alloykit.memory import is_out_of_memory
from alloykit.models.batches import token_batches
from alloykit.progress import say
from alloykit.teachers.teacher import Teacher

Advance = Callable[[int], None]
Run = Callable[[dict[str, Tensor]], Tensor]


@dataclass
class Budget:
    """Padded tokens per batch; less as soon as a batch did not fit into memory, and from then on."""

    tokens: int

    def too_large(self, teacher: Teacher, rows: int, longest: int) -> None:
        """Halve until such a batch is over budget. AlloyError if it was a single text."""
        if rows == 1:
            raise AlloyError(
                expected=f"memory for one text of {longest} tokens in teacher '{teacher.info.name}'",
                got=f"too little (device: {teacher.device.type})",
                hint="Lower `training: {max_length: …}`, free some memory, or use another device.",
            )
        while self.tokens >= rows * longest:
            self.tokens //= 2
        say(f"teacher {teacher.info.name}: out of memory; going on with batches of {self.tokens:,} tokens")


def plain_pass(teacher: Teacher, encodings: Sequence[Any], budget: Budget, advance: Advance) -> Tensor:
    """Logits of the deterministic pass, [n, C_i] float32."""
    return plain_and_pooled(teacher, encodings, (), budget, advance)[0]


def plain_and_pooled(
    teacher: Teacher, encodings: Sequence[Any], layers: Sequence[int], budget: Budget, advance: Advance
) -> tuple[Tensor, Tensor]:
    """The same, and of the same pass the mean of a text's token states per layer (1 is the first above the embeddings),
    [layers, n, d_i] float16."""
    classes, width = len(teacher.info.labels), int(teacher.info.config.hidden_size)
    lean = (
        nullcontext() if teacher.info.config.num_hidden_layers in layers else teacher.lean
    )  # which has no states of the last layer

    def run(batch: dict[str, Tensor]) -> Tensor:
        with lean:
            said = teacher.model(**batch, output_hidden_states=bool(layers))
        means = [masked_mean(said.hidden_states[layer].float(), batch["attention_mask"]) for layer in layers]
        return torch.cat([said.logits.float(), *means], -1)[None]

    found = _all(teacher, encodings, budget, run, 1, advance, classes + len(layers) * width)[0]
    states = found[:, classes:].to(torch.float16).reshape(len(found), len(layers), width).transpose(0, 1)
    return found[:, :classes].clone(), states.contiguous()


def sampled_passes(
    teacher: Teacher, encodings: Sequence[Any], budget: Budget, sampler: Sampler, seed: int, advance: Advance
) -> Tensor:
    """Probabilities of `CHUNK` Monte-Carlo passes, [CHUNK, n, C_i] float32; the same for the same seed and batches."""
    with torch.random.fork_rng(), teacher.lean:
        torch.manual_seed(seed)
        return _all(teacher, encodings, budget, lambda b: sampler.sample(teacher.model, b, CHUNK), CHUNK, advance)


@torch.inference_mode()
def _all(
    teacher: Teacher,
    encodings: Sequence[Any],
    budget: Budget,
    run: Run,
    passes: int,
    advance: Advance,
    width: int | None = None,
) -> Tensor:
    lengths = [len(e["input_ids"]) for e in encodings]
    out = torch.empty(passes, len(encodings), width or len(teacher.info.labels), device=teacher.device)
    waiting = token_batches(lengths, budget.tokens)[::-1]
    while waiting:
        rows, fits = waiting.pop(), True
        try:
            out[:, rows] = run(teacher.batch([encodings[i] for i in rows])).to(out.device)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            fits = False  # what follows must wait until the error, which keeps the batch's tensors, is gone
        if fits:
            advance(passes * len(rows))
            continue
        budget.too_large(teacher, len(rows), max(lengths[i] for i in rows))
        if out.device.type == "cuda":
            torch.cuda.empty_cache()
        left = sorted(i for batch in (rows, *waiting) for i in batch)
        again = token_batches([lengths[i] for i in left], budget.tokens)
        waiting = [[left[i] for i in batch] for batch in again][::-1]
    return out.cpu()
