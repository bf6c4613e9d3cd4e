"""RL-KD, Tables 3–5: four teachers of one task, their ensembles, and students by every strategy and reward.

Table 3 is in the cells `teachers` and `routing-…` (an ensemble by itself is a routing without a student). Five runs of every task, as in the paper's Table 5.
"""

from __future__ import annotations

from benchmarks.distill.methods import FOUR, RL, SINGLE, STRATEGIES, Methods
from benchmarks.distill.paper import RLKD_PROFILE, rlkd_methods
from benchmarks.harness.profiles import TASKS as SMALL
from benchmarks.harness.sets import TASKS
from benchmarks.harness.settings import one_task
from benchmarks.harness.table import Table

ALONE: Methods = {  # Rand-Single's expectation is the mean of the teachers; Best-Single needs the label
    f"routing-{name}": {"name": "routing", "of": STRATEGIES[name]}
    for name in ("u_ensemble", "w_ensemble", "lr_train_ensemble", "lr_dev_ensemble")
}
METHODS: Methods = {
    "teachers": {"name": "teachers"},
    **ALONE,
    "supervised": {"name": "supervised"},
    **SINGLE,
    **STRATEGIES,
    **RL,
}
SETTINGS = tuple(one_task(s.name, FOUR, student="student2") for s in TASKS)
TABLE = Table(
    "distill", "rlkd4", "RL-KD, Tables 3–5", SETTINGS, {"shared": tuple(METHODS)}, METHODS, passes=0, profile=SMALL,
    stated={"profile": RLKD_PROFILE, "methods": rlkd_methods(METHODS)},
)  # fmt: skip
