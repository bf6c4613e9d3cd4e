"""Services that answer rubbish: wrong JSON, numbers that are no probabilities, labels of nobody, too much, too slowly, half, or from elsewhere."""

from __future__ import annotations

import gzip
import json
import random
import zlib
from typing import Any

import yaml

from benchmarks.faults.answers import NUMBERS, no_probabilities
from benchmarks.faults.cases import Case
from benchmarks.faults.kinds import Kind
from benchmarks.faults.local_server import Reply, local_server
from benchmarks.faults.mutate import BYTES, VALUES, deep, spoil_value
from benchmarks.faults.others import SERVICE
from benchmarks.faults.steps import step
from benchmarks.faults.stock import DELIVERY, MELT

COMMANDS = ((["sweep", "recipe.yaml"], 85), (["amalgamate", "recipe.yaml"], 15))
ODD = VALUES | {f"{str(n)[:12]} as a number": n for n in NUMBERS}
STATUSES = [
    "204 x", "199 x", "301 x", "307 x", "308 x", "400 x", "401 x", "403 x", "404 x", "408 x", "413 x", "422 x", "429 x", "500 x", "503 x", "599 x", "600 x",
    "999 x", "100 Continue", "101 Switching Protocols", "20", "abc", "200 " + "x" * 5_000, "200 \x1b[31mred",
]  # fmt: skip
AFTER = [
    "0",
    "-1",
    "1e400",
    "nan",
    "x",
    "Mon, 01 Jan 2001 00:00:00 +999999999999",
    "Mon, 01 Jan 99999 00:00:00 GMT",
    "9" * 5000,
    "Wed, 21 Oct 2099 07:28:00 GMT",
    "é",
]
LOCATIONS = [
    "http://127.0.0.1:9/other",
    "http://example.org/",
    "file:///etc/passwd",
    "/other",
    "//x",
    "\x1b[31m",
    "x" * 9_000,
    "http://[",
    "",
]
ENCODINGS = [
    "gzip",
    "deflate",
    "br",
    "zstd",
    "gzip, gzip",
    "gzip, gzip, gzip",
    "x",
    "identity",
    ", ".join(["gzip"] * 200),
]
HOW = {
    "JSON": 40, "bytes": 14, "status": 10, "retry": 5, "redirect": 5, "encoding": 9, "huge": 5, "slow": 6, "half": 5, "protocol": 10, "deep": 3, "half a surrogate": 2
}  # fmt: skip


def good(body: Any, form: str) -> Any:
    """A right answer."""
    if form == "openai":
        words = [{"token": "A", "logprob": -0.2}, {"token": "B", "logprob": -1.8}]
        content = [{"token": "A", "logprob": -0.2, "top_logprobs": words}]
        return {"choices": [{"message": {"role": "assistant", "content": "A"}, "logprobs": {"content": content}}]}
    scores = [[{"label": DELIVERY[0], "score": 0.8}, {"label": DELIVERY[1], "score": 0.2}] for _ in body["inputs"]]
    return scores if form == "tei" else {"predictions": scores}


def bad(body: Any, form: str, how: str, draw: random.Random) -> Reply:
    """A wrong one."""
    right = good(body, form)
    data = json.dumps(right).encode()
    if how == "JSON":
        value = right
        for _ in range(draw.choice((1, 1, 2, 5))):
            value, _ = spoil_value(value, draw, ODD)
        if draw.random() < 0.3:
            value = _other_form(right, form, draw)
        return Reply(json.dumps(value).encode("utf-8", "surrogatepass"))
    if how == "deep":
        return Reply(json.dumps(deep(600)).encode() if draw.random() < 0.5 else b"[" * 200_000)
    if how == "half a surrogate":
        return Reply(data.replace(b"track", b"\\ud800").replace(b'"A"', b'"\\udfff"'))
    if how == "bytes":
        return Reply(BYTES[draw.choice(sorted(BYTES))](data, draw))
    if how == "status":
        text = draw.choice([data, b"", b"\xff" * 50, b"\x1b[31mred\x1b]0;title\x07", b"x" * 100_000, b"<html>"])
        return Reply(text, draw.choice(STATUSES))
    if how == "retry":
        return Reply(b"busy", draw.choice(("429 x", "503 x")), [("Retry-After", draw.choice(AFTER))])
    if how == "redirect":
        return Reply(b"", draw.choice(("301 x", "302 x", "307 x")), [("Location", draw.choice(LOCATIONS))])
    if how == "encoding":
        name, inner = draw.choice(ENCODINGS), draw.choice((data, data, b"[" + b" " * 300_000_000))
        for _ in range(min(3, name.count("gzip"))):
            inner = gzip.compress(inner, 1)
        inner = zlib.compress(inner, 1) if name == "deflate" else inner
        return Reply(inner[: 40 << 20], headers=[("Content-Encoding", name)])
    if how == "huge":
        return Reply(b"[" + b" " * (64 << 20) + b"]", length=draw.random() < 0.5)
    if how == "slow":
        return Reply(
            data, slow=draw.choice(("head", "body")), pause=draw.choice((0.05, 0.4)), length=draw.random() < 0.7
        )
    if how == "half":
        return Reply(data, stop=draw.randrange(len(data) + 60))
    raw = draw.choice([
        b"", b"\n", b"HTTP/9.9 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n{}", b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n{}", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n{}\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffff\r\n{}", b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 50_000 + b"\r\n{}",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 500_000 + b"\r\n\r\n{}", b"SSH-2.0-OpenSSH\r\n", b"\x16\x03\x01\x00\x00", b"HTTP/1.1 200 OK\r\n: x\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{} ", b"HTTP/1.1 200 OK\r\nA\xff: \xfe\r\nContent-Length: 2\r\n\r\n{}", b"HTTP/1.1 100 Continue\r\n\r\n" * 500,
    ])  # fmt: skip
    return Reply(raw=raw)


def _other_form(right: Any, form: str, draw: random.Random) -> Any:
    """Answers that are nearly right."""
    odd = draw.choice(NUMBERS)
    if form == "openai":
        token = {"token": draw.choice(["A", "B", "C", "", " ", "AB", None, 3, "\ud800"]), "logprob": odd}
        content = draw.choice(
            [
                [token],
                [token] * 3,
                [token | {"top_logprobs": [token, token]}],
                [token | {"top_logprobs": odd}],
                odd,
                [],
                [[]],
            ]
        )
        return {
            "choices": [
                {
                    "message": {"content": draw.choice(["A", "track", "zzz", "", None, "<think>", "x" * 50_000])},
                    "logprobs": {"content": content},
                }
            ]
            * draw.choice((1, 2, 500))
        }
    rows: Any = draw.choice([
        [[odd, 0.5]], [{"track": odd, "damaged": 0.5}], ["track"], [["track", "damaged"]], [{"label": "track", "score": odd}], [[{"label": odd, "score": 0.5}]],
        [[{"label": ["x"], "score": 0.5}]], [[{"label": "track", "score": 0.5}] * 3], [{}], [[]], [None], [odd], [{"nobody": 1.0}], [{"track": 0.0, "damaged": 0.0}], [{"track": 1.005}], [[0.5, 0.5, 0.5]],
    ])  # fmt: skip
    n = len(right if form == "tei" else right["predictions"])
    rows = rows * draw.choice((n, n, n, n + 1, 1))
    return rows if form == "tei" else {"predictions": rows}


def make(case: Case) -> None:
    draw, folder = case.draw, case.folder
    form, how = draw.choice(("json", "json", "tei", "openai")), draw.choices(list(HOW), list(HOW.values()))[0]
    share, seed = draw.choice((1.0, 1.0, 0.5, 0.15)), draw.random()

    def answer(body: Any) -> Reply:
        mine = random.Random(f"{seed} {json.dumps(body, sort_keys=True)}")
        if mine.random() < share:
            try:
                return bad(body, form, how, mine)
            except RecursionError:  # of the library that writes JSON
                return Reply(b"[" * 100_000)
        return Reply(json.dumps(good(body, form)).encode())

    with local_server(answer) as server:
        case.stock.fill(folder)
        told = dict(SERVICE) | {
            "url": server.url(),
            "format": form,
            "timeout": 2,
            "retries": 0 if how == "retry" else 1,
        }
        if form != "json":
            del told["request"], told["answer"]
        if form == "openai":
            told |= {"model": "x"} | draw.choice(
                ({}, {"samples": 3}, {"certainty": 0.9}, {"logprobs": False, "samples": 3})
            )
        elif draw.random() < 0.3:
            told["values"] = "logits"
        if how == "slow":
            told |= {"timeout": 1, "retries": 0, "parallel": 8}
        told["labels"] = (
            {"track": "track", "damaged": "lost"} if form != "openai" and draw.random() < 0.3 else list(DELIVERY)
        )
        recipe = MELT | {"teachers": ["billing", told], "method": draw.choice(("alloy", "ensemble"))}
        (folder / "recipe.yaml").write_text(yaml.safe_dump(recipe, sort_keys=False))
        argv = draw.choices([c for c, _ in COMMANDS], [w for _, w in COMMANDS])[0]
        case.about = f"{argv[0]}, {form}: {how}, {share:.0%} of the answers"
        ended = case.run(step(folder, *argv, ports=[server.port]))[0]
    if ended.code == 0:
        case.demand(not (wrong := no_probabilities(folder / "run" / "cache", "service")), "different", wrong)


TABLE = Kind("services", "Services that answer rubbish, slowly, or with too much", 250, make)
