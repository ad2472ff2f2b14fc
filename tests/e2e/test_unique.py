"""Unique of many slices, which are sorted, against numpy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import nautilus_cli
from nautilus_cli.frontend.constructs import unique
from nautilus_cli.ir.ranges import DimRange
from nautilus_cli.ops.registry import operators
from tests.e2e.test_open_edges import POISONED, compiled

TYPES = {"float": np.float32, "double": np.float64, "int64": np.int64, "int32": np.int32, "uint8": np.uint8}

CASES = {
    # name: element type, shape, axis, sorted
    "integers": ("int64", (500,), None, 1),
    "unsorted": ("float", (30, 20), None, 0),
    "rows": ("int32", (60, 5), 0, 1),
    "columns": ("uint8", (4, 50, 2), 1, 0),
    "doubles": ("double", (77,), None, 1),
}


def expected(x: np.ndarray, axis: int | None, is_sorted: int) -> tuple[np.ndarray, ...]:
    operator = operators()["Unique"]
    return operator.evaluate(operator.attributes(axis=axis, sorted=is_sorted), (x,), 4)


def test_sorted_slices_are_those_of_numpy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unique, "MOST_COMPARED", 4)
    inputs, outputs, nodes = [], [], []
    for name, (type_, shape, axis, is_sorted) in CASES.items():
        inputs.append(f"{type_}[{', '.join(map(str, shape))}] {name}")
        dims = [f"{name}n"] if axis is None else [f"{name}n" if i == axis else str(dim) for i, dim in enumerate(shape)]
        outputs += [f"{type_}[{', '.join(dims)}] {name}0", *(f"int64[{name}{i}] {name}{i}" for i in (1, 2, 3))]
        attributes = f"sorted = {is_sorted}" + ("" if axis is None else f", axis = {axis}")
        nodes.append(f"{', '.join(f'{name}{i}' for i in range(4))} = Unique <{attributes}> ({name})")
    path = compiled(f"g ({', '.join(inputs)}) => ({', '.join(outputs)}) {{ {' '.join(nodes)} }}", tmp_path)
    random = np.random.default_rng(0)
    with nautilus_cli.load(path, emulator=POISONED) as library:
        for spread in (2, 9):
            values = {name: random.integers(0, spread, shape).astype(TYPES[type_]) for name, (type_, shape, _, _) in CASES.items()}
            values["integers"] *= np.where(random.random(500) < 0.5, -1, 2**40)
            values["unsorted"][3:5, :4] = np.nan, np.inf, -0.0, -np.inf
            found = library(values)
            for name, (_, _, axis, is_sorted) in CASES.items():
                for number, wanted in enumerate(expected(values[name], axis, is_sorted)):
                    np.testing.assert_array_equal(found[f"{name}{number}"], wanted, err_msg=f"{name} {number}")


def test_many_of_an_open_number(tmp_path: Path) -> None:
    """Held against each other they would be 4·10⁸ pairs."""
    text = """g (int64[N] x) => (int64[m] y, int64[m] first, int64[N] inverse, int64[m] counts) {
      y, first, inverse, counts = Unique (x)
    }"""
    random = np.random.default_rng(1)
    with nautilus_cli.load(compiled(text, tmp_path, {"N": DimRange(0, 20000)}), emulator=POISONED) as library:
        for count, spread in ((20000, 7000), (1, 5), (0, 5), (313, 1), (5000, 10**12)):
            x = random.integers(-spread, spread, count)
            found = library(x=x)
            for name, wanted in zip(("y", "first", "inverse", "counts"), expected(x, None, 1), strict=True):
                np.testing.assert_array_equal(found[name], wanted, err_msg=f"{name} of {count}")
