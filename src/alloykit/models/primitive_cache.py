"""Limit oneDNN's primitive cache. On a CPU in bfloat16, oneDNN compiles a matrix product anew for each shape and keeps 1,024 of them. Batches of
texts have many lengths, so this cache would grow by gigabytes."""

from __future__ import annotations

import os

VARIABLES = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "DNNL_PRIMITIVE_CACHE_CAPACITY")  # oneDNN reads both
CAPACITY = 64  # products; a training step with batches of one shape has about 25


def limit_primitive_cache() -> None:
    """For the rest of this process. Nothing happens if the user has set a limit, or if oneDNN has computed something already."""
    if not any(name in os.environ for name in VARIABLES):
        os.environ[VARIABLES[0]] = str(CAPACITY)
