"""What identifies a model of transformers that is loaded: its weights, how its configuration says to compute with them, and its tokenizer."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import torch

from alloykit.digests import digest
from alloykit.models.heads import HEAD_KEY

_NAMES = {
    "architectures", "auto_map", "dtype", "finetuning_task", "gradient_checkpointing", "id2label", "label2id", "num_labels",
    "output_attentions", "output_hidden_states", "problem_type", "return_dict", "tokenizer_class", "torch_dtype", "torchscript",
    "transformers_version", "use_cache",
}  # fmt: skip
"""Keys of a config.json on which no logits depend: names, versions, and what alloykit sets itself."""
_OF_SLOW = (
    "add_bos_token", "add_eos_token", "add_prefix_space", "do_basic_tokenize", "do_lower_case", "keep_accents", "legacy",
    "remove_space", "strip_accents", "tokenize_chinese_chars",
)  # fmt: skip
"""Settings of tokenizers in Python; a fast one has them in its definition."""


def model_fingerprints(model: Any, config: Any, tokenizer: Any) -> dict[str, str]:
    """All of them, by name. config: the model's own, before dropout rates were set."""
    return {
        "weights": weights_fingerprint(model),
        "tokenizer": tokenizer_fingerprint(tokenizer),
        "config": config_fingerprint(config),
        "tokenizer_settings": _settings_fingerprint(tokenizer),
    }


def weights_fingerprint(model: Any) -> str:
    """SHA-256 of names, shapes and values of all weights."""
    weights = hashlib.sha256()
    for key, tensor in sorted(model.state_dict().items()):
        weights.update(f"{key}{tuple(tensor.shape)}{tensor.dtype}".encode())
        weights.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return weights.hexdigest()


def tokenizer_fingerprint(tokenizer: Any) -> str:
    """SHA-256 of what determines a tokenizer's output: the whole definition of a fast one, else vocabulary and class."""
    if tokenizer.is_fast:
        definition = json.loads(tokenizer.backend_tokenizer.to_str())
        for key in ("truncation", "padding"):  # set by the last call
            definition.pop(key, None)
    else:
        definition = {"class": type(tokenizer).__name__, "vocabulary": tokenizer.get_vocab()}
    definition["special"] = {k: str(v) for k, v in tokenizer.special_tokens_map.items()}
    return hashlib.sha256(json.dumps(definition, sort_keys=True).encode()).hexdigest()


def config_fingerprint(config: Any) -> str:
    """SHA-256 of what a configuration adds to the weights, such as the number of attention heads, the activation and the dropout rates.

    Only what differs from the defaults of its class counts, so that a version of transformers with more keys gives the same."""
    values = config.to_dict()
    try:
        defaults = type(config)().to_dict()
    except Exception:  # a class that is made of other configurations has no defaults
        defaults = {}
    return digest(_effective({k: v for k, v in values.items() if k == "model_type" or v != defaults.get(k)}))


def _effective(value: Any) -> Any:
    """Without names and versions, at any depth."""
    if isinstance(value, dict):
        return {k: _effective(v) for k, v in value.items() if _counts(str(k))}
    return [_effective(inner) for inner in value] if isinstance(value, list | tuple) else value


def _counts(key: str) -> bool:
    own = key.startswith("alloykit_") and key != HEAD_KEY  # what a student knows of itself, such as its temperature
    return not (own or key.startswith("_") or key in _NAMES)


def _settings_fingerprint(tokenizer: Any) -> str:
    """SHA-256 of what a tokenizer does beside its definition: which end it cuts and pads, and what it gives the model."""
    of_slow = {} if tokenizer.is_fast else {key: tokenizer.init_kwargs.get(key) for key in _OF_SLOW}
    return digest([tokenizer.truncation_side, tokenizer.padding_side, list(tokenizer.model_input_names), of_slow])
