"""Which teacher gets a text: every confidence, and the mixture on top of each, on eight pools. No students."""

from benchmarks.alloy.gate import ALLOY, gate
from benchmarks.alloy.methods import POOLS, ROUTING, TEACHERS, settings
from benchmarks.harness.table import Table

METHODS = TEACHERS | ROUTING
DROPOUT = (
    "disjoint"  # the pool on which MUKA's confidence comes from 16 passes too: they are nine tenths of all the time
)
TABLE = Table(
    "alloy",
    "routing",
    "Routing",
    settings(),
    {pool: tuple(m for m in METHODS if pool == DROPOUT or m != "muka-dropout") for pool in POOLS},
    METHODS,
    passes={pool: 16 if pool == DROPOUT else 0 for pool in POOLS},
    reads=(ALLOY,),
    analyses={"gate": gate},
)
