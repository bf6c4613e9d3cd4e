"""A store in S3, on a real S3 server of this machine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import tiny
import torch
from knowing import arrays, direct, info, read, swept

from alloykit.engines.engine_options import EngineOptions
from alloykit.engines.jobs import Job, Worker
from alloykit.engines.ray import RayEngine
from alloykit.engines.sweep_jobs import SweepBy
from alloykit.errors import AlloyError
from alloykit.knowledge.store import storage
from alloykit.knowledge.store.storage import Storage
from alloykit.knowledge.store.store import Store
from benchmarks.scale.s3_server import S3Server

pytestmark = pytest.mark.slow

TEXTS = tiny.texts(60)
DOWN = 0.5  # seconds that the server is stopped while workers write


def content(s3: S3Server, place: str) -> dict[str, bytes]:
    """Every safetensors file below a folder of the bucket, by its path. No temporary file is left."""
    names = s3.files.find(place)
    assert not [name for name in names if ".tmp-" in name]
    return {name.removeprefix(f"{place}/"): s3.files.cat_file(name) for name in names if name.endswith(".safetensors")}


def test_a_sweep_waits_for_a_server_that_is_stopped_and_started_again(
    s3: S3Server, models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    infos, written, waits = [info(models["billing"])], list[str](), list[float]()
    real = Storage.write

    def write(self: Storage, name: str, data: bytes) -> None:
        written.append(name)
        if len(written) == 14:
            s3.stop()
        real(self, name, data)

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            s3.start()

    monkeypatch.setattr(Storage, "write", write)
    monkeypatch.setattr(storage, "sleep", sleep)
    store = swept("s3://outputs/alone", infos, TEXTS)
    assert "s3://outputs/alone cannot be reached ('Could not connect to the endpoint" in capsys.readouterr().err
    assert len(waits) == 3
    swept(tmp_path, infos, TEXTS)
    assert content(s3, "outputs/alone") == arrays(tmp_path)
    logits = read(store, ["billing"], TEXTS).rows(range(60)).teachers[0].logits
    torch.testing.assert_close(logits, direct(models["billing"], TEXTS), rtol=1e-4, atol=1e-5)


def test_a_bucket_gets_each_file_in_one_piece(s3: S3Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """So a process that is stopped leaves no part of a file, and none under another name."""
    files, sent = Storage("s3://outputs/whole"), list[str]()
    pipe, upload = files.fs.pipe_file, files.fs.put_file
    monkeypatch.setattr(files.fs, "pipe_file", lambda path, data: (sent.append(path), pipe(path, data)))
    monkeypatch.setattr(files.fs, "put_file", lambda file, path: (sent.append(path), upload(file, path)))
    monkeypatch.setattr(files.fs, "mv", None)
    files.write("a.json", b"1")
    (tmp_path / "file").write_bytes(b"2")
    files.put("b.json", tmp_path / "file")
    assert sent == ["outputs/whole/a.json", "outputs/whole/b.json"]
    assert (files.read("a.json"), files.read("b.json")) == (b"1", b"2")


def test_two_processes_may_write_the_same_bytes_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where files are moved to their names."""
    files = Storage("memory://race")
    move = files.fs.mv

    def after_another(*names: str) -> None:
        move(*names)
        move(*names)

    monkeypatch.setattr(files.fs, "mv", after_another)
    files.write("a.json", b"1")
    assert files.read("a.json") == b"1"
    assert files.names("") == ["a.json"]


def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(url: str) -> None:
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr("fsspec.core.url_to_fs", missing)
    with pytest.raises(AlloyError, match=r"s3://outputs/a; got 'Install s3fs.*alloykit\[s3\]"):
        Storage("s3://outputs/a")


class StopsTheServer:
    """A Ray engine. After the first result, the server is stopped for a moment."""

    def __init__(self, engine: RayEngine, s3: S3Server) -> None:
        self.engine, self.s3 = engine, s3

    def run(self, jobs: Sequence[Job], worker: Callable[[], Worker], what: str, unit: str) -> Iterator[tuple[int, Any]]:
        for n, found in enumerate(self.engine.run(jobs, worker, what, unit)):
            if n == 0:
                self.s3.stop()
                threading.Timer(DOWN, self.s3.start).start()
            yield found


@pytest.mark.usefixtures("cluster")
def test_two_workers_go_on_where_another_sweep_stopped(s3: S3Server, models: dict[str, Path], tmp_path: Path) -> None:
    infos, url = [info(models["billing"]), info(models["delivery"])], "s3://outputs/two"
    swept(url, infos[:1], TEXTS, passes=0)
    before = content(s3, "outputs/two")
    engine = StopsTheServer(RayEngine(EngineOptions(name="ray", workers=2)), s3)
    swept(url, infos, TEXTS, engine=SweepBy(engine))
    swept(tmp_path, infos, TEXTS)
    after = content(s3, "outputs/two")
    assert before.items() <= after.items()
    assert after == arrays(tmp_path)
    assert Store.existing(url).units("teachers/delivery") == Store.existing(tmp_path).units("teachers/delivery")
