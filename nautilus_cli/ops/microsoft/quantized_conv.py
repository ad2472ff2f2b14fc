"""QLinearConv of com.microsoft: that of ONNX, on images whose channels may come last; what onnxruntime's layout optimiser leaves."""

from __future__ import annotations

from dataclasses import dataclass, fields

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import TensorType
from nautilus_cli.ops.checks import first_of, operand
from nautilus_cli.ops.composed import composed
from nautilus_cli.ops.conv import ConvAttrs
from nautilus_cli.ops.conv_integer import QUANTISED as QLINEAR_CONV
from nautilus_cli.ops.microsoft.qlinear import channels_first, channels_last, in_channels_first
from nautilus_cli.ops.microsoft.source import source
from nautilus_cli.ops.spec import Emitter, Inference


@dataclass(frozen=True, slots=True)
class QLinearConvAttrs(ConvAttrs):
    """Attributes of QLinearConv."""

    channels_last: int = 0

    @property
    def conv(self) -> ConvAttrs:
        """The same, of ONNX's."""
        return ConvAttrs(**{field.name: getattr(self, field.name) for field in fields(ConvAttrs)})


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    attrs = inference.attrs
    x = operand(inference, 0, "x")
    if not attrs.channels_last:
        return QLINEAR_CONV.infer(Inference(attrs.conv, inference.types, inference.constants, inference.outputs))
    if len(x.shape) < 3:
        raise ModelError(f"operand 'x' has shape {list(x.static)}; the specification requires batch, channels and spatial dimensions")
    types = (TensorType(x.dtype, channels_first(x.static)), *inference.types[1:])
    (found,) = QLINEAR_CONV.infer(Inference(attrs.conv, types, (None,) * len(types), inference.outputs))
    return (TensorType(found.dtype, channels_last(found.static)),)


def _build(emitter: Emitter, attrs: QLinearConvAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    def convolved(x: Value) -> Value:
        return emitter.node("QLinearConv", [x, *operands[1:]], attrs.conv)

    return (in_channels_first(emitter, first_of(operands), convolved, is_channels_last=attrs.channels_last),)


OPERATOR = composed("com.microsoft::QLinearConv", _infer, _build, source=source("QLinearConv"), attributes=QLinearConvAttrs)
