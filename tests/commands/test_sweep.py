"""`sweep`: parts that several processes compute, and a run that takes them."""

from __future__ import annotations

from pathlib import Path

import pytest
from commandline import Call, files_of, write_recipe


@pytest.mark.slow
def test_sweep_in_parts_then_amalgamate_from_the_shared_knowledge(
    recipe: dict[str, object], tmp_path: Path, call: Call
) -> None:
    path, shared = write_recipe(tmp_path, recipe), tmp_path / "shared"
    first = call("sweep", path, "--part", "1/2", "--cache", shared)
    assert (first.code, first.out) == (0, ""), first.err
    assert f"cached outputs are in {shared}" in first.err
    assert call("sweep", path, "--part", "2/2", "--cache", shared).code == 0
    for log in ("run-1-of-2.log", "run-2-of-2.log"):
        assert (shared / log).read_text().endswith(f" cached outputs are in {shared}\n")
    assert not (tmp_path / "run").exists()
    before = files_of(shared)
    del recipe["evaluate"]
    result = call("amalgamate", write_recipe(tmp_path, recipe), "--cache", shared)
    assert result.code == 0, result.err
    assert "reads in" not in result.err, "no teacher read anything again"
    assert files_of(shared) == before
    assert not (tmp_path / "run" / "cache").exists()
