"""Weights stay in the mapped file: what is parsed and what is left where it stands make up the model."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st
from onnx import ModelProto, TensorProto

from nautilus_cli.errors import ModelError
from nautilus_cli.frontend import load
from nautilus_cli.frontend.detached import MIN_BYTES, detach_weights
from nautilus_cli.frontend.wire import Malformed, encoded_varint, fields, varint
from tests.unit.frontend.models import model, node, output, saved, tensor_input, told
from tests.unit.frontend.mutations import mutated_bytes

LARGE = MIN_BYTES // 4 + 1


def sample(*sizes: int) -> ModelProto:
    """A sum of an input and vectors of these sizes."""
    arrays = {f"w{i}": np.arange(i, i + size, dtype=np.float32) for i, size in enumerate(sizes)}
    nodes = [node("Add", ["x" if i == 0 else f"s{i - 1}", name], [f"s{i}"]) for i, name in enumerate(arrays)]
    return model(nodes, [tensor_input("x", 1)], [output(f"s{len(sizes) - 1}")], arrays)


def rejoined(data: bytes) -> ModelProto:
    """The model of detached bytes with its weights put back."""
    detached = detach_weights(data)
    proto = ModelProto.FromString(detached.data)
    for index, (offset, count) in detached.spans.items():
        assert not proto.graph.initializer[index].HasField("raw_data")
        proto.graph.initializer[index].raw_data = data[offset : offset + count]
    return proto


@given(st.lists(st.sampled_from([1, LARGE - 2, LARGE, 3 * LARGE]), min_size=1, max_size=4))
def test_nothing_is_lost(sizes: list[int]) -> None:
    proto = sample(*sizes)
    data = proto.SerializeToString()
    assert rejoined(data) == proto
    assert list(detach_weights(data).spans) == [i for i, size in enumerate(sizes) if size * 4 >= MIN_BYTES]


@given(st.integers(0, 100_000))
def test_mutated_bytes_mean_the_same_or_are_left_whole(seed: int) -> None:
    data = mutated_bytes(sample(LARGE, 3).SerializeToString(), Random(seed))
    detached = detach_weights(data)
    if not detached.spans:
        assert detached.data == data
        return
    try:
        wanted = ModelProto.FromString(data)
    except DecodeError:
        with pytest.raises(DecodeError):
            ModelProto.FromString(detached.data)
        return
    for index, (offset, count) in detached.spans.items():
        assert wanted.graph.initializer[index].raw_data == data[offset : offset + count]


def test_parts_of_a_model_that_protobuf_merges() -> None:
    """Two graph fields are one graph: the indices of the second's initializers follow the first's."""
    first, second = sample(3, LARGE), ModelProto()
    second.graph.initializer.add(name="late", data_type=TensorProto.FLOAT, dims=[LARGE], raw_data=bytes(4 * LARGE))
    data = first.SerializeToString() + second.SerializeToString()
    assert rejoined(data) == ModelProto.FromString(data)
    assert list(detach_weights(data).spans) == [1, 2]


def test_data_given_twice_is_left_to_protobuf() -> None:
    proto = sample(LARGE)
    again = TensorProto(raw_data=bytes(4 * LARGE)).SerializeToString()
    graph_field = ModelProto()
    graph_field.graph.initializer.add().ParseFromString(proto.graph.initializer[0].SerializeToString())
    tensor = proto.graph.initializer[0].SerializeToString() + again
    inner = encoded_varint(5 << 3 | 2) + encoded_varint(len(tensor)) + tensor
    data = encoded_varint(7 << 3 | 2) + encoded_varint(len(inner)) + inner
    detached = detach_weights(data)
    assert not detached.spans
    assert ModelProto.FromString(detached.data).graph.initializer[0].raw_data == bytes(4 * LARGE)


def test_loaded_weights_are_right_at_any_address(tmp_path: Path) -> None:
    for padding in range(5):
        proto = sample(LARGE, LARGE)
        proto.producer_name = "p" * padding
        for number, item in enumerate(load(saved(proto, tmp_path)).graph.nodes):
            array = item.inputs[1].constant  # type: ignore[union-attr]
            assert array is not None
            assert array.flags.aligned
            np.testing.assert_array_equal(array, np.arange(number, number + LARGE, dtype=np.float32))


def test_detached_data_of_the_wrong_size(tmp_path: Path) -> None:
    proto = sample(LARGE)
    proto.graph.initializer[0].dims[0] = LARGE + 1
    with pytest.raises(ModelError) as caught:
        load(saved(proto, tmp_path))
    assert told(caught.value) == f"initializer 'w0': holds {4 * LARGE} bytes; its type f32[{LARGE + 1}] needs {4 * LARGE + 4}"


@given(st.integers(0, 2**63 - 1))
def test_varint_parses_back(number: int) -> None:
    data = encoded_varint(number)
    assert varint(data, 0, len(data)) == (number, len(data))
    with pytest.raises(Malformed):
        varint(data, 0, len(data) - 1)


@pytest.mark.parametrize("data", [b"\xff" * 11, b"\x0b", b"\x0c", b"\x08"])
def test_bytes_that_are_no_fields(data: bytes) -> None:
    with pytest.raises(Malformed):
        list(fields(data, 0, len(data), 10))


def test_only_so_many_fields_are_looked_at() -> None:
    data = b"\x08\x01" * 11
    assert len(list(fields(data, 0, len(data), 11))) == 11
    with pytest.raises(Malformed):
        list(fields(data, 0, len(data), 10))


def test_field_that_overruns_is_the_last() -> None:
    (only,) = fields(b"\x0a\x05abc", 0, 5, 10)
    assert (only.number, only.content, only.end) == (1, 2, 7)
