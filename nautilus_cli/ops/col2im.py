"""Col2Im: blocks put back into an image, added up where they overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.dims import is_symbolic, upper
from nautilus_cli.ir.functions import maximum
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import BOOL, I32, I64, TensorType
from nautilus_cli.ops.checks import contents, first_of, known, operand, operand_count, ranked, vector
from nautilus_cli.ops.element_types import ALL
from nautilus_cli.ops.numbers import Arithmetic, progression
from nautilus_cli.ops.precision import stored, widened
from nautilus_cli.ops.reduce import reduction
from nautilus_cli.ops.spec import Decompose, Emitter, Inference, Operator
from nautilus_cli.ops.view import view
from nautilus_cli.ops.wide import cast, reshape, scalar, widen
from nautilus_cli.ops.window import Window, one_each, window


@dataclass(frozen=True, slots=True)
class Col2ImAttrs:
    """Attributes of Col2Im."""

    dilations: tuple[int, ...] | None = None
    pads: tuple[int, ...] | None = None
    strides: tuple[int, ...] | None = None

    @property
    def auto_pad(self) -> str:
        """Padding is always given; what `ops.window` asks for."""
        return "NOTSET"


def _window(attrs: Col2ImAttrs, shape: tuple[int, ...], constants: Sequence[np.ndarray | None]) -> Window:
    """Return how blocks lie in the image.

    Raises:
        ModelError: shapes and attributes do not fit together, or are not known at compile time.
    """
    image, block = (vector(contents(constants, index, name), name) for index, name in ((1, "image_shape"), (2, "block_shape")))
    if len(image) != len(block) or not image or any(n < 1 for n in (*image, *block)) or any(n > upper(shape[1]) for n in block):
        raise ModelError(
            f"image_shape is {list(image)} and block_shape {list(block)}; the specification requires as many positive sizes, "
            f"and blocks of no more than {shape[1]} elements"
        )
    steps, distances = one_each(attrs.strides, len(image), "strides"), one_each(attrs.dilations, len(image), "dilations")
    for size, stride, dilation in zip(image, steps, distances, strict=True):
        most = upper(shape[2]) * stride + (upper(shape[1]) - 1) * dilation
        if size > most:
            raise ModelError(f"image_shape is {list(image)}; {shape[2]} blocks reach over {most} elements at most")
    if any(map(is_symbolic, (*shape[1:], *image, *block))):
        return _open_window(attrs, image, block)
    found = window(attrs, image, block)
    if shape[1] % prod(block) or shape[2] != prod(found.results):
        raise ModelError(
            f"operand 'input' has shape {list(shape)}; for {list(found.results)} blocks of {list(block)} the specification requires "
            f"[batch, a multiple of {prod(block)}, {prod(found.results)}]"
        )
    return found


def _open_window(attrs: Col2ImAttrs, image: tuple[int, ...], block: tuple[int, ...]) -> Window:
    """Return how blocks lie in an image where only a run knows whether any does: `_room` is what it makes sure of."""
    smallest = window(attrs, tuple(max(upper(size), 1) for size in image), (1,) * len(block))
    found = replace(smallest, sizes=image, kernel=block)
    results = [maximum(0, room) // stride + 1 for room, stride in zip(_room(found), found.strides, strict=True)]
    return replace(found, results=tuple(results))


def _room(found: Window) -> tuple[int, ...]:
    """Return how many places a block may move by along each dimension."""
    numbers = zip(found.sizes, found.begin, found.end, found.kernel, found.dilations, strict=True)
    return tuple(size + begin + end - (kernel - 1) * dilation - 1 for size, begin, end, kernel, dilation in numbers)


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 3, 3)
    x = operand(inference, 0, "input", ALL)
    operand(inference, 1, "image_shape", (I64,))
    operand(inference, 2, "block_shape", (I64,))
    shape = ranked(x, "input", 3)
    found = _window(inference.attrs, shape, inference.constants)
    for dim, room in enumerate(_room(found)):
        inference.require(room, 0, max(0, upper(room)), f"how many places a block may move by along dimension {dim} of the image")
    inference.require(prod(found.results), shape[2], shape[2], "the number of blocks, which is the last dimension of the input")
    inference.require(shape[1] % prod(found.kernel), 0, 0, f"what is left of dimension 1, {shape[1]}, by the elements of a block")
    return (TensorType(x.dtype, (shape[0], shape[1] // prod(found.kernel), *found.sizes)),)


def _places(found: Window) -> np.ndarray:
    """Return where each element of a channel's blocks goes, [block elements, blocks]: into the image laid out flat, or -1."""
    place = np.zeros((1, 1), np.int64)
    inside = np.ones((1, 1), np.bool_)
    for axis, size in enumerate(found.sizes):
        element = np.arange(found.kernel[axis]) * found.dilations[axis]
        block = np.arange(found.results[axis]) * found.strides[axis] - found.begin[axis]
        along = np.add.outer(element, block)
        rows, columns = place.shape[0] * along.shape[0], place.shape[1] * along.shape[1]
        place = (place[:, None, :, None] * size + along[None, :, None, :]).reshape(rows, columns)
        inside = (inside[:, None, :, None] & ((along >= 0) & (along < size))[None, :, None, :]).reshape(rows, columns)
    return np.where(inside, place, -1)


def _sources(found: Window) -> np.ndarray:
    """Return which elements of a channel's blocks each element of the image adds up, [image, most of any]; one past the last for none."""
    flat = _places(found).reshape(-1)
    taken = np.flatnonzero(flat >= 0)
    order = taken[np.argsort(flat[taken], kind="stable")]
    counts = np.bincount(flat[taken], minlength=prod(found.sizes))
    result = np.full((prod(found.sizes), max(1, int(counts.max(initial=0)))), flat.size, np.int64)
    starts = np.cumsum(counts) - counts
    result[flat[order], np.arange(order.size) - np.repeat(starts, counts)] = order
    return result


def _open_sources(emitter: Emitter, found: Window, nowhere: int) -> Value:
    """Return `_sources` of sizes that only a run knows, with a place for every element of a block: [image, block elements].

    Args:
        emitter: where nodes go.
        found: how blocks lie in the image.
        nowhere: the place of a zero.
    """
    on = Arithmetic(emitter, I64)
    rank = len(found.sizes)
    inside: Value | None = None
    block, element = on.value(0), on.value(0)
    for axis, (size, kernel) in enumerate(zip(found.sizes, found.kernel, strict=True)):

        def along(count: int, dim: int) -> Value:
            return reshape(emitter, progression(emitter, count), tuple(count if d == dim else 1 for d in range(2 * rank)))

        own = along(kernel, rank + axis)
        distance = on.subtract(on.add(along(size, axis), found.begin[axis]), on.multiply(own, found.dilations[axis]))
        place = on.apply("Div", on.apply("Max", distance, 0), found.strides[axis])
        holds = emitter.node(
            "And", [on.apply("Equal", on.multiply(place, found.strides[axis]), distance), on.apply("Less", place, found.results[axis])]
        )
        inside = holds if inside is None else emitter.node("And", [inside, holds])
        block = on.add(on.multiply(block, found.results[axis]), place)
        element = on.add(on.multiply(element, kernel), own)
    assert inside is not None
    place = on.where(inside, on.add(on.multiply(element, prod(found.results)), block), nowhere)
    return reshape(emitter, place, (prod(found.sizes), prod(found.kernel)))


def _evaluate(attrs: Col2ImAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    x = first_of(arrays)
    found = _window(attrs, x.shape, arrays)
    channels = x.shape[1] // prod(found.kernel)
    wide = widened(x).reshape(x.shape[0] * channels, prod(found.kernel) * prod(found.results))
    flat = _places(found).reshape(-1)
    result = np.zeros((prod(found.sizes), wide.shape[0]), wide.dtype)
    (np.logical_or if x.dtype == np.bool_ else np.add).at(result, flat[flat >= 0], wide[:, flat >= 0].T)
    return (stored(result.T.reshape(x.shape[0], channels, *found.sizes), x),)


def _build(emitter: Emitter, attrs: Col2ImAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    """Each element of the image gathers what it adds up: the same order in every run, and no more memory than the blocks."""
    x = first_of(operands)
    dtype = x.type.dtype
    found = _window(attrs, x.type.static, known(operands))
    batch, channels = x.type.static[0], x.type.static[1] // prod(found.kernel)
    summed = dtype if dtype.is_float or dtype.bits >= I32.bits else I32
    pads = emitter.constant(np.array([0, 0, 0, 1], np.int64))
    if any(map(is_symbolic, (*x.type.static[1:], *found.sizes, *found.kernel))):
        row = x.type.static[1] * x.type.static[2] // maximum(1, channels)  # block elements times blocks, as the run has made sure
        flat = view(emitter, x, (batch * channels, row))
        flat = emitter.node("Pad", [flat, pads, scalar(emitter, 0, dtype)])
        places = _open_sources(emitter, found, row)
    else:
        sources = _sources(found)
        flat = reshape(emitter, x, (batch * channels, prod(found.kernel) * prod(found.results)))
        if (sources == flat.type.static[1]).any():
            flat = emitter.node("Pad", [flat, pads, scalar(emitter, 0, dtype)])
        places = emitter.constant(sources.astype(np.int32) if flat.type.static[1] < 2**31 else sources)
    terms = cast(emitter, emitter.node("Gather", [flat, places], axis=1), summed)
    total = reduction(emitter, "ReduceSum", widen(emitter, terms), (2,), keepdims=0)
    if dtype == BOOL:
        total = emitter.node("Greater", [total, scalar(emitter, 0, I32)])
    return (reshape(emitter, cast(emitter, total, dtype), (batch, channels, *found.sizes)),)


OPERATOR = Operator(
    name="Col2Im",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Decompose(_build),
    source="ONNX 28, Col2Im-18",
    attributes=Col2ImAttrs,
    since=18,
)
