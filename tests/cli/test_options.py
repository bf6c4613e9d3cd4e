"""Options that contradict each other, or that would be ignored, are refused before anything is read."""

from __future__ import annotations

from commandline import Call


def test_two_new_models_for_one_teacher_are_refused(call: Call) -> None:
    """A dictionary would drop the first without a word."""
    call("update", "nowhere", "--replace-teacher", "a=x", "--replace-teacher", "a=y").refused("'x' and 'y' for 'a'")
