"""The Trainer's arguments that a recipe may give: those that break no promise of a run."""

from __future__ import annotations

from dataclasses import fields

import pytest
from transformers import TrainingArguments

from alloykit.errors import AlloyError
from alloykit.training.more_arguments import ALLOWED, more_arguments
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
