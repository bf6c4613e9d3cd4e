"""The commands after a run, and runs with teachers of other kinds: what they start from, and what an undisturbed one makes."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from alloykit.json_files import write_json
from benchmarks.faults.cases import Case
from benchmarks.faults.local_server import Reply, local_server
from benchmarks.faults.others import SERVICE, put_others, recipe
from benchmarks.faults.steps import Step, step
from benchmarks.faults.stock import DELIVERY, MELT, SCENARIOS, Stock, write_recipe


@dataclass(frozen=True)
class Later:
    """A command. `begins`: the scenario or the `Later` whose run lies in the folder `run`, if any. `makes`: the folders that must be the same
    each time. `recipe`: what recipe.yaml says, where the command reads it. `service`, `hub`: it asks a service, or the stand-in of the hub."""

    argv: list[str]
    begins: str = ""
    makes: tuple[str, ...] = ("run",)
    recipe: Mapping[str, Any] | None = None
    service: bool = False
    hub: bool = False


ASKED = dict(SERVICE) | {"retries": 2, "timeout": 20}
LATER: dict[str, Later] = {
    "stored answers and a service": Later(
        ["amalgamate", "recipe.yaml"], recipe=recipe("stored answers") | {"teachers": ["billing", {"answers": "answers.csv", "name": "stored"}, ASKED]},
        service=True,
    ),
    "all kinds": Later(["amalgamate", "recipe.yaml"], recipe=recipe("all kinds")),
    "labelled": Later(["amalgamate", "recipe.yaml"], recipe=recipe("labelled")),
    "update with labels": Later(["update", "run", "--labelled", "labelled.csv"], "alloy", ("run", "run-2")),
    "update with texts": Later(["update", "run", "--add-texts", "other.csv"], "muka", ("run", "run-2")),
    "update with a teacher": Later(
        ["update", "run", "--remove-teacher", "delivery", "--add-teacher", "task-a", "-o", "evaluate=null"], "alloy", ("run", "run-2")
    ),
    "update of a service": Later(
        ["update", "run", "--add-texts", "other.csv"], "stored answers and a service", ("run", "run-2"), service=True
    ),
    "export": Later(["export", "run", "--onnx", "--int8", "--fp16"], "alloy"),
    "suggest": Later(["suggest", "run", "--n", "9", "--output", "out/to-label.csv", "--overwrite"], "alloy", ("run", "out")),
    "watch": Later(["watch", "run", "other.csv"], "alloy"),
    "predict --to": Later(["predict", "run", "many", "--to", "answers", "--all-probabilities"], "alloy", ("run", "answers")),
    "push": Later(["push", "run", "my-team/tickets", "--with-cache"], "exported", ("run",), hub=True),
    "exported": Later(["export", "run", "--onnx"], "labelled"),
}  # fmt: skip


def steady_answer(body: Any) -> Reply:
    """The service's answer to a text depends on the text alone."""
    found = []
    for text in body["inputs"]:
        p = hashlib.sha256(str(text).encode()).digest()[0] / 256
        found.append([{"label": DELIVERY[0], "score": p}, {"label": DELIVERY[1], "score": 1 - p}])
    return Reply(json.dumps({"predictions": found}).encode())


def prepare(case: Case, name: str) -> None:
    """Put what a command starts from into the new folder of a case."""
    _fill(case.stock, case.folder, name)


def keep_result(case: Case, run: Path) -> None:
    """A run that was exported and watched, so that there is more to damage."""
    for name, place in (("export", "export"), ("watch", "pool-answers.json")):
        made = case.stock.reference(name).folder.parent / "run" / place
        if made.exists() and not (run / place).exists():
            (shutil.copytree if made.is_dir() else shutil.copyfile)(made, run / place)


@contextmanager
def later_steps(case: Case, name: str) -> Iterator[Callable[[dict[str, Any]], Step]]:
    """For the block: what makes the step of a command with a fault. A service or a hub that it asks is there."""
    with running(case.stock, name) as (_, more):
        yield lambda fault: step(case.folder, *LATER[name].argv, fault=fault, **more)


@contextmanager
def running(stock: Stock, name: str) -> Iterator[tuple[Any, dict[str, Any]]]:
    """What a command asks while it runs: the server, if any, and what its step says of it."""
    one = LATER[name]
    if one.service:
        with local_server(steady_answer, _port(stock)) as server:
            yield server, {"ports": [server.port]}
    elif one.hub:
        from tests.hub_standin import TOKEN, hub_standin

        with hub_standin() as hub:
            token = {"HF_ENDPOINT": hub.url, "HF_TOKEN": TOKEN}
            yield hub, {"ports": [int(hub.url.rsplit(":", 1)[1])], "environment": token}
    else:
        yield None, {}


def _port(stock: Stock) -> int:
    """One port for all, because the address is a part of the recipe: several servers may share it."""
    place = stock.folder / "port"
    with stock.lock:
        if not place.exists():
            with local_server(steady_answer) as server:
                place.write_text(str(server.port))
        return int(place.read_text())


def _fill(stock: Stock, folder: Path, name: str) -> None:
    one = LATER[name]
    stock.fill(folder)
    put_others(stock, folder, "labelled.csv", only=() if name == "all kinds" else ("labelled.csv", "answers.csv"))
    values = (
        one.recipe
        or (LATER[one.begins].recipe if one.begins in LATER else SCENARIOS[one.begins].recipe)
        or MELT | {"method": "alloy"}
    )
    write_recipe(folder, _with_port(stock, values))
    (folder / "out").mkdir()
    (folder / "many").mkdir()
    for n in range(3):
        path = folder / "many" / f"{n}.csv"
        path.write_text("text\n" + "".join(f"where is parcel {n}-{k}\n" for k in range(40)))
        os.utime(path, (10**9, 10**9))  # the answers say of which file they are, and when it was changed
    if one.begins:
        shutil.copytree(stock.reference(one.begins).folder, folder / "run")


def _with_port(stock: Stock, values: Mapping[str, Any]) -> dict[str, Any]:
    """The recipe with the address at which the service is."""
    teachers = [
        t | {"url": f"http://127.0.0.1:{_port(stock)}/predict"} if isinstance(t, dict) and "url" in t else t
        for t in values["teachers"]
    ]
    return dict(values) | {"teachers": teachers}


def make_later(stock: Stock, name: str, folder: Path) -> None:
    """An undisturbed one in a new folder."""
    _fill(stock, folder, name)
    with running(stock, name) as (_, more):
        ended = stock.worker.run(step(folder, *LATER[name].argv, **more))[0]
    if ended.code:
        raise RuntimeError(f"{name} fails without any fault: {ended.code}\n{ended.out}\n{ended.error}")
    write_json(folder / "made.json", {"seconds": ended.seconds, "changes": ended.changes})
