"""Attributes of com.microsoft's operators against the schemas that onnxruntime has of them."""

from __future__ import annotations

from dataclasses import MISSING, fields
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import onnx
import pytest
from onnxruntime.capi import onnxruntime_pybind11_state

from nautilus_cli.ops import microsoft
from nautilus_cli.ops.registry import operators


def defined_here() -> list[str]:
    """Return the operators of the package; quantised ones are written beside ONNX's, with all that these allow."""
    modules = [import_module(info.name) for info in iter_modules(microsoft.__path__, f"{microsoft.__name__}.")]
    found = [o for m in modules for o in (*getattr(m, "OPERATORS", ()), *((m.OPERATOR,) if hasattr(m, "OPERATOR") else ()))]
    return sorted(operator.name for operator in found)


NAMES = defined_here()


@cache
def schemas() -> dict[str, Any]:
    found = onnxruntime_pybind11_state.get_all_operator_schema()
    return {f"{s.domain}::{s.name}" if s.domain else s.name: s for s in found if s.since_version == 1}


def default(attribute: Any) -> Any:
    """Return the default that a schema gives, None where it gives none."""
    proto = onnx.AttributeProto.FromString(attribute._default_value)
    if not proto.type:
        return None
    value = onnx.helper.get_attribute_value(proto)
    return value.decode() if isinstance(value, bytes) else value


@pytest.mark.parametrize("name", NAMES)
def test_attributes_are_those_of_the_schema(name: str) -> None:
    operator, schema = operators()[name], schemas()[name]
    assert {field.name for field in fields(operator.attributes)} == set(schema.attributes)
    for field in fields(operator.attributes):
        specified = schema.attributes[field.name]
        assert (field.default is MISSING) == specified.required, field.name
        wanted = default(specified)
        if wanted is not None:
            assert field.default == pytest.approx(wanted, rel=2**-24) if isinstance(wanted, float) else field.default == wanted


@pytest.mark.parametrize("name", NAMES)
def test_source_names_the_operator(name: str) -> None:
    assert operators()[name].source.startswith("onnxruntime 1.32, ")
    assert operators()[name].source.endswith(f"::{name.rpartition('::')[2]}-1")
