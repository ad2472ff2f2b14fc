"""Conv of 32-bit integers, which only decompositions make: the sums of quantised convolutions."""

from __future__ import annotations

from functools import partial

from nautilus_cli.ir.types import I32
from nautilus_cli.ops.conv import ConvAttrs, evaluate_convolution, infer_convolution, normal_convolution
from nautilus_cli.ops.spec import Anchor, Operator

INTEGER_CONV = "nautilus::IntegerConv"

OPERATOR = Operator(
    name=INTEGER_CONV,
    infer=partial(infer_convolution, allowed=(I32,)),
    evaluate=evaluate_convolution,
    lowering=Anchor("conv", prologue=(0,), slides_windows=True),
    source="ONNX 28, ConvInteger-10: its sums; they wrap, and outside the image is zero",
    attributes=ConvAttrs,
    normalise=partial(normal_convolution, op=INTEGER_CONV),
)
