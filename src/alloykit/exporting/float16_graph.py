"""An ONNX graph in float32 → the same graph in float16, for GPUs and browsers with WebGPU."""

from __future__ import annotations

import warnings

from alloykit.models.onnx_session import onnx_package


def float16_graph(graph: bytes) -> bytes:
    """Weights and computation in float16; the `logits` stay float32."""
    convert = onnx_package("onnxruntime.transformers.float16").convert_float_to_float16
    with warnings.catch_warnings():  # warnings about values outside of float16's range
        warnings.simplefilter("ignore")
        content: bytes = convert(
            onnx_package("onnx").load_model_from_string(graph), keep_io_types=True
        ).SerializeToString()
    return content
