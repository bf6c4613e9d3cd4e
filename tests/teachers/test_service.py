"""Services as teachers, against a real server: the three formats, faults, retries and what an entry must not say."""

from __future__ import annotations

import math
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from asked_service import CHAT, FAST, KEY, TEI, answered, near, scores, teacher, tei
from local_service import local_service

from alloykit import AlloyError
from alloykit.recipe.read_recipe import parse
from alloykit.recipe.recipe import Recipe
from alloykit.teachers import service_client
from alloykit.teachers.chat_service import answer_options


def text_of(body: Any) -> str:
    """The text in a prompt."""
    return str(body["messages"][0]["content"]).split("Text:\n")[1].split("\n\nAnswer")[0]


def said(*contents: str, tokens: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    logprobs = {"content": tokens} if tokens else None
    return {"choices": [{"message": {"content": content}, "logprobs": logprobs} for content in contents]}


def token(word: str, p: float, **others: float) -> dict[str, Any]:
    top = [{"token": t, "logprob": math.log(q)} for t, q in {word: p, **others}.items()]
    return {"token": word, "logprob": math.log(p), "top_logprobs": top}


def test_a_language_model_with_token_probabilities() -> None:
    def answer(body: Any) -> Any:
        assert (body["model"], body["logprobs"], body["temperature"], body["seed"]) == ("small", True, 0, 7)
        prompt = body["messages"][0]["content"]
        assert "A. bug\nB. login\n" in prompt
        assert "letter of one category" in prompt
        if "{options}" in text_of(body):
            return said("B", tokens=[token("B", 0.6)])
        if "outside" in text_of(body):
            return said("Neither", tokens=[token("Ne", 0.9, A=0.1), token("ither", 0.9)])
        if "name" in text_of(body):
            return said("login", tokens=[token("log", 0.5), token("in", 0.5)])
        return said("A", tokens=[token("\n", 1.0), token("A", 0.5, **{" a": 0.2, "B": 0.2, "The": 0.1})])

    with local_service(answer) as asked:
        asks = teacher(asked.url, **CHAT, request={"seed": 7, "max_tokens": None})
        found = answered(asks, ["it crashes", "an {options} text", "outside", "name", "it crashes"])
        assert "max_tokens" not in asked.bodies[0]
        assert len(asked.bodies) == 4, "equal texts are asked for once"
    assert found == [near(7 / 9, 2 / 9), near(0.4, 0.6), [], near(0.75, 0.25), near(7 / 9, 2 / 9)]


def test_a_language_model_without_token_probabilities(capsys: pytest.CaptureFixture[str]) -> None:
    lock, times = threading.Lock(), Counter[str]()

    def answer(body: Any) -> Any:
        with lock:
            times[text_of(body)] += 1
        if body["temperature"] == 0:
            return said({"x": "B. login", "think": "<think>A? no</think> (b)", "out": "I do not know"}[text_of(body)])
        return said(*(["Bug", "**login**", "B", "A) bug", "spam"][: body["n"]] if text_of(body) == "x" else ["A"]))

    with local_service(answer) as asked:
        sure = teacher(asked.url, **CHAT, certainty=0.9)
        assert answered(sure, ["x", "think", "out"]) == [near(0.1, 0.9), near(0.1, 0.9), []]
        assert "answers outside its labels: 1, such as 'I do not know'" in capsys.readouterr().err
        times.clear()
        shares = teacher(asked.url, **CHAT, samples=5, logprobs=False)
        assert answered(shares, ["x", "y"]) == [near(0.5, 0.5), near(1, 0)]
        assert times == {"x": 1, "y": 5}, "a service that ignores `n` is asked more often"
        with pytest.raises(AlloyError, match=r"samples: 5.*certainty: 0.9"):
            answered(teacher(asked.url, **CHAT), ["x"])


def test_options_are_one_token_each_and_no_label() -> None:
    assert answer_options(["x", "y"]) == (["A", "B"], "letter")
    assert answer_options(["B", "A"]) == (["10", "11"], "number")
    assert answer_options(["10", "a"]) == (["100", "101"], "number")
    options, kind = answer_options([f"label {n}" for n in range(120)])
    assert (options[0], options[-1], kind) == ("100", "219", "number")


def test_a_server_of_classifiers_gets_batches() -> None:
    def answer(body: Any) -> Any:
        if len(body["inputs"]) > 3:
            return 422, {}, {"error": "batch size 4 > maximum allowed batch size 3"}
        if ["too long"] in body["inputs"]:
            return 413, {}, {"error": "`inputs` must have less than 512 tokens"}
        return tei(body) if len(body["inputs"]) > 1 else tei(body)[0]

    with local_service(answer) as asked:
        asks = teacher(asked.url, **TEI, batch=6, parallel=1)
        found = answered(asks, ["a bug", "x", "y", "too long", "z", "bug"])
        assert found == [near(0.75, 0.25), near(0.25, 0.75), near(0.25, 0.75), [], near(0.25, 0.75), near(0.75, 0.25)]
        answered(teacher(asked.url, **TEI), ["a", "b"], ["second", "third"])
        assert asked.bodies[-1] == {"inputs": [["a", "second"], ["b", "third"]]}


@pytest.mark.parametrize(
    ("request_", "answer", "reply"),
    [
        ({"docs": "{texts}"}, "p[*].s", {"p": [{"s": [0.2, 0.8]}, {"s": {"bug": 0.2, "login": 0.8}}]}),
        ({"docs": "{texts}"}, {"labels": "p[*].c[*].n", "scores": "p[*].c[*].v"},
         {"p": [{"c": [{"n": "login", "v": 0.8}, {"n": "bug", "v": 0.2}]}, {"c": [{"n": "login", "v": 0.8}]}]}),
        ({"doc": "say: {text}"}, {"labels": "best", "scores": "sure[0]"}, {"best": "login", "sure": [0.8]}),
        ({"doc": {"a": ["{text}"]}}, "", [{"label": "bug", "score": 0.2}, {"label": "login", "score": 0.8}]),
        ({"doc": "{text}"}, "x", {"x": {"login": 0.8, "other": 0.1}}),
    ],
)  # fmt: skip
def test_any_json_service(request_: Any, answer: Any, reply: Any) -> None:
    with local_service(lambda body: reply) as asked:
        asks = teacher(asked.url, **FAST, format="json", request=request_, answer=answer)
        assert answered(asks, ["a", "b"]) == [near(0.2, 0.8)] * 2
        assert {"docs": ["a", "b"]} in asked.bodies or {"doc": "say: a"} in asked.bodies or len(asked.bodies) == 2


def test_logits_and_names_of_a_service() -> None:
    options = {"format": "tei", "values": "logits", "labels": {"LABEL_0": "bug", "LABEL_1": "login"}}
    reply = [[{"label": "LABEL_1", "score": 0.0}, {"label": "LABEL_0", "score": math.log(4)}]]
    with local_service(lambda body: reply) as asked:
        assert answered(teacher(asked.url, **options), ["a"]) == [near(0.8, 0.2)]


def test_faults_are_retried() -> None:
    faults: list[Any] = [(429, {"Retry-After": "0.02"}, b""), (500, {}, b"oops"), None, (503, {}, b""), "slow"]

    finished = threading.Event()

    def answer(body: Any) -> Any:
        fault = faults.pop(0) if faults else tei(body)
        if fault == "slow":
            finished.wait(10)
        return fault

    begun = time.monotonic()
    with local_service(answer) as asked:
        asks = teacher(asked.url, **TEI, timeout=0.2, parallel=1)
        assert answered(asks, ["a bug"]) == [near(0.75, 0.25)]
        finished.set()
        assert len(asked.bodies) >= 6
        assert not faults
    assert time.monotonic() - begun > 0.02, "Retry-After is kept"


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ((500, {}, b"overloaded"), r"HTTP 500: overloaded \(3 times\).*Finished answers are kept"),
        ((401, {}, f"wrong key {KEY}".encode()), "HTTP 401: wrong key ….*SERVICE_KEY"),
        ((404, {}, b""), "HTTP 404.*`url`"),
        (None, r"RemoteProtocolError.*\(3 times\)"),
        (b"<html>", "cannot be read, such as: no JSON: '<html>'"),
        (b"[" * 100_000, "no JSON"),
        ({"error": 1}, "cannot be read"),
        ([[{"label": "bug", "score": 0.9}, {"label": "login", "score": 0.9}]], "no probabilities"),
        ([[{"label": "bug", "score": "high"}]], "'high' where a score is expected"),
        ([[], []], "2 answers to 1 texts"),
        ((400, {}, b"bad model"), "HTTP 400: bad model"),
        (b'"' + b"x" * 5000 + b'"', "more than 0 MiB"),
    ],
)
def test_faults_that_stay_are_one_message(reply: Any, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVICE_KEY", KEY)
    if "MiB" in words:
        monkeypatch.setattr("alloykit.teachers.service_client.MAX_BYTES", 4096)
    with local_service(lambda body: reply) as asked:
        with pytest.raises(AlloyError, match=words) as raised:
            answered(teacher(asked.url, **TEI, retries=2, key_env="SERVICE_KEY"), ["a"])
        assert KEY not in str(raised.value)
        assert asked.headers[0]["Authorization"] == f"Bearer {KEY}"


LONG_KEY = "sk-" + "".join(f"{n:03}" for n in range(60))
ECHOES: list[Any] = [
    lambda key: f"<html>{key}".encode(),
    lambda key: {"headers": {"authorization": f"Bearer {key}"}},
    lambda key: [{"headers": f"Authorization: Bearer {key}, and more of these words"}],
    lambda key: {key: 1},
    lambda key: [[{"label": "bug", "score": key}]],
    lambda key: [[{"label": key, "score": 0.5}]],
    lambda key: (200, {"Content-Encoding": key}, b"[]"),
    lambda key: (500, {}, f"no such key: {key}".encode()),
]


@pytest.mark.parametrize("key", [KEY, LONG_KEY], ids=["short key", "long key"])
@pytest.mark.parametrize("echo", ECHOES)
def test_a_key_that_the_service_repeats_is_in_no_message(
    echo: Any, key: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also not a part of it: messages are cut."""
    monkeypatch.setenv("SERVICE_KEY", key)
    said = ""
    with local_service(lambda body: echo(key)) as asked:
        try:
            answered(teacher(asked.url, **TEI, retries=0, key_env="SERVICE_KEY"), ["a"])
        except AlloyError as error:
            said = str(error)
    said += capsys.readouterr().err
    assert "…" in said
    assert not [key[i : i + 8] for i in range(len(key) - 7) if key[i : i + 8] in said]


def test_answers_with_many_labels_outside_count_once(capsys: pytest.CaptureFixture[str]) -> None:
    many = [{"label": f"{n} {'x' * 500}", "score": 0.001} for n in range(100)]
    with local_service(lambda body: [[*scores(text), *many] for text, *_ in body["inputs"]]) as asked:
        answered(teacher(asked.url, **TEI), ["a", "b"])
    assert "answers outside its labels: 2, such as '0 xxx" in capsys.readouterr().err


def test_a_redirect_is_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVICE_KEY", KEY)
    with local_service(tei) as other, local_service(lambda body: (307, {"Location": other.url}, b"")) as asked:
        with pytest.raises(AlloyError, match="a redirect to"):
            answered(teacher(asked.url, **TEI, key_env="SERVICE_KEY", key_header="api-key"), ["a"])
        assert asked.headers[0]["api-key"] == KEY
        assert not other.bodies


def test_some_unreadable_answers_are_texts_without_an_answer(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def answer(body: Any) -> Any:
        return b"?" if body["inputs"] == [["odd"]] else tei(body)

    with local_service(answer) as asked:
        asks = teacher(asked.url, tmp_path, **TEI, batch=1)
        assert answered(asks, ["bug", "odd"]) == [near(0.75, 0.25), []]
        assert "unreadable answers: 1, such as: no JSON: '?'" in capsys.readouterr().err


def test_requests_at_once_and_in_a_second() -> None:
    lock, now, most = threading.Lock(), 0, 0

    def answer(body: Any) -> Any:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.002)
        with lock:
            now -= 1
        return tei(body)

    texts = [f"text {n}" for n in range(24)]
    with local_service(answer) as asked:
        answered(teacher(asked.url, **TEI, batch=1, parallel=4), texts)
        assert 2 <= most <= 4
        begun = time.monotonic()
        answered(teacher(asked.url, **TEI, batch=1, per_second=400.0), texts)
        assert time.monotonic() - begun >= 23 / 400


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"url": f"http://user:{KEY}@host/predict"}, "without a user and a password"),
        ({"url": f"http://host/predict?api_key={KEY}"}, "without a key in it"),
        ({"url": f"http://host/predict?code={KEY}"}, "without a key in it"),
        ({"url": f"http://host/predict?sv=1&sig={KEY}"}, "without a key in it"),
        ({"url": "file:///etc/passwd"}, "an address such as"),
        ({"format": "openai"}, "`model: NAME`"),
        ({"format": "openai", "model": "m", "template": "{text}"}, "{options}"),
        ({"format": "openai", "model": "m", "logprobs": False}, "certainty: 0.9"),
        ({"format": "json", "answer": "x"}, '"{texts}" or "{text}"'),
        ({"format": "json", "request": {"a": "{text}"}, "answer": "x[a]"}, "a path such as"),
        ({"max_cost": 3.0}, "cost_per_request"),
        ({"labels": ["one"]}, "at least 2 labels"),
    ],
)
def test_what_an_entry_must_not_say(changes: dict[str, Any], words: str) -> None:
    entry = {"url": "http://host/predict", **TEI, **changes}
    with pytest.raises(AlloyError) as raised:
        parse({"teachers": [entry], "texts": "t.csv", "output": "x"}, Recipe)
    assert words in str(raised.value)
    assert KEY not in str(raised.value)


def test_httpx_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(AlloyError, match=r"alloykit\[service\]"):
        answered(teacher("http://127.0.0.1:9/predict", **TEI), ["a"])


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("3", 3), ("0.5", 0.5), ("Thu, 01 Jan 1970 00:01:40 GMT", 90), ("soon", 0), ("", 0), ("-3", 0)],
)
def test_retry_after_is_a_number_or_a_date(value: str, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alloykit.teachers.service_client.time.time", lambda: 10.0)
    assert service_client._asked_pause(value) == seconds
