"""A warm process that runs alloykit's commands: torch is imported once, and every command runs in a fork of its own.

`python -m benchmarks.faults.worker FOLDER` reads lists of steps as JSON lines and answers with lists of outcomes. The steps of a
list run at the same time. What commands imported is kept in FOLDER/modules.json, to import it before the next fork.
"""

from __future__ import annotations

import atexit
import faulthandler
import gc
import importlib
import io
import json
import os
import pkgutil
import resource
import signal
import subprocess
import sys
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from benchmarks.faults.steps import Outcome, Step
from benchmarks.faults.watch import Watch

SPARE_BYTES = 6 << 30  # address space that a command may take beyond the worker's
LOST_S = 20.0  # within which the other processes of a command must end when one has failed
KEPT = 200_000  # characters of output that are looked at
SETTINGS = {
    "OMP_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "CUDA_VISIBLE_DEVICES": "",  # a process that has touched a GPU cannot fork
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    "PYTHONUTF8": "1",
    "COLUMNS": "140",
    "no_proxy": "*",
}


class Worker:
    """The other end of the worker, in the process that makes the cases."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        unwanted = ("http_proxy", "https_proxy", "all_proxy", "hf_hub_offline", "hf_home", "hf_token")
        inherited = {k: v for k, v in os.environ.items() if k.lower() not in unwanted}
        root = Path(__file__).parents[2]
        paths = [str(root / "src"), str(root), *filter(None, [os.environ.get("PYTHONPATH")])]
        own = SETTINGS | {"HF_HOME": str(folder / "hf"), "PYTHONPATH": os.pathsep.join(paths)}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.faults.worker", str(folder)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=inherited | own, cwd=root,
            start_new_session=True,
        )  # fmt: skip

    def run(self, *steps: Step) -> list[Outcome]:
        """Run the steps at the same time."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([s.plain() for s in steps]) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the worker ended with code {self.process.wait()}")
        return [Outcome(**values) for values in json.loads(line)]

    def close(self) -> None:
        if self.process.stdin is not None:
            self.process.stdin.close()
        self.process.wait(timeout=30)

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass
class Running:
    """A step that may have begun."""

    step: Step
    number: int
    begins: float
    pid: int = 0
    began: float = 0.0
    result: dict[str, Any] | None = None
    asked: bool = False
    hung: bool = False
    asked_to_end: float = 0.0
    readers: list[int] = field(default_factory=list)

    @property
    def log(self) -> Path:
        return Path(self.step.folder) / "log"

    def name(self, kind: str) -> Path:
        return self.log / f"{self.number}.{kind}"


def serve(folder: Path) -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # nothing but answers goes to whoever asks
    _import(folder / "modules.json")
    number = 0
    for line in sys.stdin:
        begun = time.monotonic()
        running = []
        for values in json.loads(line):
            running.append(Running(Step(**values), number, begun + values["after"]))
            number += 1
        while any(r.result is None for r in running):
            for r in running:
                _look(r)
            _end_together([r for r in running if r.step.together])
            time.sleep(0.004)
        for r in running:
            _learn(r.name("modules"), folder / "modules.json")
        answers.write(json.dumps([r.result for r in running]) + "\n")
        answers.flush()


def _end_together(group: list[Running]) -> None:
    """What a launcher does: when a process has failed, the others get SIGTERM. One that does not end then has hung."""
    if not any(r.result is not None and r.result["code"] for r in group):
        return
    for r in group:
        if r.result is None and r.pid and not r.asked_to_end:
            r.asked_to_end = time.monotonic()
            with suppress(ProcessLookupError):
                os.kill(r.pid, signal.SIGTERM)
        elif r.result is None and r.pid and time.monotonic() - r.asked_to_end > LOST_S and not r.hung:
            r.hung = True
            with suppress(ProcessLookupError):
                os.kill(r.pid, signal.SIGUSR1)
                time.sleep(0.3)
                os.killpg(r.pid, signal.SIGKILL)


def _import(names: Path) -> None:
    import torch

    import alloykit

    torch.set_num_threads(1)
    for module in pkgutil.walk_packages(alloykit.__path__, "alloykit."):
        if not module.name.endswith("__main__"):
            with suppress(Exception):
                importlib.import_module(module.name)
    for name in json.loads(names.read_text()) if names.exists() else []:
        with suppress(Exception):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()


def _learn(found: Path, known: Path) -> None:
    """Import what a command had to import, so that the next one has it."""
    if not found.exists():
        return
    names = json.loads(found.read_text())
    found.unlink()
    new = [name for name in names if name not in sys.modules]
    if len(new) < 3:
        return
    before = json.loads(known.read_text()) if known.exists() else []
    known.write_text(json.dumps(list(dict.fromkeys([*before, *new]))))
    for name in new:
        with suppress(Exception):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()


def _look(r: Running) -> None:
    """Start a step whose time has come, send it its signal, or note that it has ended."""
    now = time.monotonic()
    if r.result is not None or now < r.begins:
        return
    if not r.pid:
        _start(r)
        return
    after = r.step.fault.get("kill_after")
    if after is not None and not r.asked and now - r.began >= after:
        r.asked = True
        with suppress(ProcessLookupError):
            os.kill(r.pid, r.step.fault.get("signal", signal.SIGKILL))
    if now - r.began > r.step.limit_s:
        r.hung = True
        with suppress(ProcessLookupError):
            os.kill(r.pid, signal.SIGUSR1)  # faulthandler says where it is
            time.sleep(0.3)
            os.killpg(r.pid, signal.SIGKILL)
    pid, status, usage = os.wait4(r.pid, os.WNOHANG)
    if pid == 0:
        return
    for reader in r.readers:
        with suppress(ProcessLookupError, ChildProcessError):
            os.kill(reader, signal.SIGKILL)
            os.waitpid(reader, 0)
    r.result = _result(r, os.waitstatus_to_exitcode(status), usage.ru_maxrss / 1024, now - r.began)


def _result(r: Running, code: int, peak_mb: float, seconds: float) -> dict[str, Any]:
    told = r.name("watch").read_text(errors="replace").splitlines() if r.name("watch").exists() else []
    base = next((float(t.split()[1]) for t in told if t.startswith("base ")), peak_mb)
    return {
        "code": code,
        "out": _text(r.name("out")),
        "error": _text(r.name("err")),
        "seconds": round(seconds, 3),
        "growth_mb": round(max(0.0, peak_mb - base), 1),
        "hung": r.hung,
        "changes": next((int(t.split()[1]) for t in told if t.startswith("changes ")), 0),
        "seen": list(dict.fromkeys(t[5:] for t in told if t.startswith("seen "))),
    }


def _text(path: Path) -> str:
    if not path.exists():
        return ""
    text = path.read_bytes().decode(errors="backslashreplace")
    return text if len(text) <= KEPT else text[: KEPT // 2] + f"\n… {len(text):,} characters …\n" + text[-KEPT // 2 :]


def _start(r: Running) -> None:
    r.log.mkdir(parents=True, exist_ok=True)
    ends = {1: _end(r, r.step.out, r.name("out")), 2: _end(r, r.step.error, r.name("err"))}
    r.began = time.monotonic()
    r.pid = os.fork()
    if r.pid == 0:
        code = 99
        try:
            code = _child(r, ends)
        finally:
            os._exit(code)
    r.name("pid").write_text(str(r.pid))
    for end in ends.values():
        if end is not None:
            os.close(end)


def _end(r: Running, out: str, path: Path) -> int | None:
    """The descriptor that a stream of the child becomes; None for a closed one."""
    if out == "closed":
        return None
    if out in ("unread", "head"):
        reading, writing = os.pipe()
        if out == "head":
            reader = os.fork()
            if reader == 0:
                os.close(writing)
                while (got := os.read(reading, 1)) and got != b"\n":
                    pass
                os._exit(0)
            r.readers.append(reader)
        os.close(reading)
        return writing
    if out == "full":
        return os.open("/dev/full", os.O_WRONLY)
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)


def _child(r: Running, ends: dict[int, int | None]) -> int:
    step = r.step
    os.setsid()
    os.chdir(step.folder)
    sys.path[:0] = [path for path in [step.environment.get("PYTHONPATH")] if path]
    os.environ.update(step.environment, TMPDIR=str(Path(step.folder) / "tmp"))
    Path(os.environ["TMPDIR"]).mkdir(exist_ok=True)
    import tempfile

    tempfile.tempdir = None
    source = os.open(step.stdin or os.devnull, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(source, True)
    os.dup2(source, 0)
    for number, end in ends.items():
        if end is None:
            os.close(number)
        else:
            os.dup2(end, number)
            os.close(end)
    sys.stdin = io.TextIOWrapper(open(0, "rb", closefd=False), encoding="utf-8")  # noqa: SIM115
    sys.stdout = _stream(1, ends[1], "strict")
    sys.stderr = _stream(2, ends[2], "backslashreplace")
    watch = Watch(step.folder, str(r.name("watch")), step.fault, step.ports)
    _limits(watch, step)
    if ends[2] is not None:
        faulthandler.register(signal.SIGUSR1, file=2, all_threads=True)
    if "HF_ENDPOINT" in step.environment:
        _use_hub(step.environment["HF_ENDPOINT"])
    if seconds := step.environment.get("JOINING_S"):
        from alloykit import processes

        processes.JOINING = timedelta(seconds=float(seconds))
    known = set(sys.modules)
    sys.argv = ["alloykit", *step.argv]
    if not step.pictures:
        _draw_nothing()
    watch.install()
    from alloykit.cli.main import main

    code = _ended(main)
    with suppress(Exception):
        atexit._run_exitfuncs()  # os._exit does not: temporary files are removed here
    watch.close()
    r.name("modules").write_text(json.dumps([m for m in sys.modules if m not in known and not m.startswith("__")]))
    return code


def _use_hub(url: str) -> None:
    """The hub's client has read its settings when the worker imported it."""
    from huggingface_hub import constants

    constants.ENDPOINT, constants.HF_HUB_OFFLINE, constants.HF_HUB_DISABLE_XET = url, False, True


def _draw_nothing() -> None:
    """Spare a run its pictures, which take almost half of its time."""
    from matplotlib.figure import Figure

    def savefig(self: Any, file: Any, **_: Any) -> None:
        svg = '<svg width="1pt" height="1pt" viewBox="0 0 1 1"></svg>'
        file.write(svg if isinstance(file, io.TextIOBase) else svg.encode())

    Figure.savefig = savefig


def _stream(number: int, end: int | None, errors: str) -> Any:
    """As the interpreter makes it; None for a descriptor that is closed."""
    if end is None:
        return None
    return io.TextIOWrapper(open(number, "wb", closefd=False), encoding="utf-8", errors=errors, line_buffering=number == 2)  # fmt: skip


def _limits(watch: Watch, step: Step) -> None:
    pages = [int(n) for n in Path("/proc/self/statm").read_text().split()[:2]]
    size = resource.getpagesize()
    os.write(watch.report, f"base {pages[1] * size / 2**20:.1f}\n".encode())
    resource.setrlimit(resource.RLIMIT_AS, (pages[0] * size + SPARE_BYTES,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if "file_bytes" in step.fault:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (step.fault["file_bytes"],) * 2)


def _ended(main: Any) -> int:
    """Call it and end as the interpreter would: the code of SystemExit, a traceback for anything else, streams flushed."""
    code: Any = 0
    try:
        main()
    except SystemExit as error:
        code = error.code
    except BaseException:
        code = 1
        with suppress(Exception):
            traceback.print_exc()
    if not isinstance(code, int):
        if code is not None:
            with suppress(Exception):
                print(code, file=sys.stderr)
        code = 0 if code is None else 1
    try:
        if sys.stdout is not None and not sys.stdout.closed:
            sys.stdout.flush()
    except Exception as error:
        with suppress(Exception):
            print(f"Exception ignored while flushing sys.stdout: {error!r}", file=sys.stderr)
        code = 120
    with suppress(Exception):
        if sys.stderr is not None:
            sys.stderr.flush()
    return code & 0xFF


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
