"""DepthToSpace and SpaceToDepth: blocks of space are groups of channels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.index_map import IndexMap, simplify
from nautilus_cli.ir.stages import Axis, Stage
from nautilus_cli.ir.types import TensorType
from nautilus_cli.ops.checks import first_of, one_of, operand, operand_count
from nautilus_cli.ops.element_types import ALL
from nautilus_cli.ops.spec import Inference, Movement, MovementContext, Operator, Piece


@dataclass(frozen=True, slots=True)
class BlockAttrs:
    """Attributes of DepthToSpace and SpaceToDepth.

    In mode DCR the place in the block is the more significant part of the channel number, in CRD the less significant one.
    """

    blocksize: int
    mode: str = "DCR"


def _checked(inference: Inference) -> TensorType:
    operand_count(inference, 1, 1)
    one_of(inference.attrs.mode, ("DCR", "CRD"), "mode")
    x = operand(inference, 0, "input", ALL)
    if len(x.shape) != 4 or inference.attrs.blocksize < 1:
        raise ModelError(
            f"operand 'input' has shape {list(x.shape)} and blocksize is {inference.attrs.blocksize}; "
            "the specification requires batch, channels, height and width, and a positive block size"
        )
    return x


def _infer_to_space(inference: Inference) -> tuple[TensorType, ...]:
    x, block = _checked(inference), inference.attrs.blocksize
    batch, channels, height, width = x.static
    if channels % (block * block):
        raise ModelError(f"{channels} channels do not divide by blocksize² = {block * block}")
    return (TensorType(x.dtype, (batch, channels // (block * block), height * block, width * block)),)


def _infer_to_depth(inference: Inference) -> tuple[TensorType, ...]:
    x, block = _checked(inference), inference.attrs.blocksize
    batch, channels, height, width = x.static
    if height % block or width % block:
        raise ModelError(f"height {height} and width {width} do not divide by blocksize {block}")
    return (TensorType(x.dtype, (batch, channels * block * block, height // block, width // block)),)


def _evaluate_to_space(attrs: BlockAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    x, block = first_of(arrays), attrs.blocksize
    batch, channels, height, width = x.shape
    fewer = channels // (block * block)
    if attrs.mode == "DCR":
        moved = x.reshape(batch, block, block, fewer, height, width).transpose(0, 3, 4, 1, 5, 2)
    else:
        moved = x.reshape(batch, fewer, block, block, height, width).transpose(0, 1, 4, 2, 5, 3)
    return (moved.reshape(batch, fewer, height * block, width * block),)


def _evaluate_to_depth(attrs: BlockAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    x, block = first_of(arrays), attrs.blocksize
    batch, channels, height, width = x.shape
    blocks = x.reshape(batch, channels, height // block, block, width // block, block)
    moved = blocks.transpose(0, 3, 5, 1, 2, 4) if attrs.mode == "DCR" else blocks.transpose(0, 1, 3, 5, 2, 4)
    return (moved.reshape(batch, channels * block * block, height // block, width // block),)


def _pieces_to_space(context: MovementContext) -> tuple[Piece, ...]:
    """Height and width of the result are two digits each: the place in the operand, and the place in the block."""
    batch, channels, height, width = first_of(context.types).static
    block, plane = context.attrs.blocksize, height * width
    fewer = channels // (block * block)
    channel, row, column = (plane, block * fewer * plane, fewer * plane)
    if context.attrs.mode == "CRD":
        channel, row, column = (block * block * plane, block * plane, plane)
    stage = Stage(
        (
            (Axis(batch, channels * plane),),
            (Axis(fewer, channel),),
            (Axis(height, width), Axis(block, row)),
            (Axis(width, 1), Axis(block, column)),
        )
    )
    return (Piece(0, simplify(IndexMap((stage,)))),)


def _pieces_to_depth(context: MovementContext) -> tuple[Piece, ...]:
    """The channel of the result is three digits: row and column of the block, and the channel of the operand."""
    batch, channels, height, width = first_of(context.types).static
    block, plane = context.attrs.blocksize, height * width
    row, column, channel = Axis(block, width), Axis(block, 1), Axis(channels, plane)
    depth = (row, column, channel) if context.attrs.mode == "DCR" else (channel, row, column)
    stage = Stage(((Axis(batch, channels * plane),), depth, (Axis(height // block, block * width),), (Axis(width // block, block),)))
    return (Piece(0, simplify(IndexMap((stage,)))),)


OPERATORS = (
    Operator(
        name="DepthToSpace",
        infer=_infer_to_space,
        evaluate=_evaluate_to_space,
        lowering=Movement(_pieces_to_space),
        source="ONNX 28, DepthToSpace-28",
        attributes=BlockAttrs,
    ),
    Operator(
        name="SpaceToDepth",
        infer=_infer_to_depth,
        evaluate=_evaluate_to_depth,
        lowering=Movement(_pieces_to_depth),
        source="ONNX 28, SpaceToDepth-28",
        attributes=BlockAttrs,
    ),
)
