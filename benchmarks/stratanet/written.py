"""Quality of the texts that were generated for a cell's teachers."""

from __future__ import annotations

from statistics import fmean
from typing import Any

from alloykit.json_files import read_json
from alloykit.run_folder.file_names import SUMMARY
from benchmarks.harness.stages import Stages

SHOWN = ("control", "distinct_2", "self_bleu", "perplexity")


def written(stages: Stages, pool: str) -> dict[str, Any]:
    """Means over the teachers of what `alloykit generate` says of its texts."""
    teachers = read_json(stages.generated() / SUMMARY)["teachers"].values()
    return {key: fmean(t[key] for t in teachers) for key in SHOWN}
