"""What a model string stands for: a folder here, or a model of the hub; and how quickly a hub that fails is given up."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import tiny
from huggingface_hub import constants
from pydantic import ValidationError

from alloykit import AlloyError
from alloykit.blocks import ModelSpec
from alloykit.models import location
from alloykit.models.location import is_hub_id, locate, model_identity
from alloykit.models.staged_folder import staged
from alloykit.run_folder.lock import locked


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with teachers/billing and teachers/delivery, in which every request to the hub fails the test."""
    monkeypatch.chdir(tmp_path)
    for name in ("billing", "delivery"):
        (tmp_path / "teachers" / name).mkdir(parents=True)
    monkeypatch.setattr(location, "_download", lambda *_: pytest.fail("the hub was asked"))
    return tmp_path


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("teachers/biling", "Did you mean 'teachers/billing'"),
        ("teachers/nothing-alike", "holds 'billing', 'delivery'"),
        ("./biling", "'teachers'"),
        ("../no/such/folder", "does not exist"),
        ("/no/such/folder", "does not exist"),
        ("~/no-such-folder-of-mine", "does not exist"),
        ("~nobody-of-this-name/x", "does not exist"),
        ("other/teachers/billing", "does not exist"),
        ("other\\billing", "does not exist"),
        ("https://example.org/model", "does not exist"),
        ("bundled:minlm", "Did you mean 'bundled:minilm'"),
        ("a model", "does not exist"),
        ("teachers/billing/config.json", "does not exist"),
    ],
)
def test_what_looks_like_a_path_is_never_asked_for_on_the_hub(here: Path, model: str, words: str) -> None:
    with pytest.raises(AlloyError, match=words.replace("\\", "\\\\")):
        locate(ModelSpec(model=model))


@pytest.mark.parametrize("model", ["", " ", "x" * 300, "x/" * 5000, "a\0b", "\ud800"])
def test_what_can_be_neither_a_path_nor_an_id_is_refused_at_once(model: str) -> None:
    with pytest.raises(ValidationError):
        ModelSpec(model=model)


@pytest.mark.parametrize(
    ("model", "expected"),
    [("bert-base-uncased", True), ("org/model.v2", True), ("teachers/other", False), ("teachers", False), ("a/b/c", False),
     ("-x/y", False), ("org/model:main", False), ("größe", False), ("org/", False)],
)  # fmt: skip
def test_which_strings_are_hub_ids(here: Path, model: str, expected: bool) -> None:
    assert is_hub_id(model) is expected


def test_a_folder_here_comes_before_the_hub(here: Path) -> None:
    assert locate(ModelSpec(model="teachers/billing")).folder == Path("teachers/billing")


def test_what_a_folder_is_depends_on_all_that_is_loaded(tmp_path: Path) -> None:
    folder = tiny.classifier(tmp_path / "m", ["a", "b"])
    before = model_identity(str(folder), None)
    (folder / "notes.md").write_text("not loaded")
    assert model_identity(str(folder), None) == before
    (folder / "spiece.model").write_bytes(b"loaded")
    assert model_identity(str(folder), None) != before
    assert model_identity("org/model", "abc") == "org/model@abc"


def test_a_folder_that_another_process_has_locked_is_the_same_model(tmp_path: Path) -> None:
    """As when `teach` looks into a finished teacher while a run reads it: the lock's files are no part of the model."""
    folder = tiny.classifier(tmp_path / "m", ["a", "b"])
    before = model_identity(str(folder), None)
    with locked(folder):
        assert {path.name for path in folder.iterdir()} >= {".alloykit.lock", ".alloykit.json"}
        assert model_identity(str(folder), None) == before
        with staged(folder, "m") as copy:
            assert not [path.name for path in copy.iterdir() if path.name.startswith(".")]


@pytest.fixture
def online(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[pytest.MonkeyPatch]:
    """The hub's client may ask; there is nothing in its cache. Each test gives it an address on this machine."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(location, "SECONDS", 1.0)
    location._download.cache_clear()
    yield monkeypatch
    location._download.cache_clear()


def refused(model: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Within seconds, in one message, with nothing on stderr."""
    begun = time.monotonic()
    with pytest.raises(AlloyError, match=words):
        locate(ModelSpec(model=model))
    assert time.monotonic() - begun < 10
    assert capsys.readouterr().err == ""


def test_a_hub_that_cannot_be_reached(online: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # nobody listens
        online.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{unused.getsockname()[1]}")
        refused("org/unreachable", "cannot be reached", capsys)


@pytest.mark.slow
def test_a_hub_that_never_answers(online: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        online.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        refused("org/silent", "cannot be reached", capsys)


@contextmanager
def stand_in(status: int, error: str = "") -> Iterator[tuple[str, list[str]]]:
    """A hub that answers every request with one status. Yields its address and the requests it got."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(status)
            if error:
                self.send_header("X-Error-Code", error)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_HEAD = do_GET

        def log_message(self, *_: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("status", "error", "words"),
    [
        (404, "RepoNotFound", "no such model, or it is private"),
        (401, "", "no such model, or it is private"),
        (404, "RevisionNotFound", "no revision"),
        (403, "GatedRepo", "granted access"),
        (503, "", "the error 503"),
        (429, "", "the error 429"),
    ],
)
def test_one_request_tells_that_the_hub_has_no_such_model(
    status: int, error: str, words: str, online: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with stand_in(status, error) as (address, asked):
        online.setattr(constants, "ENDPOINT", address)
        refused(f"org/missing{status}{error}", words, capsys)
    assert len(asked) == 1


def test_offline_a_downloaded_copy_serves(
    online: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    online.setattr(constants, "HF_HUB_OFFLINE", True)
    place, commit = tmp_path / "cache" / "models--org--kept", "b" * 40
    tiny.classifier(place / "snapshots" / commit, ["a", "b"])
    (place / "refs").mkdir()
    capsys.readouterr()
    (place / "refs" / "main").write_text(commit)
    found = locate(ModelSpec(model="org/kept"))
    assert (found.folder.name, found.revision) == (commit, commit)
    refused("org/other", "HF_HUB_OFFLINE", capsys)
