"""Damaged and hostile files of teachers, and services that answer rubbish: a message instead of a traceback, a hang or a full memory."""

from __future__ import annotations

import gzip
import json
import os
import socket
import threading
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import date
from pathlib import Path
from typing import Any

import onnx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tiny
from local_service import local_service
from onnx import TensorProto, helper

from alloykit import AlloyError
from alloykit.knowledge.sweep import probe
from alloykit.recipe.read_recipe import parse
from alloykit.recipe.recipe import Recipe
from alloykit.teachers import onnx as onnx_module
from alloykit.teachers import scikit_learn, service_client, stored_answers
from alloykit.teachers.answer_journal import AnswerJournal
from alloykit.teachers.chat_service import ChatService
from alloykit.teachers.json_template import value_at
from alloykit.teachers.onnx import OnnxSpec
from alloykit.teachers.protocol import Reading
from alloykit.teachers.scikit_learn import SklearnSpec
from alloykit.teachers.service import ServiceSpec, ServiceTeacher
from alloykit.teachers.service_client import UnreadableAnswer
from alloykit.teachers.stored_answers import AnswersSpec

LABELS = ["bug", "login"]


def read(path: Path, **options: Any) -> Any:
    return AnswersSpec(answers=str(path), **options).describe("llm").load(Reading())


@pytest.mark.parametrize(
    ("row", "options", "words"),
    [
        ({"bug": 10**400, "login": 0.5}, {}, "numbers in the columns"),
        (
            {"said": "bug", "p": 10**400},
            {"label": "said", "confidence": "p", "labels": LABELS},
            "numbers in the columns",
        ),
        ({"top": {"bug": 10**400}}, {"top": "top", "labels": LABELS}, "the best labels as"),
        ({"top": {"bug": "nan"}}, {"top": "top", "labels": LABELS}, "the best labels as"),
        ({"bug": 1e300, "login": 0.5}, {"values": "logits"}, "logits of at most"),
    ],
)
def test_numbers_that_are_none(row: dict[str, Any], options: dict[str, Any], words: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"text": "a"} | row) + "\n")
    with pytest.raises(AlloyError, match=words):
        read(path, **options)


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (pa.array([2**30], pa.date32()), "a readable file"),
        (pa.array([2**62], pa.duration("s")), "a readable file"),
        (pa.array([[0.0] * 200_000]), "at most 100,000 entries"),
        (pa.array([[("bug", "x" * 1_100_000)]], pa.map_(pa.string(), pa.string())), "at most 1,000,000 characters"),
        (pa.array(["x" * 5_000_000]), "at most 1,000,000 characters"),
        (pa.array([b"\xff"]), "columns of text or numbers"),
    ],
)
def test_cells_that_would_not_fit(column: Any, words: str, tmp_path: Path) -> None:
    """Before they are Python's objects: a small file can hold a cell of gigabytes."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["a"], "top": column}), path, compression="zstd")
    with pytest.raises(AlloyError, match=words):
        read(path, top="top", labels=LABELS)


def test_columns_twice_pipes_and_rows_of_no_text(tmp_path: Path) -> None:
    twice = pa.Table.from_arrays(
        [pa.array(["a"]), pa.array([0.5]), pa.array([0.5]), pa.array(["b"])], ["text", *LABELS, "text"]
    )
    pq.write_table(twice, tmp_path / "a.parquet")
    with pytest.raises(AlloyError, match="a column of"):
        read(tmp_path / "a.parquet", labels=LABELS)
    os.mkfifo(tmp_path / "pipe.parquet")
    with pytest.raises(AlloyError, match="a pipe or a device"):
        read(tmp_path / "pipe.parquet", labels=LABELS)
    rows = [{"text": "a", "pair": n, "bug": 0.5, "login": 0.5} for n in (3, "x", None)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert len(read(tmp_path / "a.jsonl", text_pair="pair", labels=LABELS).place) == 2
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "1.csv").write_text("text,bug,login\na,0.5,0.5\n")
    (tmp_path / "two" / "2.csv").write_text("other\n1\n")
    with pytest.raises(AlloyError, match=r"one column of this name in .*2\.csv"):
        read(tmp_path / "two", labels=LABELS)


@pytest.mark.slow
def test_many_labels_are_refused_or_take_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"text": f"t{n}", "said": f"l{n}"}) + "\n" for n in range(10_001)))
    with pytest.raises(AlloyError, match="at most 10,000 labels"):
        read(path, label="said", certainty=0.9)
    many = {f"l{n}": -9.0 for n in range(8_000)}
    path.write_text("".join(json.dumps({"text": f"t{n}", "top": many}) + "\n" for n in range(3)))
    begun = time.process_time()
    monkeypatch.setattr(stored_answers, "NUMBERS", 8_000)  # written in parts
    assert len(read(path, top="top").place) == 3
    assert time.process_time() - begun < 15, "not the square of the labels"


def test_damaged_answers_of_a_journal_are_asked_for_again(tmp_path: Path) -> None:
    good = {"requests": 1, "answers": {"a": [0.5, 0.5], "b": None}}
    bad = [[0.5], [0.5] * 3, [float("nan"), 1], [float("inf"), 0], [-1, 2], [0, 0], [10**400, 0], ["x", "y"], {}, 3]
    lines = [json.dumps(good), *(json.dumps({"requests": 1, "answers": {f"bad{n}": a}}) for n, a in enumerate(bad))]
    lines += [
        '{"requests": 1e999, "answers": {}}',
        '{"requests": -7, "answers": {}}',
        '{"requests": ' + "[" * 50_000,
        "[]",
        "3",
    ]
    (tmp_path / f"{'0' * 16}-1.jsonl").write_text("\n".join(lines) + "\n")
    os.mkfifo(tmp_path / f"{'0' * 16}-2.jsonl")
    found = AnswerJournal(str(tmp_path), "0" * 64, "x", None, labels=2)
    assert [key for key in ("a", "b", *(f"bad{n}" for n in range(len(bad)))) if key in found] == ["a", "b"]
    assert found.requests == 1 + len(bad)


def test_a_damaged_record_of_the_probes_counts_as_other_answers() -> None:
    assert probe._changed([[0.5, 0.5]], [[0.5, 0.5], None], 0.1) == 1
    assert probe._changed([[0.5, 0.5], [0.4, 0.6]], [[0.5, 0.5], None], 0.1) == 1


def test_requests_that_json_cannot_say(tmp_path: Path) -> None:
    asked = {"url": "http://127.0.0.1:9/", "format": "tei", "labels": LABELS, "request": {"since": date(2001, 2, 3)}}
    values = {"teachers": [asked], "texts": "t.csv", "student": "x", "output": str(tmp_path)}
    with pytest.raises(AlloyError, match="a value that JSON lacks"):
        parse(values, Recipe)


def service(url: str, **options: Any) -> ServiceTeacher:
    return (
        ServiceSpec(url=url, **({"format": "tei", "labels": LABELS, "backoff": 0.001, "retries": 0} | options))
        .describe("s")
        .load(Reading())
    )


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ([[{"label": ["x"], "score": 0.5}]], "no answer"),
        ([[{"label": "bug", "score": 10**400}]], "where a score is expected"),
        ([[{"label": "bug", "score": "0.5"}]], "where a score is expected"),
        ((200, {"Content-Encoding": "gzip, gzip"}, gzip.compress(gzip.compress(b"[]"))), "compressed as 'gzip, gzip'"),
        ((200, {"Content-Encoding": "br"}, b"[]"), "compressed as 'br'"),
        ((200, {"Content-Encoding": "gzip"}, gzip.compress(b" " * 3000)), "more than 0 MiB"),
        ((503, {"Retry-After": "Mon, 01 Jan 2001 00:00:00 +999999999999"}, b""), "HTTP 503"),
    ],
)
def test_rubbish_of_a_service(answer: Any, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_client, "MAX_BYTES", 2000)
    with local_service(lambda body: answer) as asked:
        teacher = service(asked.url)
        if words == "no answer":
            assert bool(teacher.answer(teacher.prepare(["a"]), lambda n: None).logits.isnan().all())
            return
        with pytest.raises(AlloyError, match=words):
            teacher.answer(teacher.prepare(["a"]), lambda n: None)


def test_a_compressed_answer_is_read() -> None:
    right = gzip.compress(json.dumps([[{"label": "bug", "score": 0.75}]]).encode())
    with local_service(lambda body: (200, {"Content-Encoding": "gzip"}, right)) as asked:
        teacher = service(asked.url)
        assert teacher.answer(teacher.prepare(["a"]), lambda n: None).logits.exp().tolist()[0] == pytest.approx(
            [0.75, 0.25]
        )


@pytest.mark.parametrize("part", ["head", "body"])
def test_an_answer_that_drips_has_a_time_limit(part: str) -> None:
    """Each byte comes in time, the whole does not."""
    head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 4000\r\n\r\n"
    with (
        dripping(head.encode(), part == "head") as url,
        pytest.raises(AlloyError, match=r"nothing within 0\.3 seconds"),
    ):
        teacher = service(url, timeout=0.3)
        teacher.answer(teacher.prepare(["a"]), lambda n: None)


@contextmanager
def dripping(head: bytes, in_head: bool) -> Iterator[str]:
    ended = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with suppress(OSError), server.accept()[0] as connection:
                connection.recv(65536)
                if not in_head:
                    connection.sendall(head)
                for byte in head if in_head else b" " * 4000:
                    connection.sendall(bytes([byte]))
                    if ended.wait(0.02):
                        return

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/"
        ended.set()


def test_rubbish_of_a_language_model() -> None:
    chat = ChatService(
        "x", "m", LABELS, template="{text}{options}", request={}, logprobs=True, samples=None, certainty=0.9
    )

    def ask(logprobs: Any, said: str = "A") -> Any:
        return chat.ask([("a", None)], lambda body: {"choices": [{"message": {"content": said}, "logprobs": logprobs}]})

    for odd in ("x", [1], 3, {"content": None}):
        assert ask(odd) == [pytest.approx([0.9, 0.1])]
    for odd in (
        {"content": 3},
        {"content": "x"},
        {"content": [{"token": "A", "logprob": 10**400}]},
        {"content": [{"token": 1, "logprob": 0}]},
        {"content": [{"token": "A", "logprob": 0.7}]},
    ):
        with pytest.raises(UnreadableAnswer):
            ask(odd)
    begun = time.perf_counter()
    assert ask(None, "<think>" * 200_000 + "B") == [None]
    assert ask(None, "<think>A</think>" * 3 + "B") == [pytest.approx([0.1, 0.9])]
    assert time.perf_counter() - begun < 2
    with pytest.raises(UnreadableAnswer):
        value_at(["choices"], [1])


@pytest.fixture(scope="module")
def graph_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files beside a graph."""
    folder = tmp_path_factory.mktemp("graph")
    return tiny.classifier(folder, LABELS, seed=4)


def own_graph(folder: Path, nodes: list[Any]) -> None:
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["b", "l"]) for name in ("input_ids", "attention_mask")
    ]
    mean = [
        helper.make_node("Cast", ["input_ids"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("ReduceMean", ["f"], ["m"], axes=[1], keepdims=1),
    ]
    more = [helper.make_node("Add", ["m", "r"], ["mm"]), helper.make_node("Concat", ["mm", "mm"], ["logits"], axis=1)]
    graph = helper.make_graph(
        [*mean, *nodes, *more], "g", inputs, [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["b", 2])]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (folder / "model.onnx").write_bytes(model.SerializeToString())


def constant(name: str, kind: int, dims: list[int], values: list[Any]) -> Any:
    return helper.make_node("Constant", [], [name], value=helper.make_tensor(name, kind, dims, values))


def test_a_graph_that_never_ends(graph_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx_module, "TRIAL_SECONDS", 0.2)
    kinds = (("i", TensorProto.INT64), ("c", TensorProto.BOOL), ("x", TensorProto.FLOAT))
    inside = [helper.make_tensor_value_info(name, kind, []) for name, kind in kinds]
    out = [
        helper.make_tensor_value_info(name, kind, [])
        for name, kind in (("co", TensorProto.BOOL), ("xo", TensorProto.FLOAT))
    ]
    steps = [helper.make_node("Identity", ["c"], ["co"]), helper.make_node("Sin", ["x"], ["xo"])]
    body = helper.make_graph(steps, "body", inside, out)
    own_graph(
        graph_folder,
        [
            constant("n", TensorProto.INT64, [], [2**62]),
            constant("yes", TensorProto.BOOL, [], [True]),
            helper.make_node("ReduceMean", ["f"], ["a"], keepdims=0),
            helper.make_node("Loop", ["n", "yes", "a"], ["r"], body=body),
        ],
    )
    with pytest.raises(AlloyError, match="in 0.2 seconds"):
        OnnxSpec(onnx=str(graph_folder)).describe("x").load(Reading())


def test_a_graph_that_needs_all_memory(graph_folder: Path) -> None:
    shape = [helper.make_node("Shape", ["input_ids"], ["s"]), constant("k", TensorProto.INT64, [2], [2**30, 2**30])]
    fill = [helper.make_node("Mul", ["s", "k"], ["sk"]), helper.make_node("ConstantOfShape", ["sk"], ["g"])]
    own_graph(graph_folder, [*shape, *fill, helper.make_node("ReduceMax", ["g"], ["r"], keepdims=0)])
    with pytest.raises(AlloyError, match=r"memory of this machine|reads 2 texts"):
        OnnxSpec(onnx=str(graph_folder)).describe("x").load(Reading())


@pytest.mark.parametrize("place", ["a\0b", ""])
def test_external_data_without_a_possible_name(place: str, graph_folder: Path) -> None:
    own_graph(graph_folder, [constant("r", TensorProto.FLOAT, [1], [0.0])])
    model = onnx.load(graph_folder / "model.onnx")
    tensor = next(node for node in model.graph.node if node.op_type == "Constant").attribute[0].t
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=place)
    (graph_folder / "model.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(AlloyError, match="names of files as the external data"):
        OnnxSpec(onnx=str(graph_folder)).describe("x")


def test_scikit_learn_files_that_burst(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scikit_learn, "MAX_UNPACKED", 1_000_000)
    path = tmp_path / "a.skops"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("schema.json", b" " * 2_000_000 + b"{}")
    with pytest.raises(AlloyError, match="it unpacks to 2,000,002 bytes"):
        SklearnSpec(sklearn=str(path)).describe("x")
    os.mkfifo(tmp_path / "pipe.skops")
    with pytest.raises(AlloyError, match="no file"):
        SklearnSpec(sklearn=str(tmp_path / "pipe.skops")).describe("x")

    class Odd:
        classes_, predict_proba = 3, None

    with pytest.raises(AlloyError, match="a list of classes"):
        scikit_learn.classes_of(Odd(), "x")
