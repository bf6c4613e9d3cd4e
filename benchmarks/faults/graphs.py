"""ONNX graphs and scikit-learn files of strangers: damaged bytes, custom operators, files outside the folder, giant shapes, endless loops."""

from __future__ import annotations

import io
import json
import os
import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import yaml
from onnx import TensorProto, helper

from benchmarks.faults.answers import no_probabilities
from benchmarks.faults.cases import CANARY, Case
from benchmarks.faults.kinds import Kind
from benchmarks.faults.mutate import paths, put, spoil_bytes, spoil_file, spoil_json, spoil_place, spoil_value
from benchmarks.faults.others import GRAPH, PIPELINE, put_others
from benchmarks.faults.steps import step
from benchmarks.faults.stock import MELT

COMMANDS = (
    (["sweep", "recipe.yaml"], 60),
    (["plan", "recipe.yaml"], 15),
    (["plan", "recipe.yaml", "--no-probe"], 10),
    (["doctor", "recipe.yaml"], 15),
)
WHERE = [
    "../secret", "/etc/passwd", "/dev/zero", "/dev/stdin", "weights.bin", "a\0b", "", ".", "..", "x" * 5000, "a\nb", "link", "pipe", "loop/x", "~/x", "\x1b[31m",
    "onnx/../../billing/model.safetensors", "model.onnx", "file:///etc/passwd", "C:\\x", "*_ORT_MEM_ADDR_*",
]  # fmt: skip
BIG = [2**31, 2**40, 2**62, -1, 0, 10**9]


def _external(graph: Path, model: Any, draw: random.Random) -> str:
    """Weights in another file, at odd places."""
    where = draw.choice(WHERE)
    tensors = list(model.graph.initializer)
    tensor = draw.choice(tensors)
    if draw.random() < 0.4:  # in an attribute of a node
        tensor = helper.make_tensor("value", TensorProto.FLOAT, [2, 2], [0.0] * 4)
        model.graph.node.append(helper.make_node("Constant", [], ["unused"], value=tensor))
        tensor = model.graph.node[-1].attribute[0].t
    tensor.ClearField("raw_data")
    tensor.ClearField("float_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (
        ("location", where),
        ("offset", str(draw.choice([0, *BIG]))),
        ("length", str(draw.choice([16, *BIG]))),
    ):
        if key == "location" or draw.random() < 0.5:
            tensor.external_data.add(key=key, value=value)
    folder = graph.parent
    (folder / "weights.bin").write_bytes(bytes(64))
    os.symlink("/etc/passwd", folder / "link")
    os.mkfifo(folder / "pipe")
    os.symlink("loop", folder / "loop")
    _save(model, graph)
    return f"external data at {where[:30]!r}"


def _operators(graph: Path, model: Any, draw: random.Random) -> str:
    node = draw.choice(list(model.graph.node))
    how = draw.choice(
        ("domain", "operator", "removed", "input", "attribute", "inside an If", "function", "opset", "PyOp")
    )
    if how == "domain":
        node.domain = draw.choice(
            ("own.operators", "ai.onnx.contrib", "com.microsoft", "com.microsoft.nchwc", "x" * 10_000, "\x1b[31m")
        )
    elif how == "operator":
        node.op_type = draw.choice(("Nothing", "MatMul", "Softmax", "Loop", "", "Gather", "Reshape"))
    elif how == "removed":
        model.graph.node.remove(node)
    elif how == "input" and node.input:
        node.input[0] = draw.choice(("nowhere", "", node.output[0], "input_ids"))
    elif how == "attribute":
        node.attribute.append(
            helper.make_attribute(draw.choice(("axis", "to", "value", "x")), draw.choice([10**9, "x", [1, 2], -7]))
        )
    elif how == "inside an If":
        inner = helper.make_graph(
            [helper.make_node("Run", [], ["y"], domain="own.operators")],
            "g",
            [],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])],
        )
        yes = helper.make_node("Constant", [], ["yes"], value=helper.make_tensor("v", TensorProto.BOOL, [], [True]))
        model.graph.node.insert(0, yes)
        model.graph.node.append(helper.make_node("If", ["yes"], ["z"], then_branch=inner, else_branch=inner))
    elif how == "function":
        name = draw.choice(("f", node.op_type))
        inner_node = helper.make_node(name if draw.random() < 0.5 else "Run", ["a"], ["b"], domain="own")
        model.functions.append(
            helper.make_function("own", name, ["a"], ["b"], [inner_node], [helper.make_opsetid("", 17)])
        )
        node.domain, node.op_type = "own", name
        model.opset_import.append(helper.make_opsetid("own", 1))
    elif how == "opset":
        del model.opset_import[:]
        for _ in range(draw.choice((0, 1, 2))):
            model.opset_import.append(helper.make_opsetid("", draw.choice((0, 1, 9, 999, 2**40))))
    else:
        node.domain, node.op_type = "com.microsoft", "PyOp"
    _save(model, graph)
    return f"operators: {how}"


def _shapes(graph: Path, model: Any, draw: random.Random) -> str:
    """Other inputs and outputs, of other names, types, shapes."""
    how = draw.choice(("input name", "input type", "fixed shape", "giant shape", "one more input", "output name", "no output", "output type", "initializer", "sequence", "more outputs"))  # fmt: skip
    if how == "input name":
        model.graph.input[0].name = draw.choice(("tokens", "", "position_ids", "input_ids\n"))
    elif how == "input type":
        model.graph.input[0].type.tensor_type.elem_type = draw.choice(
            (TensorProto.FLOAT, TensorProto.STRING, TensorProto.BOOL, TensorProto.INT32, 99, 0)
        )
    elif how in ("fixed shape", "giant shape"):
        shape = model.graph.input[draw.randrange(len(model.graph.input))].type.tensor_type.shape
        for dim in shape.dim:
            dim.dim_value = draw.choice((1, 2, 7)) if how == "fixed shape" else draw.choice(BIG)
    elif how == "one more input":
        model.graph.input.append(
            helper.make_tensor_value_info(
                draw.choice(("position_ids", "past", "token_type_ids", "input_ids")), TensorProto.INT64, [None, None]
            )
        )
    elif how == "output name":
        model.graph.output[0].name = draw.choice(("scores", "", "input_ids"))
    elif how == "no output":
        del model.graph.output[:]
    elif how == "output type":
        model.graph.output[0].type.tensor_type.elem_type = draw.choice(
            (TensorProto.INT64, TensorProto.STRING, TensorProto.FLOAT16)
        )
    elif how == "initializer":
        tensor = draw.choice(list(model.graph.initializer))
        dims = [draw.choice([*BIG, 3]) for _ in tensor.dims]
        del tensor.dims[:]
        tensor.dims.extend(dims)
    elif how == "sequence":
        model.graph.output[0].type.CopyFrom(
            helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, [1]))
        )
    else:
        model.graph.output.extend([helper.make_tensor_value_info(f"o{n}", TensorProto.FLOAT, [1]) for n in range(3)])
    _save(model, graph)
    return f"shapes: {how}"


def _whole(graph: Path, model: Any, draw: random.Random) -> str:
    """A graph of its own, with the names that are expected: odd answers, much memory, much time."""
    how = draw.choice(("giant", "giant later", "endless loop", "long loop", "NaN", "other width", "strings", "no batch", "integers", "sequence", "doubles", "tower", "by text"))  # fmt: skip
    ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["b", "l"])
    mask = helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ["b", "l"])
    shape, kind, nodes = ["b", 2], TensorProto.FLOAT, list[Any]()

    def constant(name: str, type_: int, dims: list[int], values: list[Any]) -> Any:
        return helper.make_node("Constant", [], [name], value=helper.make_tensor(name, type_, dims, values))

    nodes += [
        helper.make_node("Cast", ["input_ids"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("ReduceMean", ["f"], ["m"], axes=[1], keepdims=1),
    ]
    two = [helper.make_node("Concat", ["m", "m"], ["logits"], axis=1)]
    if how in ("giant", "giant later"):
        nodes += [
            constant("n", TensorProto.INT64, [2], [draw.choice((10**5, 10**6, 2**31)), 10**6]),
            helper.make_node("ConstantOfShape", ["n"], ["g"]),
        ]
        if how == "giant later":  # only for more than the two texts that are tried
            nodes[-1:] = [
                helper.make_node("Shape", ["input_ids"], ["s"]),
                helper.make_node("Mul", ["s", "n"], ["sn"]),
                helper.make_node("ConstantOfShape", ["sn"], ["g"]),
            ]
        nodes += [
            helper.make_node("ReduceMax", ["g"], ["gm"], keepdims=0),
            helper.make_node("Add", ["m", "gm"], ["mm"]),
            helper.make_node("Concat", ["mm", "mm"], ["logits"], axis=1),
        ]
    elif how in ("endless loop", "long loop"):
        value = [
            helper.make_tensor_value_info(n, t, [])
            for n, t in (("i", TensorProto.INT64), ("c", TensorProto.BOOL), ("x", TensorProto.FLOAT))
        ]
        outs = [
            helper.make_tensor_value_info(n, t, []) for n, t in (("co", TensorProto.BOOL), ("xo", TensorProto.FLOAT))
        ]
        body = helper.make_graph(
            [helper.make_node("Identity", ["c"], ["co"]), helper.make_node("Sin", ["x"], ["xo"])], "body", value, outs
        )
        turns = 2**62 if how == "endless loop" else 3_000_000
        nodes += [
            constant("n", TensorProto.INT64, [], [turns]),
            constant("yes", TensorProto.BOOL, [], [True]),
            helper.make_node("ReduceMean", ["f"], ["a"], keepdims=0),
        ]
        nodes += [
            helper.make_node("Loop", ["n", "yes", "a"], ["r"], body=body),
            helper.make_node("Add", ["m", "r"], ["mm"]),
            helper.make_node("Concat", ["mm", "mm"], ["logits"], axis=1),
        ]
    elif how == "NaN":
        nodes += [
            helper.make_node("Sub", ["m", "m"], ["z"]),
            helper.make_node("Div", ["z", "z"], ["q"]),
            helper.make_node("Concat", ["m", "q"], ["logits"], axis=1),
        ]
    elif how == "other width":
        nodes += [helper.make_node("Concat", ["m"] * 3, ["logits"], axis=1)]
    elif how == "strings":
        nodes, kind, shape = (
            [helper.make_node("Cast", ["input_ids"], ["logits"], to=TensorProto.STRING)],
            TensorProto.STRING,
            ["b", "l"],
        )
    elif how == "no batch":
        nodes += [helper.make_node("ReduceMean", ["f"], ["logits"], keepdims=0)]
        shape = []
    elif how == "integers":
        nodes, kind = (
            [
                helper.make_node("Concat", ["input_ids", "input_ids"], ["w"], axis=1),
                constant("k", TensorProto.INT64, [2], [0, 1]),
                helper.make_node("Gather", ["w", "k"], ["logits"], axis=1),
            ],
            TensorProto.INT64,
        )
    elif how == "doubles":
        nodes += [
            helper.make_node("Concat", ["m", "m"], ["d"], axis=1),
            helper.make_node("Cast", ["d"], ["logits"], to=TensorProto.DOUBLE),
        ]
        kind = TensorProto.DOUBLE
    elif how == "tower":
        last = "m"
        for n in range(20_000):
            nodes.append(helper.make_node("Identity", [last], [f"t{n}"]))
            last = f"t{n}"
        nodes += [helper.make_node("Concat", [last, last], ["logits"], axis=1)]
    elif how == "sequence":
        nodes += [helper.make_node("SequenceConstruct", ["m", "m"], ["logits"])]
    else:  # NaN for some texts only, which the trial does not read
        nodes += [
            constant("k", TensorProto.FLOAT, [], [float(draw.choice((20, 40, 60)))]),
            helper.make_node("Sub", ["k", "m"], ["u"]),
            helper.make_node("Sqrt", ["u"], ["q"]),
            helper.make_node("Concat", ["q", "q"], ["logits"], axis=1),
        ]
    if not any("logits" in node.output for node in nodes):
        nodes += two
    out = helper.make_tensor_value_info("logits", kind, shape)
    if how == "sequence":
        out.type.CopyFrom(helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, None)))
    made = helper.make_graph(nodes, "g", [ids, mask], [out])
    _save(helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), graph)
    return f"a graph: {how}"


def _bytes(graph: Path, model: Any, draw: random.Random) -> str:
    return (spoil_bytes if draw.random() < 0.8 else spoil_place)(graph, draw)


def _beside(graph: Path, model: Any, draw: random.Random) -> str:
    """The files beside the graph."""
    path = graph.parent.parent / draw.choice(("config.json", "config.json", "tokenizer.json", "tokenizer_config.json"))
    if path.name == "config.json" and draw.random() < 0.7:
        return spoil_json(path, draw)
    return spoil_file(path, draw)


def _save(model: Any, graph: Path) -> None:
    graph.write_bytes(model.SerializeToString())


GRAPHS: list[tuple[Callable[[Path, Any, random.Random], str], int]] = [
    (_external, 20),
    (_operators, 20),
    (_shapes, 18),
    (_whole, 24),
    (_bytes, 16),
    (_beside, 10),
]


def _spoil_pipeline(path: Path, draw: random.Random) -> str:
    how = draw.choices(("schema", "type", "bytes", "zip", "place"), (45, 20, 15, 15, 5))[0]
    if how in ("bytes", "place"):
        return (spoil_bytes if how == "bytes" else spoil_place)(path, draw)
    with zipfile.ZipFile(path) as file:
        files = {name: file.read(name) for name in file.namelist()}
    schema = json.loads(files["schema.json"])
    about = how
    if how == "schema":
        schema, about = spoil_value(schema, draw)
    elif how == "type":
        places = [
            p
            for p in paths(schema)
            if p and p[-1] in ("__module__", "__class__", "__loader__", "file", "type", "content")
        ]
        place = draw.choice(places)
        new = draw.choice(
            ["os", "system", "builtins", "eval", "FunctionNode", "ReduceNode", "MethodNode", "TypeNode", "ObjectNode", "NdArrayNode", "../../x", "numpy", "ndarray", "subprocess",
             "sklearn.pipeline", "Pipeline", "sklearn.svm._classes", "LinearSVC", "object", "json", "JsonNode", "GenericUnionNode", "", 3, None, [], {}]
        )  # fmt: skip
        put(schema, place, new)
        about = f"{place[-1]} is {new!r}"
    try:
        files["schema.json"] = json.dumps(schema).encode()
    except RecursionError:
        files["schema.json"] = b'{"__class__": ' + b"[" * 100_000
    if how == "zip":
        about = draw.choice(
            (
                "bomb",
                "array bomb",
                "giant array",
                "no schema",
                "schema twice",
                "encrypted",
                "pickled array",
                "deep schema",
                "name upwards",
            )
        )
        arrays = [name for name in files if name.endswith(".npy")]
        name = draw.choice(arrays)
        if about == "bomb":
            files["schema.json"] = b" " * 600_000_000 + files["schema.json"]
        elif about == "array bomb":
            files[name] = files[name] + bytes(600_000_000)
        elif about == "giant array":
            files[name] = _npy("(1099511627776,)")
        elif about == "no schema":
            del files["schema.json"]
        elif about == "pickled array":
            files[name] = _npy("(1,)", "|O") + f"cos\nsystem\n(S'touch {CANARY}'\ntR.".encode()
        elif about == "deep schema":
            files["schema.json"] = b"[" * 50_000 + b"]" * 50_000
        elif about == "name upwards":
            files["../../x"] = b"x"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in files.items():
            file.writestr(name, data)
        if about == "schema twice":
            file.writestr("schema.json", b"{}")
    if about == "encrypted":
        data = bytearray(path.read_bytes())
        at = data.find(b"PK\x01\x02")
        data[at + 8] |= 1
        path.write_bytes(data)
    return f"zip: {about}" if how == "zip" else about


def _npy(shape: str, kind: str = "<f8") -> bytes:
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return io.BytesIO(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header).getvalue()


def make(case: Case) -> None:
    draw, folder = case.draw, case.folder
    case.stock.fill(folder)
    told = dict(GRAPH if draw.random() < 0.65 else PIPELINE)
    if "onnx" in told:
        put_others(case.stock, folder, "graph", only=["graph"])
        graph = folder / "graph" / "onnx" / "model.onnx"
        maker = draw.choices([m for m, _ in GRAPHS], [w for _, w in GRAPHS])[0]
        case.about = maker(graph, onnx.load(str(graph), load_external_data=False), draw)
        if draw.random() < 0.06 and graph.is_file() and not graph.is_symlink():
            name = draw.choice(("model.ort", "model.json", "model.txtpb", "m.onnxtxt", "m"))
            graph.rename(graph.with_name(name))
            told["file"] = f"onnx/{name}"
            case.about += f", as {name}"
    else:
        put_others(case.stock, folder, "pipeline.skops", only=["pipeline.skops"])
        case.about = f"skops: {_spoil_pipeline(folder / 'pipeline.skops', draw)}"
    value = MELT | {"teachers": ["billing", told], "method": draw.choice(("alloy", "ensemble"))}
    (folder / "recipe.yaml").write_text(yaml.safe_dump(value, sort_keys=False))
    argv = draw.choices([c for c, _ in COMMANDS], [w for _, w in COMMANDS])[0]
    case.about = f"{' '.join(argv)}: {case.about}"
    ended = case.run(step(folder, *argv), network=argv[0] == "doctor")[0]
    if argv[0] == "sweep" and ended.code == 0:
        case.demand(not (wrong := no_probabilities(folder / "run" / "cache", told["name"])), "different", wrong)
    for name in ("x", "../x"):
        case.demand(not (folder / name).exists(), "foreign code", f"{name} was written")


TABLE = Kind("graphs", "Damaged and hostile ONNX graphs and scikit-learn files", 250, make)
