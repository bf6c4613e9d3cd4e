"""The default where the pool is large, and where the encoder is deeper: against other rates and epochs. Declared before the first run."""

from __future__ import annotations

from benchmarks.defaults.study import Cell, Study
from benchmarks.defaults.world import Set

SETS = (Set("ag_news", "AG News", 16, taught=1000),)
CELLS = (
    Cell("ag_news", 20_000, 3, 0),
    *(Cell("ag_news", 20_000, 3, 0, rate, epochs) for rate, epochs in ((6e-4, 3), (6e-5, 3), (2e-4, 1))),
    Cell("ag_news", 1500, 6, 0),
    *(Cell("ag_news", 1500, 6, 0, rate, 16) for rate in (3e-4, 3e-5)),
    *(
        Cell("ag_news", 1500, 12, 0, rate, epochs, encoder="mpnet", precision="bfloat16")
        for rate, epochs in ((None, None), (7.5e-5, 16), (8.3e-6, 16))
    ),
    *(Cell("ag_news", 100_000, 3, 0, rate, epochs) for rate, epochs in ((None, None), (2e-4, 1), (6e-4, 3), (6e-5, 3))),
)
TABLE = Study("sizes", "The default with many texts, and with six and twelve layers", SETS, CELLS)
