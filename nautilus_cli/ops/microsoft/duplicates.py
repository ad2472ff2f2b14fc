"""Operators that ONNX has too, with other operands or defaults: each becomes ONNX's own, as a table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import BF16, F16, F32, F64, I32, I64, TensorType
from nautilus_cli.ops.checks import (
    contents,
    first_of,
    integers,
    known,
    normal_axis,
    operand,
    operand_count,
    optional_operand,
    required,
    same_dtype,
    shaped,
)
from nautilus_cli.ops.composed import composed
from nautilus_cli.ops.conv_transpose import OPERATOR as CONV_TRANSPOSE
from nautilus_cli.ops.conv_transpose import ConvTransposeAttrs
from nautilus_cli.ops.element_types import ALL
from nautilus_cli.ops.gather_nd import OPERATOR as GATHER_ND
from nautilus_cli.ops.gather_nd import GatherNDAttrs
from nautilus_cli.ops.grid_sample import OPERATOR as GRID_SAMPLE
from nautilus_cli.ops.grid_sample import GridSampleAttrs
from nautilus_cli.ops.microsoft.source import source
from nautilus_cli.ops.pad import OPERATOR as PAD
from nautilus_cli.ops.pad import PadAttrs
from nautilus_cli.ops.range import OPERATOR as RANGE
from nautilus_cli.ops.range import RangeAttrs
from nautilus_cli.ops.spec import Decompose, Emitter, HostOnly, Inference, NoAttrs, Operator
from nautilus_cli.ops.trilu import OPERATOR as TRILU
from nautilus_cli.ops.trilu import TriluAttrs
from nautilus_cli.ops.unique import OPERATOR as UNIQUE
from nautilus_cli.ops.unique import UniqueAttrs
from nautilus_cli.ops.wide import cast, reshape

Operands = tuple[Value | None, ...]

_MOVED = tuple(dtype for dtype in ALL if dtype != BF16)
"""Types that operators of this domain move."""


@dataclass(frozen=True, slots=True)
class ContribPadAttrs:
    """Attributes of Pad."""

    mode: str = "constant"


@dataclass(frozen=True, slots=True)
class ContribGridSampleAttrs:
    """Attributes of GridSample, whose modes are named as before opset 20."""

    align_corners: int = 0
    mode: str = "bilinear"
    padding_mode: str = "zeros"


@dataclass(frozen=True, slots=True)
class ConvTransposeWithDynamicPadsAttrs:
    """Attributes of ConvTransposeWithDynamicPads."""

    auto_pad: str = "NOTSET"
    dilations: tuple[int, ...] | None = None
    group: int = 1
    kernel_shape: tuple[int, ...] | None = None
    output_padding: tuple[int, ...] | None = None
    strides: tuple[int, ...] | None = None


def _infer_gather(inference: Inference) -> tuple[TensorType, ...]:
    """Indices may be of 32 bits."""
    operand_count(inference, 2, 2)
    operand(inference, 0, "data", _MOVED)
    indices = operand(inference, 1, "indices", (I32, I64))
    types = (inference.types[0], TensorType(I64, indices.shape))
    return GATHER_ND.infer(replace(inference, types=types, attrs=GatherNDAttrs()))


def _build_gather(emitter: Emitter, _attrs: NoAttrs, operands: Operands) -> Operands:
    data, indices = required(operands)
    return (emitter.node("GatherND", [data, cast(emitter, indices, I64)]),)


def _infer_pad(inference: Inference) -> tuple[TensorType, ...]:
    """Amounts may be a matrix of one row."""
    operand_count(inference, 2, 3)
    pads = operand(inference, 1, "pads", (I64,))
    rank = len(operand(inference, 0, "data").shape)
    shaped(pads, "pads", (2 * rank,), (1, 2 * rank))
    amounts = contents(inference.constants, 1, "pads").reshape(-1)
    types = (inference.types[0], TensorType(I64, amounts.shape), *inference.types[2:])
    constants = (inference.constants[0], amounts, *inference.constants[2:])
    return PAD.infer(replace(inference, attrs=PadAttrs(mode=inference.attrs.mode), types=types, constants=constants))


def _build_pad(emitter: Emitter, attrs: ContribPadAttrs, operands: Operands) -> Operands:
    data, pads, value = (*operands, None)[:3]
    (amounts,) = required(known((pads,)))
    fill = None if value is None else reshape(emitter, value, ())
    return (emitter.node("Pad", [data, emitter.sizes(integers(amounts)), fill], mode=attrs.mode),)


def _infer_trilu(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 1, 2)
    return TRILU.infer(inference)


def _build_trilu(emitter: Emitter, attrs: TriluAttrs, operands: Operands) -> Operands:
    return (emitter.node("Trilu", operands, attrs),)


def _modernised(attrs: ContribGridSampleAttrs) -> GridSampleAttrs:
    """Return the attributes as from opset 20 on."""
    modes = {"bilinear": "linear", "nearest": "nearest", "bicubic": "cubic"}
    if attrs.mode not in modes:
        raise ModelError(f"mode is '{attrs.mode}'; the specification allows {', '.join(repr(m) for m in modes)}")
    return GridSampleAttrs(align_corners=attrs.align_corners, mode=modes[attrs.mode], padding_mode=attrs.padding_mode)


def _infer_sample(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 2, 2)
    same_dtype(operand(inference, 0, "X", (F16, F32, F64)), operand(inference, 1, "Grid"), "Grid")
    return GRID_SAMPLE.infer(replace(inference, attrs=_modernised(inference.attrs)))


def _build_sample(emitter: Emitter, attrs: ContribGridSampleAttrs, operands: Operands) -> Operands:
    return (emitter.node("GridSample", operands, _modernised(attrs)),)


def _axis(constants: Any, rank: int) -> int:
    """Return where ExpandDims inserts a dimension."""
    axis = contents(constants, 1, "axis")
    if axis.size != 1:
        raise ModelError(f"operand 'axis' has shape {list(axis.shape)}; the specification requires one number")
    return normal_axis(int(axis.reshape(())), rank + 1)


def _infer_expand(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 2, 2)
    x = operand(inference, 0, "X", _MOVED)
    operand(inference, 1, "axis", (I32,))
    axis = _axis(inference.constants, len(x.shape))
    return (TensorType(x.dtype, (*x.static[:axis], 1, *x.static[axis:])),)


def _build_expand(emitter: Emitter, _attrs: NoAttrs, operands: Operands) -> Operands:
    x, axis = required(operands)
    return (emitter.node("Unsqueeze", [x], axes=(_axis((None, axis.constant), len(x.type.shape)),)),)


def _with_step(arrays: tuple[Any, ...], one: Any) -> tuple[Any, ...]:
    """Return start, limit and step, which is 1 where it is left out."""
    return arrays if len(arrays) > 2 and arrays[2] is not None else (*arrays[:2], one)


def _infer_range(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 2, 3)
    start = operand(inference, 0, "start")
    types = _with_step(inference.types, TensorType(start.dtype, ()))
    constants = _with_step(inference.constants, np.ones((), start.dtype.numpy))
    return RANGE.infer(replace(inference, attrs=RangeAttrs(), types=types, constants=constants))


def _evaluate_range(_attrs: NoAttrs, arrays: tuple[np.ndarray | None, ...], outputs: int) -> tuple[np.ndarray, ...]:
    return RANGE.evaluate(RangeAttrs(), _with_step(arrays, np.ones((), first_of(arrays).dtype)), outputs)


def _build_range(emitter: Emitter, _attrs: NoAttrs, operands: Operands) -> Operands:
    start = first_of(operands)
    return (emitter.node("Range", _with_step(operands, emitter.constant(np.ones((), start.type.dtype.numpy)))),)


def _infer_unique(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 1, 1)
    if len(operand(inference, 0, "x", ALL).shape) != 1:
        raise ModelError("operand 'x' has another rank than the specification requires, which is 1")
    values, _, inverse, counts = UNIQUE.infer(replace(inference, attrs=UniqueAttrs(sorted=0), outputs=4))
    return (values, inverse, counts)[: inference.outputs]


def _evaluate_unique(_attrs: NoAttrs, arrays: tuple[np.ndarray | None, ...], outputs: int) -> tuple[np.ndarray, ...]:
    """In the order of first occurrence."""
    values, _, inverse, counts = UNIQUE.evaluate(UniqueAttrs(sorted=0), arrays, 4)
    return (values, inverse, counts)[:outputs]


def _transposed(attrs: ConvTransposeWithDynamicPadsAttrs, pads: np.ndarray | None) -> ConvTransposeAttrs:
    """Return the attributes of ConvTranspose with the amounts of an operand."""
    return ConvTransposeAttrs(
        auto_pad=attrs.auto_pad,
        dilations=attrs.dilations,
        group=attrs.group,
        kernel_shape=attrs.kernel_shape,
        output_padding=attrs.output_padding,
        pads=None if pads is None else tuple(int(n) for n in pads.reshape(-1)),
        strides=attrs.strides,
    )


def _infer_transposed(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 2, 4)
    types, constants = (*inference.types, None, None)[:4], (*inference.constants, None, None)[:4]
    pads = None if optional_operand(inference, 2, "Pads", (I64,)) is None else contents(constants, 2, "Pads")
    rest = replace(inference, types=(*types[:2], types[3]), constants=(*constants[:2], constants[3]))
    return CONV_TRANSPOSE.infer(replace(rest, attrs=_transposed(inference.attrs, pads)))


def _build_transposed(emitter: Emitter, attrs: ConvTransposeWithDynamicPadsAttrs, operands: Operands) -> Operands:
    x, w, pads, bias = (*operands, None, None)[:4]
    return (emitter.node("ConvTranspose", [x, w, bias], _transposed(attrs, None if pads is None else pads.constant)),)


OPERATORS = (
    composed("com.microsoft::GatherND", _infer_gather, _build_gather, source=source("GatherND")),
    composed("com.microsoft::Pad", _infer_pad, _build_pad, source=source("Pad"), attributes=ContribPadAttrs),
    composed("com.microsoft::Trilu", _infer_trilu, _build_trilu, source=source("Trilu"), attributes=TriluAttrs),
    composed("com.microsoft::GridSample", _infer_sample, _build_sample, source=source("GridSample"), attributes=ContribGridSampleAttrs),
    composed("com.microsoft::ExpandDims", _infer_expand, _build_expand, source=source("ExpandDims")),
    composed(
        "com.microsoft::ConvTransposeWithDynamicPads",
        _infer_transposed,
        _build_transposed,
        source=source("ConvTransposeWithDynamicPads"),
        attributes=ConvTransposeWithDynamicPadsAttrs,
    ),
    Operator(
        name="com.microsoft::Range",
        infer=_infer_range,
        evaluate=_evaluate_range,
        lowering=Decompose(_build_range),
        source=source("Range"),
    ),
    Operator(
        name="com.microsoft::Unique",
        infer=_infer_unique,
        evaluate=_evaluate_unique,
        lowering=HostOnly("the size of its results depends on its operand's contents, which must be known at compile time"),
        source=source("Unique"),
    ),
)
