"""Packages that only some model files need."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from alloykit.errors import AlloyError


def require_gguf(model: str) -> None:
    """AlloyError if the package that reads GGUF files is not installed."""
    if importlib.util.find_spec("gguf") is None:
        raise AlloyError(
            expected=f"the package gguf, which reads '{model}'",
            got="it is not installed",
            hint="Run: pip install 'alloykit[gguf]'",
        )


def require_sentencepiece(folder: Path, model: str) -> None:
    """AlloyError if the tokenizer has a file of SentencePiece alone, as DeBERTa-v3 on the hub has, and a package that reads it is not installed."""
    files = sorted(file.name for file in folder.iterdir() if file.suffix in (".model", ".spm"))
    if not files or (folder / "tokenizer.json").exists():
        return
    if not (_is_there("sentencepiece") and _is_there("google.protobuf")):
        raise AlloyError(
            expected=f"the packages sentencepiece and protobuf, which read {files[0]} of '{model}'",
            got="not both of them",
            hint="Run: pip install 'alloykit[sentencepiece]'",
        )


def _is_there(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:  # not even the package that it is in
        return False
