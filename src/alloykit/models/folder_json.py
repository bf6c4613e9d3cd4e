"""Read a JSON file of a model folder, which can come from a stranger or be damaged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from alloykit.errors import AlloyError

WITH_NAMES = ("tokenizer_config.json", "special_tokens_map.json")  # written again when the model is saved
MAX_JSON_BYTES = 64 * 2**20  # bytes of a configuration
# Keys that choose code, other files, number formats or what a model returns. They are left out: alloykit chooses these itself.
IGNORED_KEYS = {"auto_map", "configuration_files", "attn_implementation", "experts_implementation", "custom_pipelines", "dtype",
          "torch_dtype", "name_or_path", "kernel_config", "use_kernels", "gguf_file",
          "return_dict", "output_hidden_states", "output_attentions"}  # fmt: skip


def read_object(file: Path, model: str, max_bytes: int = MAX_JSON_BYTES) -> dict[str, Any]:
    """The JSON object in a file. AlloyError for anything else."""
    try:
        if file.stat().st_size > max_bytes:
            raise ValueError(f"{file.stat().st_size:,} bytes")
        # A byte-order mark is allowed: editors on Windows write one. The copy that transformers reads has none.
        content = json.loads(file.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise damaged(file.name, model, str(error) or type(error).__name__, "a JSON object") from error
    if not isinstance(content, dict):
        raise damaged(file.name, model, f"a {type(content).__name__}", "a JSON object")
    if file.name in WITH_NAMES:
        try:
            json.dumps(content, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise damaged(file.name, model, "half of a surrogate pair, which no file can hold", "valid text") from None
    return content


def is_text(value: str) -> bool:
    """Whether a string can be written as UTF-8. Half of a surrogate pair cannot."""
    return not any(0xD800 <= ord(c) <= 0xDFFF for c in value)


def damaged(file: str, model: str, got: str, wanted: str) -> AlloyError:
    """The error for a file with another content than the wanted one. model: the folder as the user named it."""
    return AlloyError(
        expected=f"{wanted} in {file} of '{model}'",
        got=got[:200],
        hint="Correct the file, or make the folder again: `save_pretrained` of both model and tokenizer writes all its files.",
    )
