"""Resize: nearest, linear and cubic resampling along any dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor, inf

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import F32, F64, I64, DType, TensorType, dtype_of
from nautilus_cli.ops.cast import converted
from nautilus_cli.ops.checks import (
    first_of,
    integers,
    known,
    normal_axes,
    one_of,
    operand,
    operand_count,
    optional_contents,
    optional_operand,
)
from nautilus_cli.ops.element_types import ALL, FLOATS
from nautilus_cli.ops.gather import as_slice
from nautilus_cli.ops.interpolate import resampled
from nautilus_cli.ops.open_resampling import open_taps
from nautilus_cli.ops.open_resize import Resizing, is_unchanged, known_indices, open_lines, repetition, scales_of
from nautilus_cli.ops.precision import stored
from nautilus_cli.ops.resampling import Line, Sampling, Taps, taps
from nautilus_cli.ops.spec import Decompose, Emitter, Inference, Operator
from nautilus_cli.ops.wide import cast, reshape

_POLICIES = ("stretch", "not_larger", "not_smaller")


@dataclass(frozen=True, slots=True)
class ResizeAttrs:
    """Attributes of Resize."""

    antialias: int = 0
    axes: tuple[int, ...] | None = None
    coordinate_transformation_mode: str = "half_pixel"
    cubic_coeff_a: float = -0.75
    exclude_outside: int = 0
    extrapolation_value: float = 0.0
    keep_aspect_ratio_policy: str = "stretch"
    mode: str = "nearest"
    nearest_mode: str = "round_prefer_floor"


def resizing(attrs: ResizeAttrs, shape: tuple[int, ...], scales: np.ndarray | None, sizes: np.ndarray | None) -> Resizing:
    """Return what is asked for.

    Raises:
        ModelError: operands and attributes do not fit together.
    """
    axes = tuple(range(len(shape))) if attrs.axes is None else normal_axes(attrs.axes, len(shape))
    policy = one_of(attrs.keep_aspect_ratio_policy, _POLICIES, "keep_aspect_ratio_policy")
    inputs = tuple(shape[axis] for axis in axes)
    if not axes:
        return Resizing(axes=axes, inputs=inputs, scales=None, sizes=(), policy=policy)
    given = [n for n, a in (("scales", scales), ("sizes", sizes)) if a is not None and a.size]
    if len(given) != 1:
        raise ModelError(f"operands 'scales' and 'sizes' are {'both given' if given else 'both left out'}; the specification requires one")
    numbers = scales if given == ["scales"] else sizes
    assert numbers is not None
    if numbers.size != len(axes):
        raise ModelError(f"operand '{given[0]}' has {numbers.size} elements for {len(axes)} resized dimensions")
    if given == ["sizes"]:
        return Resizing(axes=axes, inputs=inputs, scales=None, sizes=integers(numbers), policy=policy)
    factors = tuple(scales_of(numbers))
    if any(isinstance(s, float) and not 0 < s < inf for s in factors):
        raise ModelError(f"scales are {numbers.tolist()}; the specification requires numbers above 0")
    return Resizing(axes=axes, inputs=inputs, scales=factors, sizes=None, policy=policy)


def lines(
    attrs: ResizeAttrs, shape: tuple[int, ...], roi: np.ndarray | None, scales: np.ndarray | None, sizes: np.ndarray | None
) -> dict[int, Line]:
    """Return what becomes of each dimension that is resized, by dimension.

    Raises:
        ModelError: operands and attributes do not fit together.
    """
    asked = resizing(attrs, shape, scales, sizes)
    axes = asked.axes
    if not axes:
        return {}
    regions = _regions(attrs, axes, roi)
    if asked.scales is not None:
        found = [_scaled(shape[a], np.float32(s)) for a, s in zip(axes, asked.scales, strict=True)]  # type: ignore[arg-type]
    else:
        found = _sized([shape[a] for a in axes], list(asked.sizes or ()), asked.policy)
    for axis, line in zip(axes, found, strict=True):
        if line.size == 0 and line.result:
            raise ModelError(f"dimension {axis} is empty and cannot be resized to {line.result}")
    return {axis: replace(line, start=start, end=end) for axis, line, (start, end) in zip(axes, found, regions, strict=True)}


def _scaled(size: int, scale: np.float32) -> Line:
    return Line(size=size, result=floor(np.float32(size) * scale), scale=float(scale), target=size * float(scale))


def _sized(sizes: list[int], wanted: list[int], policy: str) -> list[Line]:
    if min(wanted, default=0) < 0:
        raise ModelError(f"sizes are {wanted}; none may be negative")
    if 0 in sizes:
        return [Line(size=s, result=w, scale=1.0, target=w) for s, w in zip(sizes, wanted, strict=True)]
    if policy == "stretch":
        return [Line(size=s, result=w, scale=w / s, target=w) for s, w in zip(sizes, wanted, strict=True)]
    scale = (min if policy == "not_larger" else max)(Fraction(w, s) for s, w in zip(sizes, wanted, strict=True))
    return [Line(size=s, result=floor(scale * s + Fraction(1, 2)), scale=float(scale), target=float(scale) * s) for s in sizes]


def _regions(attrs: ResizeAttrs, axes: tuple[int, ...], roi: np.ndarray | None) -> list[tuple[float, float]]:
    """Return the region that is resized along each axis."""
    if attrs.coordinate_transformation_mode != "tf_crop_and_resize":
        return [(0.0, 1.0)] * len(axes)
    if roi is None or roi.size != 2 * len(axes):
        raise ModelError(
            f"operand 'roi' has {0 if roi is None else roi.size} elements; "
            f"the specification requires a start and an end for each of {len(axes)} dimensions"
        )
    numbers = [float(n) for n in roi.reshape(-1)]
    return list(zip(numbers[: len(axes)], numbers[len(axes) :], strict=True))


def _sampling(attrs: ResizeAttrs, dtype: DType) -> Sampling:
    if attrs.antialias and attrs.mode == "nearest":
        raise ModelError("antialias is 1 with mode 'nearest'; the specification allows it with 'linear' and 'cubic'")
    return Sampling(
        mode=attrs.mode,
        coordinates=attrs.coordinate_transformation_mode,
        rounding=attrs.nearest_mode,
        cubic=attrs.cubic_coeff_a,
        is_antialiased=bool(attrs.antialias),
        excludes_outside=bool(attrs.exclude_outside),
        is_double=dtype == F64,
    )


def _given_lines(
    attrs: ResizeAttrs, shape: tuple[int, ...], constants: Sequence[np.ndarray | None], types: Sequence[TensorType | None]
) -> dict[int, Line]:
    """Read what the operands say; the region matters to one mode only."""
    roi = optional_contents(constants, types, 1, "roi") if attrs.coordinate_transformation_mode == "tf_crop_and_resize" else None
    return lines(attrs, shape, roi, optional_contents(constants, types, 2, "scales"), optional_contents(constants, types, 3, "sizes"))


def tables(attrs: ResizeAttrs, arrays: Sequence[np.ndarray | None], x: TensorType) -> dict[int, Taps]:
    """Return what the results of each dimension take, by dimension; without those that stay as they are.

    Args:
        attrs: attributes.
        arrays: contents of the operands; the first may be None.
        x: type of the first operand.
    """
    types = [None if a is None else TensorType(dtype_of(a), a.shape) for a in arrays]
    found = {axis: taps(line, _sampling(attrs, x.dtype)) for axis, line in _given_lines(attrs, x.static, arrays, types).items()}
    return {axis: t for axis, t in sorted(found.items()) if not t.is_identity}


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    operand_count(inference, 1, 4)
    x = operand(inference, 0, "X", ALL)
    optional_operand(inference, 1, "roi", FLOATS)
    optional_operand(inference, 2, "scales", (F32,))
    optional_operand(inference, 3, "sizes", (I64,))
    attrs = inference.attrs
    _sampling(attrs, x.dtype)
    shape = list(x.static)
    scales, sizes = (optional_contents(inference.constants, inference.types, i, n) for i, n in ((2, "scales"), (3, "sizes")))
    asked = resizing(attrs, x.static, scales, sizes)
    if asked.is_open or _has_open_region(attrs, inference.types, inference.constants):
        _check_region(attrs, asked, inference.types)
        results = dict(zip(asked.axes, asked.results, strict=True))
    else:
        results = {axis: line.result for axis, line in _given_lines(attrs, x.static, inference.constants, inference.types).items()}
    for axis, result in results.items():
        shape[axis] = result
    return (TensorType(x.dtype, tuple(shape)),)


def _has_open_region(attrs: ResizeAttrs, types: Sequence[TensorType | None], constants: Sequence[np.ndarray | None]) -> bool:
    """Whether the region that is resized is data: it decides no shape."""
    return attrs.coordinate_transformation_mode == "tf_crop_and_resize" and len(types) > 1 and types[1] is not None and constants[1] is None


def _check_region(attrs: ResizeAttrs, asked: Resizing, types: Sequence[TensorType | None]) -> None:
    if attrs.coordinate_transformation_mode == "tf_crop_and_resize":
        roi = types[1] if len(types) > 1 else None
        if roi is None or roi.elements != 2 * len(asked.axes):
            raise ModelError(
                f"operand 'roi' has {0 if roi is None else roi.elements} elements; "
                f"the specification requires a start and an end for each of {len(asked.axes)} dimensions"
            )


def _computed(dtype: DType) -> DType:
    """Return the type in which weighted sums are computed; integers go through floating point and are cut towards zero."""
    if dtype.is_float:
        return dtype.compute
    return F32 if dtype.bits <= 16 else F64


def _evaluate(attrs: ResizeAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    x = first_of(arrays)
    found = tables(attrs, arrays, TensorType(dtype_of(x), x.shape))
    result = x
    for axis in (a for a, t in found.items() if t.is_selection):
        result = resampled(result, axis, found[axis].indices, None)
    summed = [a for a, t in found.items() if not t.is_selection]
    if summed:
        result = result.astype(_computed(dtype_of(x)).numpy)
        for axis in summed:
            result = resampled(result, axis, found[axis].indices, found[axis].weights)
        result = converted(result, dtype_of(x)) if not dtype_of(x).is_float else stored(result, x)
    for axis, table in found.items():
        if table.outside.any():
            result = np.where(_along(table.outside, axis, x.ndim), _fill(attrs, dtype_of(x)), result)
    return (result,)


def _along(mask: np.ndarray, axis: int, rank: int) -> np.ndarray:
    return mask.reshape((1,) * axis + (-1,) + (1,) * (rank - axis - 1))


def _fill(attrs: ResizeAttrs, dtype: DType) -> np.ndarray:
    return converted(np.array(attrs.extrapolation_value, np.float32), dtype)


def _build(emitter: Emitter, attrs: ResizeAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    """Slices, where elements lie at equal distances; sums by tables; then repetition: movement is free before and behind a kernel."""
    x = first_of(operands)
    rank, dtype = len(x.type.shape), x.type.dtype
    types = [None if v is None else v.type for v in operands]
    contents = known(operands)
    asked = resizing(attrs, x.type.static, *(*contents, None, None, None)[2:4])
    if asked.is_open or _has_open_region(attrs, types, contents):
        return (_open(emitter, attrs, asked, operands),)
    arrays = (None, *(None if v is None else v.constant for v in operands[1:]))
    found = tables(attrs, arrays, x.type)
    selected = {axis: t.indices[:, 0] for axis, t in found.items() if t.is_selection}
    repeated = {axis: n for axis, n in ((a, _repeats(i, x.type.static[a])) for a, i in selected.items()) if n}
    result = _sliced(emitter, x, {a: i for a, i in selected.items() if a not in repeated and as_slice(i, x.type.static[a])})
    picked = {a: i for a, i in selected.items() if a not in repeated and not as_slice(i, x.type.static[a])}
    if picked:
        firsts = [v for i in picked.values() for v in (emitter.constant(i.astype(np.int32)), None)]
        result = emitter.node("nautilus::Interpolate", [result, *firsts], axes=tuple(picked))
    summed = {a: t for a, t in found.items() if not t.is_selection}
    if summed:
        wide = _computed(dtype)
        if not dtype.is_float:
            result = cast(emitter, result, wide)
        result = emitter.node("nautilus::Interpolate", [result, *_operands(emitter, summed, wide)], axes=tuple(summed))
        result = cast(emitter, result, dtype)
    result = _expanded(emitter, result, repeated)
    for axis, table in found.items():
        if table.outside.any():
            fill = emitter.constant(_fill(attrs, dtype))
            result = emitter.node("Where", [emitter.constant(_along(table.outside, axis, rank)), fill, result])
    return (result,)


def _open(emitter: Emitter, attrs: ResizeAttrs, asked: Resizing, operands: tuple[Value | None, ...]) -> Value:
    """Sums by tables that are worked out when the model runs; repetition where a known scale is that for all sizes."""
    x, roi = (*operands, None)[:2]
    assert x is not None
    dtype, coordinates = x.type.dtype, attrs.coordinate_transformation_mode
    sampling = _sampling(attrs, dtype)
    repeated = {}
    if attrs.mode == "nearest":
        for place, axis in enumerate(asked.axes):
            if count := repetition(asked, place, coordinates, known_indices(asked, place, sampling)):
                repeated[axis] = count
    region = roi if coordinates == "tf_crop_and_resize" else None
    found = open_lines(emitter, asked, region, F64 if sampling.is_double else F32, attrs.mode)
    moving = [a for p, a in enumerate(asked.axes) if not is_unchanged(asked, p, coordinates) and a not in repeated]
    tables = {axis: open_taps(emitter, found[axis], sampling) for axis in sorted(moving)}
    wide = dtype if attrs.mode == "nearest" else _computed(dtype)
    result = x if dtype.is_float else cast(emitter, x, wide)
    weighted: list[Value | None] = []
    for table in tables.values():
        weighted += [table.first, None if table.weights is None else cast(emitter, table.weights, wide)]
    if tables:
        result = emitter.node("nautilus::Interpolate", [result, *weighted], axes=tuple(tables))
    result = _expanded(emitter, cast(emitter, result, dtype), {axis: count for axis, count in repeated.items() if count > 1})
    for axis, table in tables.items():
        if table.outside is not None:
            behind = len(x.type.shape) - axis - 1
            outside = reshape(emitter, table.outside, (*table.outside.type.static, *(1 for _ in range(behind))))
            result = emitter.node("Where", [outside, emitter.constant(_fill(attrs, dtype)), result])
    return result


def _operands(emitter: Emitter, summed: dict[int, Taps], wide: DType) -> list[Value]:
    found = []
    for table in summed.values():
        found += [emitter.constant(table.first.astype(np.int32)), emitter.constant(table.weights.astype(wide.numpy))]
    return found


def _repeats(indices: np.ndarray, size: int) -> int:
    """Return how often each element is repeated where that is all; else 0."""
    count = len(indices) // size if size else 0
    return count if count > 1 and np.array_equal(indices, np.repeat(np.arange(size), count)) else 0


def _sliced(emitter: Emitter, value: Value, selected: dict[int, np.ndarray]) -> Value:
    """Take the elements, which lie at equal distances."""
    if not selected:
        return value
    bounds = [as_slice(indices, value.type.static[axis]) for axis, indices in selected.items()]
    starts, ends, steps = [], [], []
    for bound in bounds:
        assert bound is not None
        end = bound.start + bound.step * bound.count
        starts.append(bound.start)
        ends.append(end if end >= 0 else -(2**31))
        steps.append(bound.step)
    return emitter.node("Slice", [value, *(emitter.constant(np.array(n, np.int64)) for n in (starts, ends, list(selected), steps))])


def _expanded(emitter: Emitter, value: Value, repeated: dict[int, int]) -> Value:
    """Repeat each element along some dimensions."""
    if not repeated:
        return value
    shape = value.type.static
    split = [d for axis, size in enumerate(shape) for d in ((size, 1) if axis in repeated else (size,))]
    wide = [d for axis, size in enumerate(shape) for d in ((size, repeated[axis]) if axis in repeated else (size,))]
    spread = emitter.node("Expand", [reshape(emitter, value, tuple(split)), emitter.sizes(wide)])
    return reshape(emitter, spread, tuple(size * repeated.get(axis, 1) for axis, size in enumerate(shape)))


OPERATOR = Operator(
    name="Resize",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Decompose(_build),
    source="ONNX 28, Resize-19",
    attributes=ResizeAttrs,
    since=11,
)
