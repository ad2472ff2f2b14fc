"""A branch of which only the run knows which way it goes. The frontend makes it of an If."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice, product
from math import prod

import numpy as np

from nautilus_cli.errors import InternalError, ModelError
from nautilus_cli.ir.control import BranchAttrs, bodies
from nautilus_cli.ir.counts import ceiling
from nautilus_cli.ir.dims import Atom, Maximum, Symbolic, lower, same, upper
from nautilus_cli.ir.functions import maximum
from nautilus_cli.ir.graph import Graph
from nautilus_cli.ir.types import TensorType
from nautilus_cli.ops.spec import Control, Inference, Operator
from nautilus_cli.ops.tensor_limits import told

_MOST_TRIED = 64
"""Products that a size may be no less than, with which another one is compared."""


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    attrs: BranchAttrs = inference.attrs
    inputs = (*attrs.then_branch.inputs, *attrs.else_branch.inputs)
    check_inputs(inference.types[1:], tuple(value.type for _, value in inputs))
    for graph, refusal in zip(bodies(attrs), attrs.refusals, strict=True):
        if refusal:
            continue
        if len(graph.outputs) != len(attrs.types):
            raise InternalError("a branch gives results of other types")
        for (_, value), wanted in zip(graph.outputs, attrs.types, strict=True):
            require_fits(value.type, wanted)
    return attrs.types


def require_fits(given: TensorType, wanted: TensorType) -> None:
    """Check that what a graph gives has room in what its node gives, or its next iteration takes.

    Raises:
        InternalError: it is of another type.
        ModelError: nobody can tell, of sizes that are long expressions of others.
    """
    if fits(given, wanted):
        return
    if given.dtype != wanted.dtype or len(given.shape) != len(wanted.shape):
        raise InternalError("a body gives results of other types")
    raise ModelError(f"whether {told(given)} has room in {told(wanted)} cannot be told")


def fits(given: TensorType, wanted: TensorType) -> bool:
    """Whether a result of a branch is one of the node, or begins one."""
    if given.dtype != wanted.dtype or given == wanted:
        return given.dtype == wanted.dtype
    return len(given.shape) == len(wanted.shape) == 1 and never_exceeds(ceiling(given.static[0]), wanted.static[0])


def never_exceeds(size: int, other: int) -> bool:
    """Whether SIZE is OTHER at most: by the bounds of what is between, or because OTHER is made of maxima of what SIZE is made of."""
    if upper(size - other) <= 0 or same(maximum(size, other), other):
        return True
    return any(upper(size - least) <= 0 for least in _at_least(other))


def _at_least(size: int) -> Iterator[int]:
    """Yield what SIZE is never below: with one operand in place of each of the maxima that products in it are made of.

    One operand may be negative at most: the product of two that are is greater than that of the maxima.
    """
    if not isinstance(size, Symbolic) or any(c < 0 or any(atom.bounds[0] < 0 for atom, _ in monomial) for monomial, c in size.terms):
        return
    powers: dict[Atom, int] = {}
    for monomial, _ in size.terms:
        powers |= {atom: max(power, powers.get(atom, 0)) for atom, power in monomial}
    factors = [(atom, number) for atom, power in powers.items() for number in range(power)]
    choices = [atom.operands if isinstance(atom, Maximum) else (size.of({((atom, 1),): 1}),) for atom, _ in factors]
    for chosen in islice(product(*choices), _MOST_TRIED):
        if sum(lower(operand) < 0 for operand in chosen) > 1:
            continue
        factor = dict(zip(factors, chosen, strict=True))
        yield sum(prod((factor[atom, n] for atom, power in monomial for n in range(power)), start=c) for monomial, c in size.terms)


def check_inputs(given: tuple[TensorType | None, ...], wanted: tuple[TensorType, ...]) -> None:
    """Check that operands are what the graphs of a node take.

    Raises:
        InternalError: one is not.
    """
    if given != wanted:
        raise InternalError(f"has operands {', '.join(map(str, given))}; its graphs take {', '.join(map(str, wanted))}")


Run = Callable[[Graph, Sequence[np.ndarray | None]], tuple[np.ndarray, ...]]
"""What evaluates a graph that a node holds."""


def _evaluate(attrs: BranchAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    return taken(attrs, arrays, evaluate_body)


def taken(attrs: BranchAttrs, arrays: Sequence[np.ndarray | None], run: Run) -> tuple[np.ndarray, ...]:
    """Return the results of the branch that the condition, the first array, says.

    Raises:
        ModelError: that branch cannot be taken.
    """
    given, *operands = arrays
    holds = bool(given.item()) if given is not None else attrs.condition == 1
    count = len(attrs.then_branch.inputs)
    graph, read = (attrs.then_branch, operands[:count]) if holds else (attrs.else_branch, operands[count:])
    refusal = attrs.refusals[0 if holds else 1]
    if refusal:
        raise ModelError(refusal)
    found = run(graph, read)
    return tuple(
        array if array.shape == type_.shape else filled(array, type_.static[0]) for array, type_ in zip(found, attrs.types, strict=True)
    )


def filled(array: np.ndarray, length: int) -> np.ndarray:
    """Return a vector with zeros behind it: there is memory, of which nothing is known."""
    return np.concatenate([array, np.zeros(length - array.size, array.dtype)])


def evaluate_body(graph: Graph, arrays: Sequence[np.ndarray | None]) -> tuple[np.ndarray, ...]:
    """Return the results of a node's graph."""
    from nautilus_cli.ops.evaluate import evaluate  # which asks the registry for this operator

    given = {name: array for (name, _), array in zip(graph.inputs, arrays, strict=True) if array is not None}
    return tuple(evaluate(graph, given).values())


OPERATOR = Operator(
    name="nautilus::If",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Control(),
    attributes=BranchAttrs,
    source="ONNX 28, If-25, with what the branches read from outside as operands",
)
