"""A copy of a foreign model folder for transformers, in which nothing can name code or other files.

A folder can come from a stranger, or be damaged. transformers follows what the files say: names of other weight files (also
pickled ones), of classes, of kernels on the hub, of modules with code. So transformers never reads the folder itself, but a
copy (`staged`). The copy holds only files of known kinds, and its JSON files have no keys that name code or other files.
The copy consists of links; only the small JSON files are written anew.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from alloykit.errors import AlloyError
from alloykit.file_errors import scratch
from alloykit.models.checked_config import checked_config
from alloykit.models.checked_tokenizer import check_added_tokens, check_vocabulary, checked_tokenizer_config
from alloykit.models.folder import GGUF, INDEX, checked_files, is_inside, loadable_files
from alloykit.models.folder_json import damaged, read_object

COPY = "a copy of a model folder"  # for messages
# Keys of generation_config.json that are kept: token ids and penalties. The recipe sets how texts are sampled.
GENERATION_KEYS = {"bos_token_id", "eos_token_id", "pad_token_id", "repetition_penalty", "no_repeat_ngram_size", "suppress_tokens",
              "begin_suppress_tokens"}  # fmt: skip


@contextmanager
def staged(folder: Path, model: str) -> Iterator[Path]:
    """A temporary copy of a model folder with only the files and keys that may be read. model: as the user named it, for messages.

    AlloyError for a folder that is not a model, is damaged, or needs other weights than safetensors.
    """
    files = checked_files(folder, model)
    config = checked_config(folder, model)
    with _temporary_folder() as copy:
        for file in files:
            if file.name == "config.json":
                content: Any = config
            elif file.name == "tokenizer_config.json":
                content = checked_tokenizer_config(read_object(file, model), file.name, model)
            elif file.name == "special_tokens_map.json":
                content = read_object(file, model)
                check_added_tokens((v for k, v in content.items() if k.endswith("_token")), file.name, model)
            elif file.name == "generation_config.json":
                content = {
                    key: value
                    for key, value in read_object(file, model).items()
                    if key in GENERATION_KEYS and _is_numeric(value)
                }
            elif file.name.endswith(INDEX):
                content = _checked_index(read_object(file, model), file, model)
            else:
                if file.name == "tokenizer.json":
                    check_vocabulary(file, model)
                with scratch(COPY):
                    (copy / file.name).symlink_to(file.resolve())
                continue
            with scratch(COPY):
                (copy / file.name).write_text(json.dumps(content), encoding="utf-8")
        yield copy


@contextmanager
def staged_gguf(folder: Path, model: str) -> Iterator[Path]:
    """A temporary folder with a link to the only GGUF file of a folder, and nothing else of it. AlloyError for several files, and for a link to
    another folder."""
    files = loadable_files(folder)
    if len(files) != 1 or not files[0].is_file():
        raise AlloyError(
            expected=f"one GGUF file in '{model}'",
            got=", ".join(file.name for file in files),
            hint="Move each file into a folder of its own. A file in several parts must be joined first.",
        )
    if not is_inside(files[0], folder):
        raise AlloyError(
            expected=f"a file {files[0].name} in '{model}'",
            got="a link to a file outside that folder",
            hint="Copy the file into the folder if you trust it.",
        )
    with _temporary_folder() as copy:
        with scratch(COPY):
            (copy / f"model{GGUF}").symlink_to(files[0].resolve())
        yield copy


@contextmanager
def _temporary_folder() -> Iterator[Path]:
    with scratch(COPY):
        folder = tempfile.TemporaryDirectory(prefix="alloykit-model-")
    with folder as name:
        yield Path(name)


def _checked_index(index: dict[str, Any], file: Path, model: str) -> dict[str, Any]:
    """The index of tensors and their shards. AlloyError for a shard that is not a safetensors file of this folder."""
    places = index.get("weight_map")
    if not isinstance(places, dict) or not places:
        raise damaged(file.name, model, "no `weight_map`", "the file of each tensor")
    for shard in {ascii(place): place for place in places.values()}.values():
        is_plain_name = isinstance(shard, str) and Path(shard).name == shard and shard.endswith(".safetensors")
        if not is_plain_name or not (file.parent / shard).is_file():
            raise damaged(file.name, model, f"the file {ascii(shard)[:100]}", "safetensors files of this folder")
    metadata = index.get("metadata")
    return {"metadata": metadata if isinstance(metadata, dict) else {}, "weight_map": places}


def _is_numeric(value: Any) -> bool:
    """Whether a value is a number or a list of integers."""
    if isinstance(value, list):
        return all(isinstance(v, int) and not isinstance(v, bool) for v in value)
    return isinstance(value, (int, float)) and not isinstance(value, bool)
