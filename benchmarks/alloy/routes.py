"""Every way of routing, on one pool: fitted to its texts without labels, evaluated with labels. No students."""

from __future__ import annotations

from typing import Any

from benchmarks.alloy.methods import ROUTING
from benchmarks.harness.cells import on_pool
from benchmarks.harness.stages import Stages


def routes(stages: Stages, pool: str) -> dict[str, Any]:
    """Way → its accuracy; Monte-Carlo passes only where the pool's texts were read with them."""
    assert not isinstance(stages.passes, int)
    ways = {name: spec for name, spec in ROUTING.items() if stages.passes[pool] or not spec["of"].get("passes")}
    return {"routes": {name: on_pool(stages, pool, spec) for name, spec in ways.items()}}
