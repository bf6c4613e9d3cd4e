"""One loop for every model that reads many texts: batches under a budget of tokens, which shrinks if memory runs out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from alloykit.errors import AlloyError
from alloykit.models.batches import token_batches
from alloykit.models.tokens import check_tokens, pad
from alloykit.out_of_memory import is_out_of_memory, release_memory
from alloykit.progress import say

Advance = Callable[[int], None]
Run = Callable[[dict[str, Tensor]], Tensor]


@dataclass
class Budget:
    """Padded tokens per batch; less as soon as a batch did not fit into memory, and from then on."""

    tokens: int

    def too_large(self, who: str, rows: int, longest: int, device: torch.device) -> None:
        """Halve until such a batch is over budget. AlloyError if it was a single text."""
        if rows == 1:
            raise AlloyError(
                expected=f"memory for one text of {longest} tokens in {who}",
                got=f"too little (device: {device.type})",
                hint="Lower `training: {max_length: …}`, free some memory, or use another device.",
            )
        while self.tokens >= rows * longest:
            self.tokens //= 2
        say(f"{who}: out of memory; going on with batches of {self.tokens:,} tokens")


@torch.inference_mode()
def over_texts(
    run: Run,
    encodings: Sequence[Any],
    model: Any,
    tokenizer: Any,
    *,
    device: torch.device,
    width: int,
    budget: Budget,
    who: str,
    passes: int = 1,
    advance: Advance = lambda n: None,
) -> Tensor:
    """What `run` gives for all texts, in their order: [passes, n, width] float32 on the CPU.

    run: a padded batch of B texts on the device → [passes, B, width]. encodings: token ids of each text. model: the one that
    `run` asks, for checking the ids. who: its name in messages. AlloyError for ids that the model does not know, and for too
    little memory for a single text.
    """
    lengths = [len(e["input_ids"]) for e in encodings]
    out = torch.empty(passes, len(encodings), width, device=device)
    waiting = token_batches(lengths, budget.tokens)[::-1]
    while waiting:
        rows, fits = waiting.pop(), True
        batch = pad(tokenizer, [encodings[i] for i in rows])
        check_tokens([int(batch["input_ids"].max()), int(batch["input_ids"].min())], model, who)
        try:
            out[:, rows] = run({key: value.to(device, non_blocking=True) for key, value in batch.items()}).to(out)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            fits = False  # what follows must wait until the error, which keeps the batch's tensors, is gone
        if fits:
            advance(passes * len(rows))
            continue
        budget.too_large(who, len(rows), max(lengths[i] for i in rows), device)
        release_memory(device)
        left = sorted(i for batch_rows in (rows, *waiting) for i in batch_rows)
        again = token_batches([lengths[i] for i in left], budget.tokens)
        waiting = [[left[i] for i in batch_rows] for batch_rows in again][::-1]
    return out.cpu()
