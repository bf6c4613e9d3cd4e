"""Training computes the supervision of each text once, and the student is the same as with supervision that is computed in every step."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
import tiny
import torch
from random_rows import Pool, context_of, rows_of, space_of
from small_training import logged, run

import alloykit
from alloykit.methods.alloy.method import Alloy
from alloykit.methods.protocol import Context, Method
from alloykit.methods.registry import create
from alloykit.outputs import Rows
from alloykit.training import with_supervision as module
from alloykit.training.with_supervision import WithSupervision, with_supervision

N = 40


def prepared(spec: dict[str, Any]) -> tuple[Method, Pool, Context]:
    method, rows = create(spec), rows_of("disjoint", N, seed=3)
    return method, Pool(rows), context_of(method, rows, space_of("disjoint"))


@pytest.mark.parametrize("spec", [{"name": "alloy"}, {"name": "muka", "passes": 4}, {"name": "vanilla_kd"}], ids=str)
def test_each_text_has_the_supervision_that_the_method_gives_it(spec: dict[str, Any]) -> None:
    method, pool, context = prepared(spec)
    source = with_supervision(pool, method, context, reads=1)
    at = [7, 0, 39, 7]
    for each in (source, pickle.loads(pickle.dumps(source))):  # as in a process that loads batches
        found = Rows.from_batch(each.rows(torch.tensor(at)).to_batch())
        wanted = method.supervise(pool.rows(at), context)
        assert wanted is not None
        assert found.supervision is not None
        assert set(found.supervision) == {name for name, value in vars(wanted).items() if value is not None}
        for name, value in found.supervision.items():
            torch.testing.assert_close(value, getattr(wanted, name), rtol=1e-5, atol=1e-6)
        assert torch.equal(found.teachers[1].logits, pool.rows(at).teachers[1].logits)
    assert len(source) == N


@pytest.mark.parametrize(
    ("spec", "reads"),
    [
        ({"name": "vanilla_kd"}, 0.5),  # half of the texts are never read
        ({"name": "uhc"}, 2),  # no single target
        ({"name": "muka", "passes": 4, "normalise": "batch"}, 2),  # the weight of a text depends on the others
        ({"name": "dfa"}, 2),  # reads texts during training
        ({"name": "as_dfd"}, 2),  # makes its own examples
    ],
    ids=str,
)
def test_a_source_stays_as_it_is_where_nothing_is_saved(spec: dict[str, Any], reads: float) -> None:
    method, pool, context = prepared(spec)
    assert with_supervision(pool, method, context, reads=reads) is pool


def test_a_file_of_more_than_so_many_bytes_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    method, pool, context = prepared({"name": "vanilla_kd"})
    size = 4 * N * (context.space.size + len(context.space.teachers) + 2)
    monkeypatch.setattr(module, "COPIED", size - 1)
    assert with_supervision(pool, method, context, reads=2) is pool
    monkeypatch.setattr(module, "COPIED", size)
    assert with_supervision(pool, method, context, reads=2) is not pool


@pytest.mark.parametrize(("name", "reads_states"), [("alloy", False), ("vanilla_kd", True)])
def test_states_are_left_out_where_the_loss_reads_none(
    name: str, reads_states: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    method, pool, context = prepared({"name": name})
    assert method.loss_reads_states is reads_states
    without = Pool(rows_of("disjoint", N, seed=3))
    monkeypatch.setattr(module, "without_states", lambda source: without)
    found = with_supervision(pool, method, context, reads=2)
    assert isinstance(found, WithSupervision)
    assert found.source is (pool if reads_states else without)


def test_the_student_learns_the_same(models: dict[str, Path], tmp_path: Path) -> None:
    method, _, _ = prepared({"name": "alloy"})
    losses = {}
    for name in ("every step", "once"):
        wrap = (
            None
            if name == "every step"
            else (lambda source, context: with_supervision(source, method, context, reads=2))
        )
        _, fitted = run(method, models["encoder"], tmp_path / name, n=N, double=True, wrap=wrap)
        losses[name] = logged(fitted, "loss")
    assert len(losses["once"]) > 1
    assert losses["once"] == pytest.approx(losses["every step"], rel=1e-5)


@pytest.mark.slow
def test_a_run_asks_the_method_once_for_each_text(
    models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And during the training no state of a text is read from the store."""
    supervise, seen, states = Alloy.supervise, list[int](), list[bool]()

    def counted(self: Alloy, rows: Rows, context: Context) -> Any:
        seen.append(len(rows.teachers[0].logits))
        return supervise(self, rows, context)

    loss = Alloy.loss

    def looked_at(self: Alloy, inputs: Any) -> Any:
        states.append(
            inputs.rows.text_states is not None or any(t.pooled_states is not None for t in inputs.rows.teachers)
        )
        return loss(self, inputs)

    monkeypatch.setattr(Alloy, "supervise", counted)
    monkeypatch.setattr(Alloy, "loss", looked_at)
    counts = []
    for epochs in (2, 4):
        seen.clear()
        alloykit.amalgamate(
            teachers=[models["billing"], models["delivery"]],
            texts=tiny.texts(N),
            student={"model": str(models["encoder"]), "layers": 1},
            method="alloy",
            training={"epochs": epochs, "batch_size": 8, "max_length": 16},
            output=tmp_path / str(epochs),
        )
        counts.append(sum(seen))
    assert counts[0] == counts[1]
    assert states
    assert not any(states)
