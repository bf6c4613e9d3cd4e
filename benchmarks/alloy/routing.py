"""Which teacher gets a text: by each confidence, and by Alloy's mixture that starts from it, on eight pools. No students."""

from benchmarks.alloy.gate import ALLOY, gate
from benchmarks.alloy.methods import POOLS, SIZES, settings
from benchmarks.alloy.routes import routes
from benchmarks.harness.table import Table

METHODS = {"routes": {"name": "routes"}, "gate": {"name": "gate"}}
TABLE = Table(
    "alloy", "routing", "Routing", settings(), {pool: tuple(METHODS) for pool in POOLS}, METHODS,
    reads=(ALLOY,), analyses={"routes": routes, "gate": gate}, **SIZES,
)  # fmt: skip
