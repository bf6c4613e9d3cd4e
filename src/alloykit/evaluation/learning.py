"""Signs of an under-trained student, without labels: its loss, its confidence, and its agreement with its targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

FALLING = 0.05  # share of the whole decrease of the loss that came in the last third of the training
LAST_THIRD = 0.7  # checks before this share of the steps are before the last third
FLAT = 0.5  # fitted temperature below which the student is much less confident than its targets
UNLIKE = 0.8  # share of the weight of the training texts on which the student should give its targets' answer
ENOUGH = 30  # a temperature needs at least so many texts that the student was not trained on


@dataclass(frozen=True)
class Plan:
    """How a student was trained, and how the rule for defaults would train it (training/schedule.py)."""

    epochs: float
    learning_rate: float
    default_epochs: float
    default_rate: float

    @property
    def advice(self) -> str:
        """The settings of the recipe with which the student learns more."""
        slow, short = self.learning_rate < self.default_rate / 2, self.epochs < self.default_epochs
        rate = self.default_rate if slow else self.learning_rate
        epochs = self.default_epochs if short else self.epochs if slow else 2 * self.epochs
        if slow and short:
            return (
                f"Set `training: {{learning_rate: {rate:g}, epochs: {epochs:g}}}`, or leave both out: these are the defaults "
                f"for these texts and this encoder. It was {self.learning_rate:g} and {self.epochs:g}."
            )
        key, new, old = ("learning_rate", rate, self.learning_rate) if slow else ("epochs", epochs, self.epochs)
        return f"Set `training: {{{key}: {new:g}}}`. It was {old:g}."


def late_fall(history: Sequence[Mapping[str, Any]], steps: int) -> float | None:
    """The share of the decrease of the loss that came in the last third of the training; 1 if the loss did not fall at all.

    history: entries of the last phase with `loss` (of training) or `eval_criterion` (on held-out texts), each with its `step`, counted
    from 0 at the phase's beginning to `steps`. None without at least one check before the last third and one at the end.
    """
    losses = [float(e["loss"]) for e in history if "loss" in e]
    checks = [(int(e["step"]), float(e["eval_criterion"])) for e in history if "eval_criterion" in e]
    before = [loss for step, loss in checks if step <= LAST_THIRD * steps]
    if not losses or not before or checks[-1][0] != steps:
        return None
    end = checks[-1][1]
    whole = losses[0] - end
    if whole <= 0:
        return 1.0
    return (before[-1] - end) / whole


def training_warnings(view: Mapping[str, Any] | None, fall: float | None, plan: Plan) -> list[str]:
    """One sentence for each sign that the student has learned too little. Each says what to change.

    view: the student on the pool (evaluation/student_confidence.py); None if it was not measured. fall: see `late_fall`.
    """
    found = []
    if fall is not None and fall >= 1:
        found.append(f"the student is under-trained: its loss did not fall. {plan.advice}")
    elif fall is not None and fall > FALLING:
        found.append(
            f"the student is under-trained: {100 * fall:.0f} % of the decrease of its loss on held-out texts came in the last third of the "
            f"training. A longer training would lower it further. {plan.advice}"
        )
    if view is None:
        return found
    temperature, unseen = view.get("temperature"), view.get("unseen_texts", 0)
    if temperature is not None and unseen >= ENOUGH and temperature < FLAT:
        found.append(
            f"the student is under-trained: it is much less confident than its targets (fitted temperature {temperature:.2f}; 1 means "
            f"equally confident). {plan.advice}"
        )
    same = view.get("same_as_supervision_seen")
    if same is not None and same < UNLIKE:
        found.append(
            f"the student is far below its routing: on the texts that it learned from, it gives the label of its targets for only {100 * same:.0f} % of the "
            f"weight. {plan.advice} If that does not help, use a larger student."
        )
    return found
