"""One run by several processes, as `torchrun` and `accelerate launch` start them: killed, with damaged inputs, without room, and with a process missing.

Most cases fork the processes and do what a launcher does: when one of them fails, the others get SIGTERM. A few use the launchers themselves.
A run that was killed is started again, and compared with one of as many processes that never was.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from alloykit.json_files import write_json
from benchmarks.faults.cases import Case
from benchmarks.faults.kinds import Kind
from benchmarks.faults.mutate import spoil_bytes, spoil_value
from benchmarks.faults.recipes import as_yaml, odd_values
from benchmarks.faults.same_results import difference, leftovers, units
from benchmarks.faults.steps import Outcome, Step, step
from benchmarks.faults.stock import MELT, TRAINING, Stock, write_recipe

RECIPES: dict[str, dict[str, Any]] = {
    name: MELT | {"method": method, "training": TRAINING | {"batch_size": 6, "epochs": 2}}
    for name, method in (("alloy", "alloy"), ("muka", {"name": "muka", "passes": 4}))
}
SEEDS = {"kill": 48, "damage": 66, "disk": 74, "missing": 79, "launcher": 82}  # the seeds of each kind end here
ENDED = 143  # the exit code of a process that the launcher's SIGTERM ended
ENDS = (0, 2, 130, ENDED, -signal.SIGTERM)


def make(case: Case) -> None:
    kind = next(kind for kind, end in SEEDS.items() if case.seed < end)
    count = case.draw.choice((2, 2, 2, 3)) if kind == "kill" else case.draw.choice((1, 2, 3))
    name = case.draw.choice(sorted(RECIPES))
    case.stock.fill(case.folder)
    write_recipe(case.folder, RECIPES[name])
    {"kill": _kill, "damage": _damage, "disk": _disk, "missing": _missing, "launcher": _launcher}[kind](
        case, name, count
    )


def _kill(case: Case, name: str, count: int) -> None:
    draw, told = case.draw, list[str]()
    wanted, seconds, changes = _reference(case.stock, name, count)
    finished: dict[str, tuple[int, int]] = {}
    for _ in range(draw.choice((1, 1, 2))):
        at, rank = draw.random(), draw.randrange(count)
        how = draw.choice(("change", "time", "time", "all"))
        if how == "change":
            faults = {0: {"kill_at": draw.randint(1, changes), "torn": draw.random() < 0.5}}
        else:
            number = signal.SIGINT if how == "all" and draw.random() < 0.5 else signal.SIGKILL
            hit = range(count) if how == "all" else [rank]
            faults = {r: {"kill_after": round(max(0.3, at * seconds), 3), "signal": int(number)} for r in hit}
        told.append(f"{faults}")
        ended = _run(case, count, faults)
        lost = [unit for unit, about in finished.items() if units(case.folder / "run").get(unit) != about]
        case.demand(not lost, "lost", f"{lost[:2]} was finished before the kill and made again, or is gone")
        finished = units(case.folder / "run")
        errors = sum(len(re.findall("^(?:process \\d+: )?error: ", one.error, re.MULTILINE)) for one in ended)
        case.demand(errors <= 1, "different", f"{errors} messages: {[one.error[-200:] for one in ended]}")
    case.about = f"{name}, {count} processes, {', then '.join(told)}"
    _finish(case, count, wanted)


def _finish(case: Case, count: int, wanted: Path) -> None:
    ended = _run(case, count)
    codes = [one.code for one in ended]
    case.demand(
        codes == [0] * count, "lost", f"started again, they ended with {codes}: {[one.error[-300:] for one in ended]}"
    )
    if not any(codes):
        differs = difference(wanted, case.folder / "run")
        case.demand(differs is None, "different", differs or "")
        case.demand(not leftovers(case.folder), "left behind", ", ".join(leftovers(case.folder)[:3]))


def _damage(case: Case, name: str, count: int) -> None:
    """Damage the recipe, the texts, a model, or a finished run."""
    draw, folder = case.draw, case.folder
    how = draw.choice(("recipe", "bytes", "texts", "model", "state"))
    if how == "recipe":
        value, about = spoil_value(RECIPES[name], draw, odd_values(draw))
        (folder / "recipe.yaml").write_text(as_yaml(value, draw), "utf-8", "surrogatepass")
    elif how == "bytes":
        about = spoil_bytes(folder / "recipe.yaml", draw)
    elif how == "texts":
        about = spoil_bytes(folder / "texts.csv", draw)
    else:
        if how == "state":
            shutil.copytree(_reference(case.stock, name, count)[0], folder / "run")
            shutil.rmtree(folder / "run" / "student")
        place = folder / ("run" if how == "state" else "delivery")
        if place.is_symlink():
            target = place.resolve()
            place.unlink()
            shutil.copytree(target, place)
        file = draw.choice(
            sorted(p for p in place.rglob("*") if p.is_file() and p.suffix in (".json", ".safetensors", ".yaml"))
        )
        about = f"{file.relative_to(folder)}: {spoil_bytes(file, draw)}"
    case.about = f"{name}, {count} processes, {how}: {about}"
    ended = _run(case, count, network=True)
    codes = [one.code for one in ended]
    case.demand(not any(codes) or codes[0] == 2, "exit code", f"{codes}: {ended[0].error[-200:]}")
    case.demand(not any(one.out or (one.error and codes[0]) for one in ended[1:]), "different", f"another process than the first one spoke: {[one.error[-300:] for one in ended[1:]]}")  # fmt: skip


def _disk(case: Case, name: str, count: int) -> None:
    """No room at some change of a file by the first process; then there is room."""
    wanted, _, changes = _reference(case.stock, name, count)
    at = case.draw.randint(1, changes)
    case.about = f"{name}, {count} processes, no room at change {at}"
    ended = _run(case, count, {0: {"error_at": at, "errno": case.draw.choice(("ENOSPC", "EIO")), "on": True}})
    case.demand(ended[0].code in (0, 2), "exit code", f"{[one.code for one in ended]}")
    _finish(case, count, wanted)


def _missing(case: Case, name: str, count: int) -> None:
    """One process never starts: the others wait a limited time, and one of them says what it waited for."""
    count = max(2, count)
    absent = case.draw.randrange(count)
    case.about = f"{name}, {count} processes, process {absent} never starts"
    ended = _run(case, count, absent=absent, joining="1.5")
    for one in ended:
        case.demand(
            one.code in (2, ENDED, -15) and one.seconds < 30,
            "hang",
            f"{one.code} after {one.seconds} s: {one.error[-200:]}",
        )
    told = sum("processes that reach each other" in one.error for one in ended)
    case.demand(told == 1, "no message", f"{told} messages: {[one.error[-200:] for one in ended]}")


def _launcher(case: Case, name: str, count: int) -> None:
    """torchrun and accelerate themselves: a whole run, a damaged recipe, and a killed process."""
    which = case.seed % 3
    start = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    if which == 1:
        start = [sys.executable, "-m", "accelerate.commands.launch", "--cpu", "--num_processes", "2", "--num_machines", "1", "--mixed_precision", "no", "--dynamo_backend", "no"]  # fmt: skip
    case.about = f"{' '.join(start[2:])}: " + (
        "a damaged recipe" if which == 1 else "killed" if which == 2 else "a whole run"
    )
    wanted, _, _ = _reference(case.stock, name, 2)
    if which == 1:
        write_recipe(case.folder, RECIPES[name] | {"method": "alloi"})
    codes, text = _launched(case, start, kill=which == 2)
    if which == 1:
        told = len(re.findall("error: expected ", text))
        case.demand(
            bool(codes) and told == 1 and "alloykit/" not in text,
            "no message",
            f"{codes}, {told} messages: {text[-500:]}",
        )
        return
    if which == 2:
        case.demand(codes != 0, "exit code", f"0 after a kill: {text[-300:]}")
        codes, text = _launched(case, start, kill=False)
    differs = difference(wanted, case.folder / "run") if codes == 0 else f"{codes}: {text[-500:]}"
    case.demand(differs is None, "different", differs or "")


def _launched(case: Case, start: list[str], *, kill: bool) -> tuple[int, str]:
    begun, folder = time.monotonic(), case.folder
    own = {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1"}
    log = folder / f"launcher-{len(case.outcomes)}.txt"
    with log.open("wb") as out:
        made = subprocess.Popen([*start, "-m", "alloykit", "amalgamate", "recipe.yaml"], cwd=folder, stdout=out, stderr=out, env=os.environ | own, start_new_session=True)  # fmt: skip
        try:
            if kill:
                _kill_child(made.pid, log, case.draw)
            code = made.wait(timeout=240)
        except subprocess.TimeoutExpired:
            code = -9
            case.faults.append(("hang", "the launcher did not end in 240 s"))
        finally:
            for number in (signal.SIGTERM, signal.SIGKILL):
                if made.poll() is None:
                    os.killpg(made.pid, number)
                    time.sleep(1)
    text = log.read_text(errors="replace")
    case.outcomes.append(Outcome(-9 if kill else 2 if code else 0, "", "", time.monotonic() - begun, 0.0))
    return code, text


def _kill_child(launcher: int, log: Path, draw: random.Random) -> None:
    """Kill one of its processes soon after training has begun."""
    end = time.monotonic() + 120
    while "labels: " not in log.read_text(errors="replace") and time.monotonic() < end:
        time.sleep(0.1)
    time.sleep(draw.random() * 2)
    children = Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split()
    os.kill(int(draw.choice(children)), signal.SIGKILL)


def _reference(stock: Stock, name: str, count: int) -> tuple[Path, float, int]:
    """A run of so many processes that nothing disturbed, its seconds, and the changes of files that the first process makes."""
    import json

    folder = stock.folder / "runs" / f"processes-{name}-{count}"
    with stock.lock:
        if not (folder / "made.json").exists():
            for _ in range(2):  # the first run's time is that of imports
                shutil.rmtree(folder, ignore_errors=True)
                stock.fill(folder)
                write_recipe(folder, RECIPES[name])
                ended = stock.worker.run(*_steps(folder, count))
                if any(one.code for one in ended):
                    raise RuntimeError(f"{name} fails without any fault: {[(o.code, o.error[-1000:]) for o in ended]}")
            write_json(folder / "made.json", {"seconds": ended[0].seconds, "changes": ended[0].changes})
    made = json.loads((folder / "made.json").read_text())
    return folder / "run", made["seconds"], made["changes"]


def _run(
    case: Case,
    count: int,
    faults: dict[int, Any] | None = None,
    *,
    absent: int | None = None,
    joining: str = "",
    network: bool = False,
) -> list[Outcome]:
    steps = _steps(case.folder, count, faults or {}, absent, joining)
    asked = [-one.fault["signal"] for one in steps if "signal" in one.fault]
    return case.run(*steps, ends=(*ENDS, *asked), told=absent is None, network=network)


def _steps(
    folder: Path, count: int, faults: dict[int, Any] | None = None, absent: int | None = None, joining: str = ""
) -> list[Step]:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        port = server.getsockname()[1]
    if count == 1:
        return [step(folder, "amalgamate", "recipe.yaml", fault=(faults or {}).get(0, {}))]
    return [
        step(
            folder, "amalgamate", "recipe.yaml", fault=(faults or {}).get(rank, {}), together=True,
            environment={
                "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
                "JOINING_S": joining,
            },
        )
        for rank in range(count) if rank != absent
    ]  # fmt: skip


TABLE = Kind("processes", "Several processes for one run: killed, damaged inputs, no room, a process missing", 82, make)
