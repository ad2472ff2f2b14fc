"""AttributeProto to Python values, and those to an operator's typed dataclass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
from onnx import AttributeProto, GraphProto, NodeProto, defs

from nautilus_cli.errors import ModelError, nearest
from nautilus_cli.frontend.external_data import ExternalData
from nautilus_cli.frontend.tensors import tensor_array
from nautilus_cli.ir.names import quoted
from nautilus_cli.ops.spec import Operator

AttributeValue = int | float | str | tuple[int, ...] | tuple[float, ...] | tuple[str, ...] | np.ndarray | GraphProto

_KINDS = {
    AttributeProto.INT: int,
    AttributeProto.FLOAT: float,
    AttributeProto.STRING: str,
    AttributeProto.TENSOR: np.ndarray,
    AttributeProto.GRAPH: GraphProto,
    AttributeProto.INTS: tuple[int, ...],
    AttributeProto.FLOATS: tuple[float, ...],
    AttributeProto.STRINGS: tuple[str, ...],
}


_FLAG_NAMES = """
align_corners allowzero antialias causal ceil_mode center_point_box channels_last count_include_pad detect_negative detect_positive
do_rotary exclude_outside exclusive fmod input_forget interleaved inverse is_causal is_inner_broadcast is_packed_batching keepdims
largest layout linear_before_reset noop_with_empty_axes onesided past_present_share_buffer reverse rotary_interleaved saturate
select_last_index sliding_window_cache sorted storage_order training_mode transA transB transBatchA transBatchB unidirectional upper
"""
_FLAGS = frozenset(_FLAG_NAMES.split())
"""Attributes that say yes or no, in whatever operator. Of other numbers implementations make different things: 7 is no, or yes."""


def given_attributes(node: NodeProto, references: Mapping[str, AttributeProto], where: str) -> dict[str, AttributeProto]:
    """Return a node's attributes by name, references to those of the calling function resolved.

    Raises:
        ModelError: an attribute is given twice.
    """
    found: dict[str, AttributeProto] = {}
    for attribute in node.attribute:
        if attribute.name in found:
            raise ModelError(f"attribute {quoted(attribute.name)} is given twice", where=where)
        if attribute.ref_attr_name:
            if attribute.ref_attr_name in references:
                found[attribute.name] = references[attribute.ref_attr_name]
            # else the caller left it out, and the operator's default holds
        else:
            found[attribute.name] = attribute
    return found


def attribute_value(attribute: AttributeProto, name: str, external: ExternalData, where: str) -> AttributeValue:
    """Return an attribute's value.

    Raises:
        ModelError: its kind is not supported, or a string is not UTF-8.
    """
    match attribute.type:
        case AttributeProto.INT:
            return int(attribute.i)
        case AttributeProto.FLOAT:
            return float(attribute.f)
        case AttributeProto.STRING:
            return _text(attribute.s, name, where)
        case AttributeProto.TENSOR:
            return tensor_array(attribute.t, external, f"{where}, attribute {quoted(name)}, tensor")
        case AttributeProto.GRAPH:
            return attribute.g
        case AttributeProto.INTS:
            return tuple(attribute.ints)
        case AttributeProto.FLOATS:
            return tuple(attribute.floats)
        case AttributeProto.STRINGS:
            return tuple(_text(s, name, where) for s in attribute.strings)
    kinds = {number: kind for kind, number in AttributeProto.AttributeType.items()}
    raise ModelError(
        f"attribute {quoted(name)} has the kind {kinds.get(attribute.type, attribute.type)}, which is not supported", where=where
    )


def typed_attributes(operator: Operator, values: Mapping[str, AttributeValue], version: int, where: str) -> object:
    """Return an operator's attribute dataclass filled by field name.

    An attribute that the dataclass lacks is left out where its value is the specification's default.

    Raises:
        ModelError: an attribute is unknown or of another kind, or a required one is missing.
    """
    kinds = _field_kinds(operator.attributes)
    given: dict[str, Any] = {}
    for name, value in values.items():
        if name in kinds:
            if name in _FLAGS and isinstance(value, int) and value not in (0, 1):
                raise ModelError(f"attribute {quoted(name)} is {value}; the specification allows 0 and 1", where=where)
            given[name] = _as_kind(value, kinds[name], name, where)
        elif not _is_default_value(operator.name, version, name, value):
            raise ModelError(f"attribute {quoted(name)} is not supported", where=where, hint=nearest(name, kinds))
    missing = [name for name in _required(operator.attributes) if name not in given]
    if missing:
        raise ModelError(f"attribute {', '.join(map(repr, missing))} is missing; the specification requires it", where=where)
    return operator.attributes(**given)


@cache
def _field_kinds(attributes: type) -> Mapping[str, tuple[Any, ...]]:
    """Return the alternatives of each field's type."""
    hints = get_type_hints(attributes)
    return {field.name: _alternatives(hints[field.name]) for field in fields(attributes)}


@cache
def _required(attributes: type) -> tuple[str, ...]:
    """Return the names of the fields without a default."""
    return tuple(f.name for f in fields(attributes) if f.default is MISSING and f.default_factory is MISSING)


def _alternatives(hint: Any) -> tuple[Any, ...]:
    """Split a union; None is no alternative, since it only means that the attribute may be left out."""
    if get_origin(hint) in (Union, UnionType):
        return tuple(part for member in get_args(hint) if member is not NoneType for part in _alternatives(member))
    return (np.ndarray if get_origin(hint) is np.ndarray else hint,)


def _as_kind(value: AttributeValue, kinds: Iterable[Any], name: str, where: str) -> Any:
    """Return VALUE if it is of one of the kinds."""
    for kind in kinds:
        match kind, value:
            case _, _ if kind is bool and isinstance(value, int):
                return bool(value)
            case _, tuple() if get_origin(kind) is tuple and (not value or isinstance(value[0], get_args(kind)[0])):
                return value
            case _, int() | float() | str() | np.ndarray() if isinstance(kind, type) and isinstance(value, kind):
                return value
    allowed = " or ".join(kind.__name__ if isinstance(kind, type) and get_origin(kind) is None else str(kind) for kind in kinds)
    raise ModelError(f"attribute {quoted(name)} is a {_kind_name(value)}; the specification allows {allowed}", where=where)


def _kind_name(value: AttributeValue) -> str:
    """Return what a value is, in the words of an annotation."""
    if isinstance(value, tuple):
        return f"tuple[{type(value[0]).__name__ if value else ''}, ...]"
    return type(value).__name__


def _is_default_value(key: str, version: int, name: str, value: AttributeValue) -> bool:
    """Whether VALUE is what ONNX's schema gives an attribute that is left out."""
    domain, _, op_type = key.rpartition("::")
    try:
        schema = defs.get_schema(op_type, version, domain)
    except defs.SchemaError:
        return False
    if name not in schema.attributes:
        return False
    default = schema.attributes[name].default_value
    if default.type not in _KINDS or default.type in (AttributeProto.TENSOR, AttributeProto.GRAPH):
        return False
    return bool(attribute_value(default, name, ExternalData(None), "") == value)


def _text(data: bytes, name: str, where: str) -> str:
    """Decode a string attribute."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ModelError(f"attribute {quoted(name)} is not UTF-8", where=where) from error
