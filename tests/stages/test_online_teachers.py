"""DFA and CFL from a recipe, with teachers of other architectures, depths and tokenizers, and a kill in the middle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tiny
import torch

import alloykit
from alloykit.planning.plan_run import plan_recipe
from alloykit.recipe.read_recipe import parse
from alloykit.recipe.recipe import Recipe

pytestmark = pytest.mark.slow

TEXTS = tiny.texts(40)
TRAINING = {
    "epochs": 2,
    "learning_rate": 1e-3,
    "batch_size": 8,
    "max_length": 32,
    "check_every": 4,
    "save_every_seconds": 0,
}


@pytest.fixture(scope="module")
def teachers(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A BERT of three layers and a narrower RoBERTa of two, whose tokenizers differ."""
    folder = tmp_path_factory.mktemp("teachers")
    tiny.classifier(folder / "billing", ["refund", "charge"], "bert")
    tiny.classifier(folder / "parcels", ["track", "late", "lost"], "roberta", num_hidden_layers=2, hidden_size=16)
    return [folder / "billing", folder / "parcels"]


def recipe(teachers: list[Path], models: dict[str, Path], output: Path, method: Any) -> dict[str, Any]:
    return {
        "teachers": teachers,
        "texts": TEXTS,
        "student": {"model": str(models["encoder"]), "layers": 2},
        "method": method,
        "training": TRAINING,
        "output": output,
    }


@pytest.fixture(scope="module")
def whole(teachers: list[Path], models: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A run of DFA that was never interrupted."""
    return alloykit.amalgamate(**recipe(teachers, models, tmp_path_factory.mktemp("dfa") / "run", "dfa"))


@pytest.mark.parametrize(
    "method", ["dfa", "cfl", {"name": "cfl", "features": "tokens"}, {"name": "dfa", "frozen_blocks": True}], ids=str
)
def test_a_student_comes_out_and_its_blocks_stay_behind(
    method: Any, whole: Any, teachers: list[Path], models: dict[str, Path], tmp_path: Path
) -> None:
    run = whole if method == "dfa" else alloykit.amalgamate(**recipe(teachers, models, tmp_path / "run", method))
    assert run.metrics["labels"] == ["refund", "charge", "track", "late", "lost"]
    losses = [entry["loss"] for entry in run.training["history"] if "loss" in entry]
    assert losses
    assert all(0 < loss < 100 for loss in losses)
    weights = {p.name for p in run.student.iterdir()}
    assert "model.safetensors" in weights
    from transformers import AutoModelForSequenceClassification

    _, report = AutoModelForSequenceClassification.from_pretrained(run.student, output_loading_info=True)
    assert not report["missing_keys"]
    assert not report["unexpected_keys"]
    assert run.predict(TEXTS[:2])
    pooled = list((run.folder / "cache").glob("teachers/*/*/*.pooled-*.safetensors"))
    assert bool(pooled) == (method == "cfl")


def test_killed_and_started_again_dfa_gives_the_same_student(
    whole: Any, teachers: list[Path], models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from alloykit.training.phase_trainer import PhaseTrainer

    real, steps = PhaseTrainer.training_step, []

    def step(self: PhaseTrainer, *args: Any, **kwargs: Any) -> Any:
        steps.append(1)
        if len(steps) == 7:
            raise KeyboardInterrupt
        return real(self, *args, **kwargs)

    monkeypatch.setattr(PhaseTrainer, "training_step", step)
    with pytest.raises(KeyboardInterrupt):
        alloykit.amalgamate(**recipe(teachers, models, tmp_path / "cut", "dfa"))
    cut = alloykit.amalgamate(**recipe(teachers, models, tmp_path / "cut", "dfa"))
    assert (cut.student / "model.safetensors").read_bytes() == (whole.student / "model.safetensors").read_bytes()


def test_plan_counts_the_teachers_that_stay_in_memory(
    teachers: list[Path], models: dict[str, Path], tmp_path: Path
) -> None:
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS))
    values = recipe([str(t) for t in teachers], models, tmp_path / "run", "dfa") | {  # type: ignore[list-item]
        "texts": str(tmp_path / "texts.txt"),
        "output": str(tmp_path / "run"),
    }
    dfa = plan_recipe(parse(values, Recipe))
    kd = plan_recipe(parse(values | {"method": "vanilla_kd"}, Recipe), probe=False)
    assert "teachers stay in memory" in dfa["needs"]
    assert dfa["seconds"]["training"] > 0
    cfl = plan_recipe(parse(values | {"method": "cfl"}, Recipe), probe=False)
    assert cfl["cache_bytes"] - kd["cache_bytes"] == 40 * 2 * (32 + 16) + 2 * 600
    torch.manual_seed(0)


@pytest.mark.parametrize(("epochs", "kept"), [(1, []), (2, [len(TEXTS)])])
def test_token_states_are_kept_where_they_are_asked_for_again(
    epochs: int,
    kept: list[int],
    teachers: list[Path],
    models: dict[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found: list[int] = []
    monkeypatch.setattr(
        "alloykit.knowledge.online.online_source.OnlineSource.keep", lambda _, positions: found.append(len(positions))
    )
    values = recipe(teachers, models, tmp_path / "run", "dfa")
    alloykit.amalgamate(**values | {"training": TRAINING | {"epochs": epochs}})
    assert found == kept
