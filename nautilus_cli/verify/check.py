"""verify(): run a library and a reference on the same inputs, and compare what comes out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from nautilus_cli.errors import NotServedError, UsageError, VerificationError, nearest
from nautilus_cli.ir.control import LoopAttrs, all_nodes
from nautilus_cli.ir.graph import Graph
from nautilus_cli.ir.names import quoted
from nautilus_cli.ir.types import dtype_of
from nautilus_cli.numerics import EXACT, Comparison, Tolerance, compare
from nautilus_cli.numerics.propagation import ErrorEstimate, estimate
from nautilus_cli.numerics.strings import code_points, is_text
from nautilus_cli.numerics.tolerance import from_deviation, magnitude
from nautilus_cli.verify import archive
from nautilus_cli.verify.conditioning import Progress, amplification
from nautilus_cli.verify.inputs import DrawnInput, Range, check_given, draw, without_bound
from nautilus_cli.verify.no_reference import INSTEAD, NoReference
from nautilus_cli.verify.references import Reference, Run, golden, oracle
from nautilus_cli.verify.report import InputSummary, Report
from nautilus_cli.verify.ties import ties


def _silent(_stage: str, _done: int, _total: int) -> None:
    """Report progress to nobody."""


PerOutput = Mapping[str | None, float]
"""A number by output name; None is every other output's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """On which inputs, and how closely.

    Attributes:
        inputs: an .npz file of inputs by name; None to draw them.
        golden: an .npz file of the outputs expected, by name; None to ask onnxruntime.
        save_inputs: .npz file to write the inputs to; None to keep none.
        seed: of drawn inputs.
        ranges: lowest and highest value drawn, by input name.
        rtol: relative tolerance by output. Where only one of both is given, the other stays as derived.
        atol: absolute tolerance by output.
        constants: contents of inputs that the library has bound; the reference needs them.
        folder: where external data lies, of a model that is given as bytes.
        fp32_mode: how the library multiplies f32.
    """

    inputs: Path | None = None
    golden: Path | None = None
    save_inputs: Path | None = None
    seed: int = 0
    ranges: Mapping[str, Range] = field(default_factory=dict)
    rtol: PerOutput = field(default_factory=dict)
    atol: PerOutput = field(default_factory=dict)
    constants: Mapping[str, np.ndarray] = field(default_factory=dict)
    folder: Path | None = None
    fp32_mode: str


class Checker:
    """Holds a library against references, one set of inputs after another.

    Args:
        graph: the model as loaded by the frontend: says the inputs' types and uses, and which error to expect.
        run: the library.
        settings: tolerances, and what inputs are drawn.
        progress: told what is done where that takes long.

    Raises:
        UsageError: a tolerance names no output.
    """

    def __init__(self, graph: Graph, run: Run, settings: Settings, progress: Progress = _silent) -> None:
        self._graph, self._progress = graph, progress
        self._names = [name for name, _ in graph.outputs]
        for option, values in (("--rtol", settings.rtol), ("--atol", settings.atol)):
            for name in values:
                if name is not None and name not in self._names:
                    raise UsageError(f"there is no output {quoted(name)}", where=option, hint=nearest(name, self._names))
        self._run, self._settings = run, settings
        loops = (node.attrs for node in all_nodes(graph) if isinstance(node.attrs, LoopAttrs))
        self._has_open_loops = any(loop.trips is None for loop in loops)
        self._estimates = dict(zip(self._names, estimate(graph, fp32_mode=settings.fp32_mode), strict=True))

    def check(self, inputs: Mapping[str, DrawnInput], reference: Reference, *, seed: int | None = None) -> Report:
        """Run the library and the reference, and compare what comes out.

        Where an output fails, it is looked at again: a float's derived tolerance grows as far as roundings on these inputs demand, and an
        index may name another element of the same value. What the user has said of an output stays.

        Raises:
            NoReference: onnxruntime cannot run the model.
            VerificationError: the library's outputs are not the model's at all: another name, element type or shape.
        """
        arrays = {name: drawn.array for name, drawn in inputs.items()}
        actual = self._run_first(arrays) if self._has_open_loops else None
        expected = reference.run({**self._settings.constants, **arrays})
        if actual is None:
            actual = dict(self._run(arrays))
        actual, expected = self._as_numbers(actual), self._as_numbers(expected)
        comparisons = {name: self._compared(name, actual, expected[name]) for name in self._names}
        second, found = self._again(arrays, actual, expected, comparisons)
        return Report(
            reference=reference.name,
            seed=seed,
            inputs=tuple(
                InputSummary(name=name, dtype=i.array.dtype.name, shape=i.array.shape, values=i.description) for name, i in inputs.items()
            ),
            comparisons=comparisons | second,
            estimates=self._estimates,
            notes=(*found, *_notes(expected, comparisons | second)),
            actual={name: actual[name] for name in self._names},
        )

    def _run_first(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Run the library before the reference, which has no end where the library says that there is none."""
        try:
            return dict(self._run(arrays))
        except NotServedError as error:
            raise NoReference(f"these inputs are none for it: {error.message}", hint=INSTEAD) from error

    def _as_numbers(self, outputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return outputs with the strings among them as their code points."""
        widths = {name: value.type.static[-1] for name, value in self._graph.outputs if name in self._graph.texts}
        return {
            name: code_points(array, widths[name], f"output {quoted(name)}") if name in widths and is_text(array) else array
            for name, array in outputs.items()
        }

    def _compared(self, name: str, actual: dict[str, np.ndarray], expected: np.ndarray) -> Comparison:
        return _compared(name, actual, expected, _tolerance(name, expected, self._estimates[name], self._settings))

    def _again(
        self,
        inputs: Mapping[str, np.ndarray],
        actual: Mapping[str, np.ndarray],
        expected: Mapping[str, np.ndarray],
        comparisons: Mapping[str, Comparison],
    ) -> tuple[dict[str, Comparison], list[str]]:
        """Return what a closer look makes of the outputs that fail, and notes on it."""
        derived = {name: found for name, found in comparisons.items() if not found.is_match and not self._is_given(name)}
        second: dict[str, Comparison] = {}
        notes, mode = [], self._settings.fp32_mode
        try:
            floats = {n: c.tolerance for n, c in derived.items() if dtype_of(expected[n]).is_float and not c.nonfinite_mismatches}
            factors = amplification(self._graph, inputs, floats, self._progress, fp32_mode=mode) if floats else {}
            for name, factor in factors.items():
                if factor > 1:
                    second[name] = compare(actual[name], expected[name], floats[name].scaled(factor))
                    notes.append(
                        f"output {quoted(name)} is ill-conditioned on these inputs: roundings of each operator, simulated in float64, "
                        f"allow {factor:.1f} times the derived tolerance."
                    )
            for name in derived.keys() - floats.keys():
                if dtype_of(expected[name]).is_float:
                    continue
                accepted = ties(self._graph, inputs, dict(self._graph.outputs)[name], actual[name], expected[name], fp32_mode=mode)
                if accepted.any():
                    second[name] = compare(np.where(accepted, expected[name], actual[name]), expected[name], EXACT)
                    notes.append(
                        f"output {quoted(name)}: {int(accepted.sum())} indices name another element of the same value within rounding."
                    )
        except Exception as error:  # an operator that float64 is not for; then the first verdict stands
            notes.append(f"the outputs that fail could not be looked at in float64: {type(error).__name__}: {error}")
        return second, notes

    def _is_given(self, name: str) -> bool:
        """Whether the user says how closely an output is compared."""
        return any(key in values for values in (self._settings.rtol, self._settings.atol) for key in (name, None))


def verify(model: Path | bytes, graph: Graph, run: Run, settings: Settings, progress: Progress = _silent) -> Report:
    """Compare a library with onnxruntime, or with outputs in a file.

    Args:
        model: the ONNX file, or its bytes.
        graph: the same as loaded by the frontend.
        run: the library.
        settings: inputs, tolerances, and the file.
        progress: as `Checker`.

    Raises:
        UsageError: a setting names what the model does not have, or given inputs or outputs do not fit.
        FileError: a file cannot be read.
        NoReference: onnxruntime cannot run the model.
        VerificationError: the library's outputs are not the model's at all: another name, element type or shape.
    """
    checker = Checker(graph, run, settings, progress)
    inputs = given_or_drawn(graph, settings)
    reference = oracle(model, settings.folder) if settings.golden is None else golden(settings.golden, graph)
    if settings.save_inputs is not None:
        archive.write(settings.save_inputs, {name: drawn.array for name, drawn in inputs.items()})
    return checker.check(inputs, reference, seed=None if settings.inputs else settings.seed)


def given_or_drawn(graph: Graph, settings: Settings) -> dict[str, DrawnInput]:
    """Return the inputs, from the file or drawn.

    Raises:
        FileError: the file cannot be read.
        UsageError: given inputs do not fit, or a range names no input.
    """
    if settings.inputs is None:
        return draw(graph, settings.seed, settings.ranges)
    where = str(settings.inputs)
    return as_given(check_given(without_bound(archive.read(settings.inputs), settings.constants, where), graph, where))


def as_given(arrays: Mapping[str, np.ndarray]) -> dict[str, DrawnInput]:
    """Return arrays from a file as inputs."""
    return {name: DrawnInput(array=array, description="given") for name, array in arrays.items()}


def _tolerance(name: str, expected: np.ndarray, expected_error: ErrorEstimate, settings: Settings) -> Tolerance:
    """Return the tolerance of an output: derived, with what the user gives in its place; integers are exact without that."""
    derived = from_deviation(expected_error.deviation, expected, absolute=expected_error.absolute)
    rtol = settings.rtol.get(name, settings.rtol.get(None))
    atol = settings.atol.get(name, settings.atol.get(None))
    return Tolerance(rtol=derived.rtol if rtol is None else rtol, atol=derived.atol if atol is None else atol)


def _compared(name: str, actual: dict[str, np.ndarray], expected: np.ndarray, tolerance: Tolerance) -> Comparison:
    """Compare one output.

    Raises:
        VerificationError: it is missing, or of another element type or shape.
    """
    hint = "The library was compiled from another model, or with other shapes; or the model computes the size, and rounding decided it."
    if name not in actual:
        raise VerificationError(f"the library has no output {quoted(name)}", hint=hint)
    found = actual[name]
    if found.dtype != expected.dtype or found.shape != expected.shape:
        wanted = f"{expected.dtype.name}{list(expected.shape)}"
        raise VerificationError(f"output {quoted(name)} is {found.dtype.name}{list(found.shape)}; the reference's is {wanted}", hint=hint)
    return compare(found, expected, tolerance)


def _notes(expected: Mapping[str, np.ndarray], comparisons: Mapping[str, Comparison]) -> list[str]:
    """Return what makes a match worth less: an output that says nothing."""
    notes = []
    for name, found in comparisons.items():
        values = expected[name]
        if not dtype_of(values).is_float or values.size == 0:
            continue
        finite = np.isfinite(values)
        output = f"the reference's output {quoted(name)}"
        if not finite.any():
            notes.append(f"{output} has no finite element: a match says little. Other inputs (--inputs, --range) may help.")
        elif not finite.all():
            notes.append(f"{output} has {int((~finite).sum())} elements that are NaN or infinite.")
        elif found.is_match and 0 < magnitude(values) <= found.tolerance.atol:
            notes.append(f"{output} is smaller than its tolerance: a match says little. Other inputs (--inputs, --range) may help.")
    return notes
