"""config.json of a model folder, checked before any library reads it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from alloykit.errors import AlloyError
from alloykit.models.checked_tokenizer import is_tokenizer
from alloykit.models.export import TEMPERATURE, is_temperature
from alloykit.models.folder import INDEX
from alloykit.models.folder_json import IGNORED_KEYS, damaged, is_text, read_object
from alloykit.models.long_texts import LONG_TEXTS, is_long_texts
from alloykit.names import quoted

MAX_LAYERS = 1000
MAX_DEPTH = 50


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
    raw = read_object(folder / "config.json", model)
    kind = raw.get("model_type")
    if not any_type and (not isinstance(kind, str) or kind not in CONFIG_MAPPING):
        if raw.get("auto_map"):
            raise needs_code(model)
        raise damaged("config.json", model, f"the model type {kind!r}", "one that transformers knows")
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
        raise damaged("config.json", model, f"`architectures: {heads!r}`", "a list of names")
    if not isinstance(config.get("tokenizer_class", ""), str) or not is_tokenizer(config.get("tokenizer_class", "")):
        del config["tokenizer_class"]
    if not is_temperature(config.get(TEMPERATURE, 1.0)):
        raise damaged("config.json", model, f"`{TEMPERATURE}: {config[TEMPERATURE]!r}`", "a positive number")
    if not is_long_texts(config.get(LONG_TEXTS, "head")):
        raise damaged("config.json", model, f"`{LONG_TEXTS}: {config[LONG_TEXTS]!r}`", "head, tail, head_tail or mean")
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


def _models_inside(folder: Path) -> str:
    """A hint that names the model folders in a folder, such as the Trainer's checkpoints or a run's student; empty if there are none."""
    found = sorted((file.parent.name for file in folder.glob("*/config.json")), key=lambda name: (len(name), name))
    return f"Models are in these folders of it: {quoted(found)}. Name one of them." if found else ""


def _cleaned(value: Any, model: str, key: str = "", depth: int = 0) -> Any:
    """The same value without `IGNORED_KEYS` and private keys, at any depth."""
    if depth > MAX_DEPTH:
        raise damaged("config.json", model, "values nested too deeply", f"at most {MAX_DEPTH} levels")
    if isinstance(value, dict):
        if key in ("id2label", "label2id"):  # their keys are labels
            return value
        kept = {k: v for k, v in value.items() if k not in IGNORED_KEYS and not k.startswith("_")}
        kept = {k: v for k, v in kept.items() if k != "quantization_config" or v is not None}
        return {k: _cleaned(v, model, k, depth + 1) for k, v in kept.items()}
    if isinstance(value, list):
        return [_cleaned(v, model, key, depth + 1) for v in value]
    if isinstance(value, str) and not is_text(value):
        raise damaged("config.json", model, f"`{key!a}: {value!a}`", "valid text")
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    if is_integer and (abs(value) >= 2**31 or ("layer" in key and value > MAX_LAYERS)):
        raise damaged("config.json", model, f"`{key}: {str(value)[:40]}`", "a number of usual size")
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
    are_names = all(isinstance(n, (str, int)) and not isinstance(n, bool) and is_text(str(n)) for n in names)
    if not names or len(labels) != len(id2label) or not are_names:
        raise damaged(
            "config.json",
            model,
            f"`id2label: {ascii(id2label)[:100]}`",
            'a name for each number from 0 on, such as {"0": "bug", "1": "login"},',
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
