"""Operators on optional values: whether one holds anything is known, so nothing is left to run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from nautilus_cli.frontend.constructs.base import Construct, Occurrence
from nautilus_cli.frontend.entities import TEXT_HINT, Entity, OptionalValue, Text, Unavailable


def _optional(call: Occurrence) -> Sequence[Entity | None]:
    call.count(0, 1)
    content = call.operand(0)
    if isinstance(content, Unavailable):
        return [content]
    if isinstance(content, OptionalValue):
        raise call.error("wraps an optional value; the specification requires a tensor or a sequence")
    if isinstance(content, Text):
        raise call.error("wraps a tensor of strings, which is not supported", TEXT_HINT)
    return [OptionalValue(content)]


def _has_element(call: Occurrence) -> Sequence[Entity | None]:
    call.count(0, 1)
    found = call.operand(0)
    is_empty = found is None or (isinstance(found, OptionalValue) and found.content is None)
    return [call.constant(np.bool_(not is_empty))]


def _get_element(call: Occurrence) -> Sequence[Entity | None]:
    call.count(1, 1)
    found = call.required(0)
    if not isinstance(found, OptionalValue):
        return [found]
    if found.content is None:
        raise call.error("reads an optional value that is empty")
    return [found.content]


_BUILDS: tuple[tuple[str, int, Callable[[Occurrence], Sequence[Entity | None]], tuple[str, ...]], ...] = (
    ("Optional", 15, _optional, ("type",)),
    ("OptionalGetElement", 18, _get_element, ()),
    ("OptionalHasElement", 18, _has_element, ()),
)

CONSTRUCTS = tuple(
    Construct(name=name, build=build, source=f"ONNX 28, {name}-{version}", attributes=attributes, since=15)
    for name, version, build, attributes in _BUILDS
)
