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

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import isqrt, prod, sqrt
from typing import Any

from nautilus_cli.ir.control import BranchAttrs, LoopAttrs, bodies
from nautilus_cli.ir.dims import upper
from nautilus_cli.ir.graph import Graph, Node, Value
from nautilus_cli.ir.types import F32
from nautilus_cli.numerics.tolerance import combine, function_deviation, step_deviation, sum_deviation

_EXACT_NAMES = """
Identity Reshape Flatten Squeeze Unsqueeze Transpose Slice Split Concat Expand Tile Pad Gather GatherElements GatherND
ScatterElements ScatterND DepthToSpace SpaceToDepth Constant ConstantOfShape Shape Size Range EyeLike OneHot Compress TopK
ReverseSequence Trilu NonZero Dropout MaxUnpool CenterCropPad
Relu Max Min Clip Where Abs Neg Sign Floor Ceil Round MaxPool GlobalMaxPool ReduceMax ReduceMin
Equal Greater GreaterOrEqual Less LessOrEqual And Or Xor Not IsNaN IsInf ArgMax ArgMin NonMaxSuppression
com.microsoft::GatherND com.microsoft::Pad com.microsoft::Trilu com.microsoft::ExpandDims com.microsoft::Range com.microsoft::Unique
"""  # movement; selection and what rounds nothing; results that are no numbers
_ARITHMETIC_NAMES = "Add Sub Mul Div Sqrt Reciprocal Sum Mean Cast CastLike PRelu LeakyRelu BatchNormalization ThresholdedRelu"

_CASTS = frozenset({"Cast", "CastLike"})

_AROUND_ONE_HALF = frozenset({"Sigmoid", "HardSigmoid"})
"""Implementations compute 1/2 + f(x), or a x + 1/2, as onnxruntime does: where that is near 0, the roundings are those of 1/2.

Source: onnxruntime, core/mlas/lib/logistic.cpp.
"""

_TENSOR_CORE_PRODUCTS = frozenset({"MatMul", "Gemm"})
"""Operators whose f32 operands `--fp32-mode` concerns."""

_TF32_DEVIATION = sqrt(2) * 2**-11 / sqrt(3)
"""Of the error of a term whose two factors are rounded to the 11 bits of tf32, relative to the term."""

_EXACT = frozenset(_EXACT_NAMES.split())
_ARITHMETIC = frozenset(_ARITHMETIC_NAMES.split())


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounding:
    """What one operator adds to the error of its results.

    Attributes:
        relative: deviation relative to each element: of functions and of storing the result.
        summed: deviation relative to the root of the sum of the squares of the terms: of partial sums.
    """

    relative: float
    summed: float


EXACT_STEP = Rounding(relative=0.0, summed=0.0)

_NONE = ErrorEstimate()

_ITERATIONS = 100
"""Of a loop whose end only the run knows. One that goes on until nothing changes makes its errors smaller as it goes."""


def estimate(graph: Graph, *, fp32_mode: str = "ffma") -> tuple[ErrorEstimate, ...]:
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
    if _is_exact(node):
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


def rounding(node: Node, result: Value, *, fp32_mode: str = "ffma") -> Rounding:
    """Return what an operator adds to the error of RESULT, in one step of its sequence."""
    storage = result.type.dtype
    if _is_exact(node) or not storage.is_float:
        return EXACT_STEP
    relative = step_deviation(storage, terms=0)
    if node.op not in _ARITHMETIC and node.op not in _TERMS_WITHOUT_FUNCTION:
        relative = combine(relative, function_deviation(storage.compute))
    summed = sum_deviation(storage, terms=terms_of(node, result))
    if fp32_mode == "tf32" and storage == F32 and node.op in _TENSOR_CORE_PRODUCTS:
        summed = combine(summed, _TF32_DEVIATION)
    return Rounding(relative=relative, summed=summed)


def _is_exact(node: Node) -> bool:
    """Whether an operator rounds nothing: what only moves or selects, scatters included unless they add or multiply."""
    return node.op in _EXACT and _attribute(node, "reduction", "none") not in ("add", "mul")


def terms_of(node: Node, result: Value) -> int:
    """Return how many terms are summed for each element of RESULT; 1 for an operator that sums nothing."""
    rule = _TERMS.get(node.op) or _TERMS_WITHOUT_FUNCTION.get(node.op)
    return max(1, upper(rule(node, result))) if rule else 1


def _shape(node: Node, operand: int) -> tuple[int, ...]:
    """Return the shape of an operand; () where it is left out."""
    value = node.inputs[operand] if operand < len(node.inputs) else None
    return () if value is None else value.type.static


def _attribute(node: Node, name: str, default: Any) -> Any:
    value = getattr(node.attrs, name, None)
    return default if value is None else value


def _matmul(node: Node, result: Value) -> int:
    del result
    return (_shape(node, 0) or (1,))[-1]


def _gemm(node: Node, result: Value) -> int:
    return prod(_shape(node, 1)) // max(1, result.type.static[-1])


def _convolution(node: Node, result: Value) -> int:
    del result
    weight = _shape(node, 1)  # [out channels, channels of a group, taps ...]
    return prod(weight[1:])


def _transposed_convolution(node: Node, result: Value) -> int:
    weight = _shape(node, 1)  # [in channels, out channels of a group, taps ...]
    groups = max(1, result.type.static[1] // weight[1])
    return weight[0] // groups * prod(weight[2:])


def _quotient(node: Node, result: Value) -> int:
    """Operand elements for each result element: a reduction over whole axes."""
    return prod(_shape(node, 0)) // max(1, prod(result.type.static))


def _longest(node: Node, result: Value) -> int:
    """The longest axis, since which one is summed over is an operand."""
    del result
    return max(_shape(node, 0), default=1)


def _contraction(node: Node, result: Value) -> int:
    """Products of all operands for each result element, at most: (sizes of A × B / result) is the square of k where both hold it."""
    operands = prod(prod(v.type.static) for v in node.operands())
    return isqrt(operands // max(1, prod(result.type.static)))


def _updates(node: Node, result: Value) -> int:
    """All updates of a column, or of the tensor: they may go to one place."""
    del result
    axis: int = _attribute(node, "axis", 0)
    return prod(_shape(node, 1)[:-1]) if node.op == "ScatterND" else _shape(node, 1)[axis]


def _window(node: Node, result: Value) -> int:
    del result
    taps: tuple[int, ...] = _attribute(node, "kernel_shape", ())
    return prod(taps)


def _axis(node: Node, result: Value) -> int:
    del result
    axis: int = _attribute(node, "axis", -1)
    return _shape(node, 0)[axis]


def _from_axis(node: Node, result: Value) -> int:
    del result
    return prod(_shape(node, 0)[_attribute(node, "axis", -1) :])


def _last(node: Node, result: Value) -> int:
    """Along the last dimension of the result."""
    del node
    return result.type.static[-1]


def _square(node: Node, result: Value) -> int:
    """Each element of a matrix takes part in as many steps as there are rows."""
    del result
    return _shape(node, 0)[-1] ** 2


def _frame(node: Node, result: Value) -> int:
    """A frame is at most twice as long as its spectrum."""
    del node
    return 2 * result.type.static[-2]


def _fused_product(node: Node, result: Value) -> int:
    """The dimension that is summed over may be any but the batch's."""
    del result
    shape = _shape(node, 0)
    if not _attribute(node, "transA", 0):
        return shape[-1] if shape else 1
    return shape[0] if _attribute(node, "transBatchA", 0) else shape[-2]


def _channel_groups(node: Node, result: Value) -> int:
    """A group of channels and all of space."""
    del result
    return prod(_shape(node, 0)[1:]) // max(1, int(_attribute(node, "groups", 1)))


def _projected_attention(node: Node, result: Value) -> int:
    """The projection, then what attention sums."""
    rows, columns = _shape(node, 1)
    past = _shape(node, 4)
    return rows + columns + result.type.static[-2] + (past[3] if len(past) == 5 else 0)


def _cached_attention(node: Node, result: Value) -> int:
    """The width of all heads, which bounds that of one, then the keys: new ones and those of a cache."""
    lengths = [shape[-2] for shape in (_shape(node, number) for number in range(1, len(node.inputs))) if len(shape) > 2]
    return _shape(node, 0)[-1] + 2 * max(lengths, default=result.type.static[-2])


def _instance(node: Node, result: Value) -> int:
    """Everything behind batch and channels; a group of channels sums that much for each of its channels."""
    del result
    shape = _shape(node, 0)
    groups: int = _attribute(node, "num_groups", shape[1])
    return prod(shape[1:]) // max(1, groups)


def _attention(node: Node, result: Value) -> int:
    """Head size for the scores, then the length of keys and values; in a rank-3 form the head size is at most the width."""
    del result
    return _shape(node, 0)[-1] + _shape(node, 1)[-2]


def _linear_attention(node: Node, result: Value) -> int:
    """Width of the keys of all heads, which bounds that of one; what a state collects over time is in the length of the sequence."""
    del result
    return _shape(node, 0)[-1]


def _recurrent(node: Node, result: Value) -> int:
    """Input and hidden width, summed at each step."""
    del result
    return _shape(node, 1)[-1] + _shape(node, 2)[-1]


def _local_response(node: Node, result: Value) -> int:
    del result
    return int(_attribute(node, "size", 1))


def _resize(node: Node, result: Value) -> int:
    """Neighbours along every dimension that changes; a filter that is stretched over more of them averages."""
    mode = _attribute(node, "mode", "nearest")
    changed = sum(a != b for a, b in zip(_shape(node, 0), result.type.static, strict=True))
    return 1 if mode == "nearest" else int((2 if mode == "linear" else 4) ** changed)


def sequence_length(node: Node) -> int:
    """Return how many steps in a row one operator makes: the sequence of a recurrent one."""
    if node.op == "LinearAttention":
        return _shape(node, 0)[1]
    return _shape(node, 0)[0 if _attribute(node, "layout", 0) == 0 else 1] if node.op in ("LSTM", "GRU", "RNN") else 1


_Rule = Callable[[Node, Value], int]

_TERMS_WITHOUT_FUNCTION: dict[str, _Rule] = {
    "MatMul": _matmul,
    "Gemm": _gemm,
    "Conv": _convolution,
    "ConvTranspose": _transposed_convolution,
    "ReduceSum": _quotient,
    "ReduceMean": _quotient,
    "ReduceL1": _quotient,
    "GlobalAveragePool": _quotient,
    "AveragePool": _window,
    "CumProd": _longest,
    "CumSum": _longest,
    "Einsum": _contraction,
    "ScatterElements": _updates,
    "ScatterND": _updates,
    "Col2Im": _quotient,
    "DFT": _longest,
    "DeformConv": _convolution,
    "Det": _square,
    "STFT": _frame,
    "com.microsoft::ConvTransposeWithDynamicPads": _transposed_convolution,
    "com.microsoft::FusedConv": _convolution,
    "com.microsoft::FusedMatMul": _fused_product,
    "com.microsoft::Inverse": _square,
    "com.microsoft::NhwcConv": _convolution,
    "com.microsoft::TransposeMatMul": _fused_product,
}

_TERMS: dict[str, _Rule] = {
    "ReduceL2": _quotient,
    "ReduceLogSum": _quotient,
    "ReduceLogSumExp": _quotient,
    "ReduceProd": _quotient,
    "ReduceSumSquare": _quotient,
    "GlobalLpPool": _quotient,
    "LpPool": _window,
    "LRN": _local_response,
    "Resize": _resize,
    "Softmax": _axis,
    "LogSoftmax": _axis,
    "LayerNormalization": _from_axis,
    "RMSNormalization": _from_axis,
    "InstanceNormalization": _instance,
    "GroupNormalization": _instance,
    "LpNormalization": _axis,
    "Attention": _attention,
    "LinearAttention": _linear_attention,
    "SimplifiedLayerNormalization": _from_axis,
    "com.microsoft::Attention": _projected_attention,
    "com.microsoft::BiasSoftmax": _from_axis,
    "com.microsoft::EmbedLayerNormalization": _last,
    "com.microsoft::FusedGemm": _gemm,
    "com.microsoft::FusedMatMulActivation": _fused_product,
    "com.microsoft::GemmFastGelu": _matmul,
    "com.microsoft::GroupNorm": _channel_groups,
    "com.microsoft::GroupQueryAttention": _cached_attention,
    "com.microsoft::MultiHeadAttention": _cached_attention,
    "com.microsoft::SkipGroupNorm": _channel_groups,
    "com.microsoft::SkipLayerNormalization": _last,
    "com.microsoft::SkipSimplifiedLayerNormalization": _last,
    "LSTM": _recurrent,
    "GRU": _recurrent,
    "RNN": _recurrent,
}
