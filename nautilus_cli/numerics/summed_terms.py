"""How many terms an operator sums for each element of a result, and how many steps in a row it makes: tables by operator."""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt, prod

from nautilus_cli.ir.dims import upper
from nautilus_cli.ir.graph import Node, Value
from nautilus_cli.numerics.attributes import attribute


def terms_of(node: Node, result: Value) -> int:
    """Return how many terms are summed for each element of RESULT; 1 for an operator that sums nothing."""
    rule = _TERMS.get(node.op) or _TERMS_WITHOUT_FUNCTION.get(node.op)
    return max(1, upper(rule(node, result))) if rule else 1


def sequence_length(node: Node) -> int:
    """Return how many steps in a row one operator makes: the sequence of a recurrent one."""
    if node.op == "LinearAttention":
        return _shape(node, 0)[1]
    return _shape(node, 0)[0 if attribute(node, "layout", 0) == 0 else 1] if node.op in ("LSTM", "GRU", "RNN") else 1


def applies_function(op: str) -> bool:
    """Whether an operator that is no arithmetic computes a function of what it sums, or of an element."""
    return op not in _TERMS_WITHOUT_FUNCTION


def _shape(node: Node, operand: int) -> tuple[int, ...]:
    """Return the shape of an operand; () where it is left out."""
    value = node.inputs[operand] if operand < len(node.inputs) else None
    return () if value is None else value.type.static


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
    axis: int = attribute(node, "axis", 0)
    return prod(_shape(node, 1)[:-1]) if node.op == "ScatterND" else _shape(node, 1)[axis]


def _window(node: Node, result: Value) -> int:
    del result
    taps: tuple[int, ...] = attribute(node, "kernel_shape", ())
    return prod(taps)


def _axis(node: Node, result: Value) -> int:
    del result
    axis: int = attribute(node, "axis", -1)
    return _shape(node, 0)[axis]


def _from_axis(node: Node, result: Value) -> int:
    del result
    return prod(_shape(node, 0)[attribute(node, "axis", -1) :])


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
    if not attribute(node, "transA", 0):
        return shape[-1] if shape else 1
    return shape[0] if attribute(node, "transBatchA", 0) else shape[-2]


def _channel_groups(node: Node, result: Value) -> int:
    """A group of channels and all of space."""
    del result
    return prod(_shape(node, 0)[1:]) // max(1, int(attribute(node, "groups", 1)))


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
    groups: int = attribute(node, "num_groups", shape[1])
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
    return int(attribute(node, "size", 1))


def _resize(node: Node, result: Value) -> int:
    """Neighbours along every dimension that changes; a filter that is stretched over more of them averages."""
    mode = attribute(node, "mode", "nearest")
    changed = sum(a != b for a, b in zip(_shape(node, 0), result.type.static, strict=True))
    return 1 if mode == "nearest" else int((2 if mode == "linear" else 4) ** changed)


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
"""Of operators that sum and do nothing else."""

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
"""Of operators that compute a function of the sum too."""
