"""A store on a remote file system that fails now and then, or for a while: nothing is lost, and the bits are the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import fsspec
import pytest
import torch
from fsspec.implementations.memory import MemoryFileSystem
from knowing import SENTENCES, arrays, direct, read, swept
from some_quick import some_quick

from alloykit.errors import AlloyError
from alloykit.knowledge.store import storage
from alloykit.knowledge.store.storage import Storage
from alloykit.teachers.hugging_face import HuggingFaceInfo

URL = "far://store"


@pytest.mark.parametrize("url", ["foo://x", "reference://"])
def test_a_url_that_cannot_be_opened(url: str) -> None:
    with pytest.raises(AlloyError, match=f"URL that fsspec can open.*got '{url}'.*--cache s3://"):
        Storage(url)


class Unreachable(Exception):
    """As clients of object stores raise them: no OSError."""


class Far(MemoryFileSystem):
    """Every call counts; those in `down` fail, before or after they did their work."""

    protocol = "far"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]
    calls: ClassVar[int] = 0
    down: ClassVar[Any] = frozenset()
    before: ClassVar[bool] = True


def _failing(name: str) -> Any:
    def call(self: Far, *args: Any, **kwargs: Any) -> Any:
        Far.calls += 1
        fails = Far.calls in Far.down
        if fails and Far.before:
            raise Unreachable("no route to host")
        found = getattr(MemoryFileSystem, name)(self, *args, **kwargs)
        if fails:
            raise Unreachable("no answer")
        return found

    return call


for _name in ("info", "ls", "cat_file", "pipe_file", "makedirs", "mv"):
    setattr(Far, _name, _failing(_name))


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """An empty file system, and a clock that only waiting moves."""
    fsspec.register_implementation("far", Far, clobber=True)
    Far.store.clear()
    Far.calls, Far.down, Far.before = 0, frozenset(), True
    Far.pseudo_dirs[:] = [""]
    now = [1.0]
    monkeypatch.setattr(storage, "monotonic", lambda: now[0])
    monkeypatch.setattr(storage, "sleep", lambda seconds: now.__setitem__(0, now[0] + seconds))
    yield now
    Far.store.clear()


def content() -> dict[str, bytes]:
    """Every safetensors file of the store, by its name."""
    files = {name.removeprefix(f"{URL}/"): file.getvalue() for name, file in Far.store.items()}
    return {name: data for name, data in files.items() if name.endswith(".safetensors")}


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("down", some_quick(["now and then", "two minutes"], "two minutes"))
def test_a_sweep_goes_on_when_the_store_is_back(
    down: str, before: bool, billing: HuggingFaceInfo, models: dict[str, Path], tmp_path: Path, clock: list[float]
) -> None:
    Far.before = before
    Far.down = range(0, 10**6, 29) if down == "now and then" else range(20, 44)
    store = swept(URL, [billing])
    assert clock[0] > (100 if down == "two minutes" else 1), "it waited"
    swept(tmp_path, [billing])
    assert content() == arrays(tmp_path)
    assert not [name for name in Far.store if ".tmp-" in name]
    logits = read(store, ["billing"]).rows(range(40)).teachers[0].logits
    torch.testing.assert_close(logits, direct(models["billing"], SENTENCES), rtol=1e-4, atol=1e-5)


def test_what_is_out_of_reach_is_not_taken_for_missing() -> None:
    files = Storage(URL)
    files.write("a/b.json", b"1")
    Far.down = range(Far.calls + 1, Far.calls + 3)
    assert files.exists("a/b.json")
    Far.down = range(Far.calls + 1, Far.calls + 3)
    assert files.names("a") == ["b.json"]
    assert not files.exists("a/c.json")
    assert files.names("c") == []


def test_after_ten_minutes_it_is_an_error_and_the_next_sweep_goes_on(
    billing: HuggingFaceInfo, tmp_path: Path, clock: list[float]
) -> None:
    Far.down = range(40, 10**6)
    with pytest.raises(AlloyError, match="no route to host.*finished parts are kept"):
        swept(URL, [billing])
    assert 600 < clock[0] < 1300
    kept = content()
    assert kept
    Far.down = frozenset()
    swept(URL, [billing])
    swept(tmp_path, [billing])
    assert kept.items() <= content().items()
    assert content() == arrays(tmp_path)
    assert not [name for name in Far.store if ".tmp-" in name]


def test_an_error_that_lasts_is_not_waited_for(clock: list[float]) -> None:
    with pytest.raises(AlloyError, match="nothing.json"):
        Storage(URL).read("nothing.json")
    assert clock[0] == 1
