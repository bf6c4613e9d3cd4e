"""Runs and folders that are damaged or odd, read by the commands after a run: export, predict --to, push, serve, suggest, update, watch, doctor, init."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import safetensors.torch
import torch

from benchmarks.faults.cases import Case
from benchmarks.faults.kinds import Kind
from benchmarks.faults.later import LATER, keep_result, later_steps, prepare
from benchmarks.faults.mutate import VALUES, spoil_bytes, spoil_file, spoil_json, spoil_place, spoil_value
from benchmarks.faults.steps import step

ODD = [
    "", " ", ".", "..", "/", "~", "-", "--", "nowhere", "nowhere/x", "a\nb", "\x1b[31mred", "\udcff", "x" * 5000, "/dev/null", "/dev/full", "/dev/zero", "/proc/self/mem",
    "recipe.yaml", "texts.csv", "billing", "run", "run/student", "run/recipe.yaml", "link", "pipe", "0", "-1", "1e400", "nan", "9" * 30, "[x]", "\u202e", "a=b", "=", "a/b", "a/b/c",
    "billing=delivery", "billing=", "=delivery", "training.epochs=x", "teachers=1", "labelled.data=x", "hf://x", "memory://x", "https://127.0.0.1:9/x",
]  # fmt: skip
ARGUMENTS: list[list[str]] = [
    ["export", "?", "--onnx"], ["export", "run", "--onnx", "--output", "?"], ["export", "run", "--onnx", "--texts", "?"], ["export", "run", "--onnx", "--text", "?"],
    ["predict", "run", "texts.csv", "--to", "?"], ["predict", "run", "?", "--to", "answers"], ["predict", "?", "texts.csv", "--to", "answers"],
    ["predict", "run", "texts.csv", "--to", "answers", "--engine", "?"], ["predict", "run", "texts.csv", "--onnx"], ["predict", "run", "texts.csv", "--to", "answers", "--text-pair", "?"],
    ["push", "?", "a/b", "--dry-run"], ["push", "run", "?", "--dry-run"], ["push", "run", "a/b", "--license", "?", "--dry-run"], ["push", "run", "a/b", "--language", "?", "--dry-run"],
    ["push", "run", "a/b", "--branch", "?"], ["suggest", "?"], ["suggest", "run", "--n", "?"], ["suggest", "run", "--output", "?"], ["suggest", "run", "--cache", "?"],
    ["watch", "?", "other.csv"], ["watch", "run", "?"], ["watch", "run", "other.csv", "--output", "?"], ["watch", "run", "other.csv", "--fail-over", "?"], ["watch", "run", "other.csv", "--text-pair", "?"],
    ["update", "?", "--add-texts", "other.csv"], ["update", "run", "--add-teacher", "?"], ["update", "run", "--remove-teacher", "?"], ["update", "run", "--replace-teacher", "?"],
    ["update", "run", "--add-texts", "?"], ["update", "run", "--labelled", "?"], ["update", "run", "-o", "?"], ["update", "run", "--add-texts", "other.csv", "--output", "?"],
    ["update", "run", "--add-texts", "other.csv", "--cache", "?"], ["serve", "?"], ["serve", "run", "--host", "?", "--port", "?"], ["serve", "run", "--port", "?"],
    ["serve", "?", "--onnx"], ["serve", "run", "--threads", "?", "--port", "70000"], ["serve", "run", "--timeout", "?", "--port", "70000"], ["serve", "run", "--batch", "?", "--port", "70000"],
    ["doctor", "?"], ["doctor", "recipe.yaml", "--cache", "?"], ["init", "--teacher", "?", "--texts", "texts.csv", "--output", "new.yaml"],
    ["init", "--teacher", "billing", "--texts", "?", "--output", "new.yaml"], ["init", "--teacher", "billing", "--texts", "texts.csv", "--output", "?"],
    ["init", "--teacher", "billing", "--texts", "texts.csv", "--method", "?", "--output", "new.yaml"], ["schema", "?"], ["teach", "?", "--together"],
]  # fmt: skip
FILES = (
    "metrics.json", "training.json", "inputs.json", "recipe.yaml", "recipe.yaml", "state.safetensors", "answers.safetensors", "environment.json", "changes.json",
    "student/README.md", "student/config.json", "student/config.json", "student/tokenizer.json", "student/tokenizer_config.json", "student/model.safetensors",
    "student/none_of_these.safetensors", "student/none_of_these.safetensors", "pool-answers.json", "pool-answers.json", "pool-answers.json", "text_states-texts.safetensors",
    "export/onnx/export.json", "export/onnx/config.json", "export/onnx/config.json", "export/onnx/onnx/model.onnx", "export/onnx/onnx/model.onnx", "export/onnx/tokenizer.json", "export/onnx/tokenizer_config.json",
    "export/onnx", "student", "cache", "cache/manifest.json", "cache/teachers/service/probe.json", "cache/teachers/service/probe.json", "cache/own/service", "cache/own/service",
)  # fmt: skip
READ: list[list[str]] = [
    ["predict", "run", "texts.csv", "--onnx"], ["predict", "run", "texts.csv", "--onnx"], ["predict", "run", "texts.csv", "--none-of-these"], ["predict", "run", "texts.csv", "--to", "answers"],
    ["serve", "run", "--onnx", "--port", "70000"], ["report", "run"], ["doctor", "run/recipe.yaml"], ["push", "run", "a/b", "--dry-run", "--with-cache", "--with-texts"], ["amalgamate", "recipe.yaml"],
]  # fmt: skip


def make(case: Case) -> None:
    draw = case.draw
    how = draw.choices(("arguments", "run", "answers", "labelled"), (40, 40, 12, 8))[0]
    {"arguments": _arguments, "run": _run, "answers": _answers, "labelled": _labelled}[how](case)


def _arguments(case: Case) -> None:
    draw, folder = case.draw, case.folder
    prepare(case, "update with texts")
    os.symlink("no/such/place", folder / "link")
    if draw.random() < 0.15:
        os.mkfifo(folder / "pipe")
    odd = [draw.choice(ODD) for _ in range(2)]
    argv = [odd.pop() if word == "?" and odd else word for word in draw.choice(ARGUMENTS)]
    case.about = ascii(" ".join(argv))[:200]
    limits = {"limit_s": 20.0} if argv[0] == "serve" else {}
    if argv[0] == "serve":
        argv = _refusable(argv)
    case.run(step(folder, *argv, **limits), network=True)
    case.demand(Path("/etc/passwd").stat().st_size > 0, "lost", "a file outside the case")
    case.demand((folder / "texts.csv").stat().st_size > 500, "lost", "the texts were overwritten")


def _refusable(argv: list[str]) -> list[str]:
    """Never a server that runs: for values that are valid, a port that is not."""
    if "--port" in argv and argv[argv.index("--port") + 1] in ("0", "-1"):
        argv[argv.index("--port") + 1] = "70000"
    return argv if "--port" in argv else [*argv, "--port", "70000"]


def _run(case: Case) -> None:
    """One or two files of a finished run are damaged."""
    draw, run = case.draw, case.folder / "run"
    name = draw.choice(sorted(LATER))
    prepare(case, name)
    keep_result(case, run)
    done = [damage(case, run) for _ in range(draw.choice((1, 1, 2)))]
    with later_steps(case, name) as step_of:
        one = step_of({}) if draw.random() < 0.75 else step(case.folder, *draw.choice(READ))
        case.about = f"{' '.join(one.argv)}: {' and '.join(done)}"
        case.run(one, network=one.argv[0] == "doctor")


def damage(case: Case, run: Path) -> str:
    draw = case.draw
    path = run / draw.choice([name for name in FILES if os.path.lexists(run / name)])
    if path.parent.name == "own" and path.is_dir():
        return _journal(case, path)
    if path.suffix == ".safetensors" and path.is_file() and draw.random() < 0.5:
        return _tensors(case, path)
    if path.is_dir() or not path.exists() or path.is_symlink():
        return spoil_place(path, draw)
    if path.suffix == ".json" and draw.random() < 0.8:
        try:
            return spoil_json(path, draw)
        except (ValueError, OSError):  # an earlier damage
            return spoil_bytes(path, draw)
    return spoil_file(path, draw)


def _journal(case: Case, folder: Path) -> str:
    """The finished answers of a service."""
    draw = case.draw
    found = sorted(folder.glob("*.jsonl"))
    if not found:
        return spoil_place(folder, draw)
    path, how = draw.choice(found), draw.choice(("bytes", "place", "line", "line", "line"))
    if how != "line":
        return (spoil_bytes if how == "bytes" else spoil_place)(path, draw)
    lines = path.read_text().splitlines() or ["{}"]
    at = draw.randrange(len(lines))
    lines[at], about = _spoilt_line(lines[at], case)
    path.write_text("\n".join(lines) + "\n")
    return f"journal, line {at}: {about}"


def _spoilt_line(line: str, case: Case) -> tuple[str, str]:
    draw = case.draw
    try:
        value = json.loads(line)
    except ValueError:
        return "{", "cut"
    if draw.random() < 0.4 and value.get("answers"):
        key = draw.choice(sorted(value["answers"]))
        new = draw.choice(
            [
                [0.5],
                [0.5, 0.5, 0.5],
                [float("nan"), 1.0],
                [float("inf"), 0.0],
                [-1.0, 2.0],
                [0.0, 0.0],
                [10**400, 0],
                ["x", "y"],
                [],
                {},
                "ab",
                0.5,
                [[1], [2]],
                None,
            ]
        )
        value["answers"][key] = new
        return json.dumps(value), f"an answer is {str(new)[:20]}"
    value, about = spoil_value(value, draw, VALUES | {"1e400": float("inf"), "10**400": 10**400})
    return json.dumps(value), about


def _tensors(case: Case, path: Path) -> str:
    """Other tensors under the same names."""
    draw = case.draw
    try:
        tensors = safetensors.torch.load_file(path)
    except Exception:  # an earlier damage
        return spoil_bytes(path, draw)
    name = draw.choice(sorted(tensors))
    value = tensors[name]
    how = draw.choice(
        (
            "renamed",
            "missing",
            "fewer rows",
            "more",
            "flat",
            "integers",
            "NaN",
            "infinity",
            "scalar",
            "empty",
            "giant",
            "negative",
        )
    )
    made: dict[str, Any] = {
        "fewer rows": lambda: value[: len(value) // 2].clone() if value.dim() else value, "more": lambda: torch.stack([value, value]), "flat": lambda: value.flatten().clone(),
        "integers": lambda: value.to(torch.int64), "NaN": lambda: torch.full_like(value, float("nan")) if value.is_floating_point() else value - value - 1,
        "infinity": lambda: torch.full_like(value, float("inf")) if value.is_floating_point() else value + 2**30, "scalar": lambda: torch.tensor(1.0),
        "empty": lambda: torch.zeros(0), "giant": lambda: value * 1e30 if value.is_floating_point() else value, "negative": lambda: -value - 1 if value.dtype != torch.bool else value,
    }  # fmt: skip
    if how in made:
        tensors[name] = made[how]()
    else:
        moved = tensors.pop(name)
        tensors |= {"x": moved} if how == "renamed" else {}
    path.write_bytes(safetensors.torch.save({k: v.contiguous() for k, v in tensors.items()}))
    return f"{path.name}: {name} is {how}"


def _answers(case: Case) -> None:
    """A folder of `predict --to` with half-written and foreign files."""
    draw, folder = case.draw, case.folder
    prepare(case, "predict --to")
    answers = folder / "answers"
    shutil.copytree(case.stock.reference("predict --to").folder.parent / "answers", answers)
    done = []
    for _ in range(draw.choice((1, 1, 2))):
        path = draw.choice(sorted(p for p in answers.iterdir() if p.suffix == ".parquet"))
        how = draw.choice(("bytes", "bytes", "bytes", "place", "foreign", "left over", "read-only", "other answers"))
        if how == "bytes":
            done.append(spoil_bytes(path, draw))
        elif how == "place":
            done.append(spoil_place(path, draw))
        elif how == "foreign":
            (answers / draw.choice(("notes.txt", ".hidden", "x.parquet", "x\n.csv"))).write_bytes(b"x")
            done.append("a foreign file")
        elif how == "left over":
            (answers / ".alloykit-00000000-1-0.tmp").write_bytes(b"x")
            done.append("a left-over file")
        elif how == "read-only":
            path.chmod(0o400)
            done.append("a file that is read-only")
        elif path.is_file():
            _foreign_parquet(path, draw)
            done.append("a Parquet file of somebody else")
    case.about = f"predict --to: {' and '.join(done)}"
    ended = case.run(step(folder, *LATER["predict --to"].argv))[0]
    if ended.code == 0:
        wanted = case.stock.reference("predict --to").folder.parent / "answers"
        for path in wanted.glob("*.parquet"):
            same = (answers / path.name).is_file() and _same_rows(path, answers / path.name)
            case.demand(same, "different", f"{path.name} was believed")


def _same_rows(a: Path, b: Path) -> bool:
    import pyarrow.parquet as pq

    return bool(pq.read_table(a).equals(pq.read_table(b)))


def _foreign_parquet(path: Path, draw: Any) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    about = draw.choice([{}, {b"alloykit": b"{"}, {b"alloykit": b"\xff"}, {b"ARROW:schema": b"x"}, {b"pandas": b"{"}])
    pq.write_table(pa.table({"text": ["mine"]}).replace_schema_metadata(about), path)


def _labelled(case: Case) -> None:
    """Files of labels that a person has filled in."""
    draw, folder = case.draw, case.folder
    prepare(case, "update with labels")
    path = folder / "labelled.csv"
    how = draw.choice(("bytes", "place", "columns", "labels", "empty labels", "spreadsheet", "other texts"))
    text = path.read_text()
    if how == "bytes":
        about = spoil_bytes(path, draw)
    elif how == "place":
        about = spoil_place(path, draw, besides="a pipe")
    else:
        about = how
        new = {
            "columns": text.replace("text,label", draw.choice(("Text,Label", "text", "label,text", "text,label,label", "a,b", ",", '"text","label"'))),
            "labels": text.replace("refund", draw.choice(("Refund", "refnd", "", "x" * 20_000, "\x1b[31m", "refund,track", "LABEL_0", " refund "))),
            "empty labels": "\n".join(line.rsplit(",", 1)[0] + "," if n else line for n, line in enumerate(text.splitlines())),
            "spreadsheet": text.replace(",", ";"), "other texts": "text,label\n" + "".join(f"something new {n},refund\n" for n in range(300)),
        }[how]  # fmt: skip
        path.write_text(new, "utf-8", "surrogatepass")
    case.about = f"update --labelled: {about}"
    case.run(step(folder, *LATER["update with labels"].argv))


TABLE = Kind("finished", "Damaged runs and folders, and odd arguments, of the commands after a run", 400, make)
