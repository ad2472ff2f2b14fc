"""FusedConv: a convolution, a sum and an activation of it; NhwcConv: a convolution of images whose channels are the last dimension."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import TensorType
from nautilus_cli.ops.checks import first_of, operand, operand_count, optional_operand, same_dtype, shaped
from nautilus_cli.ops.composed import composed
from nautilus_cli.ops.conv import OPERATOR as CONV
from nautilus_cli.ops.conv import ConvAttrs
from nautilus_cli.ops.microsoft.activation import activated, check_activation
from nautilus_cli.ops.microsoft.source import source
from nautilus_cli.ops.spec import Emitter, Inference


@dataclass(frozen=True, slots=True)
class FusedConvAttrs(ConvAttrs):
    """Attributes of FusedConv."""

    activation: str | None = None
    activation_params: tuple[float, ...] | None = None

    @property
    def numbers(self) -> tuple[float, ...]:
        """What the activation takes."""
        return self.activation_params or ()


def _plain(attrs: ConvAttrs) -> ConvAttrs:
    """Return the attributes that a convolution has."""
    return ConvAttrs(**{field.name: getattr(attrs, field.name) for field in fields(ConvAttrs)})


def _infer_fused(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 2, 4)
    check_activation(inference.attrs.activation, inference.attrs.numbers)
    (result,) = CONV.infer(replace(inference, types=inference.types[:3], constants=inference.constants[:3]))
    z = optional_operand(inference, 3, "Z")
    same_dtype(result, z, "Z")
    shaped(z, "Z", result.static)
    return (result,)


def _build_fused(emitter: Emitter, attrs: FusedConvAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    result = emitter.node("Conv", operands[:3], _plain(attrs))
    if len(operands) > 3 and operands[3] is not None:
        result = emitter.node("Add", [result, operands[3]])
    return (activated(emitter, attrs.activation, attrs.numbers, result),)


def _channels(rank: int, *, last: bool) -> tuple[int, ...]:
    """Return the permutation that makes channels the last dimension, or the second."""
    return (0, *range(2, rank), 1) if last else (0, rank - 1, *range(1, rank - 1))


def _infer_last(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 2, 3)
    x, w = operand(inference, 0, "X"), operand(inference, 1, "W")
    rank = len(x.shape)
    if rank < 3 or len(w.shape) != rank:
        raise ModelError(
            f"operands have shapes {list(x.static)} and {list(w.static)}; the specification requires batch, spatial dimensions and "
            "channels, and weights laid out like that too"
        )
    first = [TensorType(t.dtype, tuple(t.static[axis] for axis in _channels(rank, last=False))) for t in (x, w)]
    (result,) = CONV.infer(replace(inference, types=(*first, *inference.types[2:])))
    return (TensorType(result.dtype, tuple(result.static[axis] for axis in _channels(rank, last=True))),)


def _build_last(emitter: Emitter, attrs: ConvAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    """The channels-last pass takes the transposes of images away.

    Weights are [out, kernel..., in of a group], as onnxruntime's optimiser writes them and its CUDA kernel reads them; the page has
    another order.
    """
    rank = len(first_of(operands).type.shape)
    first = [emitter.node("Transpose", [side], perm=_channels(rank, last=False)) for side in operands[:2]]
    result = emitter.node("Conv", [*first, *operands[2:]], attrs)
    return (emitter.node("Transpose", [result], perm=_channels(rank, last=True)),)


OPERATORS = (
    composed("com.microsoft::FusedConv", _infer_fused, _build_fused, source=source("FusedConv"), attributes=FusedConvAttrs),
    composed("com.microsoft::NhwcConv", _infer_last, _build_last, source=source("NhwcConv"), attributes=ConvAttrs),
)
