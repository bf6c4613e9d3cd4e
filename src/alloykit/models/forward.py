"""One loop for every model that reads many texts, in batches under a budget of tokens. The budget shrinks if memory runs out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor

from alloykit.errors import AlloyError
from alloykit.models.batches import token_batches
from alloykit.models.tokens import check_tokens, pad
from alloykit.out_of_memory import is_out_of_memory, release_memory
from alloykit.progress import log_line, warn_line

Advance = Callable[[int], None]
RunBatch = Callable[[dict[str, Tensor]], Tensor]


@dataclass
class Budget:
    """Padded tokens per batch. `shrink` makes it smaller for all later batches."""

    tokens: int

    def shrink(self, name: str, rows: int, longest: int, device: torch.device) -> None:
        """Halve the budget until a batch of this size no longer fits. AlloyError if the batch was a single text."""
        if rows == 1:
            raise AlloyError(
                expected=f"memory for one text of {longest} tokens in {name}",
                got=f"too little (device: {device.type})",
                hint="Lower `training: {max_length: …}`, free some memory, or use another device.",
            )
        while self.tokens >= rows * longest:
            self.tokens //= 2
        log_line(f"{name}: out of memory; going on with batches of {self.tokens:,} tokens")


@torch.inference_mode()
def forward_texts(
    run: RunBatch,
    encodings: Sequence[Any],
    model: Any,
    tokenizer: Any,
    *,
    device: torch.device,
    width: int,
    budget: Budget,
    name: str,
    passes: int = 1,
    one_length: bool,
    advance: Advance = lambda n: None,
) -> Tensor:
    """The outputs of `run` for all texts, in their order: [passes, n, width] float32 on the CPU.

    A batch that the model cannot read is read text by text.

    run: a padded batch of B texts on the device → [passes, B, width]. encodings: token ids of each text. model: the model that
    `run` uses; its ids are checked. name: of the model, in messages. one_length: read texts of the same length together, without padding.
    AlloyError for ids that the model does not know, if the model itself fails, and if memory is too small for a single text.
    """
    lengths = [len(e["input_ids"]) for e in encodings]
    out = torch.empty(passes, len(encodings), width, device=device)
    pending = token_batches(lengths, budget.tokens, one_length=one_length)[::-1]
    while pending:
        rows, fits, done = pending.pop(), True, True
        batch = pad(tokenizer, [encodings[i] for i in rows])
        check_tokens([int(batch["input_ids"].max()), int(batch["input_ids"].min())], model, name)
        try:
            out[:, rows] = run({key: value.to(device, non_blocking=True) for key, value in batch.items()}).to(out)
        except AlloyError:
            raise
        except Exception as error:  # architectures raise many kinds
            fits = not is_out_of_memory(error)
            if fits and (len(rows) == 1 or "CUDA error" in str(error)):
                raise _failed(error, name, lengths[rows[0]]) from error
            if fits:
                _say_once(name, type(error).__name__)
            done = False  # the error keeps the batch's tensors: free memory only after it is gone
        if done:
            advance(passes * len(rows))
            continue
        if fits:
            # BART and T5 refuse texts with different numbers of `</s>` in one batch, such as pairs beside single texts.
            pending += [[i] for i in reversed(rows)]
            continue
        budget.shrink(name, len(rows), max(lengths[i] for i in rows), device)
        release_memory(device)
        remaining = sorted(i for batch_rows in (rows, *pending) for i in batch_rows)
        again = token_batches([lengths[i] for i in remaining], budget.tokens, one_length=one_length)
        pending = [[remaining[i] for i in batch_rows] for batch_rows in again][::-1]
    return out.cpu()


@cache
def _say_once(name: str, error: str) -> None:
    """Warn that texts are read one by one: once for each model and kind of error, because it is cached."""
    warn_line(f"{name} cannot read some texts together ({error}). They are read one by one, which takes longer.")


def _failed(error: BaseException, name: str, tokens: int) -> AlloyError:
    """The error for a model that fails while it reads a text of so many tokens."""
    problem = next((line.strip() for line in str(error).splitlines() if line.strip()), "no message")
    return AlloyError(
        expected=f"answers of {name} to a text of {tokens} tokens",
        got=f"{type(error).__name__}: {problem[:200].rstrip('.')}",
        hint="Set `inference: {precision: float32}`, or try such a text with transformers alone. Some architectures fail for very short or very long texts.",
    )
