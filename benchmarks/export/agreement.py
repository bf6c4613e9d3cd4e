"""Labels, probabilities and accuracy of every number format, beside PyTorch in float32."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from alloykit.exporting.compared_answers import accuracy, compared_answers
from alloykit.exporting.opened_graph import opened_graph
from benchmarks.export.graphs import FORMATS, subject
from benchmarks.speed.measure import Measurement


def run(data: Path, work: Path) -> dict[str, Any]:
    about = subject(data, work)
    wanted = about.student.probabilities(about.texts)
    formats = {}
    for name in FORMATS:
        found = opened_graph(about.graphs[name], about.student).probabilities(about.texts)
        formats[name] = compared_answers(wanted, found) | {
            "accuracy": accuracy(found, about.labels),
            "bytes": len(about.graphs[name]),
        }
    return {
        "texts": len(about.texts),
        "accuracy": accuracy(wanted, about.labels),
        "tensors_in_float32": about.in_float32,
        "formats": formats,
    }


TABLE = Measurement("agreement", "labels and accuracy of every number format", run, "export")
