"""What is printed where standard output is not UTF-8, and what is read from standard input."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
import tiny

from alloykit.cli import main as cli

LABELS = ("é", "日本 🙂")


def printed(
    encoding: str, monkeypatch: pytest.MonkeyPatch, *arguments: object, stdin: bytes = b""
) -> tuple[int, bytes]:
    """Exit code and standard output of a command where both streams have an encoding."""
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="", write_through=True)
    monkeypatch.setattr(sys, "argv", ["alloykit", *map(str, arguments)])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding=encoding, errors="surrogateescape"))
    monkeypatch.setattr(sys, "stdout", out)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return int(ended.value.code or 0), out.buffer.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-8"])
def test_tables_and_data_have_a_form_in_every_encoding(
    encoding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, table = printed(encoding, monkeypatch, "methods")
    assert code == 0
    assert "alloy" in table.decode(encoding)
    assert ("─" in table.decode(encoding)) == (encoding == "utf-8"), "lines are drawn in ASCII"
    assert "??" not in table.decode(encoding)
    model = tiny.classifier(tmp_path / "model", LABELS, "bert", seed=1)
    text = "café, über 日本".encode()
    code, line = printed(encoding, monkeypatch, "predict", model, "-", "--all-probabilities", stdin=text)
    assert code == 0
    answer = json.loads(line.decode("utf-8"))
    assert tuple(answer["probabilities"]) == LABELS
    assert ("é" in line.decode("utf-8")) == (encoding == "utf-8")
    _, expected = printed("utf-8", monkeypatch, "predict", model, "-", "--all-probabilities", stdin=text)
    assert answer == json.loads(expected), "the text is read as UTF-8"
