"""The Trainer's arguments that a recipe may give: those that break no promise of a run."""

from __future__ import annotations

import errno
from dataclasses import fields

import pytest
import torch
from transformers import TrainingArguments

from alloykit import processes
from alloykit.errors import AlloyError
from alloykit.training.more_arguments import ALLOWED, arguments_named, more_arguments
from alloykit.training.training_options import TrainingOptions

KNOWN = {field.name for field in fields(TrainingArguments) if field.init}


def test_every_argument_exists_and_is_in_the_reference() -> None:
    meaning = TrainingOptions.model_fields["arguments"].description or ""
    assert set(ALLOWED) <= KNOWN
    assert not set(ALLOWED) & {
        "save_only_model",
        "eval_delay",
        "dataloader_drop_last",
        "push_to_hub",
        "seed",
        "deepspeed",
    }
    assert [name for name in ALLOWED if f"`{name}`" not in meaning] == []
    given = dict.fromkeys(ALLOWED, 1)
    assert more_arguments(given) == given
    assert more_arguments({}) == {}


@pytest.mark.parametrize("name", sorted(KNOWN - set(ALLOWED)))
def test_others_are_refused(name: str) -> None:
    """A stranger's recipe must not publish the student, and a run that goes on gives the same student: `save_only_model` would change it."""
    with pytest.raises(AlloyError, match=rf"among optim, .*ddp_timeout.*{name}"):
        more_arguments({name: True})


def test_a_wrong_name_gets_a_suggestion() -> None:
    with pytest.raises(AlloyError, match=r"fdsp.*Did you mean 'fsdp'"):
        more_arguments({"fdsp": "full_shard"})


@pytest.mark.parametrize(
    "error",
    [
        AlloyError(expected="a", got="b"),
        MemoryError(),
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB"),
        RuntimeError("[gloo/transport/tcp/pair.cc:534] Connection closed by peer [127.0.0.1]:1234"),
        *(OSError(number, "no room") for number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)),
    ],
    ids=str,
)
def test_errors_with_other_reasons_pass(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_group", processes.ProcessGroup(0, 2, None))
    with pytest.raises(type(error)) as raised, arguments_named({"optim": "sgd"}):
        raise error
    assert raised.value is error


def test_an_error_of_the_trainer_is_told_beside_the_arguments() -> None:
    error = ValueError("no such\n  optimiser" + "!" * 999)
    told = r"got ValueError: no such optimiser!{483}, with {'optim': 'x'}\. Check"
    with pytest.raises(AlloyError, match=told), arguments_named({"optim": "x"}):
        raise error
    with pytest.raises(ValueError, match="no such") as raised, arguments_named({}):
        raise error
    assert raised.value is error
