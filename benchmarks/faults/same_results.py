"""Whether two runs made the same results, what a finished run left behind, and which parts of the teachers' outputs are finished."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

VOLATILE = ("seconds", "this call", "per_second", "runtime", "environment", "times_as_fast")


def results(run: Path) -> dict[str, str]:
    """A digest of everything that a run must make again in the same way: weights, teachers' outputs, texts, scores."""
    found = {}
    for path in sorted(p for p in run.rglob("*") if p.is_file()):
        name = str(path.relative_to(run))
        if name.startswith("training/") or path.name in ("environment.json", "report.html"):
            continue
        if path.suffix == ".safetensors":
            found[name] = _digest(_ordered(path.read_bytes()))
        elif path.suffix in (".parquet", ".csv", ".jsonl", ".txt", ".yaml", ".onnx") and "/own/" not in name:
            found[name] = _digest(path.read_bytes())
        elif path.suffix == ".json" and not name.startswith("cache/"):
            found[name] = _digest(json.dumps(_steady(json.loads(path.read_text())), sort_keys=True).encode())
    return found


def difference(wanted: Path, found: Path) -> str | None:
    """The first result in which two runs differ."""
    try:
        a, b = results(wanted), results(found)
    except (ValueError, struct.error) as error:
        return f"unreadable result: {error}"
    for name in sorted(a.keys() | b.keys()):
        if a.get(name) != b.get(name):
            how = "is missing" if name not in b else "is new" if name not in a else "differs"
            if how == "differs" and name.endswith(".json"):
                values = [_steady(json.loads((run / name).read_text())) for run in (wanted, found)]
                how += f" at {_where(*values)}"
            return f"{name} {how}"
    return None


def _where(a: Any, b: Any, place: str = "") -> str:
    """The first place in which two JSON values differ, and both values there."""
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
        return next(_where(a[key], b[key], f"{place}.{key}") for key in sorted(a) if a[key] != b[key])
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return next(_where(x, y, f"{place}.{n}") for n, (x, y) in enumerate(zip(a, b, strict=True)) if x != y)
    if isinstance(a, dict) and isinstance(b, dict):
        a, b = sorted(a.keys() - b.keys()), sorted(b.keys() - a.keys())
    return f"{place[1:] or 'the whole'}: {str(a)[:80]} and {str(b)[:80]}"


def leftovers(run: Path) -> list[str]:
    """Temporary files that a finished run left behind."""
    return sorted(str(p.relative_to(run)) for p in run.rglob("*") if p.name.endswith(".tmp") or ".tmp." in p.name)


def units(run: Path) -> dict[str, tuple[int, int]]:
    """Finished parts of the teachers' outputs: those whose receipt is there and true. Inode and time of each."""
    found = {}
    for receipt in run.rglob("*.json"):
        weights = receipt.with_suffix(".safetensors")
        if "cache" not in receipt.parts or not weights.is_file():
            continue
        try:
            with safe_open(weights, framework="pt"):
                told = json.loads(receipt.read_text())
        except (ValueError, SafetensorError):
            continue
        if told.get("sha256") == hashlib.sha256(weights.read_bytes()).hexdigest():
            about = weights.stat()
            found[str(weights.relative_to(run))] = (about.st_ino, about.st_mtime_ns)
    return found


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def _ordered(data: bytes) -> bytes:
    """A safetensors file with its header in order: the library writes more than one line of metadata in an order that changes."""
    (length,) = struct.unpack("<Q", data[:8])
    return json.dumps(json.loads(data[8 : 8 + length]), sort_keys=True).encode() + data[8 + length :]


def _steady(value: Any) -> Any:
    """Without times."""
    if isinstance(value, dict):
        return {k: _steady(v) for k, v in value.items() if not any(word in k for word in VOLATILE)}
    return [_steady(v) for v in value] if isinstance(value, list) else value
