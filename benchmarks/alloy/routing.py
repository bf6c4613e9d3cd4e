"""Which teacher gets a text: every confidence, and the mixture on top of each, on eight pools. No students."""

from benchmarks.alloy.gate import ALLOY, gate
from benchmarks.alloy.methods import POOLS, ROUTING, SIZES, TAUGHT, TEACHERS, settings
from benchmarks.harness.table import Table

METHODS = TEACHERS | ROUTING
TABLE = Table(
    "alloy",
    "routing",
    "Routing",
    settings(),
    {pool: tuple(m for m in METHODS if pool in TAUGHT or m != "muka-dropout") for pool in POOLS},
    METHODS,
    reads=(ALLOY,),
    analyses={"gate": gate},
    **SIZES,
)
