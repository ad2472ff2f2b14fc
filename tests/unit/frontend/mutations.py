"""Mutations of small models: of their bytes, and of their fields."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, helper, parser

from tests.unit.frontend.models import BOOL, INT64, graph, model, node, output, tensor_input

ODD_NUMBERS = (0, 1, -1, 2, 7, 31, 64, 127, 255, 2**31 - 1, -(2**31), 10**12, 2**63 - 1, -(2**63))


CONTROL_FLOW = (
    """<ir_version: 8, opset_import: ["" : 20]> g (float[2,3] x, float bound, int64 k) => (float[2,3] y, float[4,2,3] z, float[2,3] w) {
        n = Constant <value_int = 4> () on = Constant <value: tensor = bool {1}> ()
        y, z = Loop (n, on, x) <body = b (int64 i, bool c, float[2,3] a) => (bool c2, float[2,3] b, float[2,3] s) {
            c2 = Identity(c) f = CastLike(i, a) b = Add(a, f) s = Mul(b, x) }>
        w = Loop (n, on, x) <body = m (int64 i, bool c, float[2,3] a) => (bool c2, float[2,3] b) {
            b = Add(a, a) r = ReduceMax <keepdims = 0> (b) c2 = Less(r, bound) }> }""",
    """<ir_version: 8, opset_import: ["" : 20]> g (float[2] s0, float[5,2] x, int64 k) => (float[2] y, float[2,5] z, float[2] w) {
        y, z = Scan <body = b (float[2] s, float[2] e) => (float[2] t, float[2] o) { t = Add(s, e) o = Tanh(t) },
            num_scan_inputs = 1, scan_output_axes = [1], scan_input_directions = [1]> (s0, x)
        zero = Constant <value_int = 0> () flag = Greater(k, zero)
        w = If (flag) <then_branch = t () => (float[2] p) { p = Gather(x, k) }, else_branch = e () => (float[2] q) { q = Neg(s0) }> }""",
    """<ir_version: 8, opset_import: ["" : 20]> g (float[2,6] x) => (float[2,6] y, int64 n) {
        two = Constant <value_int = 2> () e = SequenceEmpty() s = SplitToSequence <axis = 1> (x, two)
        t = SequenceInsert(s, x, two) u = SequenceErase(t, two)
        m = SequenceMap <body = b (float[2,2] p) => (float[2,2] q) { q = Neg(p) }> (u)
        o = Optional(m) h = OptionalGetElement(o) y = ConcatFromSequence <axis = 1> (h) n = SequenceLength(t) }""",
)
"""Loops, a branch at run time, sequences and optional values, in ONNX's text form."""


def seeds() -> list[ModelProto]:
    """Small models that between them use most of what the frontend reads."""
    x = tensor_input("x", 2, 3, 4, 4)
    weights = {"w": np.ones((2, 3, 3, 3), np.float32), "b": np.ones(2, np.float32)}
    convolution = [
        node("Conv", ["x", "w", "b"], ["c"], "conv", kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]),
        node("Relu", ["c"], ["r"]),
        node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2]),
        node("Flatten", ["p"], ["y"], axis=1),
    ]
    shapes = [
        node("Shape", ["x"], ["s"]),
        node("Gather", ["s", "zero"], ["n"]),
        node("Constant", [], ["rest"], value_ints=[-1]),
        node("Concat", ["n", "rest"], ["shape"], axis=0),
        node("Reshape", ["x", "shape"], ["f"]),
        node("Transpose", ["f"], ["t"], perm=[1, 0]),
        node("MatMul", ["f", "t"], ["m"]),
        node("Softmax", ["m"], ["y"], axis=-1),
    ]
    ranges = [
        node("Range", ["a", "b", "c"], ["r"]),
        node("ConstantOfShape", ["one"], ["o"], value=helper.make_tensor("v", INT64, [1], [3])),
        node("Expand", ["r", "o"], ["e"]),
        node("Slice", ["e", "starts", "ends", "axis"], ["l"]),
        node("Where", ["yes", "l", "l"], ["q"]),
        node("Tile", ["q", "one"], ["i"]),
        node("Pad", ["i", "pads"], ["p"]),
        node("Split", ["p"], ["y", "z"], axis=0, num_outputs=2),
    ]
    numbers = {"a": 0, "b": 6, "c": 2, "one": [1], "starts": [0], "ends": [9], "axis": [0], "pads": [1, 1]}
    branch = graph([node("ReduceMean", ["x", "axes"], ["t"], keepdims=0)], [], [output("t")], {"axes": np.array([1])})
    function = helper.make_function("f", "G", ["a"], ["b"], [node("Gemm", ["a", "a"], ["b"], transB=1)], [helper.make_opsetid("", 20)])
    branches = [
        node("If", ["yes"], ["t"], then_branch=branch, else_branch=branch),
        node("Squeeze", ["t"], ["u"]),
        helper.make_node("G", ["u"], ["g"], domain="f"),
        node("LayerNormalization", ["g", "scale"], ["y"]),
    ]
    return [
        *map(parser.parse_model, CONTROL_FLOW),
        model(convolution, [x], [output("y")], weights, opset=11),
        model(shapes, [x], [output("y")], {"zero": np.array([0])}),
        model(
            ranges, [], [output("y", INT64), output("z", INT64)], {k: np.array(v) for k, v in numbers.items()} | {"yes": np.array([True])}
        ),
        model(
            branches,
            [tensor_input("x", 1, 5, 2, 2), tensor_input("yes", dtype=BOOL)],
            [output("y")],
            {"yes": np.array(True), "scale": np.ones(2, np.float32)},
            functions=[function],
            domains={"f": 1},
        ),
        model([node("Softmax", ["x"], ["s"]), node("Add", ["s", "b"], ["y"], broadcast=1, axis=0)], [x], [output("y")], weights, opset=6),
    ]


def mutated_bytes(data: bytes, random: Random) -> bytes:
    """Change, insert or delete a few bytes, or cut the end off."""
    changed = bytearray(data)
    for _ in range(random.randint(1, 4)):
        place = random.randrange(len(changed) + 1)
        match random.randrange(5):
            case 0 if place < len(changed):
                changed[place] = random.randrange(256)
            case 1 if place < len(changed):
                changed[place] ^= 1 << random.randrange(8)
            case 2:
                changed[place:place] = random.randbytes(random.randint(1, 4))
            case 3:
                del changed[place : place + random.randint(1, 8)]
            case 4 if random.random() < 0.1:
                del changed[place:]
    return bytes(changed)


def mutated_fields(proto: ModelProto, random: Random) -> ModelProto:
    """Change a few fields to something that still parses."""
    changed = ModelProto()
    changed.CopyFrom(proto)
    for _ in range(random.randint(1, 3)):
        random.choice(MUTATORS)(changed, random)
    return changed


def _any_node(proto: ModelProto, random: Random) -> NodeProto | None:
    nodes = [*proto.graph.node, *(n for f in proto.functions for n in f.node)]
    nodes += [inner for item in nodes for a in item.attribute if a.type == AttributeProto.GRAPH for inner in a.g.node]
    return random.choice(nodes) if nodes else None


def _change_operator(proto: ModelProto, random: Random) -> None:
    item = _any_node(proto, random)
    if item is not None:
        names = [
            "Add",
            "Concat",
            "Gather",
            "Conv",
            "Identity",
            "If",
            "Loop",
            "Scan",
            "SequenceAt",
            "SequenceConstruct",
            "Optional",
            "Constant",
            "Reshape",
            "Cast",
            "Where",
            "NonZero",
            "Split",
            "Squeeze",
        ]
        item.op_type = random.choice(names)


def _change_wiring(proto: ModelProto, random: Random) -> None:
    item = _any_node(proto, random)
    if item is None:
        return
    names = ["", *(n for other in proto.graph.node for n in (*other.input, *other.output)), *(t.name for t in proto.graph.initializer)]
    wires = random.choice([item.input, item.output])
    match random.randrange(3):
        case 0 if wires:
            wires[random.randrange(len(wires))] = random.choice(names)
        case 1 if wires:
            del wires[random.randrange(len(wires))]
        case 2:
            wires.append(random.choice(names))


def _change_attribute(proto: ModelProto, random: Random) -> None:
    item = _any_node(proto, random)
    if item is None or not item.attribute:
        return
    attribute = random.choice(item.attribute)
    match random.randrange(5):
        case 0:
            attribute.i = random.choice(ODD_NUMBERS)
        case 1 if attribute.ints:
            attribute.ints[random.randrange(len(attribute.ints))] = random.choice(ODD_NUMBERS)
        case 2:
            attribute.ints.append(random.choice(ODD_NUMBERS))
        case 3:
            attribute.type = random.choice(list(type(attribute).AttributeType.values()))
        case 4:
            item.attribute.remove(attribute)


def _change_tensor(proto: ModelProto, random: Random) -> None:
    tensors = [*proto.graph.initializer, *(a.t for n in proto.graph.node for a in n.attribute if a.HasField("t"))]
    if not tensors:
        return
    tensor = random.choice(tensors)
    match random.randrange(5):
        case 0 if tensor.dims:
            tensor.dims[random.randrange(len(tensor.dims))] = random.choice(ODD_NUMBERS)
        case 1:
            tensor.dims.append(random.choice(ODD_NUMBERS))
        case 2:
            tensor.data_type = random.choice(list(TensorProto.DataType.values()))
        case 3 if tensor.raw_data:
            data = bytearray(tensor.raw_data)
            data[random.randrange(len(data))] = random.randrange(256)
            tensor.raw_data = bytes(data)
        case 4 if tensor.data_type == INT64 and tensor.raw_data:
            values = np.frombuffer(tensor.raw_data, np.int64).copy()
            values[random.randrange(len(values))] = random.choice(ODD_NUMBERS)
            tensor.raw_data = values.tobytes()


def _change_input(proto: ModelProto, random: Random) -> None:
    values = [*proto.graph.input, *proto.graph.output]
    if not values:
        return
    tensor = random.choice(values).type.tensor_type
    if random.random() < 0.5:
        tensor.elem_type = random.choice(list(TensorProto.DataType.values()))
    elif tensor.shape.dim:
        random.choice(tensor.shape.dim).dim_value = random.choice(ODD_NUMBERS)
    else:
        tensor.shape.dim.add().dim_value = random.choice(ODD_NUMBERS)


def _change_opset(proto: ModelProto, random: Random) -> None:
    proto.opset_import[0].version = random.randint(5, 30)


def _duplicate_node(proto: ModelProto, random: Random) -> None:
    if proto.graph.node:
        proto.graph.node.add().CopyFrom(random.choice(proto.graph.node))


MUTATORS: tuple[Callable[[ModelProto, Random], None], ...] = (
    _change_operator,
    _change_wiring,
    _change_attribute,
    _change_tensor,
    _change_input,
    _change_opset,
    _duplicate_node,
)
