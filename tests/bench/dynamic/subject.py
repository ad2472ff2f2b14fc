"""What is measured: a model, and its libraries in a folder."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from models import catalogue, weightless
from nautilus_cli import driver
from nautilus_cli.ir.ranges import DimRange
from nautilus_cli.runtime.arrays import OPEN as UNKNOWN
from nautilus_cli.runtime.library import Library

SHAPES = ("1x16", "1x128", "1x384", "4x64", "7x93", "8x128", "16x256", "32x512")
"""Batch and tokens that are compared, small ones first; two are primes or products of them."""

DIMS = ("batch=1..32", "tokens=1..512")
OPEN = "open"
"""Name of the library of all shapes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A model and its libraries.

    Attributes:
        folder: where they lie.
        name: of the model in the catalogue.
        file: an ONNX file in its place; None for that of the catalogue.
        target: of the libraries; None for the device present.
        dims: the open dimensions, each `NAME=LOW..HIGH`, the batch first.
    """

    folder: Path
    name: str
    file: Path | None
    target: str | None
    dims: tuple[str, ...]

    def save(self) -> None:
        """Write what the folder is about into it."""
        fields = asdict(self) | {"folder": "", "file": str(self.file) if self.file else None}
        (self.folder / "subject.json").write_text(json.dumps(fields), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> Subject:
        """Return what a folder is about."""
        fields = json.loads((folder / "subject.json").read_text(encoding="utf-8"))
        file = Path(fields["file"]) if fields["file"] else None
        return cls(**fields | {"folder": folder, "file": file, "dims": tuple(fields["dims"])})

    @property
    def model(self) -> Path:
        """The ONNX file."""
        return self.file or self.folder / "model.onnx"

    def write_model(self) -> None:
        """Fill a model of the catalogue with weights, unless that was done."""
        if not self.model.exists():
            beside = self.folder / f"{os.getpid()}.onnx"
            weightless.save(weightless.fill(catalogue.graph(self.name, "dynamo", "fp16", 0)), beside)
            beside.replace(self.model)

    def library(self, name: str) -> Path:
        """Return where the library of one shape, or of all, lies."""
        return self.folder / f"lib{name}.so"

    def built(self, name: str) -> dict[str, Any]:
        """Return what is to be said of a library."""
        row: dict[str, Any] = json.loads((self.folder / f"{name}.json").read_text(encoding="utf-8"))
        return row

    def build(self, name: str) -> dict[str, Any]:
        """Compile the library of one shape, or of all."""
        begin = time.perf_counter()
        dims = dims_of(self.dims)
        if name != OPEN:
            dims = {dim: DimRange(size, size) for dim, size in zip(dims, shape_of(name), strict=True)}
        options = driver.CompileOptions(model=self.model, output=self.library(name), target=self.target, dims=dims, verify=False)
        result = driver.compile(options)
        (built,) = result.targets
        row = {
            "compile_s": round(time.perf_counter() - begin, 2),
            "kernels": built.kernels,
            "launches": built.launches,
            "code_bytes": result.library_bytes - result.weight_bytes,
            "arena_bytes": built.arena_bytes,
        }
        (self.folder / f"{name}.json").write_text(json.dumps(row), encoding="utf-8")
        return row


def shape_of(name: str) -> tuple[int, ...]:
    """Return the sizes of `8x128`."""
    return tuple(map(int, name.split("x")))


def dims_of(texts: Sequence[str]) -> Mapping[str, DimRange]:
    """Return the ranges of `NAME=LOW..HIGH` by name."""
    found = {}
    for text in texts:
        name, _, sizes = text.partition("=")
        low, _, high = sizes.partition("..")
        found[name] = DimRange(int(low), int(high))
    return found


def feeds(library: Library, sizes: Sequence[int], seed: int) -> dict[str, np.ndarray]:
    """Return what a model takes: token ids and masks, which leave a tenth of the tokens out, or images.

    Args:
        library: of the sizes, or of all.
        sizes: of the open dimensions. Ids and masks have these alone; images also have what is known of their shape.
        seed: of the random numbers.
    """
    random = np.random.default_rng(seed)
    found = {}
    for tensor in library.inputs:
        if np.issubdtype(tensor.dtype, np.floating):
            left = iter(sizes)
            shape = [next(left) if dim == UNKNOWN else dim for dim in tensor.shape]
            found[tensor.name] = random.standard_normal(shape).astype(tensor.dtype)
            continue
        values = random.random(sizes) < 0.9 if "mask" in tensor.name else random.integers(0, 50, sizes)
        found[tensor.name] = values.astype(tensor.dtype)
        if "mask" in tensor.name:
            found[tensor.name][:, 0] = 1
    return found
