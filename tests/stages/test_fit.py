"""What a method sees when it is fitted, what is left of it, and when its state is read again."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from alloykit.labels import LabelSpace
from alloykit.methods.protocol import Context
from alloykit.run_folder.file_names import STATE
from alloykit.run_folder.run_folder import RunFolder
from alloykit.stages import fit as module
from alloykit.stages.fit import fit


def test_a_fit_sees_all_texts_and_is_made_once_for_the_same_inputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[Any, ...]] = []

    def fit_method(pool: Any, context: Context) -> dict[str, torch.Tensor]:
        seen.append((pool, context.validation, context.generated, context.labelled))
        return {"mean": torch.tensor([float(len(seen))])}

    monkeypatch.setattr(module, "inputs_of", lambda prepared: {})
    monkeypatch.setattr(module, "fitted_to", lambda prepared, inputs, cache: {"cache": cache})
    monkeypatch.setattr(module, "fit_view", lambda prepared, context: {"mean": float(context.state["mean"])})
    prepared: Any = SimpleNamespace(
        context=Context(LabelSpace.union([["a", "b"]])), method=SimpleNamespace(fit=fit_method)
    )

    def fitted(made_of: str, **more: Any) -> Any:
        outputs: Any = {"pool": "pool", "validation": None, "labelled": None, "generated": None, "made_of": made_of}
        return fit(prepared, RunFolder(tmp_path), SimpleNamespace(**outputs | more))  # type: ignore[arg-type]

    others = {name: SimpleNamespace(source=name) for name in ("validation", "labelled")}
    first = fitted("1", **others, generated="generated")
    assert seen == [("pool", "validation", "generated", "labelled")]
    assert (first.context.validation, first.context.generated, first.context.labelled) == (None, None, None)
    assert (tmp_path / STATE).exists()
    assert fitted("1").report == first.report == {"mean": 1.0}, "read from the run folder"
    assert fitted("2").report == {"mean": 2.0}
    assert seen[1:] == [("pool", None, None, None)]
