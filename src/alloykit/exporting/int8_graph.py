"""An ONNX graph in float32 → the same graph with 8-bit products and embeddings, in standard ONNX operators.

    x → Mul(1 / d) → QuantizeLinear → DequantizeLinear ─┐
                              int8 W → DequantizeLinear ─┴► MatMul → Add(b̂)

onnxruntime computes these MatMuls in integers. The classification head and attention's own products stay in float32.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from alloykit.errors import AlloyError
from alloykit.exporting.calibration import Floats, Int8Form, choose_form, sample_rows
from alloykit.models.onnx_session import onnx_package, onnx_session

TABLE_ROWS = 1000  # embedding tables with at least so many rows are stored in 8 bits
TABLE_STEPS = 127


@dataclass(frozen=True)
class Products:
    """All products with weight matrices that read the same tensor. nodes: name of the MatMul → name of its matrix."""

    tensor: str
    nodes: dict[str, str]


def products_of(graph: bytes) -> list[Products]:
    """The products in a graph's order."""
    model = _parsed(graph)
    matrices = {each.name for each in model.graph.initializer if len(each.dims) == 2}
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for node in model.graph.node:
        if node.op_type == "MatMul" and node.input[1] in matrices:
            found[node.input[0]][node.name] = node.input[1]
    return [Products(tensor, nodes) for tensor, nodes in found.items()]


def calibrated_forms(
    graph: bytes, products: Sequence[Products], batches: Sequence[dict[str, Any]]
) -> dict[str, Int8Form]:
    """The best 8-bit form of the products of each tensor on these texts. A tensor that no text reaches has none: the expert of a mixture that is never
    asked, or the adapter of another language. batches: int64 arrays by the names of the graph's inputs, padded.

    AlloyError if no tensor has one."""
    if not products:
        raise AlloyError(
            expected="a student whose weights can be stored in 8 bits",
            got="no product of matrices with fixed weights in its graph",
            hint="Leave out `--int8`. `--fp16` halves the file.",
        )
    onnx = onnx_package("onnx")
    model = _parsed(graph)
    names = [each.tensor for each in products]
    del model.graph.output[:]
    model.graph.output.extend(onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, None) for n in names)
    session = onnx_session(model.SerializeToString())
    rows = sample_rows(lambda batch: session.run(names, batch), batches)
    matrices = _matrices(model, {name for each in products for name in each.nodes.values()})
    return {
        each.tensor: choose_form(states, {name: matrices[name] for name in each.nodes.values()})
        for each, states in zip(products, rows, strict=True)
        if len(states)
    }


def int8_graph(graph: bytes, products: Sequence[Products], forms: Mapping[str, Int8Form]) -> bytes:
    """The graph with the products of the tensors in `forms`, and its large embedding tables, in 8 bits."""
    model = _parsed(graph)
    writer = _Writer(model)
    for each in products:
        if each.tensor in forms:
            writer.quantize(each, forms[each.tensor])
    writer.quantize_tables()
    return writer.finished()


def _parsed(graph: bytes) -> Any:
    return onnx_package("onnx").load_model_from_string(graph)


def _matrices(model: Any, names: Collection[str]) -> dict[str, Floats]:
    to_array = onnx_package("onnx.numpy_helper").to_array
    return {each.name: to_array(each) for each in model.graph.initializer if each.name in names}


class _Writer:
    """Rewrites the nodes of a model. New nodes stand before the first node that reads them."""

    def __init__(self, model: Any) -> None:
        self.model, self.graph = model, model.graph
        self.helper, self.to_tensor = onnx_package("onnx.helper"), onnx_package("onnx.numpy_helper").from_array
        self.constants = {each.name: each for each in self.graph.initializer}
        self.before: dict[str, list[Any]] = defaultdict(list)
        self.replaced: set[str] = set()

    def constant(self, name: str, value: Any) -> str:
        self.constants[name] = self.to_tensor(np.asarray(value), name)
        return name

    def quantize(self, products: Products, form: Int8Form) -> None:
        x = products.tensor
        nodes = [node for node in self.graph.node if node.name in products.nodes]
        added, make = self.before[nodes[0].name], self.helper.make_node
        source = x
        if form.divisor is not None:
            source = f"{x}_migrated"
            added.append(make("Mul", [x, self.constant(f"{x}_1_d", (1 / form.divisor).astype(np.float32))], [source]))
        parameters = [
            self.constant(f"{x}_scale", np.float32(form.scale)),
            self.constant(f"{x}_zero", np.uint8(form.zero_point)),
        ]
        added.append(make("QuantizeLinear", [source, *parameters], [f"{x}_uint8"]))
        added.append(make("DequantizeLinear", [f"{x}_uint8", *parameters], [f"{x}_rounded"]))
        for node in nodes:
            integers, steps, shift = form.weights[node.input[1]]
            w = f"{node.name}_weight"
            parts = [
                self.constant(f"{w}_int8", integers),
                self.constant(f"{w}_scale", steps),
                self.constant(f"{w}_zero", np.zeros(len(steps), np.int8)),
            ]
            added.append(make("DequantizeLinear", parts, [w], axis=1))
            node.input[0], node.input[1] = f"{x}_rounded", w
            self._shift_bias(node.output[0], shift)

    def _shift_bias(self, product: str, shift: Floats) -> None:
        """Add the mean error of a product to its bias. A product without a bias is not changed."""
        to_array = onnx_package("onnx.numpy_helper").to_array
        for node in self.graph.node:
            if node.op_type == "Add" and product in node.input:
                place = 1 - list(node.input).index(product)
                bias = self.constants.get(node.input[place])
                if bias is not None and list(bias.dims) == [len(shift)]:
                    node.input[place] = self.constant(f"{node.name}_bias", to_array(bias) + shift)
                return

    def quantize_tables(self) -> None:
        """Quantise embedding tables, with one scale for each row: Gather(table) → Gather(int8) · Gather(step)."""
        make, to_array = self.helper.make_node, onnx_package("onnx.numpy_helper").to_array
        for node in self.graph.node:
            table = self.constants.get(node.input[0]) if node.op_type == "Gather" else None
            if table is None or len(table.dims) != 2 or table.dims[0] < TABLE_ROWS or table.data_type != 1:
                continue
            values, name, ids = to_array(table), node.input[0], node.input[1]
            steps = (np.maximum(np.abs(values).max(1, keepdims=True), 1e-9) / TABLE_STEPS).astype(np.float32)
            integers = self.constant(f"{name}_int8", np.rint(values / steps).astype(np.int8))
            self.before[node.name] += [
                make("Gather", [integers, ids], [f"{name}_rows"]),
                make("Cast", [f"{name}_rows"], [f"{name}_float"], to=1),
                make("Gather", [self.constant(f"{name}_steps", steps), ids], [f"{name}_row_steps"]),
                make("Mul", [f"{name}_float", f"{name}_row_steps"], [node.output[0]]),
            ]
            self.replaced.add(node.name)

    def finished(self) -> bytes:
        """The serialised model, without constants that nothing reads."""
        nodes = []
        for node in self.graph.node:
            nodes += self.before[node.name]
            if node.name not in self.replaced:
                nodes.append(node)
        read = {name for node in nodes for name in node.input}
        copies = [type(node).FromString(node.SerializeToString()) for node in nodes]
        constants = [self.constants[name] for name in self.constants if name in read]
        kept = [type(each).FromString(each.SerializeToString()) for each in constants]
        del self.graph.node[:], self.graph.initializer[:]
        self.graph.node.extend(copies)
        self.graph.initializer.extend(kept)
        content: bytes = self.model.SerializeToString()
        return content
