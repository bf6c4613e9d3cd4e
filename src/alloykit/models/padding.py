"""Whether padding changes what a model says about a text."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from alloykit.losses.hidden import masked_mean
from alloykit.models.tokens import encode, pad, usable_length

SHORT = ["a text to try: 1, 2, 3", "a text to try: 1, 2, 3 4"]  # an even and an odd number of tokens
LONG = " ".join(SHORT)
LEAST = 0.01  # of the difference between the two texts


@torch.inference_mode()
def padding_changes_answers(model: Any, tokenizer: Any) -> bool:
    """Whether a short text has another answer beside a longer one. Some architectures have no attention mask (FNet). Others mix neighbouring or
    distant tokens without it (ConvBERT, Nyströmformer), or join tokens (Funnel). Their texts must be read in batches of one length.

    model: in float32, because rounding also changes with padding. False for a model that cannot pad.
    """
    if tokenizer.pad_token_id is None:
        return False
    *short, long = encode(tokenizer, [*SHORT, LONG], None, usable_length(model, tokenizer, 64))
    other = _answers(model, pad(tokenizer, [long]))
    beside = _answers(model, pad(tokenizer, [*short, long]))
    for i, text in enumerate(short):
        alone = _answers(model, pad(tokenizer, [text]))
        rounding = 1e-6 * alone.abs().max()
        if (beside[i] - alone).abs().max() > LEAST * (other - alone).abs().max() + rounding:
            return True
    return False


def _answers(model: Any, batch: dict[str, Tensor]) -> Tensor:
    """Logits, or for an encoder the mean state of each text. [B, ·]"""
    batch = {key: value.to(model.device) for key, value in batch.items()}
    found: Tensor = model(**batch)[0]
    if found.dim() == 3:
        found = masked_mean(found, batch["attention_mask"])
    return found.float()
