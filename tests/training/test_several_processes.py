"""Two processes train the student that one would train."""

import sys
import time
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
from random_rows import SPECS
from small_training import run
from together import free_port, launched, together
from transformers import Trainer

from alloykit import processes
from alloykit.errors import AlloyError
from alloykit.methods.registry import create
from alloykit.methods.requirements import require_several
from alloykit.training.checkpoints import mark_complete
from alloykit.training.more_arguments import more_arguments
from alloykit.training.phase_trainer import PhaseTrainer
from alloykit.training.sampler import LengthSampler
from alloykit.training.save_timer import SaveTimer
from alloykit.training.shares import PADDING, ShareOfBatches, share, share_of
from alloykit.training.trainer import _PhaseRun
from alloykit.training.training_options import TrainingOptions


@pytest.mark.parametrize(("n", "size", "accumulate"), [(100, 8, 2), (97, 8, 2), (33, 8, 4), (65, 2, 1), (7, 2, 4)])
@pytest.mark.parametrize("count", [2, 4])
def test_shares_are_the_batches_of_one_process(n: int, size: int, accumulate: int, count: int) -> None:
    """In every step the same texts, in as many batches in every process, none of them larger."""
    if size * accumulate % count:
        pytest.skip("a step cannot be shared")
    options = share_of(TrainingOptions(batch_size=size, accumulate=accumulate), count)
    assert options.batch_size <= size
    assert options.batch_size * options.accumulate * count == size * accumulate
    lengths = torch.arange(n) % 11
    whole = [LengthSampler(lengths, size * accumulate, 3) for _ in range(count + 1)]
    shares = [ShareOfBatches(whole[rank], options.batch_size, rank, count) for rank in range(count)]
    for sampler in [whole[-1], *shares]:
        sampler.set_epoch(2)
    batches = [list(s) for s in shares]
    assert {len(b) for b in batches} == {len(s) for s in shares}
    assert len({len(b) for b in batches}) == 1
    assert all(0 < len(batch) <= options.batch_size for own in batches for batch in own)
    order = list(whole[-1])
    for step in range(-(-n // (size * accumulate))):
        at = slice(step * options.accumulate, (step + 1) * options.accumulate)
        mine = [i for own in batches for batch in own[at] for i in batch if i != PADDING]
        assert mine == order[step * size * accumulate : (step + 1) * size * accumulate]


def test_a_process_without_texts_has_padding() -> None:
    assert [share([5, 6, 7], 8, rank, 4) for rank in range(4)] == [[[5]], [[6]], [[7]], [[PADDING]]]


def test_texts_of_a_step_that_cannot_be_shared_are_refused() -> None:
    with pytest.raises(AlloyError, match="3 processes can share.*got 16.*multiple of 3"):
        share_of(TrainingOptions(batch_size=16), 3)


@pytest.mark.slow
def test_two_processes_are_one(quiet_encoder: Path, tmp_path: Path) -> None:
    """46 texts, nine of them with given labels, in steps of 16 + 16 + 14, with checks on six, in float64; the norms of the gradient too,
    since Adam forgives a wrong scale."""
    given = {
        "n": 52,
        "checks": 6,
        "labelled": 9,
        "double": True,
        "batch_size": 4,
        "accumulate": 4,
        "select": "unlabelled",
        "check_every": 2,
        "save_every_seconds": 0,
    }

    def work(folder: str = "two"):
        with processes.joined("cpu"):
            student, fitted = run({"name": "muka"}, quiet_encoder, tmp_path / folder, **given)
        return {k: v.numpy() for k, v in student.state_dict().items()}, fitted.history, fitted.selected_step

    expected, history, selected = work("one")
    answers = together(2, work)
    assert all(isinstance(answer, tuple) for answer in answers), answers
    for weights, steps, chosen in answers:
        assert chosen == selected
        assert weights.keys() == expected.keys()
        for name, value in weights.items():
            torch.testing.assert_close(torch.from_numpy(value), torch.from_numpy(expected[name]), rtol=0, atol=2e-6)
        for key in ("loss", "grad_norm", "eval_criterion"):
            found, wanted = ([entry[key] for entry in entries if key in entry] for entries in (steps, history))
            assert found == pytest.approx(wanted, rel=1e-5)


METHODS = {spec["name"]: spec for spec in SPECS}


def test_methods_that_need_a_whole_step_are_refused() -> None:
    def is_refused(name: str) -> bool:
        require_several(create(METHODS[name]), 1)
        try:
            require_several(create(METHODS[name]), 2)
        except AlloyError as error:
            return f"'{name}', whose student only one process can train" in str(error)
        return False

    refused = {name for name in METHODS if is_refused(name)}
    assert refused >= {"rl_kd", "cfl", "as_dfd"}
    assert not refused & {"muka", "alloy", "mt_bert", "stratanet", "vanilla_kd"}


def test_more_arguments_reach_the_trainer(quiet_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from alloykit.training import trainer

    seen = []
    made = trainer.TrainingArguments
    monkeypatch.setattr(trainer, "TrainingArguments", lambda **given: seen.append(given) or made(**given))
    run({"name": "muka"}, quiet_encoder, tmp_path, epochs=0.5, arguments={"optim": "sgd"})
    assert seen[0]["optim"] == "sgd"
    assert more_arguments({"fsdp": "full_shard"}) == {"fsdp": "full_shard"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("optim", "no such"), ("optim", 5), ("optim_args", "x"), ("adam_beta1", None), ("adam_epsilon", "x"),
    ],
)  # fmt: skip
def test_arguments_that_the_trainer_does_not_take_are_named(
    name: str, value: Any, quiet_encoder: Path, tmp_path: Path
) -> None:
    with pytest.raises(AlloyError, match=rf"(?s)arguments.*{name}"):
        run({"name": "vanilla_kd"}, quiet_encoder, tmp_path, n=8, epochs=0.5, arguments={name: value})


def test_processes_that_another_program_has_connected_stay_connected() -> None:
    """As Ray Train connects them."""

    def work() -> list[Any]:
        torch.distributed.init_process_group("gloo", init_method="env://")
        found: list[Any] = []
        for _ in range(2):
            with processes.joined("cpu") as group:
                assert group is not None
                if group.is_first:
                    group.tell("training", "now")
                found += [group.wait("training"), processes.gathered(group.rank), processes.from_first(group.rank)]
        found.append(torch.distributed.is_initialized())
        torch.distributed.destroy_process_group()
        return found

    assert together(2, work) == [["now", [0, 1], 0] * 2 + [True]] * 2


def test_a_process_that_fails_ends_the_others() -> None:
    def work() -> str:
        with processes.joined("cpu") as group:
            assert group is not None
            if group.is_first:
                raise AlloyError(expected="texts", got="none")
            group.wait("training")
        return "went on"

    first, other = together(2, work)
    assert "AlloyError: expected texts" in first
    assert "OtherProcessEnded: expected all 2 processes of this command" in other


def test_the_processes_unpickle_no_classes_of_each_other(tmp_path: Path) -> None:
    """The way to a checkpoint goes as text."""

    def work() -> tuple[Path | None, list[str]]:
        seen: list[str] = []
        sys.addaudithook(lambda event, about: seen.append(about[1]) if event == "pickle.find_class" else None)
        with processes.joined("cpu"):
            phase = cast(_PhaseRun, SimpleNamespace(folder=tmp_path))
            return _PhaseRun._begin(phase, cast(Any, SimpleNamespace(resume=lambda step: True))), seen

    checkpoint = tmp_path / "checkpoint-3"
    checkpoint.mkdir()
    mark_complete(checkpoint, 3)
    assert together(2, work) == [(checkpoint, [])] * 2


@pytest.mark.parametrize("rank", [0, 1])
def test_a_process_that_waits_for_another_waits_a_limited_time(rank: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "JOINING", timedelta(seconds=0.5))
    for name, value in launched(rank, 2, free_port()).items():
        monkeypatch.setenv(name, value)
    begun = time.monotonic()
    with pytest.raises(AlloyError, match="2 processes that reach each other"), processes.joined("cpu"):
        pass
    assert time.monotonic() - begun < 20


def test_a_process_that_is_lost_while_a_checkpoint_is_saved_is_no_error_of_the_disk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def lost(*_: Any, **__: Any) -> None:
        raise RuntimeError("[gloo/transport/tcp/pair.cc:534] Connection closed by peer [127.0.0.1]:1234")

    monkeypatch.setattr(Trainer, "_save_checkpoint", lost)
    trainer = PhaseTrainer.__new__(PhaseTrainer)
    trainer.args, trainer.save_timer = cast(Any, SimpleNamespace(output_dir="run")), SaveTimer(0)
    with pytest.raises(AlloyError, match="checkpoints"):  # of one process it can only be the disk
        trainer._save_checkpoint()
    monkeypatch.setattr(processes, "_group", processes.ProcessGroup(1, 3, None))
    with pytest.raises(processes.OtherProcessEnded), processes.connection_errors():
        trainer._save_checkpoint()
