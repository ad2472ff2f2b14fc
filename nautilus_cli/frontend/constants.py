"""The Constant operator: its value in whichever attribute it stands."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from onnx import AttributeProto

from nautilus_cli.errors import ModelError
from nautilus_cli.frontend.attributes import attribute_value
from nautilus_cli.frontend.external_data import ExternalData
from nautilus_cli.frontend.names import quoted

_NUMPY = {
    "value": None,
    "value_float": np.float32,
    "value_floats": np.float32,
    "value_int": np.int64,
    "value_ints": np.int64,
}
"""Source: ONNX 28, Constant-25: the attributes and the element type that each gives."""


def constant_array(attributes: Mapping[str, AttributeProto], external: ExternalData, where: str) -> np.ndarray:
    """Return the contents of a Constant node.

    Raises:
        ModelError: it has no value or several, or one that is sparse or text.
    """
    if len(attributes) != 1:
        raise ModelError(f"has {len(attributes)} attributes; the specification requires exactly one", where=where)
    ((name, attribute),) = attributes.items()
    if name not in _NUMPY:
        raise ModelError(f"attribute {quoted(name)} is not supported", where=where, hint=f"Supported are {', '.join(_NUMPY)}.")
    value = attribute_value(attribute, name, external, where)
    dtype = _NUMPY[name]
    if dtype is None:
        if not isinstance(value, np.ndarray):
            raise ModelError(f"attribute {name!r} is not a tensor", where=where)
        return value
    if not isinstance(value, int | float | tuple):
        raise ModelError(f"attribute {name!r} is not a number", where=where)
    array = np.array(value, dtype)
    array.flags.writeable = False
    return array
