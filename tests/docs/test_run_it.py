"""What README and quick start tell a reader to do is done, with tiny models in place of the real ones."""

from __future__ import annotations

import contextlib
import csv
import io
import shlex
import shutil
import sys
from pathlib import Path

import pytest
import tiny
from pages import GUIDE, README, snippets

from alloykit.cli import main as cli

pytestmark = pytest.mark.slow

QUICK_START = next(p for p in GUIDE if p.stem == "quick-start")
LABELS = {"billing": ("refund", "charge", "invoice"), "delivery": ("track", "damaged"), "account": ("login", "locked")}
SMALLER = (  # tiny models, one epoch
    ("bundled:minilm", "encoder"),
    ("training: {max_length: 48}", "training: {max_length: 48, epochs: 1}"),
    ("texts: tickets.csv", "texts: tickets.csv\ntraining: {epochs: 1}"),
    ("    output=", '    training={"epochs": 1},\n    output='),
)


def smaller(text: str) -> str:
    for real, stand_in in SMALLER:
        text = text.replace(real, stand_in)
    return text


def write(path: Path, n: int, labels: tuple[str, ...] = ()) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"] if labels else ["text"])
        writer.writerows(
            [t, labels[i % len(labels)]] if labels else [t] for i, t in enumerate(tiny.texts(n, seed=len(labels)))
        )


@pytest.fixture
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with all that the pages name: teachers, texts, and a run of the demo to compare with."""
    tiny.encoder(tmp_path / "encoder")
    for seed, (name, labels) in enumerate(LABELS.items()):
        tiny.classifier(tmp_path / "teachers" / name, labels, seed=seed)
        shutil.copytree(tmp_path / "teachers" / name, tmp_path / "runs" / "demo" / "teachers" / name)
    everything = tuple(label for labels in LABELS.values() for label in labels)
    write(tmp_path / "tickets.csv", 60)
    write(tmp_path / "labelled.csv", 30, LABELS["billing"] + LABELS["delivery"])
    write(tmp_path / "runs" / "demo" / "data" / "messages.csv", 60)
    write(tmp_path / "runs" / "demo" / "data" / "test.csv", 30, everything)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def command(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", shlex.split(line, comments=True))
    with pytest.raises(SystemExit) as ended, contextlib.redirect_stdout(io.StringIO()) as out:
        cli.main()
    assert ended.value.code in (0, None), (line, out.getvalue())


@pytest.mark.parametrize("page", [README, QUICK_START], ids=lambda p: p.name)
def test_a_reader_who_follows_the_page(page: Path, workshop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = snippets("yaml", pages=[page])[0]
    (workshop / "recipe.yaml").write_text(smaller(recipe.text), encoding="utf-8")
    told = [
        line for s in snippets("shell", pages=[page]) for line in s.text.splitlines() if line.startswith("alloykit ")
    ]
    assert any(line.startswith("alloykit amalgamate recipe.yaml") for line in told)
    for line in told:
        command(line, monkeypatch)
        if line == "alloykit amalgamate recipe.yaml" or line.startswith("alloykit amalgamate recipe.yaml  "):
            shutil.copytree(workshop / "runs" / "tickets", workshop / "runs" / "demo" / "run")
    assert (workshop / "runs" / "tickets" / "report.html").is_file()
    assert (workshop / "runs" / "tickets" / "student" / "config.json").is_file()
    for snippet in snippets("python", pages=[page]):
        exec(compile(smaller(snippet.text), snippet.where, "exec"), {"__name__": "snippet"})
    assert (workshop / "runs" / "from-python" / "student" / "config.json").is_file()
