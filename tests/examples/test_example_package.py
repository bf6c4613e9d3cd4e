"""The example package, as if it were installed: found by its entry point, and used by the command line from end to end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commandline import Call, write_recipe
from installed import install

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).parents[2] / "examples" / "alloykit-confidence-vote"


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(EXAMPLE, tmp_path / "site", monkeypatch)


def test_the_command_line_shows_its_options(example: None, call: Call) -> None:
    shown = call("methods", "confidence_vote")
    assert shown.code == 0
    assert "sharpness" in shown.out
    assert "the most confident teacher counts" in " ".join(shown.out.split())


def test_without_the_package_its_name_is_unknown(call: Call) -> None:
    call("methods", "confidence_vote").refused("confidence_vote")


def test_an_amalgamation_from_end_to_end(example: None, call: Call, recipe: dict[str, object], tmp_path: Path) -> None:
    values = recipe | {"method": {"name": "confidence_vote", "sharpness": 6.0}}
    done = call("amalgamate", write_recipe(tmp_path, values))
    assert done.code == 0, done.err
    folder = tmp_path / "run"
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    assert "routing" in metrics["evaluation"]["scores"]
    assert "sharpness: 6.0" in (folder / "recipe.yaml").read_text(encoding="utf-8")
    assert (folder / "report.html").exists()
    answered = call("predict", folder, "-", stdin="late parcel\n")
    assert answered.code == 0
    assert answered.lines[0]["label"]
