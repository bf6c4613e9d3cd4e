"""Run folders: each file damaged, then read by every command that reads or goes on with a run."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from benchmarks.faults.cases import Case
from benchmarks.faults.kinds import Kind
from benchmarks.faults.mutate import spoil_bytes, spoil_file, spoil_json, spoil_place
from benchmarks.faults.same_results import difference
from benchmarks.faults.steps import step

COMMANDS = (
    (["report", "run"], 26),
    (["report", "run", "other", "--output", "comparison.html"], 16),
    (["evaluate", "run"], 14),
    (["evaluate", "run", "--data", "test.csv"], 4),
    (["predict", "run", "texts.csv"], 12),
    (["amalgamate", "recipe.yaml"], 18),
    (["amalgamate", "recipe.yaml", "--overwrite"], 6),
    (["sweep", "recipe.yaml"], 4),
)
FILES = (
    "metrics.json", "metrics.json", "metrics.json", "training.json", "training.json", "environment.json", "inputs.json", "recipe.yaml",
    "state.safetensors", "answers.safetensors", "report.html", "student/README.md", "student/config.json", "student/tokenizer.json",
    "student/model.safetensors", "student/tokenizer_config.json", "student", "training", "cache", "student/calibration.json",
)  # fmt: skip


def make(case: Case) -> None:
    draw = case.draw
    name = draw.choice(("alloy", "muka"))
    reference = case.stock.reference(name)
    run = case.folder / "run"
    case.stock.fill(case.folder, name)
    shutil.copytree(reference.folder, run)
    os.symlink(case.stock.reference("muka").folder, case.folder / "other")
    done = [_damage(case, run)]
    if draw.random() < 0.2 and (run / "student").is_dir() and not (run / "student").is_symlink():
        done.append(_damage(case, run))
    argv = draw.choices([c for c, _ in COMMANDS], [w for _, w in COMMANDS])[0]
    case.about = f"{' '.join(argv)}, {name}: {' and '.join(done)}"
    case.run(step(case.folder, *argv, pictures=argv[0] == "report" and case.seed % 3 == 0))
    if argv[-1] == "--overwrite" and case.outcomes[-1].code == 0:
        case.demand(
            _same(reference.folder, run), "different", f"after --overwrite: {difference(reference.folder, run)}"
        )


def _damage(case: Case, run: Path) -> str:
    draw = case.draw
    if draw.random() < 0.1:
        return _checkpoints(case, run)
    if draw.random() < 0.06:
        shutil.rmtree(run / "student")
        os.symlink("../other/student", run / "student")
        return "student: a link to another run's"
    path = run / draw.choice([name for name in FILES if os.path.lexists(run / name)] or ["metrics.json"])
    if path.is_dir() or not path.exists() or path.is_symlink():
        return spoil_place(path, draw)
    if path.suffix == ".json" and draw.random() < 0.75:
        try:
            return spoil_json(path, draw)
        except (ValueError, OSError):  # an earlier damage
            return spoil_bytes(path, draw)
    return spoil_file(path, draw)


def _checkpoints(case: Case, run: Path) -> str:
    """A run that was stopped before it had a student, with odd checkpoints."""
    draw = case.draw
    shutil.rmtree(run / "student", ignore_errors=True)
    folder = run / "training" / "train"
    name = draw.choice(
        [
            "checkpoint-abc",
            "checkpoint-1",
            "checkpoint--3",
            "checkpoint-",
            "checkpoint-99999",
            "checkpoint-007",
            "checks",
        ]
    )
    shutil.rmtree(folder / name, ignore_errors=True)
    kind = draw.choice(["empty", "marked", "marked wrongly", "a file", "copied"])
    if kind == "a file":
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")
    else:
        (folder / name).mkdir(parents=True)
    marker = folder / name / "alloykit_complete.json"
    if kind == "marked":
        marker.write_text("{}")
    elif kind == "marked wrongly":
        marker.write_text(draw.choice(["[", "[]", "null", '{"step": "x"}']))
    elif kind == "copied":
        for n, other in enumerate(p for p in sorted(folder.glob("checkpoint-*")) if p.is_dir() and p.name != name):
            if n == 0:
                shutil.copytree(other, folder / name, dirs_exist_ok=True)
                files = sorted(p for p in (folder / name).iterdir() if p.is_file())
                spoil_file(draw.choice(files), draw)
    return f"no student, {name} is {kind}"


def _same(a: Path, b: Path) -> bool:
    weights = "student/model.safetensors"
    return (b / weights).is_file() and (a / weights).read_bytes() == (b / weights).read_bytes()


TABLE = Kind("runs", "Damaged run folders", 350, make)
