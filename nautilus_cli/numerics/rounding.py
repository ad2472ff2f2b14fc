"""What one operator adds to the error of its results: the roundings of its sums, of its functions and of storing it.

Source: as `tolerance`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

from nautilus_cli.ir.graph import Node, Value
from nautilus_cli.ir.types import F32
from nautilus_cli.numerics.attributes import attribute
from nautilus_cli.numerics.summed_terms import applies_function, terms_of
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

_TENSOR_CORE_PRODUCTS = frozenset({"MatMul", "Gemm"})
"""Operators whose f32 operands `--fp32-mode` concerns."""

_TF32_DEVIATION = sqrt(2) * 2**-11 / sqrt(3)
"""Of the error of a term whose two factors are rounded to the 11 bits of tf32, relative to the term."""

_EXACT = frozenset(_EXACT_NAMES.split())
_ARITHMETIC = frozenset(_ARITHMETIC_NAMES.split())


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


def rounding(node: Node, result: Value, *, fp32_mode: str) -> Rounding:
    """Return what an operator adds to the error of RESULT, in one step of its sequence."""
    storage = result.type.dtype
    if is_exact(node) or not storage.is_float:
        return EXACT_STEP
    relative = step_deviation(storage, terms=0)
    if node.op not in _ARITHMETIC and applies_function(node.op):
        relative = combine(relative, function_deviation(storage.compute))
    summed = sum_deviation(storage, terms=terms_of(node, result))
    if fp32_mode == "tf32" and storage == F32 and node.op in _TENSOR_CORE_PRODUCTS:
        summed = combine(summed, _TF32_DEVIATION)
    return Rounding(relative=relative, summed=summed)


def is_exact(node: Node) -> bool:
    """Whether an operator rounds nothing: what only moves or selects, scatters included unless they add or multiply."""
    return node.op in _EXACT and attribute(node, "reduction", "none") not in ("add", "mul")
