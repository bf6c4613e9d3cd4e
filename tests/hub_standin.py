"""A small stand-in of the hub on 127.0.0.1: the requests that huggingface_hub's client makes to create a repository and to commit."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import yaml

TOKEN, READER = "hf_writer", "hf_reader"
LICENCES = ("mit", "apache-2.0")


@dataclass
class Repository:
    """`branches`: the files of each branch; `commits`: their messages."""

    private: bool
    branches: dict[str, dict[str, bytes]] = field(default_factory=lambda: {"main": {}})
    commits: list[str] = field(default_factory=list)


@dataclass
class Hub:
    """What the stand-in holds, and what it was asked. `fail`: path → status of requests that are refused; 0 closes the connection."""

    url: str = ""
    repositories: dict[str, Repository] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    fail: Callable[[str], int | None] = lambda _: None


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def _answer(self, status: int, value: Any = None, code: str = "") -> None:
        body = json.dumps(value if value is not None else {"error": code}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if code:
            self.send_header("X-Error-Code", code)
        self.end_headers()
        self.wfile.write(body)

    def _serve(self) -> None:
        hub, path = self.hub, self.path.split("?")[0]
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        hub.requests.append(f"{self.command} {path}")
        refused = hub.fail(path)
        if refused == 0:
            self.close_connection = True
            return
        if refused is not None:
            self._answer(refused, code="refused")
        elif path.startswith("/lfs/"):
            oid = hashlib.sha256(data).hexdigest()
            assert path == f"/lfs/{oid}"
            hub.blobs[oid] = data
            self._answer(200, {})
        elif (token := self.headers.get("Authorization", "").removeprefix("Bearer ")) not in (TOKEN, READER):
            self.send_response(401)
            self.send_header("X-Error-Message", "Invalid credentials in Authorization header")
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif self.command == "POST" and token == READER and path != "/api/validate-yaml":
            self._answer(403, code="")
        else:
            self._dispatch(path, data)

    def _dispatch(self, path: str, data: bytes) -> None:
        hub = self.hub
        if path == "/api/repos/create":
            asked = json.loads(data)
            name = f"{asked['organization']}/{asked['name']}"
            if name in hub.repositories:
                return self._answer(409, {"error": "exists", "url": f"{hub.url}/{name}"})
            private = asked.get("private") is True or asked.get("visibility") == "private"
            hub.repositories[name] = Repository(private)
            return self._answer(200, {"url": f"{hub.url}/{name}"})
        if path == "/api/validate-yaml":
            front = yaml.safe_load(json.loads(data)["content"].split("---")[1])
            wrong = front.get("license", "mit") not in LICENCES
            errors = [{"message": '"license" must be one of [mit, apache-2.0]'}] if wrong else []
            return self._answer(400 if errors else 200, {"errors": errors, "warnings": []})
        found = re.fullmatch(r"/(?:api/models/)?([\w.-]+/[\w-]+)(?:\.git)?(?:/(\w+)(?:/([^/]+))?(/.*)?)?", path)
        if found is None or (repository := hub.repositories.get(found[1])) is None:
            return self._answer(404, code="RepoNotFound")
        action, branch = found[2], found[3] or "main"
        if action == "branch":
            repository.branches[branch] = dict(repository.branches["main"])
            return self._answer(200, {})
        if action == "info":
            return self._lfs(json.loads(data))
        if branch not in repository.branches:
            return self._answer(404, code="RevisionNotFound")
        files = repository.branches[branch]
        if action in (None, "revision"):
            about = {"id": found[1], "sha": "0" * 40, "private": repository.private}
            return self._answer(200, about | {"siblings": [{"rfilename": name} for name in files]})
        if action == "preupload":
            names = [file["path"] for file in json.loads(data)["files"]]
            large = (".safetensors", ".onnx")
            modes = [
                {"path": n, "uploadMode": "lfs" if n.endswith(large) else "regular", "shouldIgnore": False}
                for n in names
            ]
            return self._answer(200, {"files": modes})
        assert action == "commit"
        for line in map(json.loads, data.splitlines()):
            value = line["value"]
            if line["key"] == "header":
                repository.commits.append(value["summary"])
            elif line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                files[value["path"]] = hub.blobs[value["oid"]]
            else:
                del files[value["path"]]
        oid = f"{len(repository.commits):040d}"
        return self._answer(200, {"commitUrl": f"{hub.url}/{found[1]}/commit/{oid}", "commitOid": oid})

    def _lfs(self, asked: dict[str, Any]) -> None:
        objects = []
        for wanted in asked["objects"]:
            upload = {"upload": {"href": f"{self.hub.url}/lfs/{wanted['oid']}"}}
            objects.append(wanted | ({} if wanted["oid"] in self.hub.blobs else {"actions": upload}))
        self._answer(200, {"transfer": "basic", "objects": objects})

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_POST = do_PUT = _serve


@contextmanager
def hub_standin() -> Iterator[Hub]:
    """The stand-in, while the block runs."""
    hub = Hub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": hub}))
    server.daemon_threads = True
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
