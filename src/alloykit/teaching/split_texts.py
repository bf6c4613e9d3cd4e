"""The texts that a new teacher learns from, and those that its checkpoints and its accuracy are checked on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from alloykit.data import Texts
from alloykit.labels import LabelSpace
from alloykit.names import counted
from alloykit.serving.predictor import Predictor
from alloykit.stages.recipe_texts import label_positions
from alloykit.training.dataset import Tokens, split_held_out
from alloykit.training.training_options import TrainingOptions


@dataclass(frozen=True)
class SplitTexts:
    """The texts of a new teacher. `examples`: to learn from. `checks`: to check on, texts of the table `checked`; empty if nothing is held out."""

    examples: Tokens
    checks: Tokens
    checked: Texts

    def finished_line(self, name: str, accuracy: float | None) -> str:
        """What is printed of a finished teacher."""
        found = (
            "saved"
            if accuracy is None
            else f"accuracy {100 * accuracy:.1f} % on {counted(len(self.checks), 'held-out text')}"
        )
        return f"teacher {name}: {found}"

    def accuracy(self, teacher: Predictor, space: LabelSpace) -> float | None:
        """The share of the checks to which the teacher gives the true label, from 0 to 1. None without checks."""
        if not len(self.checks):
            return None
        rows = self.checks.rows
        shown = self.checked.table.take(rows)
        predicted = teacher.probabilities(shown["text"], shown.get("text_pair"), "check").argmax(-1)
        labels = label_positions(self.checked, space)[torch.from_numpy(rows)]
        return float((predicted == labels).double().mean())


def split_texts(
    texts: Texts, validation: Texts | None, options: TrainingOptions, tokens_of: Callable[[Texts], Tokens]
) -> SplitTexts:
    """Check on the validation texts if there are any, else on a held-out share of the texts. tokens_of: tokenizes a table."""
    dataset = tokens_of(texts)
    if validation is not None:
        return SplitTexts(dataset, tokens_of(validation), validation)
    positions, held_out = split_held_out(len(dataset), options.held_out, options.seed)
    return SplitTexts(dataset.select(positions), dataset.select(held_out), texts)
