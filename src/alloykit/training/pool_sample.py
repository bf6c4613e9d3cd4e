"""Which texts of the pool the student is asked about."""

from __future__ import annotations

import numpy as np

from alloykit.training.all_but import AllBut, Positions
from alloykit.training.dataset import split_held_out
from alloykit.training.training_options import TrainingOptions

ASKED = 5_000
"""Texts of the pool that a student answers."""


def pool_sample(n: int, options: TrainingOptions) -> tuple[Positions, Positions]:
    """Texts of a pool of n, for what is measured with the student: all held-out texts, filled up to `ASKED` with random others.

    Returns their positions, ascending, and whether the student did not learn from each: [m] int64 and [m] bool. The same texts each time. They are
    not from `sampled_positions`, so that they are those of earlier versions: figures of a run can be compared with theirs.
    """
    rest, held_out = AllBut(n), np.arange(0)
    if options.select == "unlabelled":
        rest, held_out = split_held_out(n, options.held_out, options.seed)
    more = rest[np.random.default_rng(1).choice(len(rest), min(len(rest), ASKED - len(held_out)), replace=False)]
    positions = np.sort(np.concatenate([held_out, more]))
    return positions, np.isin(positions, held_out)
