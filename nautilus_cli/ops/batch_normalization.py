"""BatchNormalization, at inference and in training mode."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import TensorType
from nautilus_cli.ops.checks import operand, operand_count, required, same_dtype
from nautilus_cli.ops.element_types import FLOATS
from nautilus_cli.ops.precision import stored
from nautilus_cli.ops.reduce import reduction
from nautilus_cli.ops.spec import Decompose, Emitter, Inference, Operator
from nautilus_cli.ops.wide import cast, reshape, scalar, widen


@dataclass(frozen=True, slots=True)
class BatchNormalizationAttrs:
    """Attributes of BatchNormalization; `spatial` was one before opset 9."""

    epsilon: float = 1e-5
    momentum: float = 0.9
    training_mode: int = 0
    spatial: int = 1


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 5, 5)
    x = operand(inference, 0, "X", FLOATS)
    if inference.attrs.spatial != 1:
        raise ModelError("spatial is 0; only statistics of each channel are supported")
    channels = _channels(x.static)
    found = [operand(inference, index, name, FLOATS) for index, name in enumerate(("scale", "B", "input_mean", "input_var"), 1)]
    same_dtype(found[0], found[1], "B", "'scale'")
    same_dtype(found[2], found[3], "input_var", "'input_mean'")
    for name, type_ in zip(("scale", "B", "input_mean", "input_var"), found, strict=True):
        if type_.static != (channels,):
            raise ModelError(f"operand '{name}' has shape {list(type_.static)}; the specification requires {[channels]}")
    return (x, found[2], found[3]) if inference.attrs.training_mode else (x,)


def _channels(shape: tuple[int, ...]) -> int:
    """Return how many channels a tensor has; a vector is one channel.

    Raises:
        ModelError: it is a scalar.
    """
    if not shape:
        raise ModelError("operand 'X' is a scalar; the specification requires a batch")
    return shape[1] if len(shape) > 1 else 1


def _along_channels(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape in which a number for each channel broadcasts to a tensor of SHAPE."""
    return (_channels(shape), *(1 for _ in shape[2:]))


def _reduced(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the dimensions that statistics go over."""
    return tuple(axis for axis in range(len(shape)) if axis != 1)


def _evaluate(attrs: BatchNormalizationAttrs, arrays: tuple[np.ndarray | None, ...], outputs: int) -> tuple[np.ndarray, ...]:
    x, _, _, running_mean, running_variance = required(arrays)
    stage = np.dtype(np.float64 if x.dtype == np.float64 else np.float32)
    wide, *rest = (a.astype(stage) for a in required(arrays))
    scale, bias, mean, variance = (a.reshape(_along_channels(x.shape)) for a in rest)
    running: tuple[np.ndarray, ...] = ()
    with np.errstate(all="ignore"):
        if attrs.training_mode:
            means, axes, momentum = rest[2:], _reduced(x.shape), stage.type(attrs.momentum)
            mean = np.mean(wide, axis=axes).reshape(_along_channels(x.shape))
            variance = np.mean((wide - mean) ** 2, axis=axes).reshape(_along_channels(x.shape))
            mixed = [old * momentum + new.reshape(-1) * (1 - momentum) for old, new in zip(means, (mean, variance), strict=True)]
            running = (stored(mixed[0], running_mean), stored(mixed[1], running_variance))
        y = (wide - mean) / np.sqrt(variance + stage.type(attrs.epsilon)) * scale + bias
    return (stored(y, x), *running)[:outputs]


def _build(emitter: Emitter, attrs: BatchNormalizationAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    if attrs.training_mode:
        return _train(emitter, attrs, required(operands))
    x = required(operands)[0]
    stage = x.type.dtype.compute
    scale, bias, mean, variance = (cast(emitter, v, stage) for v in required(operands)[1:])
    return (_normalized(emitter, x, (scale, bias, mean, variance), attrs.epsilon),)


def _normalized(emitter: Emitter, x: Value, per_channel: tuple[Value, ...], epsilon: float) -> Value:
    """One product and one sum: factor = scale / sqrt(variance + epsilon), offset = bias - mean factor."""
    scale, bias, mean, variance = per_channel
    deviation = emitter.node("Sqrt", [emitter.node("Add", [variance, scalar(emitter, epsilon, scale.type.dtype)])])
    factor = emitter.node("Div", [scale, deviation])
    offset = emitter.node("Sub", [bias, emitter.node("Mul", [mean, factor])])
    shape = _along_channels(x.type.static)
    scaled = emitter.node("Mul", [widen(emitter, x), reshape(emitter, factor, shape)])
    return cast(emitter, emitter.node("Add", [scaled, reshape(emitter, offset, shape)]), x.type.dtype)


def _train(emitter: Emitter, attrs: BatchNormalizationAttrs, operands: tuple[Value, ...]) -> tuple[Value | None, ...]:
    """Statistics of the batch normalise, and mix into the running ones."""
    x, *rest = operands
    stage, shape = x.type.dtype.compute, x.type.static
    scale, bias, old_mean, old_variance = (cast(emitter, v, stage) for v in rest)
    wide, axes, along = widen(emitter, x), _reduced(shape), _along_channels(shape)
    mean = reduction(emitter, "ReduceMean", wide, axes)
    centred = emitter.node("Sub", [wide, mean])
    variance = reduction(emitter, "ReduceMean", emitter.node("Mul", [centred, centred]), axes)
    deviation = emitter.node("Sqrt", [emitter.node("Add", [variance, scalar(emitter, attrs.epsilon, stage)])])
    factor = emitter.node("Div", [reshape(emitter, scale, along), reshape(emitter, deviation, along)])
    y = emitter.node("Add", [emitter.node("Mul", [centred, factor]), reshape(emitter, bias, along)])
    kept, added = scalar(emitter, attrs.momentum, stage), scalar(emitter, 1 - attrs.momentum, stage)
    running = []
    for old, new, like in ((old_mean, mean, rest[2]), (old_variance, variance, rest[3])):
        flat = reshape(emitter, new, (_channels(shape),))
        mixed = emitter.node("Add", [emitter.node("Mul", [old, kept]), emitter.node("Mul", [flat, added])])
        running.append(cast(emitter, mixed, like.type.dtype))
    return (cast(emitter, y, x.type.dtype), *running)


OPERATOR = Operator(
    name="BatchNormalization",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Decompose(_build),
    source="ONNX 28, BatchNormalization-15",
    attributes=BatchNormalizationAttrs,
    since=7,
)
