"""Has the student learned for long enough? What can be seen without labels: its losses, its confidence, and whether it answers like its targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

FALLING = 0.05  # share of the whole fall of the loss that came in the last third of the training
LAST_THIRD = 0.7  # checks before this share of the steps are before the last third
FLAT = 0.5  # fitted temperature below which the student is much flatter than its targets
UNLIKE = 0.8  # share of the weight of the training texts on which the student should give its targets' answer
ENOUGH = 30  # unseen texts below which a temperature says little


@dataclass(frozen=True)
class Plan:
    """How a student was trained, and how the rule for defaults would train it (training/schedule.py)."""

    epochs: float
    learning_rate: float
    default_epochs: float
    default_rate: float

    @property
    def advice(self) -> str:
        """What to write into the recipe so that the student learns more."""
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
    """Of all that the loss fell during training, the share that came in its last third; 1 where it did not fall at all.

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


def warnings(view: Mapping[str, Any] | None, fall: float | None, plan: Plan) -> list[str]:
    """Sentences about a student that has learned too little. Each says what to change.

    view: what the student does on the pool (evaluation/student_confidence.py); None if nobody looked. fall: see `late_fall`.
    """
    found = []
    if fall is not None and fall >= 1:
        found.append(f"the student is under-trained: its loss did not fall. {plan.advice}")
    elif fall is not None and fall > FALLING:
        found.append(
            f"the student is under-trained: {fall:.0%} of the fall of its loss on held-out texts came in the last third of the training, "
            f"so it would have fallen further. {plan.advice}"
        )
    if view is None:
        return found
    temperature, unseen = view.get("temperature"), view.get("unseen_texts", 0)
    if temperature is not None and unseen >= ENOUGH and temperature < FLAT:
        found.append(
            f"the student is under-trained: it is much less sure than its targets (fitted temperature {temperature:.2f}; 1 would be as "
            f"sure). {plan.advice}"
        )
    same = view.get("same_as_supervision_seen")
    if same is not None and same < UNLIKE:
        found.append(
            f"the student is far below its routing: it gives its targets' answer in only {same:.0%} of the weight of the texts that it "
            f"learned from. {plan.advice} If that does not help, take a larger student."
        )
    return found
