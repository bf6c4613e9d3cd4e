"""A seeded sample of `python -m benchmarks faults`, and that the instrument notices what it is there to notice."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
import yaml

from benchmarks.faults.cases import judge
from benchmarks.faults.later import make_later
from benchmarks.faults.same_results import difference
from benchmarks.faults.steps import Outcome, step
from benchmarks.faults.stock import SCENARIOS, Stock
from benchmarks.faults.worker import Worker

pytestmark = pytest.mark.slow

INPUTS: dict[str, list[int]] = {
    "recipes": [11, 21, 41, 87],
    "models": [5, 7, 17, 19],
    "hostile": [6, 8, 15],
    "runs": [3, 13],
    "stores": [0],
    "data": [0],
    "streams": [20],
    "answers": [1, 3, 48],
    "services": [1, 10],
    "functions": [43, 72],
}
INTERRUPTED: dict[str, list[int]] = {"kills": [16, 60], "disks": [5], "pairs": [12]}


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stock]:
    """Models and undisturbed runs, made once for all processes of pytest-xdist; each has a worker of its own."""
    number, base = os.environ.get("PYTEST_XDIST_WORKER"), tmp_path_factory.getbasetemp()
    work = (base.parent if number else base) / "faults"
    with Worker(work / f"worker-{number}") as worker:
        made = Stock(work, worker, make_later)
        made.reference("teach")  # the first run is made twice, and this is the quickest
        yield made


@pytest.mark.parametrize("sample", [INPUTS, INTERRUPTED], ids=["inputs", "interrupted"])
def test_nothing_breaks(sample: dict[str, list[int]], stock: Stock, tmp_path: Path) -> None:
    broken = []
    for kind, seeds in sample.items():
        table = import_module(f"benchmarks.faults.{kind}").TABLE
        for seed in seeds:
            tried = table.attempt(seed, stock, tmp_path / kind / str(seed))
            broken += [f"{kind} {seed} ({tried['about']}): {fault}" for fault in tried["faults"]]
    assert not broken, "\n".join(broken)


def test_the_instrument_notices(stock: Stock, tmp_path: Path) -> None:
    """Foreign code that was allowed, a hang, a kill, a full disk, and a run that differs."""
    folder = tmp_path / "case"
    stock.fill(folder, "muka", own=("billing",))
    (folder / "billing" / "own.py").write_text("open('CANARY', 'w').close()\nclass OwnConfig: ...\n")
    told = folder / "billing" / "config.json"
    told.write_text('{"model_type": "own", "auto_map": {"AutoConfig": "own.OwnConfig"}}')
    allowed = {"teachers": [{"model": "billing", "trust_remote_code": True}, "delivery"]}
    (folder / "recipe.yaml").write_text(yaml.safe_dump({**SCENARIOS["muka"].recipe, **allowed}))
    (ran,) = stock.worker.run(step(folder, "plan", "recipe.yaml", "--no-probe"))
    assert any(kind == "foreign code" for kind, _ in judge(ran))
    assert (folder / "CANARY").exists()
    (hung, killed, full) = (
        stock.worker.run(step(_case(stock, tmp_path / name), "sweep", "recipe.yaml", **more))[0]
        for name, more in (
            ("hung", {"limit_s": 0.02}),
            ("killed", {"fault": {"kill_at": 20, "torn": False}}),
            ("full", {"fault": {"error_at": 3, "errno": "ENOSPC", "on": True}}),
        )
    )
    assert [kind for kind, _ in judge(hung)] == ["hang"]
    assert killed.code == -9
    assert full.code == 2
    assert "space" in full.error
    assert (tmp_path / "killed" / "run").exists()
    assert difference(tmp_path / "killed" / "run", tmp_path / "full" / "run") is not None


def _case(stock: Stock, folder: Path) -> Path:
    stock.fill(folder, "sweep")
    return folder


@pytest.mark.parametrize(
    ("outcome", "fault"),
    [
        (Outcome(1, "", "Traceback (most recent call last):\nValueError: x", 1, 0), "traceback"),
        (Outcome(1, "", "", 1, 0), "exit code"),
        (Outcome(-11, "", "", 1, 0), "exit code"),
        (Outcome(2, "", "it went wrong", 1, 0), "no message"),
        (Outcome(2, "", "error: expected " + "x" * 20_000, 1, 0), "long message"),
        (Outcome(0, "a\x1b[31m", "", 1, 0), "control characters"),
        (Outcome(0, "", "", 1, 5000), "memory"),
        (Outcome(0, "", "", 1, 0, seen=["network socket.connect ('1.1.1.1', 443)"]), "network"),
        (Outcome(0, "", "", 1, 0, seen=["pickle os.system"]), "foreign code"),
    ],
)
def test_what_counts_as_a_fault(outcome: Outcome, fault: str) -> None:
    assert [kind for kind, _ in judge(outcome)] == [fault]


def test_what_does_not() -> None:
    for outcome in (
        Outcome(0, "fine\n", "sweep: 3 of 4\n", 1, 50),
        Outcome(2, "", "error: expected a; got b. c", 1, 0),
        Outcome(130, "", "stopped. Run the same command again; what is finished is not computed again.", 1, 0),
        Outcome(141, "x", "", 1, 0),
    ):
        assert judge(outcome) == []
