"""Stores of teachers' outputs: manifests, receipts and units damaged, also with a checksum that is true of the wrong content."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import safetensors.torch
import torch

from benchmarks.faults.cases import Case
from benchmarks.faults.kinds import Kind
from benchmarks.faults.mutate import spoil_bytes, spoil_file, spoil_json, spoil_place
from benchmarks.faults.same_results import difference
from benchmarks.faults.steps import step

COMMANDS = (
    (["amalgamate", "recipe.yaml"], 50),
    (["sweep", "recipe.yaml"], 25),
    (["evaluate", "run"], 15),
    (["report", "run"], 5),
    (["sweep", "recipe.yaml", "--part", "1/2"], 5),
)


def make(case: Case) -> None:
    draw = case.draw
    name = draw.choice(("alloy", "muka", "muka"))
    reference = case.stock.reference(name)
    argv = draw.choices([c for c, _ in COMMANDS], [w for _, w in COMMANDS])[0]
    run = case.folder / "run"
    case.stock.fill(case.folder, name)
    if argv[0] in ("amalgamate", "sweep"):
        run.mkdir()
        shutil.copytree(reference.folder / "cache", run / "cache")
    else:
        shutil.copytree(reference.folder, run)
    case.about = f"{' '.join(argv)}, {name}: {_damage(case, run / 'cache')}"
    ended = case.run(step(case.folder, *argv))[0]
    if argv[0] == "amalgamate" and ended.code == 0:
        weights = [folder / "student" / "model.safetensors" for folder in (reference.folder, run)]
        same = weights[1].exists() and weights[0].read_bytes() == weights[1].read_bytes()
        case.demand(same, "different", f"a damaged store was believed: {difference(reference.folder, run)}")


def _damage(case: Case, store: Path) -> str:
    draw = case.draw
    receipts = sorted(p for p in store.rglob("*.json") if p.with_suffix(".safetensors").exists())
    others = sorted(p for p in store.rglob("*.json") if p not in receipts)
    units = sorted(store.rglob("*.safetensors"))
    how = draw.choices(("receipt", "other", "unit", "content", "place", "folder"), (22, 20, 18, 25, 10, 5))[0]
    if how == "receipt":
        return _json_or_bytes(case, draw.choice(receipts))
    if how == "other":
        return _json_or_bytes(case, draw.choice(others))
    if how == "unit":
        return spoil_file(draw.choice(units), draw)
    if how == "content":
        return _wrong_content(case, draw.choice(units))
    if how == "place":
        return spoil_place(draw.choice([*receipts, *others, *units]), draw)
    return spoil_place(draw.choice(sorted({p.parent for p in units} | {store})), draw)


def _json_or_bytes(case: Case, path: Path) -> str:
    return (spoil_json if case.draw.random() < 0.75 else spoil_bytes)(path, case.draw)


def _wrong_content(case: Case, unit: Path) -> str:
    """Other tensors, rows, widths or types in a unit, and a receipt that is true of them."""
    draw = case.draw
    tensors = safetensors.torch.load_file(unit)
    name = draw.choice(sorted(tensors))
    value = tensors[name]
    how = draw.choice(
        [
            "renamed",
            "missing",
            "fewer rows",
            "more rows",
            "another width",
            "another type",
            "no tensors",
            "another unit",
            "flat",
        ]
    )
    if how == "renamed":
        tensors["x"] = tensors.pop(name)
    elif how == "missing":
        del tensors[name]
    elif how == "fewer rows":
        tensors = {k: v[: max(1, len(v) // 2)].clone() for k, v in tensors.items()}
    elif how == "more rows":
        tensors = {k: torch.cat([v, v]) for k, v in tensors.items()}
    elif how == "another width":
        tensors[name] = value[..., :1].clone() if value.dim() > 1 else value[:, None].repeat(1, 3)
    elif how == "another type":
        tensors[name] = value.to(torch.int64 if value.is_floating_point() else torch.float32)
    elif how == "no tensors":
        tensors = {}
    elif how == "flat":
        tensors[name] = value.flatten().clone()
    else:
        other = draw.choice(sorted(p for p in unit.parents[1].rglob("*.safetensors")))
        tensors = safetensors.torch.load_file(other)
    data = safetensors.torch.save({k: v.contiguous() for k, v in tensors.items()})
    unit.write_bytes(data)
    receipt = unit.with_suffix(".json")
    told = json.loads(receipt.read_text()) | {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    receipt.write_text(json.dumps(told))
    return f"{unit.parent.name}/{unit.name}: {how} ({name}), its checksum true"


TABLE = Kind("stores", "Damaged stores of teachers' outputs", 250, make)
