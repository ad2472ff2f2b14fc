"""load(): a file to a typed, static graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from onnx import IR_VERSION, ModelProto

from nautilus_cli.errors import ModelError
from nautilus_cli.frontend.cut import cut
from nautilus_cli.frontend.declared_sizes import agrees, candidates, narrowed, solved
from nautilus_cli.frontend.element_values import require_used, with_elements, with_ranges
from nautilus_cli.frontend.equal_dims import joined
from nautilus_cli.frontend.external_data import ExternalData
from nautilus_cli.frontend.host_reads import UnplannableError
from nautilus_cli.frontend.importer import Importer, import_graph
from nautilus_cli.frontend.inputs import NO_DIMS, Inputs, resolve_inputs
from nautilus_cli.frontend.opsets import imported_versions
from nautilus_cli.frontend.reading import read_model
from nautilus_cli.frontend.structure import check_names
from nautilus_cli.ir.dims import is_symbolic
from nautilus_cli.ir.graph import Graph
from nautilus_cli.ir.names import quoted
from nautilus_cli.ir.ranges import DimRange, Size
from nautilus_cli.ir.undecided import UndecidedError
from nautilus_cli.ops.operands import RangeError, UnknownContentsError

NO_SHAPES: Mapping[str, Sequence[Size]] = {}
NO_BINDINGS: Mapping[str, str] = {}
NO_WEIGHTS: Mapping[int, np.ndarray] = {}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LoadedModel:
    """A model as the rest of the compiler sees it.

    Attributes:
        graph: typed and static; constants folded, functions inlined.
        sha256: hash of the file and of the external data that the graph uses.
        opset: version of ONNX's own domain.
        producer: what wrote the model.
        nodes: number of ONNX nodes in its main graph.
        constants: contents of the inputs that the user bound; a reference run needs them.
        is_cut: whether its outputs are others than the file declares.
        notes: sentences for the user.
        renamed: what dimensions are called that became one with another, by the name that the model gives them.
    """

    graph: Graph
    sha256: str
    opset: int
    producer: str
    nodes: int
    constants: Mapping[str, np.ndarray]
    is_cut: bool = False
    notes: tuple[str, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)


def load(
    path: Path | str,
    *,
    shapes: Mapping[str, Sequence[Size]] = NO_SHAPES,
    dims: Mapping[str, DimRange] = NO_DIMS,
    bindings: Mapping[str, str] = NO_BINDINGS,
    outputs: Sequence[str] = (),
) -> LoadedModel:
    """Return the model in a file as a graph.

    Args:
        path: a .onnx file; external data lies in its folder.
        shapes: shape of each input whose dimensions the model leaves open; a range leaves one open to the run.
        dims: ranges of dimensions that the model names.
        bindings: text of the constant that replaces an input (one number, or numbers separated by commas).
        outputs: tensors to give out in place of the model's outputs; none for those that it declares.

    Raises:
        FileError: a file is missing or cannot be read.
        ModelError: the file is no ONNX model, or an invalid one, or uses what is not supported.
        UsageError: a shape, constant or output does not fit the model.
    """
    file = read_model(Path(path))
    external = ExternalData(file.path)
    size_bytes = file.size_bytes + external.size_bytes(file.model.graph.initializer)
    return load_model(
        file.model,
        external,
        file.sha256,
        shapes=shapes,
        dims=dims,
        bindings=bindings,
        outputs=outputs,
        weights=file.weights,
        size_bytes=size_bytes,
    )


@dataclass(slots=True)
class _Guesses:
    """Values of inputs that no declaration says, though an operator takes no other of those that were assumed.

    Attributes:
        are_allowed: whether they are taken; that the run reads the values is better.
        were_declined: whether one could have been taken.
    """

    are_allowed: bool = False
    were_declined: bool = False


def _by_declarations(
    model: ModelProto,
    inputs: Inputs,
    external: ExternalData,
    weights: Mapping[int, np.ndarray],
    size_bytes: int,
    notes: list[str],
    guesses: _Guesses,
) -> Graph:
    """Import the graph; where inputs decide shapes that the model declares, with what the declarations say of those inputs."""
    try:
        return import_graph(model, inputs, external, weights, size_bytes, notes)
    except RangeError:
        raise
    except ModelError as error:
        known = candidates(inputs)
        if not known:
            raise
        try:
            while True:
                trial = Importer(model, external, size_bytes)
                try:
                    types = trial.trial(model.graph, replace(inputs, known=known), weights)
                    break
                except UndecidedError as undecided:
                    narrower = narrowed(known, undecided)
                    if narrower is None:
                        raise
                    known = narrower
            if not guesses.are_allowed and not all(is_symbolic(value) for array in known.values() for value in array.reshape(-1)):
                guesses.were_declined = True
                raise error
            found = solved(types, model.graph, known)
            graph = import_graph(model, replace(inputs, known=found), external, weights, size_bytes, notes) if found else None
        except ModelError:
            raise error from None
        if graph is None or any(map(is_symbolic, (dim for _, value in graph.outputs for dim in value.type.shape))):
            raise
        if any(is_symbolic(one.value) for one in graph.requirements):
            raise  # an element that no declaration pins is asked for
        if not agrees(graph, model.graph):
            raise  # what the declarations were thought to say does not give what they declare
        return graph


def _with_known_inputs(
    model: ModelProto, inputs: Inputs, external: ExternalData, weights: Mapping[int, np.ndarray], size_bytes: int, guesses: _Guesses
) -> tuple[Inputs, Graph, tuple[str, ...]]:
    """Import the graph; open dimensions that an operator needs equal become one, and values that it needs symbols or guesses."""
    notes = list(inputs.notes)
    while True:
        told: list[str] = []
        try:
            graph = _by_declarations(model, inputs, external, weights, size_bytes, told, guesses)
            return inputs, graph, (*notes, *told)
        except (UnknownContentsError, RangeError) as refusal:
            known = with_elements(inputs, refusal) if isinstance(refusal, UnknownContentsError) else with_ranges(inputs, refusal)
            if known is None and isinstance(refusal, UnknownContentsError) and not inputs.lets_numbers_decide:
                known = replace(inputs, lets_numbers_decide=True)
            if known is None:
                raise
            inputs = known
            if isinstance(refusal, RangeError) and refusal.is_default:
                taken = (f"{name} up to {high}" for name, (_, high) in refusal.ranges.items())
                notes.append(f"values of inputs are sizes without a bound: {', '.join(taken)}; --dim sets other ranges.")
        except UnplannableError as error:
            inputs = replace(inputs, read=inputs.read | error.names)
            notes += error.notes
        except UndecidedError as error:
            found = joined(inputs, error)
            if found is None:
                raise
            inputs, note = found
            notes.append(note)


def imported(
    model: ModelProto, inputs: Inputs, external: ExternalData, weights: Mapping[int, np.ndarray], size_bytes: int
) -> tuple[Inputs, Graph, tuple[str, ...]]:
    """Import the graph. Return the inputs with what was learnt of them, the graph, and what was assumed.

    Raises:
        ModelError: as `load`.
    """
    guesses = _Guesses()
    try:
        return _with_known_inputs(model, inputs, external, weights, size_bytes, guesses)
    except ModelError:
        if not guesses.were_declined:
            raise
        return _with_known_inputs(model, inputs, external, weights, size_bytes, _Guesses(are_allowed=True))


def load_model(
    model: ModelProto,
    external: ExternalData,
    sha256: str,
    *,
    shapes: Mapping[str, Sequence[Size]] = NO_SHAPES,
    dims: Mapping[str, DimRange] = NO_DIMS,
    bindings: Mapping[str, str] = NO_BINDINGS,
    outputs: Sequence[str] = (),
    weights: Mapping[int, np.ndarray] = NO_WEIGHTS,
    size_bytes: int = 0,
) -> LoadedModel:
    """Return a model in memory as a graph.

    Args:
        model: the model; with OUTPUTS it is changed.
        external: where its external data lies.
        sha256: hash of its file.
        shapes: as those of `load`.
        dims: as those of `load`.
        bindings: as those of `load`.
        outputs: as those of `load`.
        weights: raw data that was taken out of the model, by the initializer's index.
        size_bytes: how large its file and external data are.

    Raises:
        ModelError: as `load`.
        UsageError: as `load`.
    """
    versions = checked_versions(model)
    is_cut = cut(model, outputs)
    inputs = resolve_inputs(model.graph, shapes, bindings, dims)
    inputs, graph, notes = imported(model, inputs, external, weights, size_bytes)
    require_used(inputs)
    return LoadedModel(
        graph=graph,
        sha256=external.sha256(sha256),
        opset=versions.get("", 0),
        producer=quoted(f"{model.producer_name} {model.producer_version}".strip())[1:-1],
        nodes=len(model.graph.node),
        constants=inputs.constants,
        renamed=inputs.renamed,
        is_cut=is_cut,
        notes=notes,
    )


def checked_versions(model: ModelProto) -> Mapping[str, int]:
    """Return the opset version of each domain, ONNX's own as the empty string, after what must hold of a model as a whole.

    Raises:
        ModelError: it does not hold.
    """
    if model.ir_version > IR_VERSION:
        raise ModelError(
            f"IR version {model.ir_version} is newer than {IR_VERSION}, the newest that the installed onnx knows",
            where="the model",
            hint="Update the onnx package.",
        )
    check_names(model)
    versions = imported_versions(model.opset_import, "the model")
    if "" not in versions and all(not function.opset_import for function in model.functions):
        raise ModelError("does not say which opset it is written in", where="the model", hint="Its opset_import needs the domain ai.onnx.")
    return versions
