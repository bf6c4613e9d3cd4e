"""The engine that a recipe names."""

from __future__ import annotations

from alloykit.engines.engine_options import EngineOptions
from alloykit.engines.jobs import Engine
from alloykit.engines.local import LocalEngine
from alloykit.engines.ray import RayEngine
from alloykit.engines.sweep_jobs import SweepBy


def engine_of(options: EngineOptions) -> Engine:
    """Who does the jobs."""
    return RayEngine(options) if options.name == "ray" else LocalEngine()


def sweep_engine(options: EngineOptions) -> SweepBy | None:
    """Who computes a sweep; None for this process, whose sweep reads and writes beside computing."""
    return None if options.name == "local" else SweepBy(RayEngine(options))
