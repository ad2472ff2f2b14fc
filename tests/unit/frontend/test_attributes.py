"""Attributes: one generic reader fills an operator's dataclass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from onnx import AttributeProto, helper, numpy_helper

from nautilus_cli.errors import ModelError
from nautilus_cli.frontend.attributes import attribute_value, given_attributes, typed_attributes
from nautilus_cli.frontend.external_data import ExternalData
from nautilus_cli.ops.spec import HostOnly, Operator
from tests.unit.frontend.models import node, told


@dataclass(frozen=True, slots=True, eq=False)
class Attrs:
    axis: int
    alpha: float = 0.5
    mode: str = "none"
    pads: tuple[int, ...] | None = None
    scales: tuple[float, ...] = ()
    names: tuple[str, ...] = ()
    flag: bool = False
    value: np.ndarray | None = None
    either: int | float | None = None


def operator(name: str = "Softmax") -> Operator:
    return Operator(name=name, infer=lambda _: (), evaluate=lambda *_: (), lowering=HostOnly(""), source="", attributes=Attrs)


def read(version: int = 20, op: str = "Softmax", **attributes: Any) -> Attrs:
    proto = node(op, ["x"], ["y"], **attributes)
    values = {n: attribute_value(a, n, ExternalData(None), "here") for n, a in given_attributes(proto, {}, "here").items()}
    result = typed_attributes(operator(op), values, version, "here")
    assert isinstance(result, Attrs)
    return result


def test_every_kind_fills_its_field() -> None:
    tensor = numpy_helper.from_array(np.array([1, 2]))
    found = read(axis=-1, alpha=2.0, mode="edge", pads=[1, 2], scales=[0.5], names=["a", "b"], flag=1, value=tensor, either=1.5)
    assert (found.axis, found.alpha, found.mode, found.pads, found.scales, found.names) == (-1, 2.0, "edge", (1, 2), (0.5,), ("a", "b"))
    assert found.flag is True
    assert found.either == 1.5
    assert found.value is not None
    assert found.value.tolist() == [1, 2]


def test_defaults_hold_for_what_is_left_out() -> None:
    found = read(axis=0)
    assert (found.alpha, found.pads, found.flag) == (0.5, None, False)


def test_empty_list_fits_every_list() -> None:
    proto = helper.make_attribute("pads", [], attr_type=AttributeProto.INTS)
    value = attribute_value(proto, "pads", ExternalData(None), "here")
    assert typed_attributes(operator(), {"axis": 0, "pads": value, "scales": value}, 20, "here").pads == ()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({}, "here: attribute 'axis' is missing; the specification requires it"),
        ({"axis": 1.5}, "here: attribute 'axis' is a float; the specification allows int"),
        ({"axis": [1]}, "here: attribute 'axis' is a tuple[int, ...]; the specification allows int"),
        ({"axis": 1, "pads": 1}, "attribute 'pads' is a int; the specification allows tuple[int, ...]"),
        ({"axis": 1, "pads": [1.5]}, "attribute 'pads' is a tuple[float, ...]; the specification allows tuple[int, ...]"),
        ({"axis": 1, "mode": 1}, "attribute 'mode' is a int; the specification allows str"),
        ({"axis": 1, "either": "x"}, "attribute 'either' is a str; the specification allows int or float"),
        ({"axis": 1, "axes": 1}, "here: attribute 'axes' is not supported | Known: axis, names, scales."),
        ({"axis": 1, "mode": b"\xff"}, "attribute 'mode' is not UTF-8"),
    ],
)
def test_attributes_that_do_not_fit(attributes: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError) as caught:
        read(**attributes)
    assert message in told(caught.value)


def test_unmodelled_attribute_passes_where_it_is_the_specification_s_default() -> None:
    assert read(op="MaxPool", axis=0, storage_order=0).axis == 0
    with pytest.raises(ModelError, match="attribute 'storage_order' is not supported"):
        read(op="MaxPool", axis=0, storage_order=1)


def test_attribute_given_twice() -> None:
    proto = node("Softmax", ["x"], ["y"], axis=1)
    proto.attribute.add().CopyFrom(proto.attribute[0])
    with pytest.raises(ModelError, match="here: attribute 'axis' is given twice"):
        given_attributes(proto, {}, "here")


def test_kind_without_support() -> None:
    attribute = AttributeProto(name="g", type=AttributeProto.GRAPHS)
    with pytest.raises(ModelError, match="attribute 'g' has the kind GRAPHS, which is not supported"):
        attribute_value(attribute, "g", ExternalData(None), "here")


def test_tensor_s_error_names_the_attribute() -> None:
    attribute = helper.make_attribute("value", numpy_helper.from_array(np.zeros(2, np.float32)))
    attribute.t.dims[0] = 3
    with pytest.raises(ModelError, match="here, attribute 'value', tensor: holds 8 bytes"):
        attribute_value(attribute, "value", ExternalData(None), "here")
