"""A server in a thread, on a free port of this machine, and requests to it."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from alloykit.models.questions import QuestionPart
from alloykit.serving.prediction import Prediction
from alloykit.web.run_server import Server, listen, server_config
from alloykit.web.serve_options import ServeOptions
from alloykit.web.server_app import server_app


class Words:
    """Splits at spaces: one token a word."""

    is_fast = False
    model_max_length = 8

    def __call__(self, texts: list[str], pairs: Any = None, *, max_length: int, **_: Any) -> dict[str, Any]:
        return {"input_ids": [list(range(min(len(text.split()), max_length))) for text in texts]}


@dataclass
class Fake:
    """Knows the answer by the length of the text. `gate`: closed, it waits before each batch. `seen`: sizes of the batches."""

    labels: tuple[str, ...] = ("even", "odd")
    max_length: int = 8
    long_texts: str = "head"
    tokenizer: Any = field(default_factory=Words)
    gate: threading.Event = field(default_factory=threading.Event)
    entered: threading.Event = field(default_factory=threading.Event)
    seen: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.gate.set()

    def probabilities(self, texts: Any, pairs: Any = None) -> torch.Tensor:
        self.entered.set()
        assert self.gate.wait(20)
        self.seen.append(len(texts))
        if "poison" in texts:
            raise RuntimeError("cannot read this")
        return torch.tensor([[0.75, 0.25] if len(text) % 2 == 0 else [0.25, 0.75] for text in texts])

    knows_unusual = True

    @property
    def parts(self) -> tuple[QuestionPart, ...]:
        return (QuestionPart("", self.labels, 0),)

    def predict(self, texts: Any, pairs: Any = None, *, none_of_these: bool = False) -> Prediction:
        """Texts of many words are unusual."""
        unusual = torch.tensor([min(1.0, len(text.split()) / 8) for text in texts]) if none_of_these else None
        return Prediction(self.probabilities(texts, pairs), unusual)

    def logits(self, texts: Any, pairs: Any = None) -> torch.Tensor:
        return self.probabilities(texts, pairs) * 10


@dataclass(frozen=True)
class Reply:
    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


@dataclass(frozen=True)
class Running:
    server: Server
    port: int

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def get(self, path: str, **headers: str) -> Reply:
        return self.ask("GET", path, None, headers)

    def post(self, path: str, body: Any, **headers: str) -> Reply:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.ask("POST", path, data, {"Content-Type": "application/json"} | headers)

    def ask(self, verb: str, path: str, data: bytes | None, headers: dict[str, str]) -> Reply:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.request(verb, path, data, headers)
        found = connection.getresponse()
        reply = Reply(found.status, {k.lower(): v for k, v in found.getheaders()}, found.read().decode())
        connection.close()
        return reply


@contextmanager
def running(
    classifier: Any,
    *,
    name: str = "toy",
    explainer: Any = None,
    why: str = "",
    connections: int | None = None,
    **options: Any,
) -> Iterator[Running]:
    chosen = ServeOptions(port=0, **options)
    place = listen(chosen)
    app = server_app(classifier, chosen, name=name, explainer=explainer, why_no_teachers=why)
    server = Server(server_config(app, chosen, connections))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [place]})
    thread.start()
    try:
        yield Running(server, place.getsockname()[1])
    finally:
        if isinstance(classifier, Fake):
            classifier.gate.set()
        server.should_exit = True
        thread.join(20)
        place.close()
    assert not thread.is_alive()
