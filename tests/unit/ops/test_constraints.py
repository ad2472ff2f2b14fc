"""Nodes that a specification does not allow, made of nodes that it does: each is refused by an error that names the node and says why.

The specification speaks through its schemas: element types of each operand, which operands share one, how many there are, the kinds of
attributes; through onnx's strict shape inference, where it finds a contradiction; and for attributes through what no number may be.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnxruntime.capi import onnxruntime_pybind11_state

from nautilus_cli.errors import NautilusError
from nautilus_cli.ir.types import BF16, BOOL, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, dtype_of
from nautilus_cli.ops.element_types import ONNX_NUMBERS
from nautilus_cli.ops.registry import operators
from tests.unit.frontend.models import imported
from tests.unit.ops.microsoft.valid import VALID
from tests.unit.ops.test_backend_cases import array, cases

TYPES = {
    "tensor(float16)": F16, "tensor(bfloat16)": BF16, "tensor(float)": F32, "tensor(double)": F64, "tensor(bool)": BOOL,
    "tensor(int8)": I8, "tensor(int16)": I16, "tensor(int32)": I32, "tensor(int64)": I64,
    "tensor(uint8)": U8, "tensor(uint16)": U16, "tensor(uint32)": U32, "tensor(uint64)": U64,
}  # fmt: skip

BUILT_IN_FUNCTION = {"MeanVarianceNormalization"}
"""Operators of which onnx's inference unfolds an older body with numbers of its own."""

A_SCALAR_WILL_DO = {("OneHot", "indices"), ("TopK", "K")}
"""Operands that may have rank 0 too, as in onnxruntime."""

ANY_NUMBER = {
    ("Dropout", "seed"), ("EyeLike", "k"), ("Shape", "start"), ("Shape", "end"), ("com.microsoft::BiasDropout", "seed"),
    ("DequantizeLinear", "axis"),  # means nothing beside one scale
    ("QuantizeLinear", "axis"),
    ("LinearAttention", "chunk_size"),  # a hint
    ("com.microsoft::GroupQueryAttention", "local_window_size"),  # below one for none
    ("com.microsoft::GroupQueryAttention", "smooth_softmax"),  # 1 is yes
    ("com.microsoft::EmbedLayerNormalization", "mask_index_type"),  # says what the results say
    ("com.microsoft::FusedMatMulActivation", "activation_axis"),  # no activation has one
    ("com.microsoft::Attention", "rotary_embedding_dim"),  # belongs to what is not supported
}  # fmt: skip
"""Integer attributes of which each value means something, or nothing."""

ANY_LIST = {("Constant", "value_ints"), ("Constant", "value_floats")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """What a schema says of an operand: its name, the types it may have, and the variable that names them."""

    name: str
    types: frozenset[str]
    variable: str
    is_varied: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A node that is allowed.

    Attributes:
        key: of the operator.
        node: without operands and attributes.
        arrays: operands.
        attributes: by name.
        ports: of each operand.
        kinds: of every attribute that there is.
        fewest: operands.
        most: operands.
        opset: of ONNX's domain.
    """

    key: str
    node: onnx.NodeProto
    arrays: tuple[np.ndarray | None, ...]
    attributes: dict[str, onnx.AttributeProto]
    ports: tuple[Port, ...]
    kinds: dict[str, str]
    fewest: int
    most: int
    opset: int

    def model(self) -> onnx.ModelProto:
        """Return a model of the node; what may decide a shape is known, the rest is an input."""
        node = onnx.NodeProto()
        node.CopyFrom(self.node)
        node.name = "the node"
        del node.input[:]
        names = ["" if a is None else f"in{number}" for number, a in enumerate(self.arrays)]
        node.input.extend(names)
        del node.attribute[:]
        node.attribute.extend(self.attributes.values())
        inputs, known = [], []
        for name, a in zip(names, self.arrays, strict=True):
            if a is not None and ((a.dtype.kind in "iub" and a.size <= 64) or a.size <= 1):
                known.append(numpy_helper.from_array(np.ascontiguousarray(a).reshape(a.shape), name))
            elif a is not None:
                inputs.append(helper.make_tensor_value_info(name, ONNX_NUMBERS[dtype_of(a)], a.shape))
        outputs = [helper.make_empty_tensor_value_info(name) for name in node.output if name]
        imports = [helper.make_opsetid("", self.opset)] + ([helper.make_opsetid(node.domain, 1)] if node.domain else [])
        return helper.make_model(helper.make_graph([node], "g", inputs, outputs, known), opset_imports=imports, ir_version=10)

    def with_operand(self, number: int, a: np.ndarray) -> Subject:
        """Return the node with another operand."""
        return replace(self, arrays=(*self.arrays[:number], a, *self.arrays[number + 1 :]))

    def with_attribute(self, attribute: onnx.AttributeProto) -> Subject:
        """Return the node with another attribute."""
        return replace(self, attributes={**self.attributes, attribute.name: attribute})


@cache
def subjects() -> dict[str, Subject]:
    """Return an allowed node of every operator that a model may have."""
    found = {}
    for op, known in cases().items():
        case = known[0]
        (node,) = case.model.graph.node
        given = dict(zip((i.name for i in case.model.graph.input), map(array, case.data_sets[0][0]), strict=True))
        schema = onnx.defs.get_schema(op)
        ports = tuple(
            Port(
                name=port.name,
                types=frozenset(port.types),
                variable=port.type_str,
                is_varied=port.option == onnx.defs.OpSchema.FormalParameterOption.Variadic and not port.is_homogeneous,
            )
            for port in schema.inputs
        )
        found[op] = Subject(
            key=op,
            node=node,
            arrays=tuple(given[name] if name else None for name in node.input),
            attributes={a.name: a for a in node.attribute},
            ports=ports,
            kinds={name: str(a.type).rpartition(".")[2] for name, a in schema.attributes.items()},
            fewest=schema.min_input,
            most=schema.max_input,
            opset=case.model.opset_import[0].version,
        )
    return found | contributed()


def contributed() -> dict[str, Subject]:
    """Return an allowed node of each operator that onnxruntime adds."""
    schemas = {
        f"{s.domain}::{s.name}" if s.domain else s.name: s
        for s in onnxruntime_pybind11_state.get_all_operator_schema()
        if s.since_version == 1
    }
    found = {}
    for key, (arrays, attributes) in VALID.items():
        domain, _, name = key.rpartition("::")
        schema = schemas[key]
        allowed = {c.type_param_str: frozenset(c.allowed_type_strs) for c in schema.type_constraints}
        options = [str(port.option).rpartition(".")[2] for port in schema.inputs]
        found[key] = Subject(
            key=key,
            node=helper.make_node(name, [], ["out"], domain=domain),
            arrays=arrays,
            attributes={n: helper.make_attribute(n, value) for n, value in attributes.items()},
            ports=tuple(
                Port(name=p.name, types=allowed.get(p.typeStr, frozenset((p.typeStr,))), variable=p.typeStr, is_varied=False)
                for p in schema.inputs
            ),
            kinds={n: str(a.type).rpartition(".")[2] for n, a in schema.attributes.items()},
            fewest=options.count("Single"),
            most=len(options),
            opset=22,
        )
    return found


def refusal(subject: Subject) -> str | None:
    """Return what is said of a node, None where it is accepted."""
    try:
        imported(subject.model())
    except NautilusError as error:
        said = str(error)
        assert said.startswith("node 'the node' ("), f"no node is named: {said}"
        assert "do not fit the operator (" not in said, f"an exception of Python in other words: {said}"
        return said
    return None


def port_of(subject: Subject, number: int) -> Port:
    return subject.ports[min(number, len(subject.ports) - 1)]


def operands(subject: Subject) -> Iterator[tuple[int, np.ndarray, Port]]:
    """Yield number, contents and port of each operand that is given."""
    for number, a in enumerate(subject.arrays):
        if a is not None:
            yield number, a, port_of(subject, number)


SUBJECTS = sorted(subjects())


def test_every_operator_has_a_node() -> None:
    ours = {name for name in operators() if name.startswith("nautilus::")}
    quantised = {name for name in operators() if name.startswith("com.microsoft::")} - set(VALID)
    rest = set(operators()) - ours - quantised - set(SUBJECTS)
    assert rest <= {"GlobalLpPool", "MaxRoiPool", "SimplifiedLayerNormalization", "ai.onnx.ml::Scaler"}, rest


@pytest.mark.parametrize("key", SUBJECTS)
def test_the_node_itself_is_accepted(key: str) -> None:
    said = refusal(subjects()[key])
    assert said is None or "contents are not known at compile time" in said, said


@pytest.mark.parametrize("key", SUBJECTS)
def test_element_types(key: str) -> None:
    subject = subjects()[key]
    accepted = []
    for number, a, port in operands(subject):
        others = [p.variable for n, b, p in operands(subject) if n != number and not p.is_varied]
        for name, dtype in TYPES.items():
            if dtype == dtype_of(a) or (name in port.types and port.variable not in others):
                continue
            with np.errstate(all="ignore"):
                changed = subject.with_operand(number, a.astype(dtype.numpy))
            if refusal(changed) is None:
                accepted.append(f"{port.name} {dtype}")
    assert not accepted


@pytest.mark.parametrize("key", SUBJECTS)
def test_shapes(key: str) -> None:
    """What onnx finds impossible is refused; what it knows nothing of may be, in our words."""
    subject = subjects()[key]
    accepted = []
    for number, a, port in operands(subject):
        shapes = {(1, *a.shape), (*a.shape, 1), (0, *a.shape[1:]), a.shape[1:], (), tuple(d + 1 for d in a.shape)} - {a.shape}
        for shape in sorted(shapes):
            if a.size == 1 and max(shape, default=1) == 1:
                continue  # one number is one number
            changed = subject.with_operand(number, np.resize(a, shape).astype(a.dtype))
            is_accepted = refusal(changed) is None
            if is_accepted and is_impossible(changed) and not (len(shape) == 0 and (key, port.name) in A_SCALAR_WILL_DO):
                accepted.append(f"{port.name} {a.shape} as {shape}")
    assert not accepted


def is_impossible(subject: Subject) -> bool:
    """Whether onnx finds a contradiction."""
    if subject.node.domain or subject.key in BUILT_IN_FUNCTION:
        return False
    try:
        onnx.shape_inference.infer_shapes(subject.model(), check_type=True, strict_mode=True, data_prop=True)
    except onnx.shape_inference.InferenceError:
        return True
    return False


def wrong_attributes(subject: Subject) -> Iterator[onnx.AttributeProto]:
    """Yield attributes that no operator allows."""
    for name, kind in subject.kinds.items():
        if kind == "INT" and (subject.key, name) not in ANY_NUMBER:
            yield helper.make_attribute(name, -1000)
        elif kind == "STRING":
            yield helper.make_attribute(name, "nonsense")
        elif kind == "INTS" and (subject.key, name) not in ANY_LIST:
            yield helper.make_attribute(name, [-1000])
            yield helper.make_attribute(name, [1] * 20)
        elif kind == "STRINGS":
            yield helper.make_attribute(name, ["nonsense"])
        yield helper.make_attribute(name, "x" if kind == "FLOAT" else 1.5)
    yield helper.make_attribute("nonsense", 1)


@pytest.mark.parametrize("key", SUBJECTS)
def test_attributes(key: str) -> None:
    subject = subjects()[key]
    accepted = [
        f"{attribute.name} = {helper.get_attribute_value(attribute)}"
        for attribute in wrong_attributes(subject)
        if refusal(subject.with_attribute(attribute)) is None
    ]
    assert not accepted


@pytest.mark.parametrize("key", SUBJECTS)
def test_numbers_of_operands(key: str) -> None:
    subject = subjects()[key]
    extra: Any = subject.arrays[0] if subject.arrays else np.float32(1)
    if subject.most < 100:
        more = (*subject.arrays, *(None,) * (subject.most - len(subject.arrays)), extra)
        assert refusal(replace(subject, arrays=more)) is not None
    if subject.fewest:
        assert refusal(replace(subject, arrays=subject.arrays[: subject.fewest - 1])) is not None
