"""Two processes on one output folder: the second is told who is there; a killed one leaves nothing in the way."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from commandline import Call, Finished, files_of, write_recipe
from filelock import FileLock

from alloykit import files
from alloykit.errors import AlloyError, AlloyWarning
from alloykit.run_folder import lock
from alloykit.run_folder.lock import locked

HOLD = """
import json, sys
from pathlib import Path
from alloykit.run_folder.lock import locked
sys.argv = ["alloykit", "amalgamate", "a recipe.yaml"]
for line in sys.stdin:
    output, part = json.loads(line)
    with locked(Path(output), tuple(part)):
        print("locked", flush=True)
        sys.stdin.readline()
    print("unlocked", flush=True)
"""
Process = subprocess.Popen[str]
Another = Callable[..., AbstractContextManager[Process]]


@pytest.fixture(autouse=True)
def _no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """In these tests no process releases its lock while another one waits. So waiting a second gains nothing."""
    monkeypatch.setattr("alloykit.run_folder.lock.SOON", 0.05)


@contextmanager
def started() -> Iterator[Process]:
    """A real process that locks the folders that it is told, one after another."""
    process = subprocess.Popen([sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    yield process
    process.communicate()


@pytest.fixture(scope="module")
def process() -> Iterator[Process]:
    with started() as one:
        yield one


@contextmanager
def holding(process: Process, output: Path, part: tuple[int, int] = (0, 1)) -> Iterator[Process]:
    """The process has the folder's lock."""

    def tell(line: str) -> str:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(line + "\n")
        process.stdin.flush()
        return process.stdout.readline()

    assert tell(json.dumps([str(output), part])) == "locked\n"
    try:
        yield process
    finally:
        if process.poll() is None:
            assert tell("") == "unlocked\n"


@pytest.fixture
def another_process(process: Process) -> Another:
    return partial(holding, process)


def test_the_second_is_told_who_is_there(another_process: Another, tmp_path: Path) -> None:
    with another_process(tmp_path / "run") as first, pytest.raises(AlloyError) as refused, locked(tmp_path / "run"):
        pass
    message = str(refused.value)
    assert f"process {first.pid} on {socket.gethostname()} since 2" in message
    assert "alloykit amalgamate 'a recipe.yaml'" in message
    assert str(tmp_path / "run") in message
    with locked(tmp_path / "run"):
        pass


@pytest.mark.parametrize(
    "command", ["amalgamate", "distill", "sweep", "teach", "teach --together", "generate", "evaluate", "report"]
)
def test_every_command_that_writes_there_is_refused(
    command: str,
    recipe: dict[str, Any],
    models: dict[str, Path],
    finished: Finished,
    tmp_path: Path,
    call: Call,
    another_process: Another,
) -> None:
    output, encoder = tmp_path / "run", str(models["encoder"])
    data, training = recipe["evaluate"]["data"], {"epochs": 1}
    recipes: dict[str, dict[str, Any]] = {
        "distill": recipe | {"method": "mt_bert", "texts": data},
        "teach": {"model": encoder, "data": data, "output": str(output)},
        "teach --together": {"models": [encoder] * 2, "names": ["a", "b"], "data": data, "training": training, "output": str(output)},
        "generate": {"teachers": recipe["teachers"], "generation": {"language_model": encoder}, "output": str(output)},
    }  # fmt: skip
    if command in ("evaluate", "report"):
        arguments: list[object] = [command, output]
        output.mkdir()
        for name in ("recipe.yaml", "metrics.json", "training.json"):
            (output / name).write_bytes((finished.folder / name).read_bytes())
    else:
        arguments = [*command.split(), write_recipe(tmp_path, recipes.get(command, recipe))]
    with another_process(output) as first:
        before = files_of(tmp_path)
        result = call(*arguments)
        result.refused("no other process at work in", str(output), f"process {first.pid} on ")
        assert files_of(tmp_path) == before


def test_a_killed_process_leaves_no_lock(tmp_path: Path) -> None:
    with started() as own, holding(own, tmp_path) as first:
        os.kill(first.pid, signal.SIGKILL)
        first.wait()
        assert (tmp_path / ".alloykit.lock").exists()
        assert (tmp_path / ".alloykit.json").exists()
        with locked(tmp_path):
            pass
        assert not (tmp_path / ".alloykit.json").exists()


def test_parts_of_a_sweep_share_the_folder(another_process: Another, tmp_path: Path) -> None:
    with another_process(tmp_path, (0, 3)) as first:
        with locked(tmp_path, (1, 3)):
            pass
        for part in ((0, 3), (0, 1)):
            with pytest.raises(AlloyError, match=f"process {first.pid} "), locked(tmp_path, part):
                pass
    with another_process(tmp_path), pytest.raises(AlloyError, match="process "), locked(tmp_path, (1, 3)):
        pass
    with locked(tmp_path):
        pass


def test_a_refused_command_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(AlloyError), locked(tmp_path / "a" / "b"):
        raise AlloyError(expected="something", got="nothing")
    assert not (tmp_path / "a").exists()
    with pytest.raises(AlloyError), locked(tmp_path / "a"):
        (tmp_path / "a" / "file").touch()
        raise AlloyError(expected="something", got="nothing")
    assert (tmp_path / "a" / "file").exists()


def test_the_file_of_a_lock_goes_while_it_is_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the release it could be the lock of another process, and a third one would lock a new file."""
    release, left = FileLock.release, list[bool]()

    def checked(self: FileLock, *args: Any, **kwargs: Any) -> None:
        left.append(os.path.exists(self.lock_file))
        release(self, *args, **kwargs)

    monkeypatch.setattr(FileLock, "release", checked)
    with locked(tmp_path / "a"):
        pass
    assert left[0] is False
    assert not (tmp_path / "a").exists()


def test_the_lock_of_another_part_stays(tmp_path: Path) -> None:
    """Also if the folder was made for the first one, and there is nothing else in it."""
    folder = tmp_path / "a"
    with ExitStack() as second:
        with locked(folder, (0, 2)):
            second.enter_context(locked(folder, (1, 2)))
        assert (folder / ".alloykit.part-2-of-2.lock").exists()
        with pytest.raises(AlloyError, match="no other process"), locked(folder):
            pass


@pytest.mark.parametrize("kind", ["folder", "link"])
def test_something_else_in_the_place_of_the_lock(kind: str, tmp_path: Path) -> None:
    place = tmp_path / "run" / ".alloykit.lock"
    if kind == "folder":
        place.mkdir(parents=True)
    else:
        place.parent.mkdir()
        place.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(AlloyError, match=r"\.alloykit\.lock can be locked"), locked(tmp_path / "run"):
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_what_the_holder_says_of_itself_may_be_damaged(another_process: Another, tmp_path: Path) -> None:
    with another_process(tmp_path):
        (tmp_path / ".alloykit.json").write_text('{"pid": "x"')
        with pytest.raises(AlloyError, match="got another process"), locked(tmp_path):
            pass


@pytest.mark.parametrize("error", [errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK, None])
def test_a_filesystem_without_locks_is_warned_about(
    error: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder with an old lock may have been copied there. A new folder is removed again if nothing came."""

    def no_locks(*_: object) -> None:
        raise NotImplementedError if error is None else OSError(error, os.strerror(error))

    monkeypatch.setattr("fcntl.flock", no_locks)
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / ".alloykit.lock").touch()
    for folder in (tmp_path / "old", tmp_path / "new"):
        with warnings.catch_warnings(record=True) as caught, locked(folder):
            assert folder.is_dir()
        assert [w.category for w in caught] == [AlloyWarning]
        assert f"the filesystem of {folder} has no locks" in str(caught[0].message)
    assert (tmp_path / "old" / ".alloykit.lock").exists()
    assert not (tmp_path / "new").exists()


def test_the_lock_ends_with_the_block(tmp_path: Path) -> None:
    """Also if somebody keeps the error, and with it all that the block had; and whatever became of the note about this process."""
    with pytest.raises(AlloyError) as kept, locked(tmp_path):
        raise AlloyError(expected="something", got="nothing")
    with locked(tmp_path):
        (tmp_path / ".alloykit.json").unlink()
    with locked(tmp_path):
        (tmp_path / ".alloykit.json").unlink()
        (tmp_path / ".alloykit.json").mkdir()
    with locked(tmp_path / "new"):
        shutil.rmtree(tmp_path / "new")
    assert "nothing" in str(kept.value)


def test_a_holder_that_says_nothing_is_another_process(another_process: Another, tmp_path: Path) -> None:
    with another_process(tmp_path):
        (tmp_path / ".alloykit.json").unlink()
        with pytest.raises(AlloyError, match="got another process"), locked(tmp_path):
            pass


def test_an_output_below_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "notes").touch()
    with pytest.raises(AlloyError, match="a folder as `output`; got the file"), locked(tmp_path / "notes" / "run"):
        pass


def test_a_folder_of_temporary_files_that_is_gone_matters_to_no_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with locked(tmp_path):
        pass


@pytest.mark.parametrize("times", [2, 3])
def test_another_process_removes_the_folder_in_between(
    times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    acquire, left = FileLock.acquire, [times]

    def removed(self: FileLock, *args: Any, **kwargs: Any) -> Any:
        left[0] -= 1
        if left[0] >= 0:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        return acquire(self, *args, **kwargs)

    monkeypatch.setattr(FileLock, "acquire", removed)
    with (
        nullcontext() if times == 2 else pytest.raises(AlloyError, match="can be locked"),
        locked(tmp_path / "a" / "b"),
    ):
        assert (tmp_path / "a" / "b").is_dir()


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (["/bin/alloykit", "plan", "a b"], "alloykit plan 'a b'"),
        (["/x/alloykit/__main__.py"], "alloykit"),
        (["-c"], "alloykit"),
        (["/x/train.py", "y" * 300], "train.py " + "y" * 191),
        ([], "alloykit"),
    ],
)
def test_what_a_process_says_of_itself(given: list[str], shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", given)
    assert lock._this_process().command == shown


def test_the_lock_removes_temporary_files_of_killed_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also for a command that makes no temporary file of its own."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait(timeout=60)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    left = scratch / f".alloykit-{files._machine()}-{gone.pid}-1.tmp"
    left.write_text("texts")
    with locked(tmp_path / "run"):
        assert not left.exists()
