"""Takes the large weights out of a model's bytes before they are parsed, so that they stay in the mapped file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nautilus_cli.frontend.wire import LENGTH_DELIMITED, Buffer, Field, Malformed, encoded_varint, fields

GRAPH = 7
_INITIALIZER = 5
_RAW_DATA = 9
"""Source: onnx.proto: ModelProto.graph, GraphProto.initializer, TensorProto.raw_data."""

MIN_BYTES = 4096
"""Smaller tensors are parsed as they are."""

_MOST_FIELDS = 1_000_000
_MOST_TENSOR_FIELDS = 64


@dataclass(slots=True)
class Detached:
    """A model's bytes without its large weights.

    Attributes:
        data: what is left: a ModelProto whose large initializers have no data.
        spans: for each such initializer, by its index, where its raw data stands in the file: (offset, bytes).
    """

    data: bytes
    spans: Mapping[int, tuple[int, int]] = field(default_factory=dict)


def detach_weights(data: Buffer) -> Detached:
    """Return DATA, a ModelProto, without the raw data of the main graph's large initializers.

    Data that is not laid out as writers lay it out is returned whole: parsing it says what is wrong with it.
    """
    try:
        return _Cutter(data).cut()
    except Malformed:
        return Detached(data[:])


class _Cutter:
    """Copies a message piece by piece, leaving out what is detached."""

    def __init__(self, data: Buffer) -> None:
        self._data = data
        self._index = 0
        self._spans: dict[int, tuple[int, int]] = {}

    def cut(self) -> Detached:
        """Copy the model; of its graphs (protobuf merges several), the initializers are cut."""
        pieces = []
        for part in fields(self._data, 0, len(self._data), _MOST_FIELDS):
            self._check(part, len(self._data))
            is_graph = part.number == GRAPH and part.kind == LENGTH_DELIMITED
            pieces.append(self._message(part, self._graph(part)) if is_graph else self._data[part.start : part.end])
        return Detached(b"".join(pieces), self._spans)

    def _graph(self, graph: Field) -> bytes:
        """Copy a graph's content."""
        pieces = []
        for part in fields(self._data, graph.content, graph.end, _MOST_FIELDS):
            self._check(part, graph.end)
            if part.number == _INITIALIZER and part.kind == LENGTH_DELIMITED:
                pieces.append(self._initializer(part))
                self._index += 1
            else:
                pieces.append(self._data[part.start : part.end])
        return b"".join(pieces)

    def _initializer(self, tensor: Field) -> bytes:
        """Copy an initializer, without its raw data where that is large and stands there once."""
        if tensor.end - tensor.content < MIN_BYTES:
            return self._data[tensor.start : tensor.end]
        parts = list(fields(self._data, tensor.content, tensor.end, _MOST_TENSOR_FIELDS))
        raw = [part for part in parts if part.number == _RAW_DATA]
        if len(raw) != 1 or raw[0].kind != LENGTH_DELIMITED or raw[0].end - raw[0].content < MIN_BYTES:
            return self._data[tensor.start : tensor.end]
        self._check(parts[-1], tensor.end)
        self._spans[self._index] = (raw[0].content, raw[0].end - raw[0].content)
        return self._message(tensor, self._data[tensor.content : raw[0].start] + self._data[raw[0].end : tensor.end])

    def _message(self, part: Field, content: bytes) -> bytes:
        """Return a length-delimited field with new content."""
        return encoded_varint(part.number << 3 | LENGTH_DELIMITED) + encoded_varint(len(content)) + content

    def _check(self, part: Field, end: int) -> None:
        """Refuse a field that overruns its message."""
        if part.end > end:
            raise Malformed
