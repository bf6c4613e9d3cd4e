"""A run folder may be somebody else's: its functions are imported only with --trust-python, which every command that needs them has."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import tiny
from commandline import Call, write_csv

import alloykit
from alloykit import AlloyError


@pytest.fixture
def run(tmp_path: Path, models: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A finished run, one of whose teachers is a function."""
    (tmp_path / "some_rules.py").write_text('def answer(texts):\n    return ["login" for _ in texts]\n')
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "some_rules", raising=False)
    made = alloykit.amalgamate(
        [{"python": "some_rules:answer", "labels": ["login", "crash"], "name": "rules"}, models["delivery"]],
        write_csv(tmp_path / "pool.csv", [(text,) for text in tiny.texts(40)]),
        {"model": str(models["encoder"]), "layers": 1},
        "vanilla_kd",
        output=tmp_path / "run",
        training={"epochs": 1, "max_length": 16},
        trust_python=True,
    )
    return made.folder


@pytest.mark.slow
def test_suggest_and_update_have_the_flag(run: Path, tmp_path: Path, call: Call) -> None:
    more = write_csv(tmp_path / "more.csv", [(text,) for text in tiny.texts(8, seed=3)])
    for command in (("suggest", run, "--output", tmp_path / "a.csv"), ("update", run, "--add-texts", more)):
        call(*command).refused("the code of teacher 'rules'", "--trust-python")
        result = call(*command, "--trust-python")
        assert result.code == 0, result.err
    with pytest.raises(AlloyError, match="trust_python=True"):
        alloykit.suggest(run, 5)
    assert len(alloykit.suggest(run, 5, trust_python=True)) == 5
    new = alloykit.update(run, override=["training.epochs=0.5"], output=tmp_path / "new", trust_python=True)
    assert new.has_student
