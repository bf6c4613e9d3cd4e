"""Model folders that somebody made to harm whoever loads them, and what must never happen while they are loaded."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import tiny
import torch
import transformers

LABELS = ("bug", "login")
Spoil = Callable[[Path], Any]


def edit(folder: Path, name: str = "config.json", **changes: Any) -> None:
    path = folder / name
    found = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(found | changes))


def code(folder: Path, *names: str) -> None:
    """A module whose import leaves a trace, with these classes in it."""
    lines = [f"open({str(folder / 'ran')!r}, 'w').close()", *(f"class {name}: ..." for name in names)]
    (folder / "own.py").write_text("\n".join(lines))


def pickled(folder: Path, name: str) -> None:
    torch.save(safetensors.torch.load_file(folder / "model.safetensors"), folder / name)


def unknown_model(folder: Path) -> None:
    code(folder, "Own", "OwnModel")
    edit(
        folder,
        model_type="own",
        auto_map={"AutoConfig": "own.Own", "AutoModelForSequenceClassification": "own.OwnModel"},
    )


def unregistered_tokenizer(folder: Path) -> None:
    """Of an architecture that transformers has no tokenizer for: it would ask on standard input whether to run the code."""
    words = tiny.tokenizer()
    config = transformers.AutoConfig.for_model(
        "llama", vocab_size=len(words), hidden_size=32, num_attention_heads=4, num_key_value_heads=4, num_hidden_layers=2,
        intermediate_size=64, pad_token_id=0, id2label=dict(enumerate(LABELS)), label2id={n: i for i, n in enumerate(LABELS)},
    )  # fmt: skip
    transformers.AutoModelForSequenceClassification.from_config(config).save_pretrained(folder)
    code(folder, "Own")
    edit(folder, "tokenizer_config.json", tokenizer_class="Own", auto_map={"AutoTokenizer": ["own.Own", None]})


def index_to(shard: str) -> Spoil:
    def spoil(folder: Path) -> None:
        tensors = safetensors.torch.load_file(folder / "model.safetensors")
        safetensors.torch.save_file(tensors, folder.parent / "outside.safetensors", {"format": "pt"})
        pickled(folder, "pytorch_model.bin")
        (folder / "model.safetensors").rename(folder / "other.safetensors")
        index = {"metadata": {}, "weight_map": dict.fromkeys(tensors, shard)}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index))

    return spoil


def linked(name: str, *, outside: bool = True) -> Spoil:
    def spoil(folder: Path) -> None:
        target = folder.parent / f"outside-{name}"
        shutil.move(folder / name, target)
        (folder / name).symlink_to(target if outside else folder.parent / "nowhere")

    return spoil


def fifo(folder: Path) -> None:
    (folder / "tokenizer_config.json").unlink()
    os.mkfifo(folder / "tokenizer_config.json")


REFUSED: dict[str, tuple[Spoil, str]] = {
    "code of an unknown model": (unknown_model, "needs no code"),
    "a pickle by name": (lambda f: (pickled(f, "adapter_model.bin"), edit(f, transformers_weights="adapter_model.bin")), "safetensors"),
    "weights outside by name": (lambda f: edit(f, transformers_weights="../outside.safetensors"), "safetensors"),
    "a pickle alone": (lambda f: (pickled(f, "pytorch_model.bin"), (f / "model.safetensors").unlink()), "safetensors"),
    "a pickle in the index": (index_to("pytorch_model.bin"), "safetensors files of this folder"),
    "weights outside in the index": (index_to("../outside.safetensors"), "safetensors files of this folder"),
    "an adapter": (lambda f: edit(f, "adapter_config.json", base_model_name_or_path="org/other"), "adapter"),
    "a link outside": (linked("model.safetensors"), "outside that folder"),
    "a tokenizer outside": (linked("tokenizer.json"), "outside that folder"),
    "a link to nowhere": (linked("model.safetensors", outside=False), "a broken link"),
    "a pipe": (fifo, "tokenizer_config.json"),
    "quantized weights": (
        lambda f: edit(f, quantization_config={"quant_method": "bitsandbytes", "load_in_8bit": True}), "not quantized",
    ),
    "quantized parts": (lambda f: edit(f, text_config={"quantization_config": {"quant_method": "hqq"}}), "not quantized"),
    "a huge model": (lambda f: edit(f, vocab_size=2_000_000_000), "by its config.json"),
    "a deep model": (lambda f: edit(f, num_hidden_layers=1_000_000), "num_hidden_layers"),
}  # fmt: skip

HARMLESS: dict[str, Spoil] = {
    "a kernel": lambda f: edit(f, _attn_implementation="some/kernel"),
    "a kernel by its other name": lambda f: edit(f, attn_implementation="some/kernel"),
    "kernels of parts": lambda f: edit(f, attn_implementation={"": "some/kernel", "text_config": "some/kernel"}),
    "experts": lambda f: edit(f, experts_implementation="some/kernel", _experts_implementation="some/kernel"),
    "code of a known model": lambda f: (code(f, "Own"), edit(f, auto_map={"AutoModelForSequenceClassification": "own.Own"})),
    "code of a tokenizer": lambda f: (code(f, "Own"), edit(f, "tokenizer_config.json", auto_map={"AutoTokenizer": ["own.Own", None]})),
    "a tokenizer that nobody registered": unregistered_tokenizer,
    "a class that is no tokenizer": lambda f: edit(f, "tokenizer_config.json", tokenizer_class="RagRetriever"),
    "a model as tokenizer": lambda f: edit(f, "tokenizer_config.json", tokenizer_class="AutoModelForSequenceClassification"),
    "a class that is no tokenizer, in config.json": lambda f: edit(f, tokenizer_class="RagRetriever"),
    "files of a tokenizer": lambda f: edit(f, "tokenizer_config.json", vocab_file="/etc/passwd", tokenizer_file="/etc/passwd"),
    "another configuration": lambda f: edit(f, configuration_files=["config.1.0.json"]),
    "no type": lambda f: edit(f, dtype="load"),
    "pickles beside": lambda f: pickled(f, "pytorch_model.bin"),
    "generation": lambda f: edit(f, "generation_config.json", custom_generate="org/code", cache_implementation="x"),
}  # fmt: skip


@pytest.fixture
def reached(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was reached that must not be: an unpickler, a question, a module of a model, a kernel, the network."""
    found: list[str] = []

    def trap(owner: Any, name: str) -> None:
        def caught(*_: Any, **__: Any) -> Any:
            found.append(name)
            raise AssertionError(f"{name} was reached")

        monkeypatch.setattr(owner, name, caught)

    import builtins
    import pickle
    import socket

    from transformers import dynamic_module_utils, modeling_flash_attention_utils, modeling_utils
    from transformers.integrations import hub_kernels

    trap(torch, "load")
    trap(pickle, "load")
    trap(builtins, "input")
    trap(dynamic_module_utils, "get_class_in_module")
    trap(hub_kernels, "load_and_register_attn_kernel")
    trap(modeling_flash_attention_utils, "lazy_import_flash_attention")
    trap(modeling_utils, "lazy_import_flash_attention")
    trap(socket.socket, "connect")
    return found
