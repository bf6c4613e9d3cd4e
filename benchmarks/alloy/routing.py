"""Which teacher gets a text: every confidence, and the mixture on top of each, on eight pools. No students."""

from benchmarks.alloy.gate import ALLOY, gate
from benchmarks.alloy.methods import POOLS, ROUTING, TEACHERS, settings
from benchmarks.harness.table import Table

METHODS = TEACHERS | ROUTING
TABLE = Table(
    "alloy",
    "routing",
    "Routing",
    settings(),
    {pool: tuple(METHODS) for pool in POOLS},
    METHODS,
    reads=(ALLOY,),
    analyses={"gate": gate},
)
