"""Model folders: every file of teachers, encoders, students and language models damaged, read by every command that loads one."""

from __future__ import annotations

import json
import os
import random
import struct
from pathlib import Path
from typing import Any

import safetensors.torch
import torch

from benchmarks.faults.cases import Case
from benchmarks.faults.kinds import Kind
from benchmarks.faults.mutate import VALUES, is_plain, spoil_file, spoil_json
from benchmarks.faults.steps import step

SETTINGS: dict[str, Any] = {
    "type_vocab_size": "x", "id2label": ["a", "b"], "label2id": [1], "per_layer_config": {"0": {"x": 1}}, "per_layer_attributes": ["x"],
    "quantization_config": {"quant_method": "bitsandbytes", "load_in_8bit": True}, "architectures": "x", "model_type": ["bert"],
    "problem_type": 3, "num_labels": -1, "hidden_size": 10**12, "vocab_size": 10**11, "num_hidden_layers": 10**7,
    "max_position_embeddings": 0, "hidden_act": "nothing", "torch_dtype": "complex64", "dtype": "int8", "tie_word_embeddings": "x",
    "transformers_version": 5, "attn_implementation": "flash_attention_9", "is_decoder": True, "chunk_size_feed_forward": 3,
    "pruned_heads": {"0": [0, 1]}, "layer_types": ["full_attention"], "rope_scaling": {"type": "x"}, "pad_token_id": 10**9,
    "classifier_dropout": "x", "hidden_dropout_prob": 7, "initializer_range": "x", "layer_norm_eps": None, "use_cache": "x",
    "output_hidden_states": True, "return_dict": False, "output_attentions": True, "torchscript": True, "gradient_checkpointing": True,
    "id2label.": {"0": "\ud800", "1": "b", "2": "c"}, "id2label,": {"x": "a", "1": "b"}, "id2label;": {"0": 1, "1": None, "2": []},
    "id2label:": {"0": "a" * 20_000, "1": "\x1b[31mb", "2": "<img src=x>"}, "id2label!": {"0": "a", "5": "b", "2": "c"},
    "quantization_config.": {"quant_method": "gptq", "bits": 4}, "quantization_config,": "x", "auto_map": 3, "auto_map.": {"AutoConfig": 1},
    "sub_configs": {"x": {}}, "text_config": {"model_type": "bert"}, "vision_config": [], "base_model_tp_plan": 1, "tokenizer_class": 7,
}  # fmt: skip
TOKENIZER: dict[str, Any] = {
    "pad_token": True, "unk_token": 5, "cls_token": {"content": 3}, "model_max_length": "x", "model_max_length.": -1,
    "model_max_length,": 1e30, "tokenizer_class": "NoSuchTokenizer", "tokenizer_class.": ["x"], "added_tokens_decoder": [1],
    "added_tokens_decoder.": {"x": {"content": "y"}}, "special_tokens_map_file": "/etc/passwd", "model_input_names": 3,
    "model_input_names.": ["nothing"], "padding_side": "up", "truncation_side": 1, "extra_special_tokens": 7, "chat_template": 3,
    "additional_special_tokens": "x", "clean_up_tokenization_spaces": [], "tokenizer_file": "/etc/passwd", "vocab_file": 1,
    "do_lower_case": {}, "backend": "x", "add_prefix_space": [1], "is_local": "x", "mask_token": "\ud800",
}  # fmt: skip


def make(case: Case) -> None:
    draw = case.draw
    name = draw.choices(("billing", "delivery", "encoder", "task-a", "lm"), (40, 20, 20, 10, 10))[0]
    argv, scenario = draw.choice(COMMANDS[name])
    case.stock.fill(case.folder, scenario, own=(name,))
    done = [_damage(case.folder / name, draw)]
    if draw.random() < 0.15:
        done.append(_damage(case.folder / name, draw))
    case.about = f"{' '.join(argv)}: {name}/{' and '.join(done)}"
    case.run(step(case.folder, *argv), network=False)


COMMANDS: dict[str, list[tuple[list[str], str]]] = {
    "billing": [
        (["plan", "recipe.yaml", "--no-probe"], "muka"),
        (["plan", "recipe.yaml"], "alloy"),
        (["sweep", "recipe.yaml"], "muka"),
        (["predict", "billing", "texts.csv"], "muka"),
        (["evaluate", "billing", "--data", "test.csv"], "muka"),
        (["amalgamate", "recipe.yaml"], "alloy"),
        (["generate", "recipe.yaml"], "generate"),
    ],
    "delivery": [(["sweep", "recipe.yaml"], "muka"), (["predict", "delivery", "texts.csv"], "muka")],
    "encoder": [
        (["plan", "recipe.yaml"], "muka"),
        (["teach", "recipe.yaml"], "teach"),
        (["teach", "recipe.yaml", "--together"], "teach --together"),
        (["amalgamate", "recipe.yaml"], "muka"),
    ],
    "task-a": [
        (["distill", "recipe.yaml"], "distill"),
        (["predict", "task-a", "texts.csv", "--all-probabilities"], "distill"),
    ],
    "lm": [(["generate", "recipe.yaml"], "generate"), (["amalgamate", "recipe.yaml"], "alloy from generated texts")],
}


def _damage(folder: Path, draw: random.Random) -> str:
    how = draw.choices(("setting", "tokenizer setting", "value", "weights", "file", "more"), (22, 12, 22, 20, 20, 4))[0]
    config, words, weights = folder / "config.json", folder / "tokenizer_config.json", folder / "model.safetensors"
    if how in ("setting", "tokenizer setting"):
        path, values = (config, SETTINGS) if how == "setting" else (words, TOKENIZER)
        key = draw.choice(sorted(values))
        return _set(path, key.rstrip(".,;:!"), values[key])
    if how == "value":
        path = draw.choice(
            [p for p in (config, folder / "tokenizer.json", words) if p.is_file() and not p.is_symlink()] or [config]
        )
        try:
            return spoil_json(path, draw)
        except (ValueError, OSError):  # an earlier damage
            return spoil_file(path, draw)
    if how == "weights":
        return _spoil_weights(weights, draw)
    if how == "more":
        return _more(folder, draw)
    return spoil_file(draw.choice(sorted(p for p in folder.iterdir() if not p.is_dir()) or [config]), draw)


def _set(path: Path, key: str, value: Any) -> str:
    if os.path.lexists(path) and not is_plain(path):
        return f"{path.name}: (no file any more)"
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        told[key] = value
    except (ValueError, OSError, TypeError):
        told = {key: value}
    path.unlink(missing_ok=True)
    path.write_text(json.dumps(told), encoding="utf-8")
    return f"{path.name}: {key} = {str(value)[:40]!r}"


def _more(folder: Path, draw: random.Random) -> str:
    """Another file, of which transformers may think something."""
    name = draw.choice(
        ["adapter_config.json", "model.safetensors.index.json", "generation_config.json", "special_tokens_map.json", "added_tokens.json",
         "vocab.txt", "merges.txt", "vocab.json", "spiece.model", "tokenizer.model", "chat_template.json", "preprocessor_config.json",
         "tekken.json", "sentencepiece.bpe.model", "processor_config.json", "chat_template.jinja", "alloykit.json"]
    )  # fmt: skip
    content = draw.choice(
        ["", "{}", "[]", "x", '{"x": 1}', '{"weight_map": {"x": "../../x"}}', "\0", '{"peft_type": "LORA"}', "[" * 9000]
    )
    if not (folder / name).is_dir():
        (folder / name).unlink(missing_ok=True)
        (folder / name).write_text(content)
    return f"{name} holds {content[:30]!r}"


def _spoil_weights(path: Path, draw: random.Random) -> str:
    try:
        if not is_plain(path):
            raise ValueError
        tensors = safetensors.torch.load_file(path)
    except Exception:  # an earlier damage
        return spoil_file(path, draw) if path.exists() and not path.is_dir() else "(already gone)"
    how = draw.choice(
        [
            "header length",
            "header",
            "infinite",
            "NaN",
            "other type",
            "renamed",
            "missing",
            "one more",
            "flat",
            "transposed",
            "of no rows",
            "file",
        ]
    )
    name = draw.choice(sorted(tensors))
    value = tensors[name]
    if how == "file":
        return spoil_file(path, draw)
    if how == "header length":
        length = draw.choice([0, 1, 2**31, 2**63 - 1, 2**64 - 1, 50_000_000])
        path.write_bytes(struct.pack("<Q", length) + path.read_bytes()[8:])
        return f"model.safetensors: header of {length} bytes"
    if how == "header":
        return _spoil_header(path, draw)
    if how in ("infinite", "NaN"):
        tensors[name] = torch.full_like(value, float("inf" if how == "infinite" else "nan"))
    elif how == "other type":
        tensors[name] = value.to(draw.choice([torch.int8, torch.bool, torch.float64, torch.int64, torch.float16]))
    elif how == "renamed":
        tensors[draw.choice(["x", "", "a\0b", name + ".x", "\x1b[31m", "x" * 5000])] = tensors.pop(name)
    elif how == "missing":
        del tensors[name]
    elif how == "one more":
        tensors["classifier.more"] = torch.zeros(2)
    elif how == "flat":
        tensors[name] = value.flatten()[: draw.randrange(1, value.numel() + 1)].clone()
    elif how == "transposed":
        tensors[name] = value.t().contiguous() if value.dim() == 2 else value[None].clone()
    else:
        tensors[name] = value[:0].clone()
    safetensors.torch.save_file({k: v.contiguous() for k, v in tensors.items()}, path, {"format": "pt"})
    return f"model.safetensors: {name} {how}"


def _spoil_header(path: Path, draw: random.Random) -> str:
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    told = json.loads(data[8 : 8 + length])
    name = draw.choice(sorted(told))
    key = draw.choice(["dtype", "shape", "data_offsets", "whole", "metadata"])
    if key == "metadata":
        told["__metadata__"] = draw.choice([{"format": "x"}, {"format": 1}, [], {"x": {}}, {}, None])
    elif key == "whole":
        told[name] = draw.choice(list(VALUES.values()))
    elif isinstance(told[name], dict):
        told[name][key] = draw.choice(["F8", "I64", [], [0], [10**18, 10**18], [-1], [0, 10**12], [5, 1], "x", None])
    header = json.dumps(told).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + data[8 + length :])
    return f"model.safetensors: {key} of {name} in the header"


TABLE = Kind("models", "Damaged model folders", 800, make)
