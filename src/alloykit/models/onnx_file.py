"""Check an ONNX graph before onnxruntime reads it: only standard operators, and no files outside its folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from alloykit.digests import while_unchanged
from alloykit.errors import AlloyError
from alloykit.models.checksums import refuse_changed
from alloykit.models.folder import is_inside
from alloykit.models.onnx_session import onnx_package
from alloykit.names import quoted, shown

DOMAINS = {"", "ai.onnx", "ai.onnx.ml", "com.microsoft"}
"""The operators that onnxruntime has without a library of custom operators."""


@while_unchanged
def onnx_files(graph: Path, folder: Path) -> tuple[Path, ...]:
    """The files of a graph: itself, then those of its external data, sorted. They are all inside `folder`.

    AlloyError for a damaged graph, for custom operators, for external data that is missing or outside the folder, and for a file with another
    checksum than the folder's SHA256SUMS names.
    """
    onnx = onnx_package("onnx")
    try:
        model = onnx.load(str(graph), load_external_data=False)
    except Exception as error:  # onnx and protobuf raise many kinds
        raise AlloyError(
            expected=f"an ONNX graph in '{graph}'",
            got=f"'{str(error).strip()[:200]}'",
            hint="Copy or export it again.",
        ) from error
    own = {(function.domain, function.name) for function in model.functions}  # defined in the graph itself
    custom = set[str]()
    locations = set[str]()
    nodes = [
        model.graph,
        *model.functions,
        *(part for t in model.training_info for part in (t.initialization, t.algorithm)),
    ]
    for kind, part in (found for each in nodes for found in _parts(each)):
        if kind == "node" and part.domain not in DOMAINS and (part.domain, part.op_type) not in own:
            custom.add(f"{part.domain}.{part.op_type}")
        if kind == "tensor" and part.data_location == onnx.TensorProto.EXTERNAL:
            locations |= {entry.value for entry in part.external_data if entry.key == "location"}
    if custom:
        raise AlloyError(
            expected=f"standard operators in '{graph}'",
            got=f"the custom operators {quoted(sorted(custom))}",
            hint="Libraries of custom operators are not loaded, because they can run any code. Export the model without them.",
        )
    if impossible := [location for location in sorted(locations) if "\0" in location or not location]:
        raise AlloyError(
            expected=f"names of files as the external data of '{graph}'",
            got=shown(impossible[0]),
            hint="Copy or export it again.",
        )
    files = [graph.parent / location for location in sorted(locations)]
    for file, location in zip(files, sorted(locations), strict=True):
        if not is_inside(file, folder) or not file.is_file():
            raise AlloyError(
                expected=f"the external data of '{graph}' inside its folder",
                got=f"'{location[:200]}'" + ("" if not is_inside(file, folder) else ", which is missing"),
                hint="Copy the whole folder, or export the model again.",
            )
    for file in (graph, *files):
        refuse_changed(folder, file, str(folder))
    return (graph, *files)


def _parts(graph: Any) -> Iterator[tuple[str, Any]]:
    """("node", each node) and ("tensor", each tensor) of a graph or a function, subgraphs included."""
    for tensor in getattr(graph, "initializer", ()):
        yield "tensor", tensor
    for sparse in getattr(graph, "sparse_initializer", ()):
        yield from (("tensor", sparse.values), ("tensor", sparse.indices))
    for node in graph.node:
        yield "node", node
        for attribute in node.attribute:
            yield from (("tensor", tensor) for tensor in (attribute.t, *attribute.tensors))
            for sparse in (attribute.sparse_tensor, *attribute.sparse_tensors):
                yield from (("tensor", sparse.values), ("tensor", sparse.indices))
            for inner in (attribute.g, *attribute.graphs):
                yield from _parts(inner)
