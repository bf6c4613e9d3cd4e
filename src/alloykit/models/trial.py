"""Every model reads two short texts when it is loaded: a misfit shows here and not in the middle of the work."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from alloykit.errors import AlloyError
from alloykit.models.loading_errors import loading_errors
from alloykit.models.location import ModelLocation
from alloykit.models.quiet_loading import quiet_transformers
from alloykit.models.token_states import text_part
from alloykit.models.tokens import check_tokens, encode, pad, share_pad_token, usable_length
from alloykit.progress import warn_line

FEW = 8  # tokens of a text; a tokenizer that leaves fewer has probably a wrong setting
TRIAL_TEXTS = ["a", "a text to try: 1, 2, 3"]


@torch.no_grad()
def checked_pair(location: ModelLocation, model: Any, tokenizer: Any, classes: int | None = None) -> tuple[Any, Any]:
    """Model and tokenizer, after the model has read two short texts: a misfit shows here and not in the middle of the work.

    AlloyError for weights or outputs that are not finite.
    """
    _check_finite(model.named_parameters(), location, "weights")
    with loading_errors(location, reading=True), quiet_transformers(), torch.random.fork_rng():
        added = tokenizer.get_added_vocab()  # often a few more than the model knows; they are never used
        check_tokens([i for token, i in tokenizer.get_vocab().items() if token not in added], model, location.model)
        share_pad_token(model.config, tokenizer)
        can_pad, can_generate = tokenizer.pad_token_id is not None, getattr(model, "can_generate", lambda: False)()
        if not can_pad and not can_generate:
            raise AlloyError(
                expected=f"a token to pad with in the tokenizer of '{location.model}'",
                got="none",
                hint="Name the one it was trained with: `pad_token` in tokenizer_config.json, or `pad_token_id` in config.json.",
            )
        _warn_of_short_texts(tokenizer, location)
        encodings = encode(tokenizer, TRIAL_TEXTS, None, usable_length(model, tokenizer, 32))
        for each in [encodings] if can_pad else [[one] for one in encodings]:
            batch = pad(tokenizer, each)
            check_tokens(batch["input_ids"].flatten().tolist(), model, location.model)
            outputs = model(**batch)
            if not can_generate:
                _keep_no_cache(model, outputs)
            if classes is not None and outputs.logits.shape != (len(each), classes):
                raise ValueError(f"{list(outputs.logits.shape)} numbers for {len(each)} texts and {classes} labels")
            states = outputs[0]
            output = states[batch["attention_mask"].bool()] if states.dim() == 3 else states  # without padding
            _check_finite([("the output for a short text", output)], location, "output")
    return model, tokenizer


def _keep_no_cache(model: Any, outputs: Any) -> None:
    """Let a decoder that writes no texts return no keys and values. They can take more memory than the rest of a batch."""
    if getattr(outputs, "past_key_values", None) is not None:
        for config in (model.config, text_part(model.config)):
            config.use_cache = False


def _warn_of_short_texts(tokenizer: Any, location: ModelLocation) -> None:
    room = tokenizer.model_max_length - tokenizer.num_special_tokens_to_add()
    if room < FEW:
        warn_line(
            f"'{location.model}' reads only {max(room, 0)} tokens of each text: `model_max_length` in its tokenizer_config.json is "
            f"{tokenizer.model_max_length}. If that is a mistake, correct it there"
        )


def _check_finite(tensors: Iterable[tuple[str, torch.Tensor]], location: ModelLocation, what: str) -> None:
    """AlloyError if a tensor holds NaN or infinity. tensors: (name, tensor); they are not copied."""
    for name, tensor in tensors:
        if tensor.numel() and not all(bool(end.isfinite()) for end in torch.aminmax(tensor.detach())):
            raise AlloyError(
                expected=f"finite {what} of '{location.model}'",
                got=f"NaN or infinity in {name}",
                hint="The file is damaged, or the model's training diverged: copy it again, or train it again.",
            )
