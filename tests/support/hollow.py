"""Committed graphs without their weights' memory: for tests of whole models that compute nothing."""

from __future__ import annotations

from math import prod
from pathlib import Path

from onnx import ModelProto, TensorProto

from models import weightless
from nautilus_cli.frontend import LoadedModel, load_model
from nautilus_cli.frontend.external_data import ExternalData

_ITEM_BYTES = {TensorProto.FLOAT: 4, TensorProto.FLOAT16: 2}


def hollow(proto: ModelProto, folder: Path) -> LoadedModel:
    """Load a stripped graph whose dropped weights all read one sparse file of zeros, so that even gigabytes cost nothing."""
    largest = 0
    for tensor in proto.graph.initializer:
        if tensor.dims and not tensor.raw_data and prod(tensor.dims) > weightless.KEEP_ELEMENTS:
            tensor.data_location = TensorProto.EXTERNAL
            tensor.external_data.add(key="location", value="zeros")
            largest = max(largest, prod(tensor.dims) * _ITEM_BYTES[tensor.data_type])  # type: ignore[index]
    with (folder / "zeros").open("wb") as file:
        file.truncate(largest)
    return load_model(proto, ExternalData(folder / "model.onnx"), "")
