"""Choose the engine that a recipe or a command names."""

from __future__ import annotations

from pydantic import ValidationError

from alloykit.engines.engine_options import EngineOptions
from alloykit.engines.jobs import JobEngine
from alloykit.engines.local import LocalEngine
from alloykit.engines.parts import LocalParts, PartEngine
from alloykit.engines.ray import RayEngine
from alloykit.engines.ray_data import RayDataParts
from alloykit.engines.sweep_jobs import SweepBy
from alloykit.errors import AlloyError
from alloykit.names import shown
from alloykit.yaml_files import parse_yaml


def engine_options(given: object) -> EngineOptions:
    """The options of an engine that is given by its name, as a dictionary, as the YAML of one ("{name: ray}"), or as options. AlloyError."""
    if isinstance(given, str) and given.startswith("{"):
        given = parse_yaml(given, "the engine")
    try:
        return EngineOptions.model_validate({"name": given} if isinstance(given, str) else given or {})
    except ValidationError as error:
        raise AlloyError(
            expected="`engine` as local or ray, or as a block such as {name: ray, workers: 4}",
            got=shown(given),
            hint="The reference of the recipe lists its keys.",
        ) from error


def engine_of(options: EngineOptions) -> JobEngine:
    """The engine that runs the jobs."""
    return RayEngine(options) if options.name == "ray" else LocalEngine()


def part_engine_of(options: EngineOptions) -> PartEngine:
    """The engine that does work on parts."""
    return RayDataParts(options) if options.name == "ray" else LocalParts()


def sweep_engine(options: EngineOptions, device: str) -> SweepBy | None:
    """What computes a sweep; None for this process, whose own sweep reads and writes in the background. device: of the workers."""
    return None if options.name == "local" else SweepBy(RayEngine(options), device)
