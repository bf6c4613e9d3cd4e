"""Open an ONNX graph with onnxruntime on the CPU."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from alloykit.errors import AlloyError


def onnx_package(name: str) -> Any:
    """The module `name` of onnx or onnxruntime. AlloyError that names the extra if it is not installed."""
    try:
        return import_module(name)
    except ImportError as error:
        raise AlloyError(
            expected="the packages onnx and onnxruntime",
            got=f"'{error}'",
            hint="Install them: pip install 'alloykit[onnx]'.",
        ) from error


def onnx_session(
    graph: Path | bytes, threads: int | None = None, hint: str = "Export the student again with `alloykit export`."
) -> Any:
    """An onnxruntime session of a graph. threads: default torch's number. AlloyError for a damaged or missing file.

    hint: what the user can do about such a file."""
    runtime = onnx_package("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads or torch.get_num_threads()
    options.inter_op_num_threads = 1
    options.log_severity_level = 4  # its warnings are about graphs that it could make faster
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # waiting threads leave the cores free
    try:
        return runtime.InferenceSession(
            graph if isinstance(graph, bytes) else str(graph), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # onnxruntime raises many kinds
        where = "the exported graph" if isinstance(graph, bytes) else f"'{graph}'"
        raise AlloyError(
            expected=f"an ONNX graph that onnxruntime can open in {where}",
            got=f"'{str(error).strip()[:300]}'",
            hint=hint,
        ) from error
