"""The files of a tokenizer from a model folder, checked before any library reads them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from alloykit.digests import while_unchanged
from alloykit.models.folder_json import IGNORED_KEYS, damaged, read_object

MAX_VOCABULARY_BYTES = 512 * 2**20
TOKEN_KEYS = {"__type", "id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"}


def checked_tokenizer_config(raw: dict[str, Any], file: str, model: str) -> dict[str, Any]:
    """tokenizer_config.json without keys that name code, files, or a class that is not a tokenizer."""
    kept = {
        key: value
        for key, value in raw.items()
        if key not in IGNORED_KEYS and not key.startswith("_") and not key.endswith(("_file", "_files"))
    }
    check_added_tokens((value for key, value in kept.items() if key.endswith("_token")), file, model)
    if isinstance(kept.get("added_tokens_decoder"), dict):
        check_added_tokens(kept["added_tokens_decoder"].values(), file, model)
    for key in ("tokenizer_class", "backend"):
        if key in kept and not isinstance(kept[key], str):
            del kept[key]
    if "tokenizer_class" in kept and not is_tokenizer(kept["tokenizer_class"]):
        del kept["tokenizer_class"]
    length = kept.get("model_max_length")
    number = isinstance(length, (int, float)) and not isinstance(length, bool)
    if length is not None and not (number and not math.isnan(length) and length >= 1):
        del kept["model_max_length"]
    return kept


@while_unchanged
def check_vocabulary(file: Path, model: str) -> None:
    """AlloyError for a tokenizer.json whose added tokens have another form than the library expects: it would print them to standard output."""
    found = read_object(file, model, max_bytes=MAX_VOCABULARY_BYTES)
    added = found.get("added_tokens")
    if not isinstance(found.get("model"), dict) or not isinstance(added, list):
        raise damaged(file.name, model, "something else", "a `model` and a list `added_tokens`")
    if not all(isinstance(token, dict) for token in added):
        raise damaged(file.name, model, f"{ascii(added)[:100]}", "a list of added tokens")
    check_added_tokens(added, file.name, model)


def check_added_tokens(values: Iterable[Any], file: str, model: str) -> None:
    """AlloyError for a token with unknown keys."""
    for value in values:
        if isinstance(value, dict) and not value.keys() <= TOKEN_KEYS:
            raise damaged(
                file, model, f"`{ascii(value)[:100]}`", f"tokens with the keys {', '.join(sorted(TOKEN_KEYS))}"
            )


def is_tokenizer(name: str) -> bool:
    """Whether transformers knows a tokenizer of this name, or nothing of this name.

    transformers looks the name up among all its exports, also those that are not tokenizers: `RagRetriever` unpickles, `AutoModel` loads weights.
    """
    from transformers.models.auto.tokenization_auto import tokenizer_class_from_name
    from transformers.tokenization_utils_base import PreTrainedTokenizerBase

    found: Any = tokenizer_class_from_name(name)
    if found is None or type(found).__name__ == "DummyObject":  # a placeholder, which only says what must be installed
        return True
    return isinstance(found, type) and issubclass(found, PreTrainedTokenizerBase)
