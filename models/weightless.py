"""ONNX graphs without their weights: small enough to commit, filled again from a seed.

`strip` drops the data of large floating-point tensors and keeps their mean and deviation in the model's metadata; `fill` draws them again
from a normal distribution of that mean and deviation. Small tensors stay as they are (norms, biases, shapes), and so do tables of few
values (masks) and whatever is not finite.

Usage: python models/weightless.py fill models/resnet50/dynamo.fp32.onnx.xz OUT.onnx [SEED]
       python models/weightless.py strip MODEL.onnx OUT.onnx.xz
"""

from __future__ import annotations

import json
import lzma
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

KEY = "weightless"
"""Name of the metadata entry: a JSON object, tensor name to [mean, deviation]."""

KEEP_ELEMENTS = 4096
"""Tensors up to this size stay, unless `strip` is told otherwise."""

KEEP_DISTINCT = 64
"""Tensors of at most this many distinct values (in their first 100,000) stay."""

EXTERNAL_BYTES = 1_900_000_000
"""From here on weights go into a file beside the model: protobuf cannot hold 2 GiB."""

_FLOATS = frozenset({TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16})
_DATA_FIELDS = ("raw_data", "float_data", "int32_data", "external_data", "data_location")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stripped:
    """What `strip` did.

    Attributes:
        nodes: of the graph.
        tensors: dropped.
        packed_bytes: size of the file.
    """

    nodes: int
    tensors: int
    packed_bytes: int

    def __str__(self) -> str:
        return f"{self.nodes} nodes, {self.tensors} tensors dropped, {self.packed_bytes} bytes"


def strip(source: Path | str, target: Path | str, *, keep_elements: int = KEEP_ELEMENTS) -> Stripped:
    """Write SOURCE without its large floating-point tensors to TARGET, compressed.

    Args:
        source: an ONNX model.
        target: the file to write.
        keep_elements: tensors up to this size stay.
    """
    model = onnx.load(source)
    dropped: dict[str, list[float]] = {}
    for tensor in model.graph.initializer:
        if _is_kept(tensor, keep_elements):
            continue
        values = numpy_helper.to_array(tensor).astype(np.float64)
        dropped[tensor.name] = [float(f"{values.mean():.6g}"), float(f"{values.std():.6g}")]
        for field in _DATA_FIELDS:
            tensor.ClearField(field)
    model.metadata_props.append(onnx.StringStringEntryProto(key=KEY, value=json.dumps(dropped)))
    for node in model.graph.node:  # exporters leave stack traces here, many times the graph's size
        node.ClearField("doc_string")
        node.ClearField("metadata_props")
    for value in model.graph.value_info:
        value.ClearField("metadata_props")
    packed = lzma.compress(model.SerializeToString(), preset=9)
    Path(target).write_bytes(packed)
    return Stripped(nodes=len(model.graph.node), tensors=len(dropped), packed_bytes=len(packed))


def read(path: Path | str) -> onnx.ModelProto:
    """Return a stripped graph as it is: its dropped tensors have dimensions but no data."""
    return onnx.load_from_string(lzma.decompress(Path(path).read_bytes()))


def fill(path: Path | str, seed: int = 0) -> onnx.ModelProto:
    """Return the model of a stripped graph with its missing tensors drawn from SEED.

    Raises:
        ValueError: the file holds no stripped graph.
    """
    model = read(path)
    entry = next((p for p in model.metadata_props if p.key == KEY), None)
    if entry is None:
        raise ValueError(f"{path}: no stripped graph (its metadata lacks '{KEY}')")
    statistics = json.loads(entry.value)
    model.metadata_props.remove(entry)
    generator = np.random.default_rng(seed)
    for tensor in model.graph.initializer:
        if tensor.name in statistics:
            mean, deviation = statistics[tensor.name]
            values = generator.standard_normal(tuple(tensor.dims), dtype=np.float32) * np.float32(deviation) + np.float32(mean)
            dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
            tensor.CopyFrom(numpy_helper.from_array(values.astype(dtype), tensor.name))
    return model


def save(model: onnx.ModelProto, path: Path | str) -> None:
    """Write MODEL to PATH; weights of more than `EXTERNAL_BYTES` go into PATH.data beside it."""
    size = sum(len(t.raw_data) for t in model.graph.initializer)  # protobuf cannot even measure a message above 2 GiB
    target = Path(path)
    onnx.save(model, target, save_as_external_data=size > EXTERNAL_BYTES, location=f"{target.name}.data")


def _is_kept(tensor: TensorProto, keep_elements: int) -> bool:
    """Return whether a tensor's data stays in the stripped graph."""
    if tensor.data_type not in _FLOATS or int(np.prod(tensor.dims)) <= keep_elements:
        return True
    values = numpy_helper.to_array(tensor).astype(np.float64)
    return not np.isfinite(values).all() or len(np.unique(values.ravel()[:100_000])) <= KEEP_DISTINCT


def main(arguments: list[str]) -> int:
    """Run the command line; see the module's text."""
    match arguments:
        case ["strip", source, target]:
            print(strip(source, target))
        case ["fill", source, target]:
            save(fill(source), target)
        case ["fill", source, target, seed]:
            save(fill(source, int(seed)), target)
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
