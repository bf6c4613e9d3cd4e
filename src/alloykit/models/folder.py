"""Check a foreign model folder before any library reads it.

A folder can come from a stranger, or be damaged. transformers follows what the files say: names of other weight files (also
pickled ones), of classes, of kernels on the hub, of modules with code. So transformers never reads the folder itself, but a
copy (`staged`). The copy holds only files of known kinds, and its JSON files have no keys that name code or other files.
The copy consists of links; only the small JSON files are written anew.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from alloykit.digests import while_unchanged
from alloykit.errors import AlloyError
from alloykit.file_errors import check_readable, scratch
from alloykit.models.export import TEMPERATURE, is_temperature
from alloykit.models.long_texts import LONG_TEXTS, is_long_texts
from alloykit.names import quoted

SUFFIXES = {".json", ".txt", ".model", ".spm", ".codes", ".jinja", ".tiktoken", ".tokenizer", ".safetensors"}
GGUF = ".gguf"
WITH_NAMES = ("tokenizer_config.json", "special_tokens_map.json")  # written again when the model is saved
INDEX = ".safetensors.index.json"
MAX_JSON_BYTES = 64 * 2**20  # bytes of a configuration
MAX_VOCABULARY_BYTES = 512 * 2**20
MAX_LAYERS = 1000
MAX_DEPTH = 50
COPY = "a copy of a model folder"  # for messages
# Keys of config.json that choose code, other files, number formats or what a model returns. They are left out: alloykit chooses these itself.
IGNORED_KEYS = {"auto_map", "configuration_files", "attn_implementation", "experts_implementation", "custom_pipelines", "dtype",
          "torch_dtype", "name_or_path", "kernel_config", "use_kernels", "gguf_file",
          "return_dict", "output_hidden_states", "output_attentions"}  # fmt: skip
TOKEN_KEYS = {"__type", "id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"}
# Keys of generation_config.json that are kept: token ids and penalties. The recipe sets how texts are sampled.
GENERATION_KEYS = {"bos_token_id", "eos_token_id", "pad_token_id", "repetition_penalty", "no_repeat_ngram_size", "suppress_tokens",
              "begin_suppress_tokens"}  # fmt: skip


def loadable_files(folder: Path) -> list[Path]:
    """The files of a folder that loading may read, sorted by name. Of a GGUF folder: its GGUF file."""
    if is_gguf(folder):
        return sorted(folder.glob(f"*{GGUF}"))
    return [path for path in _named_like_parts(folder) if path.is_file()]


def _named_like_parts(folder: Path) -> list[Path]:
    """By name. No hidden ones: a process that has locked the folder writes and removes some there."""
    return sorted(path for path in folder.iterdir() if path.suffix in SUFFIXES and not path.name.startswith("."))


def is_gguf(folder: Path) -> bool:
    """Whether a folder holds GGUF files in place of a config.json."""
    return not (folder / "config.json").exists() and any(folder.glob(f"*{GGUF}"))


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


@contextmanager
def staged(folder: Path, model: str) -> Iterator[Path]:
    """A temporary copy of a model folder with only the files and keys that may be read. model: as the user named it, for messages.

    AlloyError for a folder that is not a model, is damaged, or needs other weights than safetensors.
    """
    files = _checked_files(folder, model)
    config = checked_config(folder, model)
    with _temporary_folder() as copy:
        for file in files:
            if file.name == "config.json":
                content: Any = config
            elif file.name == "tokenizer_config.json":
                content = _checked_tokenizer(_read_object(file, model), file.name, model)
            elif file.name == "special_tokens_map.json":
                content = _read_object(file, model)
                _check_tokens((v for k, v in content.items() if k.endswith("_token")), file.name, model)
            elif file.name == "generation_config.json":
                content = {
                    key: value
                    for key, value in _read_object(file, model).items()
                    if key in GENERATION_KEYS and _is_numeric(value)
                }
            elif file.name.endswith(INDEX):
                content = _checked_index(_read_object(file, model), file, model)
            else:
                if file.name == "tokenizer.json":
                    _check_vocabulary(file, model)
                with scratch(COPY):
                    (copy / file.name).symlink_to(file.resolve())
                continue
            with scratch(COPY):
                (copy / file.name).write_text(json.dumps(content), encoding="utf-8")
        yield copy


def _models_inside(folder: Path) -> str:
    """A hint that names the model folders in a folder, such as the Trainer's checkpoints or a run's student; empty if there are none."""
    found = sorted((file.parent.name for file in folder.glob("*/config.json")), key=lambda name: (len(name), name))
    return f"Models are in these folders of it: {quoted(found)}. Name one of them." if found else ""


def checked_config(folder: Path, model: str, *, any_type: bool = False) -> dict[str, Any]:
    """config.json without `IGNORED_KEYS`. The values that alloykit relies on are checked. any_type: transformers need not know the model type. AlloyError."""
    from transformers import CONFIG_MAPPING

    if not (folder / "config.json").is_file():
        raise AlloyError(
            expected="a model folder (config.json, model.safetensors, tokenizer files)",
            got=f"'{model}' without a file config.json",
            hint=_models_inside(folder)
            or "Check that the folder is complete; `save_pretrained` of both model and tokenizer makes one.",
        )
    raw = _read_object(folder / "config.json", model)
    kind = raw.get("model_type")
    if not any_type and (not isinstance(kind, str) or kind not in CONFIG_MAPPING):
        if raw.get("auto_map"):
            raise needs_code(model)
        raise _damaged("config.json", model, f"the model type {kind!r}", "one that transformers knows")
    config: dict[str, Any] = _cleaned(raw, model)
    if "quantization_config" in json.dumps(config):
        raise AlloyError(
            expected=f"weights of '{model}' that are not quantized",
            got="a `quantization_config` in its config.json",
            hint="Use the model that it was made from; `inference: {int8: true}` computes in 8 bits.",
        )
    _check_weights_name(config.get("transformers_weights"), folder, model)
    heads = config.get("architectures")
    if heads is not None and not (isinstance(heads, list) and all(isinstance(head, str) for head in heads)):
        raise _damaged("config.json", model, f"`architectures: {heads!r}`", "a list of names")
    if not isinstance(config.get("tokenizer_class", ""), str) or not _is_tokenizer(config.get("tokenizer_class", "")):
        del config["tokenizer_class"]
    if not is_temperature(config.get(TEMPERATURE, 1.0)):
        raise _damaged("config.json", model, f"`{TEMPERATURE}: {config[TEMPERATURE]!r}`", "a positive number")
    if not is_long_texts(config.get(LONG_TEXTS, "head")):
        raise _damaged("config.json", model, f"`{LONG_TEXTS}: {config[LONG_TEXTS]!r}`", "head, tail, head_tail or mean")
    if "id2label" in config or "label2id" in config:
        labels = _labels(config.pop("id2label", None), config.pop("label2id", None), model)
        config.pop("num_labels", None)
        config |= {"id2label": labels, "label2id": {label: int(i) for i, label in labels.items()}}
    return config


def needs_code(model: str) -> AlloyError:
    """The error for a model that cannot be loaded without its own code."""
    return AlloyError(
        expected="a model that needs no code of its own",
        got=f"'{model}', whose config.json names such code",
        hint="If you have read and trust its code, set `trust_remote_code: true` beside it in the recipe, or add "
        "--trust-remote-code to the command.",
    )


def check_weights(folder: Path, model: str) -> None:
    """AlloyError if a model folder holds no complete safetensors file."""
    import safetensors

    files = [file for file in _checked_files(folder, model) if file.suffix == ".safetensors"]
    if not files:
        raise AlloyError(
            expected=f"weights in safetensors in '{model}'",
            got="a GGUF file, which only the language model of `generation:` may be" if is_gguf(folder) else "none",
            hint="Other formats are pickled and could run code. Load the model elsewhere and save it with save_pretrained."
            if not is_gguf(folder)
            else "Load the model elsewhere and save it with save_pretrained.",
        )
    for file in files:
        check_readable(file)
        try:
            with safetensors.safe_open(file, framework="pt"):
                pass
        except (safetensors.SafetensorError, OSError, ValueError) as error:
            raise AlloyError(
                expected=f"a whole file {file.name} in '{model}'",
                got=f"'{str(error)[:200]}'",
                hint="Copy or download it again.",
            ) from error


def is_inside(file: Path, folder: Path) -> bool:
    """Whether a file, after all links, is in a folder. In the hub's cache files are links into the folder "blobs" beside it."""
    root = folder.resolve()
    places = [root, root.parent.parent / "blobs"] if root.parent.name == "snapshots" else [root]
    return any(file.resolve().is_relative_to(place) for place in places)


def _checked_files(folder: Path, model: str) -> list[Path]:
    """The files that may be read. AlloyError for a file that is not a plain file of this folder, and for an adapter."""
    found = _named_like_parts(folder)
    for file in found:
        if not file.is_file():
            got = "a broken link" if file.is_symlink() else "something else"
            raise AlloyError(expected=f"a file {file.name} in '{model}'", got=got, hint="Copy the whole folder again.")
        if not is_inside(file, folder):
            raise AlloyError(
                expected=f"a file {file.name} in '{model}'",
                got="a link to a file outside that folder",
                hint="Copy the file into the folder if you trust it.",
            )
    if any(file.name == "adapter_config.json" for file in found):
        raise AlloyError(
            expected=f"a whole model in '{model}'",
            got="an adapter (adapter_config.json)",
            hint="Merge it into its model with PEFT's merge_and_unload(), and save that with save_pretrained.",
        )
    return found


def _read_object(file: Path, model: str, max_bytes: int = MAX_JSON_BYTES) -> dict[str, Any]:
    """The JSON object in a file. AlloyError for anything else."""
    try:
        if file.stat().st_size > max_bytes:
            raise ValueError(f"{file.stat().st_size:,} bytes")
        # A byte-order mark is allowed: editors on Windows write one. The copy that transformers reads has none.
        content = json.loads(file.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise _damaged(file.name, model, str(error) or type(error).__name__, "a JSON object") from error
    if not isinstance(content, dict):
        raise _damaged(file.name, model, f"a {type(content).__name__}", "a JSON object")
    if file.name in WITH_NAMES:
        try:
            json.dumps(content, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise _damaged(file.name, model, "half of a surrogate pair, which no file can hold", "valid text") from None
    return content


def _cleaned(value: Any, model: str, key: str = "", depth: int = 0) -> Any:
    """The same value without `IGNORED_KEYS` and private keys, at any depth."""
    if depth > MAX_DEPTH:
        raise _damaged("config.json", model, "values nested too deeply", f"at most {MAX_DEPTH} levels")
    if isinstance(value, dict):
        if key in ("id2label", "label2id"):  # their keys are labels
            return value
        kept = {k: v for k, v in value.items() if k not in IGNORED_KEYS and not k.startswith("_")}
        kept = {k: v for k, v in kept.items() if k != "quantization_config" or v is not None}
        return {k: _cleaned(v, model, k, depth + 1) for k, v in kept.items()}
    if isinstance(value, list):
        return [_cleaned(v, model, key, depth + 1) for v in value]
    if isinstance(value, str) and not _is_text(value):
        raise _damaged("config.json", model, f"`{key!a}: {value!a}`", "valid text")
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    if is_integer and (abs(value) >= 2**31 or ("layer" in key and value > MAX_LAYERS)):
        raise _damaged("config.json", model, f"`{key}: {str(value)[:40]}`", "a number of usual size")
    return value


def _labels(id2label: Any, label2id: Any, model: str) -> dict[str, str]:
    """Position → label, in the order of the logits. AlloyError if a position has no name."""
    if id2label is None and isinstance(label2id, dict):
        id2label = {i: label for label, i in label2id.items()}
    is_mapping = isinstance(id2label, dict) and bool(id2label)
    try:
        labels = {int(i): label for i, label in id2label.items()} if is_mapping else {}
    except (ValueError, TypeError):
        labels = {}
    names = [labels.get(i) for i in range(len(labels))]
    are_names = all(isinstance(n, (str, int)) and not isinstance(n, bool) and _is_text(str(n)) for n in names)
    if not names or len(labels) != len(id2label) or not are_names:
        raise _damaged(
            "config.json",
            model,
            f"`id2label: {ascii(id2label)[:100]}`",
            'a name for each label, {"0": "bug", "1": "login"}',
        )
    return {str(i): str(name).strip() for i, name in enumerate(names)}  # as the labels of teachers and of texts are


def _check_weights_name(name: Any, folder: Path, model: str) -> None:
    """AlloyError if config.json names a file of weights that is not a safetensors file of this folder."""
    if name is None:
        return
    is_plain_name = isinstance(name, str) and Path(name).name == name
    if not (is_plain_name and name.endswith((".safetensors", INDEX)) and (folder / name).is_file()):
        raise AlloyError(
            expected=f"weights in safetensors in '{model}'",
            got=f"`transformers_weights: {ascii(name)[:100]}` in its config.json",
            hint="Other formats are pickled and could run code. Load the model elsewhere and save it with save_pretrained.",
        )


def _checked_index(index: dict[str, Any], file: Path, model: str) -> dict[str, Any]:
    """The index of tensors and their shards. AlloyError for a shard that is not a safetensors file of this folder."""
    places = index.get("weight_map")
    if not isinstance(places, dict) or not places:
        raise _damaged(file.name, model, "no `weight_map`", "the file of each tensor")
    for shard in {ascii(place): place for place in places.values()}.values():
        is_plain_name = isinstance(shard, str) and Path(shard).name == shard and shard.endswith(".safetensors")
        if not is_plain_name or not (file.parent / shard).is_file():
            raise _damaged(file.name, model, f"the file {ascii(shard)[:100]}", "safetensors files of this folder")
    metadata = index.get("metadata")
    return {"metadata": metadata if isinstance(metadata, dict) else {}, "weight_map": places}


@while_unchanged
def _check_vocabulary(file: Path, model: str) -> None:
    """AlloyError for a tokenizer.json whose added tokens have another form than the library expects: it would print them to standard output."""
    found = _read_object(file, model, max_bytes=MAX_VOCABULARY_BYTES)
    added = found.get("added_tokens")
    if not isinstance(found.get("model"), dict) or not isinstance(added, list):
        raise _damaged(file.name, model, "something else", "a `model` and a list `added_tokens`")
    if not all(isinstance(token, dict) for token in added):
        raise _damaged(file.name, model, f"{ascii(added)[:100]}", "a list of added tokens")
    _check_tokens(added, file.name, model)


def _check_tokens(values: Iterable[Any], file: str, model: str) -> None:
    """AlloyError for a token with unknown keys."""
    for value in values:
        if isinstance(value, dict) and not value.keys() <= TOKEN_KEYS:
            raise _damaged(
                file, model, f"`{ascii(value)[:100]}`", f"tokens with the keys {', '.join(sorted(TOKEN_KEYS))}"
            )


def _checked_tokenizer(raw: dict[str, Any], file: str, model: str) -> dict[str, Any]:
    """tokenizer_config.json without keys that name code, files, or a class that is not a tokenizer."""
    kept = {
        key: value
        for key, value in raw.items()
        if key not in IGNORED_KEYS and not key.startswith("_") and not key.endswith(("_file", "_files"))
    }
    _check_tokens((value for key, value in kept.items() if key.endswith("_token")), file, model)
    if isinstance(kept.get("added_tokens_decoder"), dict):
        _check_tokens(kept["added_tokens_decoder"].values(), file, model)
    for key in ("tokenizer_class", "backend"):
        if key in kept and not isinstance(kept[key], str):
            del kept[key]
    if "tokenizer_class" in kept and not _is_tokenizer(kept["tokenizer_class"]):
        del kept["tokenizer_class"]
    length = kept.get("model_max_length")
    number = isinstance(length, (int, float)) and not isinstance(length, bool)
    if length is not None and not (number and not math.isnan(length) and length >= 1):
        del kept["model_max_length"]
    return kept


def _is_tokenizer(name: str) -> bool:
    """Whether transformers knows a tokenizer of this name, or nothing of this name.

    transformers looks the name up among all its exports, also those that are not tokenizers: `RagRetriever` unpickles, `AutoModel` loads weights.
    """
    from transformers.models.auto.tokenization_auto import tokenizer_class_from_name
    from transformers.tokenization_utils_base import PreTrainedTokenizerBase

    found: Any = tokenizer_class_from_name(name)
    if found is None or type(found).__name__ == "DummyObject":  # a placeholder, which only says what must be installed
        return True
    return isinstance(found, type) and issubclass(found, PreTrainedTokenizerBase)


def _is_numeric(value: Any) -> bool:
    """Whether a value is a number or a list of integers."""
    if isinstance(value, list):
        return all(isinstance(v, int) and not isinstance(v, bool) for v in value)
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_text(value: str) -> bool:
    """Whether a string can be written as UTF-8. Half of a surrogate pair cannot."""
    return not any(0xD800 <= ord(c) <= 0xDFFF for c in value)


def _damaged(file: str, model: str, got: str, wanted: str) -> AlloyError:
    return AlloyError(
        expected=f"{wanted} in {file} of '{model}'",
        got=got[:200],
        hint="Check that the folder is complete; `save_pretrained` of both model and tokenizer makes one.",
    )
