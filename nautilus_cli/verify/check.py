"""verify(): run a library and the reference on the same inputs, and compare what comes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from nautilus_cli.errors import UsageError, VerificationError, nearest
from nautilus_cli.ir.graph import Graph
from nautilus_cli.ir.names import quoted
from nautilus_cli.ir.types import dtype_of
from nautilus_cli.numerics import EXACT, Comparison, Tolerance, compare
from nautilus_cli.numerics.propagation import ErrorEstimate, estimate
from nautilus_cli.numerics.tolerance import from_deviation
from nautilus_cli.verify import archive
from nautilus_cli.verify.inputs import DrawnInput, Range, check_given, draw
from nautilus_cli.verify.oracle import Oracle
from nautilus_cli.verify.report import InputSummary, Report

Run = Callable[[Mapping[str, np.ndarray]], Mapping[str, np.ndarray]]
"""Runs a library: arrays by input name to arrays by output name."""

PerOutput = Mapping[str | None, float]
"""A number by output name; None is every other output's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """On which inputs, and how closely.

    Attributes:
        inputs: an .npz file of inputs by name; None to draw them.
        seed: of drawn inputs.
        ranges: lowest and highest value drawn, by input name.
        rtol: relative tolerance by output. Where only one of both is given, the other stays as derived.
        atol: absolute tolerance by output.
        constants: contents of inputs that the library has bound; the reference needs them.
    """

    inputs: Path | None = None
    seed: int = 0
    ranges: Mapping[str, Range] = field(default_factory=dict)
    rtol: PerOutput = field(default_factory=dict)
    atol: PerOutput = field(default_factory=dict)
    constants: Mapping[str, np.ndarray] = field(default_factory=dict)


def verify(model: Path | bytes, graph: Graph, run: Run, settings: Settings | None = None) -> Report:
    """Compare a library with onnxruntime.

    Args:
        model: the ONNX file, or its bytes.
        graph: the same as loaded by the frontend: says the inputs' types and uses, and which error to expect.
        run: the library.
        settings: inputs and tolerances.

    Raises:
        UsageError: a setting names what the model does not have, or given inputs do not fit.
        FileError: the inputs cannot be read.
        ModelError: onnxruntime cannot run the model.
        VerificationError: the library's outputs are not the model's at all: another name, element type or shape.
    """
    settings = Settings() if settings is None else settings
    names = [name for name, _ in graph.outputs]
    for option, values in (("--rtol", settings.rtol), ("--atol", settings.atol)):
        for name in values:
            if name is not None and name not in names:
                raise UsageError(f"there is no output {quoted(name)}", where=option, hint=nearest(name, names))
    inputs = _inputs(graph, settings)
    arrays = {name: drawn.array for name, drawn in inputs.items()}
    oracle = Oracle(model)
    needed = {name: array for name, array in {**arrays, **settings.constants}.items() if name in oracle.inputs}
    expected = oracle.run(needed)
    actual = dict(run(arrays))
    estimates = dict(zip(names, estimate(graph), strict=True))
    comparisons = {
        name: _compared(name, actual, expected[name], _tolerance(name, expected[name], estimates[name], settings)) for name in names
    }
    return Report(
        reference=oracle.name,
        seed=None if settings.inputs else settings.seed,
        inputs=tuple(
            InputSummary(name=name, dtype=i.array.dtype.name, shape=i.array.shape, values=i.description) for name, i in inputs.items()
        ),
        comparisons=comparisons,
        estimates=estimates,
        notes=tuple(_notes(expected, names)),
        actual={name: actual[name] for name in names},
    )


def _inputs(graph: Graph, settings: Settings) -> dict[str, DrawnInput]:
    """Return the inputs, from the file or drawn."""
    if settings.inputs is None:
        return draw(graph, settings.seed, settings.ranges)
    given = check_given(archive.read(settings.inputs), graph, str(settings.inputs))
    return {name: DrawnInput(array=array, description="given") for name, array in given.items()}


def _tolerance(name: str, expected: np.ndarray, expected_error: ErrorEstimate, settings: Settings) -> Tolerance:
    """Return the tolerance of an output: derived, with what the user gives in its place; integers are exact without that."""
    derived = from_deviation(expected_error.deviation, expected) if dtype_of(expected).is_float else EXACT
    rtol = settings.rtol.get(name, settings.rtol.get(None))
    atol = settings.atol.get(name, settings.atol.get(None))
    return Tolerance(rtol=derived.rtol if rtol is None else rtol, atol=derived.atol if atol is None else atol)


def _compared(name: str, actual: dict[str, np.ndarray], expected: np.ndarray, tolerance: Tolerance) -> Comparison:
    """Compare one output.

    Raises:
        VerificationError: it is missing, or of another element type or shape.
    """
    hint = "The library was compiled from another model, or with other shapes."
    if name not in actual:
        raise VerificationError(f"the library has no output {quoted(name)}", hint=hint)
    found = actual[name]
    if found.dtype != expected.dtype or found.shape != expected.shape:
        wanted = f"{expected.dtype.name}{list(expected.shape)}"
        raise VerificationError(f"output {quoted(name)} is {found.dtype.name}{list(found.shape)}; onnxruntime's is {wanted}", hint=hint)
    return compare(found, expected, tolerance)


def _notes(expected: Mapping[str, np.ndarray], names: list[str]) -> list[str]:
    """Return what makes a match worth less: an output that says nothing."""
    notes = []
    for name in names:
        values = expected[name]
        if not dtype_of(values).is_float or values.size == 0:
            continue
        finite = np.isfinite(values)
        output = f"onnxruntime's output {quoted(name)}"
        if not finite.any():
            notes.append(f"{output} has no finite element: a match says little. Other inputs (--inputs, --range) may help.")
        elif not finite.all():
            notes.append(f"{output} has {int((~finite).sum())} elements that are NaN or infinite.")
    return notes
