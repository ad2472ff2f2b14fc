"""What says which outputs are right: onnxruntime, the truths of operators, or known outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nautilus_cli.ir.graph import Graph
from nautilus_cli.verify import archive
from nautilus_cli.verify.inputs import check_arrays
from nautilus_cli.verify.no_reference import NoReference
from nautilus_cli.verify.simulation import simulate

Run = Callable[[Mapping[str, np.ndarray]], Mapping[str, np.ndarray]]
"""Runs a library: arrays by input name to arrays by output name."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reference:
    """What says which outputs are right.

    Attributes:
        name: what it is, in a few words.
        run: returns the outputs for inputs, those included that the library has bound.
    """

    name: str
    run: Run


def oracle(model: Path | bytes, folder: Path | None = None) -> Reference:
    """Return onnxruntime with a model.

    Raises:
        NoReference: onnxruntime is not there, or cannot load the model; running it may raise this too.
    """
    try:
        from nautilus_cli.verify.oracle import Oracle  # here: outputs in a file are compared where there is no onnxruntime
    except ImportError as error:
        raise NoReference(
            f"onnxruntime cannot be imported: {error}", hint="Install it, or compare with known outputs (--golden)."
        ) from error

    session = Oracle(model, folder)
    return Reference(name=session.name, run=lambda inputs: session.run({name: inputs[name] for name in session.inputs if name in inputs}))


def truth(graph: Graph) -> Reference:
    """Return a graph evaluated in float64 by the truths of its operators as a reference: for where there is no onnxruntime."""

    def run(inputs: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        types = {name: value.type.dtype.numpy for name, value in graph.outputs}
        with np.errstate(all="ignore"):
            return {name: array.astype(types[name]) for name, array in simulate(graph, inputs).items()}

    return Reference(name="its operators evaluated in float64", run=run)


def golden(path: Path, graph: Graph) -> Reference:
    """Return the outputs in an .npz file as a reference.

    Raises:
        FileError: the file cannot be read.
        UsageError: an array is missing, unknown, or of another element type or shape.
    """
    types = {name: value.type for name, value in graph.outputs}
    return known(f"golden file {path.name}", check_arrays(archive.read(path), types, str(path), "output", graph.texts))


def known(name: str, outputs: Mapping[str, np.ndarray]) -> Reference:
    """Return outputs, whatever the inputs, as a reference."""
    return Reference(name=name, run=lambda _: outputs)
