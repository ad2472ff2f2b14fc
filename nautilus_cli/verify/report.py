"""The result of a verification, as data."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from nautilus_cli.errors import FileError
from nautilus_cli.numerics import Comparison
from nautilus_cli.numerics.propagation import ErrorEstimate

SCHEMA = 1
"""Of the JSON form; a change that readers would notice raises it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSummary:
    """An input that was verified with.

    Attributes:
        name: ONNX name.
        dtype: element type.
        shape: of the array.
        values: what they are, in a few words.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    values: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A library against the reference.

    Attributes:
        reference: what it was compared with.
        seed: of drawn inputs; None where they were given.
        inputs: in ONNX order.
        comparisons: each output's, by name in ONNX order.
        estimates: the rounding error expected of each output.
        notes: sentences on what makes a verdict worth less.
        actual: the library's outputs.
    """

    reference: str
    seed: int | None
    inputs: tuple[InputSummary, ...]
    comparisons: Mapping[str, Comparison]
    estimates: Mapping[str, ErrorEstimate]
    notes: tuple[str, ...]
    actual: Mapping[str, np.ndarray]

    @property
    def is_match(self) -> bool:
        """Whether every output matches."""
        return all(comparison.is_match for comparison in self.comparisons.values())

    def to_data(self) -> dict[str, Any]:
        """Return the report as JSON types; numbers that JSON lacks (NaN, infinities) become their names."""
        return {
            "schema": SCHEMA,
            "match": self.is_match,
            "reference": self.reference,
            "seed": self.seed,
            "inputs": [{"name": i.name, "dtype": i.dtype, "shape": list(i.shape), "values": i.values} for i in self.inputs],
            "outputs": [_output_data(n, c, self.estimates[n], self.actual[n]) for n, c in self.comparisons.items()],
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        """Return the report as text: sorted keys, no time and no path, so that the same run gives the same bytes."""
        return _text(self.to_data())


def report_path(library: Path) -> Path:
    """Return where the report on a library lies: beside it, `libmodel.verify.json` for `libmodel.so`."""
    return library.with_suffix(".verify.json")


def write(data: Mapping[str, Any], path: Path) -> None:
    """Write a report's data, or that of several cases, as JSON: beside PATH, then renamed.

    Raises:
        FileError: it cannot be written.
    """
    try:
        handle, beside = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(_text(data))
            Path(beside).chmod(0o644)
            os.replace(beside, path)
        except BaseException:
            Path(beside).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise FileError(f"cannot be written: {error.strerror or error}", where=str(path)) from error


def discard(path: Path) -> None:
    """Remove a verdict, where there is one: it is of a library that is no more.

    Raises:
        FileError: it cannot be removed.
    """
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise FileError(f"cannot be removed: {error.strerror or error}", where=str(path)) from error


def _text(data: Mapping[str, Any]) -> str:
    return json.dumps(data, indent=1, sort_keys=True, allow_nan=False, ensure_ascii=False) + "\n"


def _output_data(name: str, comparison: Comparison, estimate: ErrorEstimate, actual: np.ndarray) -> dict[str, Any]:
    return {
        "name": name,
        "dtype": actual.dtype.name,
        "shape": list(actual.shape),
        "match": comparison.is_match,
        "elements": comparison.elements,
        "failures": comparison.failures,
        "tolerance": {"rtol": number(comparison.tolerance.rtol), "atol": number(comparison.tolerance.atol)},
        "estimate": {"deviation": estimate.deviation, "steps": estimate.steps, "longest_sum": estimate.longest_sum},
        "max_abs": number(comparison.max_abs),
        "max_rel": number(comparison.max_rel),
        "cosine": number(comparison.cosine),
        "nan": {"actual": comparison.actual_nan, "expected": comparison.expected_nan},
        "inf": {"actual": comparison.actual_inf, "expected": comparison.expected_inf},
        "nonfinite_mismatches": comparison.nonfinite_mismatches,
        "worst": None
        if comparison.worst is None
        else {
            "index": list(comparison.worst),
            "actual": number(comparison.worst_actual),
            "expected": number(comparison.worst_expected),
        },
    }


def number(value: float | int | bool | None) -> float | int | bool | str | None:
    """Return a number as JSON has it; NaN and infinities as their names."""
    return str(value) if isinstance(value, float) and not isfinite(value) else value
