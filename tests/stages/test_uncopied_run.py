"""A run that copies neither texts nor tokens nor outputs gives the student of a run that copies all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tiny

import alloykit
from alloykit.data import pieces, read_in_pieces
from alloykit.data.pieces_table import PieceReader
from alloykit.training import stored_tokens

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("method", ["vanilla_kd", "dfa"])  # DFA reads texts during training
def test_the_same_student(
    method: str, models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = tmp_path / "texts.parquet"
    pq.write_table(pa.table({"text": tiny.texts(60)}), texts, row_group_size=7)
    monkeypatch.setattr("alloykit.training.sampler.FEW", 16)
    monkeypatch.setattr("alloykit.training.sampler.BLOCK", 4)
    monkeypatch.setattr("alloykit.training.sampler.BLOCKS", 5)
    values: dict[str, Any] = {
        "teachers": [models["billing"], models["delivery"]],
        "texts": str(texts),
        "student": {"model": str(models["encoder"]), "layers": 2},
        "method": method,
        "training": {
            "epochs": 2,
            "learning_rate": 1e-3,
            "batch_size": 8,
            "max_length": 16,
            "check_every": 4,
            "save_every_seconds": 0,
        },
    }
    students = []
    hold, part = PieceReader.hold, stored_tokens.TokensInParts.lengths
    held, made = list[int](), list[int]()
    for name in ("copied", "not copied"):
        if name == "not copied":
            for module in ("data.piece_collector", "training.dataset", "knowledge.store.reader"):
                monkeypatch.setattr(f"alloykit.{module}.COPIED", 0)
            monkeypatch.setattr(read_in_pieces, "FROM", 0)
            monkeypatch.setattr(read_in_pieces, "MAX_PROCESSES", 1)
            monkeypatch.setattr(pieces, "ROWS", 14)
            monkeypatch.setattr(
                PieceReader, "hold", lambda self, at, names: (held.append(len(at)), hold(self, at, names))[1]
            )
            monkeypatch.setattr(stored_tokens.TokensInParts, "lengths", lambda self, at: (made.append(len(at)), part(self, at))[1])  # fmt: skip
        run = alloykit.amalgamate(**values, output=tmp_path / name)
        students.append((run.student / "model.safetensors").read_bytes())
    assert students[0] == students[1]
    assert len(made) == len(held) >= 6  # parts of twenty texts
    assert max(made) < 20 + 8
