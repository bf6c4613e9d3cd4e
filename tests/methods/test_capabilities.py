"""Which methods remain for teachers that do not give everything."""

from __future__ import annotations

from alloykit.labels import LabelSpace
from alloykit.methods.capabilities import remaining
from alloykit.methods.inputs import Context, Gives

GIVES = {"a": Gives(), "b": Gives()}  # probabilities alone


def test_methods_of_one_task_remain_for_teachers_with_the_same_labels() -> None:
    """Fine-tuning on the true labels asks no teacher, so it remains for all."""
    for labels, offered in ((("x", "y"), True), (("y", "z"), False)):
        found = remaining(GIVES, Context(LabelSpace.union([("x", "y"), labels])), has_labels=True)
        assert ("u_ensemble" in found) is offered
        assert {"supervised", "vanilla_kd"} <= set(found)
