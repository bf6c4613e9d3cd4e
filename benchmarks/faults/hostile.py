"""Folders of strangers that want to run code, reach the network or read elsewhere: a canary file must never be made."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import yaml

from benchmarks.faults.cases import CANARY, Case
from benchmarks.faults.kinds import Kind
from benchmarks.faults.steps import step

CODE = f"""
open({CANARY!r}, "w").close()
from transformers import *
class OwnConfig(PretrainedConfig): model_type = "own_model"
class OwnModel(BertForSequenceClassification): ...
class OwnTokenizer(PreTrainedTokenizerFast): ...
def generate(*a, **k): open({CANARY!r}, "w").close()
"""


class Touch:
    """Its pickle makes the canary when it is loaded."""

    def __reduce__(self) -> Any:
        return os.system, (f"touch {CANARY}",)


def _config(**more: Any) -> Callable[[Path], None]:
    return lambda folder: _edit(folder / "config.json", **more)


def _words(**more: Any) -> Callable[[Path], None]:
    return lambda folder: _edit(folder / "tokenizer_config.json", **more)


def _edit(path: Path, **more: Any) -> None:
    told = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({k: v for k, v in (told | more).items() if v != "REMOVE"}))


def _own_code(name: str) -> dict[str, Any]:
    return {
        "auto_map": {
            "AutoConfig": f"{name}.OwnConfig",
            "AutoModel": f"{name}.OwnModel",
            "AutoModelForSequenceClassification": f"{name}.OwnModel",
            "AutoModelForCausalLM": f"{name}.OwnModel",
            "AutoTokenizer": [f"{name}.OwnTokenizer", f"{name}.OwnTokenizer"],
        }
    }


def _unknown_type(folder: Path) -> None:
    _edit(folder / "config.json", model_type="own_model", **_own_code("own"))


def _unregistered_tokenizer(folder: Path) -> None:
    """An architecture without a tokenizer of its own, so that the folder's is asked about."""
    _edit(folder / "config.json", model_type="own_model", **_own_code("own"))
    _edit(folder / "tokenizer_config.json", tokenizer_class="OwnTokenizer", **_own_code("own"))


def _pickled(name: str, plain: bool = False) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        (folder / "model.safetensors").unlink(missing_ok=True)
        if plain:
            (folder / name).write_bytes(pickle.dumps(Touch()))
        else:
            torch.save({"x": Touch()}, folder / name)

    return spoil


def _beside(name: str) -> Callable[[Path], None]:
    return lambda folder: torch.save({"x": Touch()}, folder / name)


def _weights_named(name: str) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        _pickled(name)(folder)
        _edit(folder / "config.json", transformers_weights=name)

    return spoil


def _index(target: str) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        (folder / "model.safetensors").unlink()
        _pickled("outside.bin")(folder)
        shutil.copy(folder / "outside.bin", folder.parent / "outside.bin")
        told = {"metadata": {"total_size": 1}, "weight_map": {"classifier.weight": target}}
        (folder / "model.safetensors.index.json").write_text(json.dumps(told))

    return spoil


def _adapter(base: str) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        told = {"peft_type": "LORA", "base_model_name_or_path": base, "task_type": "SEQ_CLS", **_own_code("own")}
        (folder / "adapter_config.json").write_text(json.dumps(told))
        torch.save({"x": Touch()}, folder / "adapter_model.bin")

    return spoil


def _linked(name: str, target: str) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        os.symlink(target, folder / name)

    return spoil


def _piped(name: str) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)

    return spoil


def _zipped(folder: Path) -> None:
    """safetensors by name, a pickle in a zip by content."""
    torch.save({"x": Touch()}, folder / "model.safetensors")


def _bomb(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    with zipfile.ZipFile(folder / "pytorch_model.bin", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("archive/data.pkl", b"\x80\x02" + b"0" * 200_000_000)


JINJA = "{{ cycler.__init__.__globals__.os.popen('touch " + CANARY + "').read() }}"

SPOILT: dict[str, Callable[[Path], object]] = {
    "auto_map in config.json": _config(**_own_code("own")),
    "auto_map in config.json, module on the hub": _config(**_own_code("stranger/repo--own")),
    "an unknown model_type with auto_map": _unknown_type,
    "an unknown model_type, its tokenizer too": _unregistered_tokenizer,
    "auto_map in tokenizer_config.json": _words(tokenizer_class="OwnTokenizer", **_own_code("own")),
    "auto_map of the tokenizer as a text": _words(tokenizer_class="OwnTokenizer", auto_map={"AutoTokenizer": "own.OwnTokenizer"}),
    "an old auto_map of the tokenizer": _words(tokenizer_class="OwnTokenizer", auto_map=["own.OwnTokenizer", "own.OwnTokenizer"]),
    "trust_remote_code in config.json": _config(trust_remote_code=True, **_own_code("own")),
    "trust_remote_code in tokenizer_config.json": _words(trust_remote_code=True, **_own_code("own")),
    "custom_pipelines": _config(custom_pipelines={"text-classification": {"impl": "own.OwnModel", "pt": ["OwnModel"]}}),
    "pytorch_model.bin alone": _pickled("pytorch_model.bin"),
    "a plain pickle as pytorch_model.bin": _pickled("pytorch_model.bin", plain=True),
    "pytorch_model.bin beside the weights": _beside("pytorch_model.bin"),
    "transformers_weights: adapter_model.bin": _weights_named("adapter_model.bin"),
    "transformers_weights: weights.pt": _weights_named("weights.pt"),
    "transformers_weights upwards": _config(transformers_weights="../outside.bin"),
    "an index of pickles": _index("outside.bin"),
    "an index upwards": _index("../outside.bin"),
    "an index to an absolute path": _index("/etc/passwd"),
    "an adapter with a pickle": _adapter("encoder"),
    "an adapter of a hub model": _adapter("stranger/repo"),
    "an adapter of a URL": _adapter("http://127.0.0.1:9/x"),
    "_attn_implementation: a hub kernel": _config(_attn_implementation="some/kernel"),
    "attn_implementation: a hub kernel": _config(attn_implementation="some/kernel"),
    "_attn_implementation_internal": _config(_attn_implementation_internal="some/kernel"),
    "attn_implementation with a function": _config(attn_implementation="stranger/kernel@main:forward"),
    "experts_implementation": _config(_experts_implementation="some/kernel", experts_implementation="some/kernel"),
    "use_kernels": _config(use_kernels=True, kernel_config={"kernel_mapping": {"Linear": "some/kernel:Linear"}}),
    "quantization by a hub kernel": _config(quantization_config={"quant_method": "mxfp4"}),
    "quantization_config with custom code": _config(quantization_config={"quant_method": "fp8", "auto_map": {"x": "own.OwnModel"}}),
    "hidden_act: a path of Python": _config(hidden_act="os.system"),
    "_name_or_path of a stranger": _config(_name_or_path="stranger/repo", name_or_path="stranger/repo"),
    "a tokenizer's name_or_path of a stranger": _words(name_or_path="stranger/repo", tokenizer_file=None),
    "a tokenizer of the hub alone": lambda folder: [p.unlink() for p in folder.glob("tokenizer*")],
    "a chat template": _words(chat_template=JINJA),
    "a chat template file": lambda folder: (folder / "chat_template.jinja").write_text(JINJA),
    "generation_config.json with custom_generate": lambda folder: _edit(
        folder / "generation_config.json", custom_generate="stranger/repo", auto_map={"x": "own.generate"}, cache_implementation="own"
    ),
    "custom_generate/generate.py": lambda folder: [
        (folder / "custom_generate").mkdir(), (folder / "custom_generate" / "generate.py").write_text(CODE)
    ],
    "a pickle named model.safetensors": _zipped,
    "a zip bomb named pytorch_model.bin": _bomb,
    "conftest.py, sitecustomize.py and a package of our name": lambda folder: [
        (folder.parent / n).write_text(CODE) for n in ("sitecustomize.py", "torch.py", "yaml.py", "alloykit.py", "usercustomize.py")
    ],
    "config.json links to /etc/passwd": _linked("config.json", "/etc/passwd"),
    "config.json links to /dev/zero": _linked("config.json", "/dev/zero"),
    "tokenizer.json links to /dev/zero": _linked("tokenizer.json", "/dev/zero"),
    "tokenizer_config.json links to /dev/zero": _linked("tokenizer_config.json", "/dev/zero"),
    "model.safetensors links to /dev/zero": _linked("model.safetensors", "/dev/zero"),
    "model.safetensors links out": _linked("model.safetensors", "../../../etc/passwd"),
    "generation_config.json links to /dev/zero": _linked("generation_config.json", "/dev/zero"),
    "adapter_config.json links to /dev/zero": _linked("adapter_config.json", "/dev/zero"),
    "special_tokens_map.json links to /dev/zero": _linked("special_tokens_map.json", "/dev/zero"),
    "config.json is a pipe": _piped("config.json"),
    "tokenizer.json is a pipe": _piped("tokenizer.json"),
    "tokenizer_config.json is a pipe": _piped("tokenizer_config.json"),
    "model.safetensors is a pipe": _piped("model.safetensors"),
    "labels with markup": _config(id2label={"0": "<img src=x onerror=alert(1)>", "1": "# h\n![x](http://x/y)", "2": "</script><script>"}),
    "labels with escapes": _config(id2label={"0": "\x1b[31mred", "1": "\x1b]0;title\x07", "2": "a\rb\x9b31m"}),
    "labels of other alphabets and directions": _config(id2label={"0": "\u202eevil", "1": "a\u0000b", "2": "\u2028"}),
}  # fmt: skip
USES: dict[str, tuple[list[str], str]] = {
    "plan": (["plan", "recipe.yaml"], "muka"),
    "predict": (["predict", "billing", "-", "--all-probabilities"], "muka"),
    "evaluate": (["evaluate", "billing", "--data", "test.csv"], "muka"),
    "teacher": (["amalgamate", "recipe.yaml"], "muka"),
    "student": (["teach", "recipe.yaml"], "teach"),
    "language model": (["generate", "recipe.yaml"], "generate"),
    "a run's teacher": (["evaluate", "run"], "muka"),
    "a run's student": (["predict", "run", "-"], "muka"),
    "a file of the folder": (["plan", "recipe.yaml"], "muka"),
}
TARGET = {"student": "encoder", "language model": "lm"}
CASES = [(spoilt, use) for spoilt in SPOILT for use in USES]
MARKUP = ("<img src=x", "</script><script>alert", "\n# h", "![x](http")


def make(case: Case) -> None:
    spoilt, use = CASES[case.seed]
    argv, scenario = USES[use]
    name = TARGET.get(use, "billing")
    case.about = f"{spoilt}, as {use}"
    case.stock.fill(case.folder, scenario, own=(name,))
    run, recipe = case.folder / "run", case.folder / "recipe.yaml"
    if use.startswith("a run's"):
        shutil.copytree(case.stock.reference("muka").folder, run)
        _believing(run / "recipe.yaml")
        if use == "a run's student":
            shutil.rmtree(case.folder / name)
            shutil.copytree(run / "student", case.folder / name)
            shutil.rmtree(run / "student")
    folder = case.folder / name
    (folder / "own.py").write_text(CODE)
    SPOILT[spoilt](folder)
    if use == "a run's student":
        folder.rename(run / "student")
    if use == "a file of the folder":
        told = yaml.safe_load(recipe.read_text())
        told["teachers"] = [
            case.draw.choice(["billing/config.json", "billing/model.safetensors", "billing/pytorch_model.bin"]),
            "delivery",
        ]
        recipe.write_text(yaml.safe_dump(told))
    consent = case.folder / "consent.txt"
    consent.write_text("y\ny\nyes\nwhere is my parcel\n")
    case.run(step(case.folder, *argv, stdin=str(consent), pictures=spoilt.startswith("labels")))
    if spoilt == "labels with markup" and use == "teacher":
        for page in (run / "report.html", run / "student" / "README.md"):
            text = page.read_text(encoding="utf-8") if page.exists() else ""
            found = [mark for mark in MARKUP if mark in text]
            case.demand(not found, "foreign code", f"{page.name} holds {found}")


def _believing(recipe: Path) -> None:
    """A stranger's run that trusts its own teachers' code."""
    told = yaml.safe_load(recipe.read_text())
    for teacher in told["teachers"]:
        teacher["trust_remote_code"] = True
    if told.get("student"):
        told["student"]["trust_remote_code"] = True
    recipe.write_text(yaml.safe_dump(told))


TABLE = Kind("hostile", "Folders that want to run code, reach the network or read elsewhere", len(CASES), make)
