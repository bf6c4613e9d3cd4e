"""`report_to`: what trackers get of a run, and what happens to a run whose tracker fails. MLflow and trackio only if they are installed."""

from __future__ import annotations

import importlib.util
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from commandline import Call, write_recipe
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from alloykit.errors import AlloyError
from alloykit.training.tracker import Tracker, tracking

LOSSES = {"train/loss", "train/learning_rate"}


def small(recipe: dict[str, Any], **training: Any) -> dict[str, Any]:
    return recipe | {"training": recipe["training"] | {"epochs": 1} | training, "method": {"name": "muka", "passes": 4}}


@pytest.mark.slow
def test_a_run_in_tensorboard(recipe: dict[str, Any], tmp_path: Path, call: Call) -> None:
    result = call("amalgamate", write_recipe(tmp_path, small(recipe, report_to=["tensorboard"])))
    assert result.code == 0, result
    run = tmp_path / "run"
    events = EventAccumulator(str(run / "tensorboard"))
    events.Reload()
    last = {name: events.Scalars(name)[-1] for name in events.Tags()["scalars"]}
    metrics = json.loads((run / "metrics.json").read_text())
    steps = json.loads((run / "training.json").read_text())["steps"]
    assert set(last) > LOSSES | {"eval/criterion"}
    assert last["train/loss"].step == steps
    for teacher in ("billing", "delivery"):
        assert last[f"train/sweep/{teacher}/reads_per_second"].value > 0
    scores = metrics["evaluation"]["scores"]
    assert last["test/student/accuracy"].value == pytest.approx(scores["student"]["accuracy"])
    low, high = scores["student"]["interval"]
    assert last["test/student/accuracy_low"].value == pytest.approx(low)
    assert last["test/student/accuracy_high"].value == pytest.approx(high)
    assert last["test/routing/correct_teacher"].value == pytest.approx(scores["routing"]["correct_teacher"])
    assert last["test/student/accuracy"].step == steps
    counts = metrics["agreement"]["confident_teachers"]
    share = counts["several"] / sum(counts.values())
    assert last["train/pool/share_of_texts_with_several_confident_teacher"].value == pytest.approx(share)
    assert not (run / "training").exists()


def test_a_tracker_that_is_not_there_is_an_error_before_the_sweep(
    recipe: dict[str, Any], tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert importlib.util.find_spec("swanlab") is None
    result = call("amalgamate", write_recipe(tmp_path, small(recipe, report_to=["swanlab"])))
    result.refused("a tracker 'swanlab' that can be used", "pip install swanlab")
    assert not (tmp_path / "run" / "cache").exists()


class Failing:
    """A tracker whose server goes away."""

    def on_log(self, *_: Any, **__: Any) -> None:
        raise ConnectionError("gone")

    on_train_end = on_log


def test_a_tracker_that_fails_does_not_stop_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    tracker = Tracker({"mlflow": Failing()}, None)
    tracker.log({"a": 1.0})
    tracker.log({"a": 2.0})
    tracker.close()
    assert (
        capsys.readouterr().err.count("tracker mlflow failed, and nothing more is sent to it: ConnectionError: gone")
        == 1
    )


class Begun:
    """A tracker that begins and ends."""

    ended = 0

    def on_train_begin(self, *_: Any, **__: Any) -> None: ...

    def on_train_end(self, *_: Any, **__: Any) -> None:
        Begun.ended += 1


def test_a_tracker_ends_its_run_if_a_later_one_cannot_begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    callbacks = {"mlflow": [Begun], "wandb": []}
    monkeypatch.setattr(
        "transformers.integrations.get_reporting_integration_callbacks", lambda names: callbacks[names[0]]
    )
    with pytest.raises(AlloyError, match="a tracker 'wandb' that can be used"), tracking([*callbacks], tmp_path, "cpu"):
        pass
    assert Begun.ended == 1


def test_no_tracker_needs_nothing(tmp_path: Path) -> None:
    with tracking([], tmp_path, "cpu") as tracker:
        tracker.log({"a": 1.0})
    assert not list(tmp_path.iterdir())


def test_phases_are_counted_on(tmp_path: Path) -> None:
    from transformers import TrainerState

    with tracking(["tensorboard"], tmp_path, "cpu") as tracker:
        tracker.begin_phase(7)
        tracker.on_log(None, state := TrainerState(global_step=3), None, logs={"loss": 0.5})
    assert state.global_step == 3, "the Trainer counts its own steps"
    events = EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    assert [e.step for e in events.Scalars("train/loss")] == [10]


def test_a_whole_run_in_mlflow(
    recipe: dict[str, Any], tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"file:{tmp_path}/mlruns")
    mlflow.set_tracking_uri(f"file:{tmp_path}/mlruns")
    result = call("amalgamate", write_recipe(tmp_path, small(recipe, report_to=["mlflow"])))
    assert result.code == 0, result
    (found,) = mlflow.search_runs(output_format="list", search_all_experiments=True)
    assert (found.info.run_name, found.info.status) == ("run", "FINISHED")
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    steps = json.loads((tmp_path / "run" / "training.json").read_text())["steps"]
    sent = found.data.metrics
    assert sent["test_student/accuracy"] == pytest.approx(metrics["evaluation"]["scores"]["student"]["accuracy"])
    assert sent["sweep/billing/reads_per_second"] > 0
    assert {"loss", "learning_rate", "eval_criterion", "pool/student_agrees_with_targets"} <= set(sent)
    history = mlflow.tracking.MlflowClient().get_metric_history(found.info.run_id, "loss")
    assert history[-1].step == steps
    first = Path(str(recipe["texts"])).read_text().splitlines()[1]
    assert not any(first in path.read_text() for path in (tmp_path / "mlruns").rglob("*") if path.is_file())


def test_a_whole_run_in_trackio(
    recipe: dict[str, Any], tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))  # trackio reads it when it is imported
    pytest.importorskip("trackio", minversion="0.20")
    result = call("amalgamate", write_recipe(tmp_path, small(recipe, report_to=["trackio"])))
    assert result.code == 0, result
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    with sqlite3.connect(tmp_path / "trackio" / "alloykit.db") as database:
        rows = [json.loads(row) for (row,) in database.execute("SELECT metrics FROM metrics WHERE run_name = 'run'")]
    sent = {name: value for row in rows for name, value in row.items()}
    student = metrics["evaluation"]["scores"]["student"]["accuracy"]
    assert sent["test/student/accuracy"] == pytest.approx(student)
    assert {"train/loss", "train/sweep/billing/reads_per_second"} <= set(sent)


def test_a_tracker_of_another_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise TypeError("init() got an unexpected keyword argument 'space_id'")

    monkeypatch.setattr("transformers.integrations.TensorBoardCallback.on_train_begin", refuse)
    with (
        pytest.raises(AlloyError, match="a version that fits this transformers"),
        tracking(["tensorboard"], tmp_path, "cpu"),
    ):
        pass
