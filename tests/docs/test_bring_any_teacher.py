"""The guide "bring any teacher" followed by itself: its Python files run, and its recipes with the files that they make."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import tiny
import yaml
from commandline import Call, write_csv
from pages import ROOT, snippets

from alloykit.exporting.float_graph import float_graph
from alloykit.serving.predictor import Predictor
from alloykit.teachers.protocol import Reading

pytestmark = pytest.mark.slow

PAGE = ROOT / "docs" / "guide" / "bring-any-teacher.md"


@pytest.fixture
def here(tmp_path: Path, models: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with texts, a teacher, stored answers, and the page's Python files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("rules", "delivery", "memory", "save"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    (tmp_path / "teachers").mkdir()
    (tmp_path / "teachers" / "billing").symlink_to(models["billing"])
    tiny.classifier(tmp_path / "models" / "nli", ["entailment", "neutral", "contradiction"])
    write_onnx(tmp_path / "teachers" / "delivery-onnx", "model.onnx", ["LABEL_0", "LABEL_1"])
    write_onnx(tmp_path / "teachers" / "tech-onnx", "model_quantized.onnx", ["bug", "crash"])
    texts = [
        f"{text} {word}" for text, word in zip(tiny.texts(40), ["password", "crash", "late", "lost"] * 10, strict=True)
    ]
    write_csv(tmp_path / "tickets.csv", [(t,) for t in texts], ("text",))
    rows = [{"text": t, "logprobs": {"bug": -0.2, "crash": -3.0}} for t in texts[::2]]
    (tmp_path / "llm.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    write_csv(tmp_path / "reviewed.csv", [("late" if n % 2 else "lost", 0.8) for n in range(40)], ("category", "score"))
    for snippet in snippets("python", pages=[PAGE]):
        name = snippet.text.splitlines()[0].removeprefix("# ")
        (tmp_path / name).write_text(snippet.text, encoding="utf-8")
    return tmp_path


def write_onnx(folder: Path, name: str, labels: list[str]) -> None:
    """A classifier as others write it: the graph in the folder "onnx", and no weights beside it."""
    graph = float_graph(Predictor.load(tiny.classifier(folder, labels), device="cpu"))
    (folder / "model.safetensors").unlink()
    (folder / "onnx").mkdir()
    (folder / "onnx" / name).write_bytes(graph)


def test_it_runs_in_memory_and_from_files(here: Path, call: Call, capsys: pytest.CaptureFixture[str]) -> None:
    __import__("save")
    assert not capsys.readouterr().out, "save.py runs nothing else"
    __import__("memory")
    assert "'label': " in capsys.readouterr().out, "memory.py prints a prediction"
    recipes = [yaml.safe_load(s.text) for s in snippets("yaml", pages=[PAGE])]
    assert len(recipes) == 6
    entries = [t for recipe in recipes for t in recipe["teachers"]]
    entries = [t for t in entries if "predictions.parquet" not in str(t)]
    whole = {"teachers": entries[1:], "texts": "tickets.csv", "output": "runs/files", "training": {"epochs": 1}}
    whole["student"] = {"model": "teachers/billing", "layers": 2}
    (here / "recipe.yaml").write_text(yaml.safe_dump(whole))
    call("plan", "recipe.yaml", "--no-probe").refused("--trust-python")
    shown = call("plan", "recipe.yaml", "--no-probe", "--trust-python")
    assert shown.code == 0
    for words in (
        "teacher llm: bug, login, crash",
        "teacher reviewed: late, lost",
        "teacher delivery.skops: late, lost",
        "teacher delivery-onnx: late, lost",
        "teacher tech: bug, crash",
        "teacher nli: late, lost, tech_support",
        "teacher gpt: bug, login, crash: 40 reads, 72 requests with the probe texts, cost 0.01",
        "teacher topics: billing, delivery: 40 reads, 3 requests",
        "teacher mood: happy, angry",
    ):
        assert words in shown.out


def test_the_developers_page_makes_a_teacher() -> None:
    (snippet,) = snippets("python", pages=[ROOT / "docs" / "dev" / "add-a-teacher.md"])
    scope: dict[str, object] = {"__name__": "length"}
    exec(compile(snippet.text.replace("from dataclasses", "from __future__ import annotations\nfrom dataclasses", 1), "length", "exec"), scope)  # fmt: skip
    info = scope["LengthSpec"](length=4).describe("length")  # type: ignore[operator]
    teacher = info.load(Reading())
    found = teacher.answer(teacher.prepare(["abc", "abcd"]), lambda n: None).logits.exp()
    assert found.round().tolist() == [[1, 0], [0, 1]]
