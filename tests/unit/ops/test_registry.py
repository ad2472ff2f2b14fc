from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass

import onnx
import pytest

import nautilus_cli.ops as package
from nautilus_cli.errors import InternalError
from nautilus_cli.ops import registry
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import NoAttrs

# What older opsets wrote as attributes; and what the newest has for values that Nautilus has not.
OLDER = {
    "BatchNormalization": {"spatial"},
    "Clip": {"min", "max"},
    "Dropout": {"ratio"},
    "Pad": {"pads", "value"},
    "Slice": {"starts", "ends", "axes"},
    "Split": {"split"},
    "Squeeze": {"axes"},
    "TopK": {"k"},
    "Unsqueeze": {"axes"},
}
NOT_READ = {"Constant": {"sparse_value", "value_string", "value_strings"}}

CONTRIB = ("SimplifiedLayerNormalization",)
"""Operators that onnxruntime adds to ONNX's domain."""

# Our own have no schema, and other domains are not ONNX's: see microsoft/test_schemas.py.
NAMES = sorted(name for name in operators() if "::" not in name and name not in CONTRIB)


def text(value: object) -> object:
    return value.decode() if isinstance(value, bytes) else value


def test_registry_is_read_only() -> None:
    with pytest.raises(TypeError):
        operators()["Add"] = operators()["Sub"]  # type: ignore[index]


def test_registry_is_scanned_once() -> None:
    assert operators() is operators()


def test_duplicate_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    from nautilus_cli.ops import where

    monkeypatch.setattr(where, "OPERATORS", (operators()["Add"],), raising=False)
    registry.operators.cache_clear()
    try:
        with pytest.raises(InternalError, match="'Add' is defined twice"):
            operators()
    finally:
        monkeypatch.undo()
        registry.operators.cache_clear()
    assert package.__name__ == "nautilus_cli.ops"


@pytest.mark.parametrize("name", NAMES)
def test_attributes_are_those_of_the_specification(name: str) -> None:
    operator = operators()[name]
    schema = onnx.defs.get_schema(name)
    assert is_dataclass(operator.attributes)
    known = {f.name for f in fields(operator.attributes)}
    older = OLDER.get(name, {"axes"} if name.startswith("Reduce") else set())
    assert known - older == set(schema.attributes) - NOT_READ.get(name, set())
    for field in fields(operator.attributes):
        if field.name in older:
            continue
        specified = schema.attributes[field.name]
        assert (field.default is MISSING) == specified.required
        if specified.default_value.name:
            default = onnx.helper.get_attribute_value(specified.default_value)
            default = tuple(map(text, default)) if isinstance(default, list) else text(default)
            assert field.default == pytest.approx(default, rel=2**-24) if isinstance(default, float) else field.default == default


@pytest.mark.parametrize("name", NAMES)
def test_source_and_since_are_versions_of_the_operator(name: str) -> None:
    operator = operators()[name]
    history = {s.since_version for s in onnx.defs.get_all_schemas_with_history() if s.name == name and s.domain == ""}
    assert operator.source == f"ONNX {onnx.defs.onnx_opset_version()}, {name}-{max(history)}"
    assert operator.since in history


def test_no_attributes_are_shared() -> None:
    assert operators()["Add"].attributes is NoAttrs
