"""Which check is chosen, and that the weights of every check that may still be chosen stay on the disk."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from transformers import EvalPrediction

from alloykit.json_files import read_json
from alloykit.training import phase_trainer
from alloykit.training.selection import Check, Selection, choose
from alloykit.training.trainer import check_metrics


def listed(*values):
    return [Check(step, mean, error) for step, mean, error in values]


def test_unlabelled_takes_the_lowest():
    """A loss that falls to the end is followed to the end, however far texts differ from each other."""
    checks = listed((47, 2.1, 0.1), (94, 1.89, 0.1), (141, 1.821, 0.1))
    assert choose(checks, "unlabelled").step == 141
    assert choose(listed((1, 1.0, 0.1), (2, 1.2, 0.1)), "unlabelled").step == 1
    assert choose(listed((1, 2.0, 0.0), (2, 1.0, 0.0), (3, 1.0, 0.0)), "unlabelled").step == 2, (
        "of equal ones the first"
    )


def test_a_tolerance_takes_the_earliest_within_so_many_standard_errors_of_the_lowest():
    checks = listed((10, 1.0, 0.5), (20, 0.60, 0.01), (30, 0.58, 0.2), (40, 0.5, 0.1), (50, 0.55, 0.9))
    assert choose(checks, "unlabelled", 1.0).step == 20  # 0.60 ≤ 0.5 + 0.1; its own error does not count
    assert choose(checks, "unlabelled", 0.7).step == 40
    assert choose(checks[:4] + listed((50, 0.45, 0.05)), "unlabelled", 1.0).step == 40
    # Of equal lowest ones the first one's standard error counts.
    assert choose(listed((1, 1.1, 0.0), (2, 1.0, 0.05), (3, 1.0, 0.5)), "unlabelled", 1.0).step == 2


def test_labelled_takes_the_earliest_of_the_highest():
    checks = listed((10, 0.5, 0.1), (20, 0.8, 0.1), (30, 0.8, 0.0), (40, 0.79, 0.2))
    assert choose(checks, "labelled").step == 20


def test_last_takes_the_last():
    assert choose(listed((10, 0.1, 0.1), (20, 0.8, 0.1)), "last").step == 20


def feed(selection, values):
    """Checks at steps 10, 20, …; the model's only weight is the step."""
    model = nn.Linear(1, 1, bias=False)
    for i, (mean, error) in enumerate(values):
        step = 10 * (i + 1)
        nn.init.constant_(model.weight, step)
        state = SimpleNamespace(global_step=step, is_world_process_zero=True)
        metrics = {"eval_criterion": mean, "eval_standard_error": error}
        selection.on_evaluate(None, state, None, model=model, metrics=metrics)
    return model


def kept(folder):
    return sorted(int(file.stem.split("-")[1]) for file in folder.glob("step-*.safetensors"))


def test_out_of_reach_checks_are_pruned(tmp_path):
    selection = Selection(tmp_path, "unlabelled", 1.0)
    feed(selection, [(2.0, 0.1), (1.0, 0.1), (1.15, 0.1), (1.9, 0.1)])
    assert kept(tmp_path) == [20, 30]
    assert [c["step"] for c in read_json(tmp_path / "checks.json")] == [10, 20, 30, 40]
    lowest = Selection(tmp_path / "lowest", "unlabelled")
    feed(lowest, [(2.0, 0.1), (1.0, 0.1), (1.01, 0.1), (1.9, 0.1)])
    assert kept(tmp_path / "lowest") == [20]
    labelled = Selection(tmp_path / "labelled", "labelled")
    feed(labelled, [(0.2, 0.1), (0.9, 0.1), (0.9, 0.1), (0.5, 0.1)])
    assert kept(tmp_path / "labelled") == [20]


def test_weights_that_cannot_be_chosen_are_not_written(tmp_path, monkeypatch):
    """A check far above the lowest one: the file would be removed at once."""
    written = []
    monkeypatch.setattr(
        "alloykit.training.selection.replace_atomic", lambda path, write: (written.append(path.stem), write(path))
    )
    feed(Selection(tmp_path, "unlabelled", 1.0), [(2.0, 0.1), (1.0, 0.1), (1.15, 0.1), (1.9, 0.1)])
    assert written == ["step-0000010", "step-0000020", "step-0000030"]


@settings(max_examples=10, deadline=None, derandomize=True, database=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0.1, 0.2)), min_size=1, max_size=7))
def test_the_chosen_weights_are_never_pruned(tmp_path_factory, values):
    """As long as standard errors differ by no more than a factor of two."""
    folder = tmp_path_factory.mktemp("kept")
    for name, rule, tolerance in (
        ("one", "unlabelled", 1.0),
        ("lowest", "unlabelled", 0.0),
        ("labelled", "labelled", 0.0),
    ):
        selection = Selection(folder / name, rule, tolerance)
        model = feed(selection, values)
        wanted = choose(selection.checks, rule, tolerance)
        assert wanted.step in kept(folder / name)
        assert selection.restore(model) == wanted
        assert model.weight.item() == wanted.step


def test_resuming_forgets_later_checks_and_their_weights(tmp_path):
    feed(Selection(tmp_path, "unlabelled", 1.0), [(1.0, 0.1), (0.95, 0.1), (0.9, 0.1)])
    selection = Selection(tmp_path, "unlabelled", 1.0)
    selection.resume(20)
    assert [c.step for c in selection.checks] == [10, 20]
    assert kept(tmp_path) == [10, 20]
    model = feed(selection, [])
    assert selection.restore(model).step == 10
    fresh = Selection(tmp_path, "unlabelled")
    fresh.resume(0)
    assert fresh.checks == []
    assert kept(tmp_path) == []


def test_weights_that_are_gone_are_not_chosen(tmp_path):
    """The third check has a far larger standard error than the second one, at which the weights of the first one were deleted."""
    selection = Selection(tmp_path, "unlabelled", 1.0)
    model = feed(selection, [(1.2, 0.01), (1.0, 0.01), (0.95, 1.0)])
    assert choose(selection.checks, "unlabelled", 1.0).step == 10
    assert selection.restore(model).step == 20
    assert model.weight.item() == 20


@pytest.mark.parametrize(
    ("damage", "rule", "intact"),
    [
        (lambda folder: None, "unlabelled", True),
        (lambda folder: (folder / "step-0000010.safetensors").write_bytes(b"other"), "unlabelled", False),
        (lambda folder: (folder / "step-0000010.safetensors").unlink(), "unlabelled", False),
        (lambda folder: (folder / "checks.json").write_text("half"), "unlabelled", False),
        (lambda folder: (folder / "checks.json").unlink(), "unlabelled", False),
        (lambda folder: (folder / "checks.json").unlink(), "last", True),  # this rule makes no checks
    ],
    ids=["nothing", "other weights", "no weights", "no list", "no file", "last"],
)
def test_training_goes_on_only_if_the_weights_of_earlier_checks_are_there(damage, rule, intact, tmp_path):
    feed(Selection(tmp_path, "unlabelled"), [(1.0, 0.1), (1.2, 0.1)])
    damage(tmp_path)
    assert Selection(tmp_path, rule).resume(20) is intact
    assert Selection(tmp_path, rule).resume(0) is True, "from the beginning, nothing is needed"


def test_weights_that_a_later_check_made_useless_are_not_needed(tmp_path):
    """Training goes on from before that check, which is made again. Without such a check, they are missing."""
    feed(Selection(tmp_path, "unlabelled"), [(1.0, 0.1), (1.2, 0.1), (0.5, 0.1)])
    assert kept(tmp_path) == [30]
    assert Selection(tmp_path, "unlabelled").resume(20) is True
    feed(Selection(tmp_path, "unlabelled", 1.0), [(1.0, 0.1), (0.95, 0.1), (0.9, 0.1)])
    assert kept(tmp_path) == [10, 20, 30]
    (tmp_path / "step-0000010.safetensors").write_bytes(b"other")
    assert Selection(tmp_path, "unlabelled", 1.0).resume(20) is False, "weights that are there must be whole"


def test_checks_that_are_not_finite_and_repeated_ones_are_left_out(tmp_path):
    selection = Selection(tmp_path, "unlabelled")
    feed(selection, [(1.0, 0.1), (float("nan"), 0.1), (0.9, 0.0), (float("inf"), float("nan"))])
    assert [c.step for c in selection.checks] == [10, 30]
    feed(selection, [(0.1, 0.0)])  # step 10 again
    assert [c.step for c in selection.checks] == [10, 30]
    assert selection.restore(nn.Linear(1, 1, bias=False)).step == 30


def test_weights_are_written_as_they_were_at_the_check(tmp_path):
    selection = Selection(tmp_path, "unlabelled")
    model = feed(selection, [(0.5, 0.0), (0.9, 0.0)])
    assert model.weight.item() == 20
    assert selection.restore(model).step == 10
    assert torch.equal(model.weight, torch.full((1, 1), 10.0))


@pytest.mark.parametrize("n", [1, 2, 5])
def test_summary_of_checks(n):
    values = np.arange(n, dtype=np.float32) ** 2
    found = check_metrics(EvalPrediction(predictions=values, label_ids=None))
    mean = sum(i**2 for i in range(n)) / n
    variance = sum((i**2 - mean) ** 2 for i in range(n)) / (n - 1) if n > 1 else 0.0
    assert found["criterion"] == pytest.approx(mean)
    assert found["standard_error"] == pytest.approx((variance / n) ** 0.5)


def test_the_accuracy_of_a_reward_is_that_of_random_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a file whose labels alternate, texts at equal distances can all have the same label."""
    labels = torch.arange(1024) % 4
    monkeypatch.setattr(phase_trainer, "pad", lambda tokenizer, tokens: torch.stack(tokens))
    always_0 = SimpleNamespace(eval_logits=lambda batch: torch.eye(4)[torch.zeros(len(batch), dtype=torch.long)])
    trainer = SimpleNamespace(
        validation=(list(labels), labels),
        accelerator=SimpleNamespace(unwrap_model=lambda model: always_0),
        model=None,
        check_collator=SimpleNamespace(tokenizer=None),
        _prepare_inputs=lambda batch: batch,
    )
    found = {phase_trainer.PhaseTrainer._validation_accuracy(trainer) for _ in range(2)}
    assert len(found) == 1, "always the same texts"
    assert found.pop() == pytest.approx(0.25, abs=0.08)
