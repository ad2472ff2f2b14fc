"""What one operator says about itself, as data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.dims import lower, same, upper
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.index_map import IndexMap
from nautilus_cli.ir.requirement import Requirement
from nautilus_cli.ir.types import DType, TensorType


@dataclass(frozen=True, slots=True)
class NoAttrs:
    """An operator without attributes."""


class Emitter(Protocol):
    """Builds nodes for a decomposition (see `ops/builder.py`)."""

    def constant(self, array: np.ndarray) -> Value:
        """Return a constant value."""
        ...

    def sizes(self, sizes: Sequence[int]) -> Value:
        """Return a vector of int64 sizes, of which some may be known by name and range alone."""
        ...

    def source(self, name: str) -> Value:
        """Return a run-time input of the graph, of which an element stands in an expression."""
        ...

    def node(self, op: str, inputs: Sequence[Value | None], attrs: object | None = None, **overrides: Any) -> Value:
        """Append a node with one output; its type is inferred. OVERRIDES set fields of the operator's attribute dataclass."""
        ...

    def results(self, op: str, inputs: Sequence[Value | None], count: int, attrs: object | None = None) -> tuple[Value, ...]:
        """Append a node with COUNT outputs and return them all."""
        ...


@dataclass(frozen=True, slots=True)
class Pointwise:
    """Each result element depends on the elements at the same (broadcast) place.

    Attributes:
        function: name of a device function in core/math.cuh.
        constants: scalars, from the attributes and operand types, passed after the operands, in the compute type of the first operand.
        fold: for a variadic operator (Sum, Max, Min, Mean): apply the function from left to right.
        reinterprets: the result has the bits of the operand, one of both being an integer: what lies in memory, or goes there, is taken as
            that integer, without the function.
    """

    function: str
    constants: Callable[[Any, tuple[TensorType, ...]], tuple[float | int, ...]] | None = None
    fold: bool = False
    reinterprets: bool = False


@dataclass(frozen=True, slots=True)
class Cast:
    """Conversion to the result's element type: the device function is `cast_<source>_<target>` by compute and storage type.

    Attributes:
        manner: from the attributes and the target to what stands before that name: how narrow floats saturate and round.
    """

    manner: Callable[[Any, DType], str] | None = None


@dataclass(frozen=True, slots=True)
class Movement:
    """Each result element is an element of one operand, found by arithmetic on its index.

    Attributes:
        pieces: from the context to the pieces of a result. Usually one, with an unguarded map. A guarded piece applies where its guards
            hold; later pieces are tried in order; the last applies everywhere.
    """

    pieces: Callable[[MovementContext], tuple[Piece, ...]]


@dataclass(frozen=True, slots=True)
class MovementContext:
    """What a movement operator may look at.

    Attributes:
        attrs: the node's attributes.
        types: operand types; None for an operand left out.
        constants: contents of operands known at compile time, None elsewhere.
        results: result types.
        output: which result is asked for.
    """

    attrs: Any
    types: tuple[TensorType | None, ...]
    constants: tuple[np.ndarray | None, ...]
    results: tuple[TensorType, ...]
    output: int


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a movement's result.

    Attributes:
        operand: which operand it comes from; for a fill value, the scalar operand that holds it, or None for zero.
        map: from the result's coordinates to the operand's row-major linear index; for a scalar fill: every stride 0.
    """

    operand: int | None
    map: IndexMap


@dataclass(frozen=True, slots=True)
class Reduction:
    """A reduction of the first operand over axes.

    Attributes:
        combine: `sum`, `max`, `min`, `prod`, `any` or `all`.
        axes: normalised axes, ascending, from the same context as a movement; empty for a copy.
        mean: divide by the number of reduced elements.
    """

    combine: str
    axes: Callable[[MovementContext], tuple[int, ...]]
    mean: bool = False


@dataclass(frozen=True, slots=True)
class Decompose:
    """Written in simpler operators.

    Attributes:
        build: from (emitter, attrs, operands) to the results; intermediate types are explicit Casts where accumulation needs fp32.
    """

    build: Callable[[Emitter, Any, tuple[Value | None, ...]], tuple[Value | None, ...]]


@dataclass(frozen=True, slots=True)
class Anchor:
    """A heavy operator with a kernel family of its own.

    Attributes:
        family: the family's name: `gemm`, `conv`, `pool`, `gather`.
        prologue: operands whose elements may be computed while they are loaded.
        epilogue: whether pointwise work may follow on the result before it is stored.
        results: how many of its results the kernel gives.
        slides_windows: whether it goes over images of up to three spatial dimensions, window by window; they lie channels-last then.
        keeps_order: whether it runs over any order of dimensions in memory, so that its result lies as its first operand does.
        reads_once: whether it loads each element once, so that any pointwise work may be done there.
    """

    family: str
    prologue: tuple[int, ...]
    epilogue: bool = True
    results: int = 1
    slides_windows: bool = False
    keeps_order: bool = False
    reads_once: bool = False


@dataclass(frozen=True, slots=True)
class HostOnly:
    """Evaluated at compile time; a node of it whose operands are not constant is refused with this reason."""

    reason: str


@dataclass(frozen=True, slots=True)
class Control:
    """Runs the graphs that its attributes hold, or not, as the run decides: kernels of their own, and steps of the plan."""


Lowering = Pointwise | Cast | Movement | Reduction | Decompose | Anchor | HostOnly | Control


@dataclass(frozen=True, slots=True)
class Inference:
    """What a shape rule may look at: operand types, constants, attributes, and the opset domain version.

    Attributes:
        attrs: the node's attributes.
        types: operand types; None for one left out.
        constants: contents of operands known at compile time, None elsewhere.
        outputs: how many results the node has.
        requirements: what the rule needs of values that only a run knows; see `require`.
    """

    attrs: Any
    types: tuple[TensorType | None, ...]
    constants: tuple[np.ndarray | None, ...]
    outputs: int
    requirements: list[Requirement] = field(default_factory=list)

    def require(self, value: int, low: int, high: int, text: str) -> None:
        """Let a run make sure that LOW <= VALUE <= HIGH, where that is not known; TEXT says what VALUE is.

        Raises:
            ModelError: it cannot be so.
        """
        if lower(value - low) >= 0 and lower(high - value) >= 0:
            return
        if upper(value - low) < 0 or upper(high - value) < 0:
            wanted = str(low) if same(low, high) else f"{low} to {high}"
            raise ModelError(f"{text} is {value}; the specification requires {wanted}")
        self.requirements.append(Requirement(value=value, low=low, high=high, text=text))


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator.

    Attributes:
        name: its ONNX name, with `domain::` before it outside the default domain.
        infer: result types. Raises ModelError naming what the specification allows; the caller adds the node.
        evaluate: the truth in numpy: from (attrs, arrays, number of outputs) to arrays; fp16 operators may compute in float32.
        lowering: how kernels come of it.
        attributes: frozen dataclass whose field names are the ONNX attribute names; defaults are the specification's.
        source: where its meaning is specified, for example `ONNX 28, Conv-22`.
        since: opset versions of the default domain whose meaning this is; older nodes go through onnx.version_converter.
        normalise: for an operator that is not a Decompose: brings a node to the one form that its lowering expects (a Conv without bias,
            a MatMul of matrices), by nodes that may use the operator itself; None where the node has that form.
    """

    name: str
    infer: Callable[[Inference], tuple[TensorType, ...]]
    evaluate: Callable[[Any, tuple[np.ndarray | None, ...], int], tuple[np.ndarray, ...]]
    lowering: Lowering
    source: str
    attributes: type = NoAttrs
    since: int = 1
    normalise: Callable[[Emitter, Any, tuple[Value | None, ...]], tuple[Value | None, ...] | None] | None = None
