"""Cases in one file, for a machine whose onnx has others: a zip of models, tensors and an index.

With the libraries of the cases in it, that machine needs a driver and no compiler, and an onnx that knows no operator of theirs.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, numpy_helper

from nautilus_cli.frontend.external_data import ExternalData
from nautilus_cli.frontend.tensors import tensor_array
from tests.conformance.cases import Case, DataSet

INDEX = "index.json"


def write(cases: Sequence[Case], path: Path, libraries: Mapping[str, bytes] = MappingProxyType({})) -> None:
    """Write cases, and the libraries of those that have one; tensors keep their bits, sequences become lists, an empty optional null."""
    index: list[dict[str, Any]] = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for case in cases:
            folder = f"{case.suite}/{case.name}"
            file.writestr(f"{folder}/model.onnx", case.model.SerializeToString())
            if case.key in libraries:
                file.writestr(f"{folder}/libmodel.so", libraries[case.key])
            sets = []
            for number, data in enumerate(case.data_sets):
                inputs = [_put(file, f"{folder}/{number}/input_{i}", value) for i, value in enumerate(data.inputs)]
                outputs = [_put(file, f"{folder}/{number}/output_{i}", value) for i, value in enumerate(data.outputs)]
                sets.append({"inputs": inputs, "outputs": outputs})
            about = {"suite": case.suite, "name": case.name, "operator": case.operator, "rtol": case.rtol, "atol": case.atol}
            index.append({**about, "data_sets": sets})
        file.writestr(INDEX, json.dumps(index))


def read(path: Path) -> list[Case]:
    """Return the cases of a file."""
    with zipfile.ZipFile(path) as file:
        return [
            Case(
                suite=row["suite"],
                name=row["name"],
                operator=row["operator"],
                model=ModelProto.FromString(file.read(f"{row['suite']}/{row['name']}/model.onnx")),
                data_sets=tuple(
                    DataSet(
                        inputs=tuple(_get(file, value) for value in data["inputs"]),
                        outputs=tuple(_get(file, value) for value in data["outputs"]),
                    )
                    for data in row["data_sets"]
                ),
                rtol=row["rtol"],
                atol=row["atol"],
            )
            for row in json.loads(file.read(INDEX))
        ]


def read_libraries(path: Path) -> dict[str, bytes]:
    """Return the libraries of a file, by key of the case."""
    end = "/libmodel.so"
    with zipfile.ZipFile(path) as file:
        return {name.removesuffix(end): file.read(name) for name in file.namelist() if name.endswith(end)}


def _put(file: zipfile.ZipFile, name: str, value: Any) -> Any:
    """Write a value; return what the index says about it: the names of its files."""
    if value is None:
        return None
    if isinstance(value, list | tuple):
        return [_put(file, f"{name}_{i}", item) for i, item in enumerate(value)]
    if not isinstance(value, TensorProto):
        value = numpy_helper.from_array(np.asarray(value))
    file.writestr(f"{name}.pb", value.SerializeToString())
    return f"{name}.pb"


def _get(file: zipfile.ZipFile, entry: Any) -> Any:
    if entry is None:
        return None
    if isinstance(entry, list):
        return [_get(file, item) for item in entry]
    tensor = TensorProto.FromString(file.read(entry))
    if tensor.data_type == TensorProto.STRING:
        return numpy_helper.to_array(tensor)
    # By the frontend: older releases of onnx give bfloat16 as something else.
    return tensor_array(tensor, ExternalData(None))
