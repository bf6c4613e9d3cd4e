"""The examples: each script runs, with tiny models and few messages, and its notebook has the same cells."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import tiny

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).parents[2] / "examples"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in ("conftest", "notebooks", "shop"))
SMALLER = (
    ("bundled:minilm", "encoder"),
    ("int8=True", "int8=True, min_agreement=0.2"),
    ('"layers": 3, "keep": "even"', '"layers": 1'),
)


@pytest.fixture
def examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to run in. `shop` is imported anew: with a tiny encoder, one epoch and a tenth of the messages."""
    tiny.encoder(tmp_path / "encoder")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(p for p in sys.path if p))  # for the server's process
    monkeypatch.delitem(sys.modules, "shop", raising=False)
    import shop

    real = shop.messages
    monkeypatch.setattr(shop, "messages", lambda part: real(part)[::12])
    monkeypatch.setattr(shop, "TRAINING", shop.TRAINING | {"epochs": 1, "batch_size": 16})
    monkeypatch.setattr(shop, "teacher", _tiny_teacher)
    return tmp_path


def _tiny_teacher(team: str) -> Path:
    from alloykit.demo.run import messages

    folder = Path("teachers") / team
    if not folder.exists():
        tiny.classifier(folder, list(dict.fromkeys(m["label"] for m in messages("train") if m["team"] == team)))
    return folder


def smaller(script: str) -> str:
    for real, stand_in in SMALLER:
        script = script.replace(real, stand_in)
    return script.replace('TRAINING | {"epochs": 20}', "TRAINING").replace('TRAINING | {"epochs": 30}', "TRAINING")


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> Any:
    """examples/notebooks.py"""
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module("notebooks")


def test_the_tool_makes_all_notebooks(tool: Any) -> None:
    assert sorted(tool.NAMES) == NAMES


def test_the_tool_notes_what_a_cell_prints(tool: Any, tmp_path: Path) -> None:
    script = tmp_path / "some.py"
    script.write_text("# %% [markdown]\n# # Title\n#\n# text\n\n# %%\nx = 2\nprint('a')\nx + 1\n")
    text, code = tool.notebook(script)["cells"]
    assert "".join(text["source"]) == "# Title\n\ntext"
    assert "".join(code["outputs"][0]["text"]) == "a\n3\n"


@pytest.mark.parametrize("name", NAMES)
def test_a_script_runs(name: str, examples: Path) -> None:
    script = smaller((FOLDER / f"{name}.py").read_text(encoding="utf-8"))
    names: dict[str, Any] = {"__name__": "example"}
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(script, f"{name}.py", "exec"), names)
    assert "student" in out.getvalue() or name == "serve_and_watch"


@pytest.mark.parametrize("name", NAMES)
def test_the_notebook_is_of_the_script(name: str, tool: Any) -> None:
    made = json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))
    script = tool.cells((FOLDER / f"{name}.py").read_text(encoding="utf-8"))
    assert [(c["cell_type"], "".join(c["source"])) for c in made["cells"]] == [(c.kind, c.source) for c in script]
    printed = ["".join(o["text"]) for c in made["cells"] for o in c.get("outputs", ())]
    assert printed
    assert not any("/tmp/" in text or "/home/" in text or "Traceback" in text for text in printed)
    assert (FOLDER / f"{name}.ipynb").stat().st_size < 30_000
