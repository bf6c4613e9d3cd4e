"""The students by which the rule was chosen: three sets, and nothing of the sets of the report."""

from __future__ import annotations

from benchmarks.defaults.study import Cell, Study
from benchmarks.defaults.world import Set

SETS = (
    Set("banking77", "Banking77", 32, taught=2000, epochs=10),
    Set("ag_news", "AG News", 16, taught=1000),
    Set("abstracts5", "5Abstracts", 16, taught=1000),
)
CELLS = (
    *(Cell("banking77", 1500, 3, 0, rate, 6) for rate in (3e-4, 1e-3)),
    *(Cell("ag_news", 1500, 3, 0, rate, 6, watch=True) for rate in (1e-3, 3e-4)),
    Cell("banking77", 1500, 3, 0, 1e-3, 12, watch=True),
    Cell("ag_news", 1500, 3, 0, 2e-5, 3, watch=True),
    Cell("ag_news", 1500, 3, 0, 6e-4, 8, watch=True),
    Cell("abstracts5", 500, 3, 0, 1e-3, 20, watch=True),
    Cell("abstracts5", 500, 3, 0, 6e-4, 24, watch=True),
    Cell("abstracts5", 500, 3, 0, 2e-5, 3, watch=True),
    Cell("banking77", 1500, 3, 0, 6e-4, 24, watch=True),
    Cell("ag_news", 1500, 6, 0, 3e-4, 8, watch=True),
    # Lower rates and more epochs, added when the grid's first students were known (StackOverflow and SST-2, seed 0).
    *(
        Cell(name, size, 3, 0, rate, epochs)
        for name, size, few, many in (
            ("ag_news", 1500, 8, 16),
            ("abstracts5", 500, 24, 40),
            ("banking77", 1500, 24, 40),
        )
        for rate, epochs in ((3e-4, few), (2e-4, many))
    ),
)
TABLE = Study("choice", "How the rule was chosen", SETS, CELLS)
