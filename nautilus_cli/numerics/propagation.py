"""The tolerance of a whole model: rounding errors followed along the graph.

Each value carries the deviation of its error relative to its own root mean square. An operator passes on the greatest of its operands' and
adds its own (`tolerance.step_deviation`): errors along a path are independent and add variances, and of several paths that meet the worst
one rules. Every operator counts as if its result were rounded and stored, which is what the reference does; fusion only leaves roundings
out. That each operator keeps relative errors is an assumption: normalised networks do on the whole (amplifying layers and layers that
average errors out balance); an ill-conditioned one does not, and `verify.conditioning` then measures how far it goes.

How good it is. With every result perturbed by its deviation, the fp32 graphs under `models/` end with 0.07 to 0.54 of the deviation
estimated here, and their worst element with 0.04 to 0.49 of the tolerance; the fp16 graphs, in onnxruntime against the same in fp32,
with 0.02 to 0.08 of it. The tolerances are 3e-5 to 8e-5 (fp32) and 2e-2 to 5e-2 (fp16) of the root mean square.

Source: as `tolerance`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt

from nautilus_cli.ir.control import BranchAttrs, LoopAttrs, bodies
from nautilus_cli.ir.dims import upper
from nautilus_cli.ir.graph import Graph, Node, Value
from nautilus_cli.numerics.rounding import is_exact, rounding
from nautilus_cli.numerics.summed_terms import sequence_length, terms_of
from nautilus_cli.numerics.tolerance import combine, function_deviation

_CASTS = frozenset({"Cast", "CastLike"})

_AROUND_ONE_HALF = frozenset({"Sigmoid", "HardSigmoid"})
"""Implementations compute 1/2 + f(x), or a x + 1/2, as onnxruntime does: where that is near 0, the roundings are those of 1/2.

Source: onnxruntime, core/mlas/lib/logistic.cpp.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorEstimate:
    """The rounding error expected of a value.

    Attributes:
        deviation: of the error, relative to the value's root mean square.
        steps: operations that round, along the path of greatest error.
        longest_sum: terms of the longest sum on that path.
        absolute: deviation of an error that does not shrink with the value, of a function whose results are near 1 in the middle.
    """

    deviation: float = 0.0
    steps: int = 0
    longest_sum: int = 1
    absolute: float = 0.0


_NONE = ErrorEstimate()

_ITERATIONS = 100
"""Of a loop whose end only the run knows. One that goes on until nothing changes makes its errors smaller as it goes."""


def estimate(graph: Graph, *, fp32_mode: str) -> tuple[ErrorEstimate, ...]:
    """Return the error expected of each graph output, in order. Inputs and constants are exact.

    Args:
        graph: the model.
        fp32_mode: how products of f32 are multiplied; `tf32` rounds their operands.

    Raises:
        ModelError: a dimension is not bound.
    """
    known = _estimates(graph, {}, fp32_mode)
    return tuple(known.get(value, _NONE) for _, value in graph.outputs)


def _estimates(graph: Graph, known: dict[Value, ErrorEstimate], fp32_mode: str) -> dict[Value, ErrorEstimate]:
    """Return the error of every value, from those of inputs that are not exact."""
    for node in graph.nodes:
        operands = [known.get(v, _NONE) for v in node.operands()]
        if bodies(node.attrs):
            given = [_NONE if v is None else known.get(v, _NONE) for v in node.inputs]
            found = _held(node.attrs, given, fp32_mode)
            known |= {v: e if v.type.dtype.is_float else _NONE for v, e in zip(node.outputs, found, strict=False) if v is not None}
            continue
        worst = max(operands, key=lambda e: e.deviation, default=_NONE)
        worst = replace(worst, absolute=max((e.absolute for e in operands), default=0.0))
        for result in node.results():
            known[result] = _through(node, result, worst, fp32_mode) if result.type.dtype.is_float and result.constant is None else _NONE
    return known


def _held(attrs: object, given: Sequence[ErrorEstimate], fp32_mode: str) -> list[ErrorEstimate]:
    """Return the errors of the results of branches or a loop: of the worse branch; of as many iterations in a row as a loop has."""
    if isinstance(attrs, BranchAttrs):
        _, *operands = given
        count = len(attrs.then_branch.inputs)
        branches = zip(bodies(attrs), (operands[:count], operands[count:]), attrs.refusals, strict=True)
        found = [_results(graph, own, fp32_mode) for graph, own, refusal in branches if not refusal]
        return [max(pair, key=lambda e: e.deviation) for pair in zip(*found, strict=True)]
    assert isinstance(attrs, LoopAttrs)
    _, _, *operands = given
    first = 1 if attrs.is_conditional else 0
    times = _ITERATIONS if attrs.trips is None else max(1, upper(attrs.trips))
    after = _results(attrs.body, operands, fp32_mode)[first:][: attrs.states]
    states = [_repeated(e, max(operands, key=lambda o: o.deviation, default=_NONE), times) for e in after]
    return _results(attrs.body, [*states, *operands[attrs.states :]], fp32_mode)[first:]


def _results(graph: Graph, operands: Sequence[ErrorEstimate], fp32_mode: str) -> list[ErrorEstimate]:
    known = _estimates(graph, dict(zip((value for _, value in graph.inputs), operands, strict=True)), fp32_mode)
    return [known.get(value, _NONE) for _, value in graph.outputs]


def _repeated(after: ErrorEstimate, before: ErrorEstimate, times: int) -> ErrorEstimate:
    """Return what becomes of an error that one iteration makes AFTER of what was at worst BEFORE."""
    added = sqrt(max(0.0, after.deviation**2 - before.deviation**2))
    return replace(
        after, deviation=combine(before.deviation, added * sqrt(times)), steps=before.steps + times * max(0, after.steps - before.steps)
    )


def _through(node: Node, result: Value, before: ErrorEstimate, fp32_mode: str) -> ErrorEstimate:
    """Return what an operator makes of its worst operand's error."""
    if is_exact(node):
        return before
    own = rounding(node, result, fp32_mode=fp32_mode)
    steps = sequence_length(node)
    absolute = before.absolute if node.op in _CASTS else 0.0
    return ErrorEstimate(
        deviation=combine(before.deviation, combine(own.relative, own.summed) * sqrt(steps)),
        steps=before.steps + steps,
        longest_sum=max(before.longest_sum, terms_of(node, result)),
        absolute=function_deviation(result.type.dtype.compute) / 2 if node.op in _AROUND_ONE_HALF else absolute,
    )
