"""What takes the place of a mixture that cannot tell teachers apart: the ensemble of the teachers (ours: Alloy, Eq. 32).

    T(x) = softmax([logits_1; …; logits_N])          the target of Vanilla KD; every text counts 1                                 (32)

The texts of such a pool are probably not about the teachers' labels. Then the energies say little too: they are standardised over texts of which no teacher
knows any. The student also learns what each teacher says of its own labels (Eqs. 23, 24).
"""

from __future__ import annotations

import torch

from alloykit.methods.alloy.few_labels import answerable
from alloykit.methods.alloy.routing import teacher_weights
from alloykit.methods.ensemble import ensemble_logits, mixed
from alloykit.methods.protocol import Context, Supervision, uniform_weights
from alloykit.outputs import Rows, chunks


def by_ensemble(rows: Rows, context: Context, answered: torch.Tensor | None) -> Supervision:
    """T of Eq. 32. answered [B, N] bool: which teacher has an answer to which text; None: every teacher to every text."""
    targets = torch.softmax(ensemble_logits(rows, context.space, log_probabilities=mixed(context)), -1)
    owners = context.space.has_label().to(targets.device)
    gamma = teacher_weights(targets.double(), owners, answered)
    return Supervision(targets, uniform_weights(targets), gamma.float())


def ensemble_accuracy(context: Context) -> float:
    """The share of the labelled texts whose label has the largest T of Eq. 32, among those whose label a teacher with an answer knows: they are the
    anchors, so few_labels.py measures the accuracy of the mixture on them too. ValueError without labelled texts."""
    if context.labelled is None:
        raise ValueError("there are no labelled texts")
    right = []
    for rows in chunks(context.labelled):
        assert rows.labels is not None
        known = answerable(rows, context.space)
        logits = ensemble_logits(rows, context.space, log_probabilities=mixed(context))
        right.append((logits.argmax(-1) == rows.labels)[known])
    return float(torch.cat(right).double().mean())
