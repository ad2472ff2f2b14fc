"""A folder of inputs, and of the outputs expected where it holds them.

Two layouts are read:

- `*.npz`, one file a case: inputs by name; where a file holds the outputs as well, those are expected.
- ONNX's own: `input_0.pb`, `output_0.pb`, ... in the folder or in folders `test_data_set_0`, ... in it.
  Source: the onnx repository, docs/OnnxBackendTest.md and the model zoo's README.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nautilus_cli.errors import FileError, UsageError
from nautilus_cli.frontend.tensor_file import read_tensor
from nautilus_cli.ir.graph import Graph
from nautilus_cli.ir.names import quoted
from nautilus_cli.verify import archive
from nautilus_cli.verify.inputs import check_arrays, check_given, without_bound

_LAYOUT = "It needs .npz files of inputs by name, or folders test_data_set_0, ... with input_0.pb, output_0.pb, ..."


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Case:
    """One set of inputs.

    Attributes:
        name: of its file or folder.
        inputs: by name, in ONNX order.
        expected: the outputs by name; None where the folder does not say.
    """

    name: str
    inputs: Mapping[str, np.ndarray]
    expected: Mapping[str, np.ndarray] | None


def places(folder: Path) -> list[Path]:
    """Return where the cases of a folder are, in order of their names and numbers.

    Raises:
        FileError: it holds none, or cannot be read.
    """
    if not folder.is_dir():
        raise FileError("is no folder" if folder.exists() else "there is no such folder", where=str(folder), hint=_LAYOUT)
    try:
        entries = sorted(folder.iterdir(), key=_by_number)
    except OSError as error:
        raise FileError(f"cannot be read: {error.strerror}", where=str(folder)) from error
    if _numbered(folder, "input"):
        return [folder]
    found = [e for e in entries if e.suffix == ".npz" or (e.name.startswith("test_data_set_") and e.is_dir())]
    if not found:
        raise FileError("holds no case", where=str(folder), hint=_LAYOUT)
    return found


def read_case(place: Path, graph: Graph, constants: Mapping[str, np.ndarray], names: Sequence[str] = ()) -> Case:
    """Return the inputs of a case, and the outputs that it expects where it holds them.

    Args:
        place: its file or folder.
        graph: the model.
        constants: contents of the inputs that the library has bound.
        names: of the inputs by number, where some of them are bound to what the case itself says; else the graph's.

    Raises:
        FileError: a file cannot be read.
        UsageError: an array is missing, unknown, or of another element type or shape.
    """
    inputs, outputs = _arrays(place, graph, constants, names)
    where = str(place)
    return Case(
        name=place.name,
        inputs=check_given(without_bound(inputs, constants, where), graph, where),
        expected=check_arrays(outputs, {name: value.type for name, value in graph.outputs}, where, "output") if outputs else None,
    )


def case_arrays(place: Path, graph: Graph, constants: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the inputs of a case as they are, for a model that is open in shapes or values; arguments as those of `read_case`."""
    inputs, _ = _arrays(place, graph, constants)
    return {name: inputs[name] for name, _ in graph.inputs if name in inputs}


def _arrays(
    place: Path, graph: Graph, constants: Mapping[str, np.ndarray], names: Sequence[str] = ()
) -> tuple[Mapping[str, np.ndarray], Mapping[str, np.ndarray]]:
    """Return the inputs and the outputs that a file or folder holds, as they are."""
    if place.is_dir():
        numbered = list(names) or (None if constants else [name for name, _ in graph.inputs])
        inputs = _tensors(place, "input", numbered)
        return inputs, _tensors(place, "output", [name for name, _ in graph.outputs])
    arrays = archive.read(place)
    outputs = {name for name, _ in graph.outputs}
    return {n: a for n, a in arrays.items() if n not in outputs}, {n: a for n, a in arrays.items() if n in outputs}


def _by_number(path: Path) -> tuple[object, ...]:
    """Return a sort key that has 2 before 10."""
    return tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"(\d+)", path.name))


def _numbered(folder: Path, kind: str) -> list[Path]:
    """Return input_0.pb, input_1.pb, ... in order."""
    return sorted((p for p in folder.glob(f"{kind}_*.pb") if p.stem.removeprefix(f"{kind}_").isdigit()), key=_by_number)


def _tensors(folder: Path, kind: str, names: list[str] | None) -> dict[str, np.ndarray]:
    """Return the tensors of a kind by name; one without a name, or with one that is not the model's, has that of its number.

    Raises:
        UsageError: a tensor has no name, and NAMES is None since its number says nothing.
    """
    found = {}
    for path in _numbered(folder, kind):
        name, array = read_tensor(path)
        number = int(path.stem.removeprefix(f"{kind}_"))
        if names is not None and name not in names and number < len(names):
            name = names[number]
        if not name:
            text = f"the tensor has no name, and number {number} is not clear where inputs are bound"
            raise UsageError(text if names is None else f"the model has no {kind} number {number}", where=str(path))
        if name in found:
            raise UsageError(f"holds {kind} {quoted(name)} again", where=str(path))
        found[name] = array
    return found
