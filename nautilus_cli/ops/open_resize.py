"""Resize where sizes, scales or the region are known only when the model runs: what becomes of each dimension."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.constructors import rounded
from nautilus_cli.ir.dims import Float, FloatOperation, is_symbolic, lower, same, upper
from nautilus_cli.ir.floats import float_text, known, of_float
from nautilus_cli.ir.functions import maximum, minimum
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import F64, DType
from nautilus_cli.ops.numbers import Arithmetic, real
from nautilus_cli.ops.open_resampling import OpenLine
from nautilus_cli.ops.operands import DEFAULT_MOST
from nautilus_cli.ops.resampling import Line, filter_reach, taps
from nautilus_cli.ops.spec import Emitter
from nautilus_cli.ops.wide import cast, reshape


@dataclass(frozen=True, slots=True, kw_only=True)
class Resizing:
    """What a Resize is asked to do; what is open is symbolic, or a `Float` among the scales.

    Attributes:
        axes: that are resized.
        inputs: elements along each.
        scales: for each, where they are given.
        sizes: of the results, where they are given.
        policy: how sizes are met.
    """

    axes: tuple[int, ...]
    inputs: tuple[int, ...]
    scales: tuple[float | Float, ...] | None
    sizes: tuple[int, ...] | None
    policy: str

    @property
    def is_open(self) -> bool:
        """Whether something of it depends on the run."""
        return any(map(is_symbolic, (*self.inputs, *(self.sizes or ())))) or not all(isinstance(s, float) for s in self.scales or ())

    @property
    def most(self) -> int:
        """How long a dimension may become by a scale that only the run knows."""
        return DEFAULT_MOST[min(sum(not isinstance(s, float) for s in self.scales or ()), len(DEFAULT_MOST)) - 1]

    @property
    def results(self) -> tuple[int, ...]:
        """Elements of the result along each axis.

        Raises:
            ModelError: a size is negative, or an empty dimension becomes another.
        """
        if self.scales is not None:
            return tuple(_scaled(size, scale, self.most) for size, scale in zip(self.inputs, self.scales, strict=True))
        assert self.sizes is not None
        if any(size < (1 if is_symbolic(size) else 0) for size in self.sizes):
            raise ModelError(f"sizes are {list(self.sizes)}; none may be negative, and one that only a run knows is 1 at least")
        if self.policy == "stretch":
            return self.sizes
        pairs = list(zip(self.inputs, self.sizes, strict=True))
        best = minimum if self.policy == "not_larger" else maximum
        return tuple(best(*((2 * wanted * size + own) // (2 * maximum(1, own)) for own, wanted in pairs)) for size in self.inputs)

    def stretched(self, place: int, mode: str) -> int:
        """Return how many elements a result takes along an axis where the filter is stretched: an even number."""
        reach = filter_reach(mode)
        if self.scales is not None:
            scale = self.scales[place]
            if isinstance(scale, float):
                return 2 * maximum(reach, -floor(-reach / min(scale, 1.0)))
            most = 2 * upper(self.inputs[place])
            taken = FloatOperation("divide", reach, scale)
            return 2 * maximum(reach, rounded(taken, "ceil", 0, reach * most, f"ceil({reach}/{float_text(scale)})"))
        assert self.sizes is not None
        pairs = list(zip(self.inputs, self.sizes, strict=True))
        if self.policy == "stretch":
            pairs = [pairs[place]]
        best = maximum if self.policy != "not_smaller" else minimum
        return 2 * maximum(reach, best(*(-(-reach * own // maximum(1, wanted)) for own, wanted in pairs)))


def _scaled(size: int, scale: float | Float, most: int) -> int:
    """Return the whole part of a product in float32, as the specification has it; MOST, where only the run knows the scale."""
    if isinstance(scale, float) and scale.is_integer():
        return size * int(scale)
    if not isinstance(scale, float):
        factor, low, high = scale, min(1, lower(size)), min(most, MOST_STRETCH * max(1, upper(size)))
    else:
        factor = of_float(scale)
        low, high = (floor(np.float32(number) * np.float32(scale)) for number in (lower(size), upper(size)))
    product = FloatOperation("single", FloatOperation("multiply", size, factor))
    return rounded(product, "floor", low, high, f"floor({size}*{float_text(factor)})")


MOST_STRETCH = 32
"""How many times as long a dimension may become by a scale that only the run knows."""


def is_unchanged(resizing: Resizing, place: int, coordinates: str) -> bool:
    """Whether a dimension stays as it is, whatever the sizes are."""
    if coordinates in ("tf_crop_and_resize", "tf_half_pixel_for_nn"):
        return False
    if resizing.scales is not None:
        return resizing.scales[place] == 1.0 if isinstance(resizing.scales[place], float) else False
    assert resizing.sizes is not None
    return resizing.policy == "stretch" and same(resizing.inputs[place], resizing.sizes[place])


def repetition(resizing: Resizing, place: int, coordinates: str, indices: np.ndarray | None) -> int:
    """Return how often each element is repeated where that is all that happens to a dimension; else 0.

    Args:
        resizing: what is asked for.
        place: of the axis.
        coordinates: how places are found.
        indices: the element that each result takes, of the largest size that the dimension may have.
    """
    scale = None if resizing.scales is None else resizing.scales[place]
    if indices is None or not isinstance(scale, float) or not scale.is_integer() or coordinates not in _BY_SCALE_ALONE:
        return 0
    count = int(scale)
    return count if np.array_equal(indices, np.arange(len(indices)) // count) else 0


_BY_SCALE_ALONE = frozenset({"half_pixel", "pytorch_half_pixel", "asymmetric", "tf_half_pixel_for_nn"})
"""Coordinates that do not depend on a dimension's size: what holds of a longer one holds of each."""


def largest(resizing: Resizing, place: int) -> Line | None:
    """Return a dimension with its greatest size, where its scale is known."""
    scale = None if resizing.scales is None else resizing.scales[place]
    if not isinstance(scale, float):
        return None
    size = upper(resizing.inputs[place])
    return Line(size=size, result=floor(np.float32(size) * np.float32(scale)), scale=scale, target=size * scale)


def open_lines(emitter: Emitter, resizing: Resizing, roi: Value | None, dtype: DType, mode: str) -> Mapping[int, OpenLine]:
    """Return what becomes of each dimension that is resized, by dimension.

    Args:
        emitter: where nodes go.
        resizing: what is asked for.
        roi: the operand, where it matters.
        dtype: type of the places.
        mode: of interpolation.
    """
    on = Arithmetic(emitter, F64)
    count = len(resizing.axes)
    ratios: list[Value] = []
    if resizing.scales is None:
        assert resizing.sizes is not None
        ratios = [on.divide(wanted, maximum(1, size)) for size, wanted in zip(resizing.inputs, resizing.sizes, strict=True)]
        if resizing.policy != "stretch":
            least = emitter.node("Min" if resizing.policy == "not_larger" else "Max", ratios)
            ratios = [least] * count
    found = {}
    for place, (axis, size, result) in enumerate(zip(resizing.axes, resizing.inputs, resizing.results, strict=True)):
        if resizing.scales is not None:
            scale = resizing.scales[place]
            ratio = on.value(scale) if isinstance(scale, float) else real(emitter, scale)
        else:
            ratio = ratios[place]
        is_given = resizing.scales is None and resizing.policy == "stretch"
        found[axis] = OpenLine(
            size=size,
            result=result,
            taps=resizing.stretched(place, mode),
            scale=cast(emitter, ratio, dtype),
            target=cast(emitter, on.value(result) if is_given else on.multiply(ratio, size), dtype),
            start=None if roi is None else cast(emitter, _element(emitter, roi, place), dtype),
            end=None if roi is None else cast(emitter, _element(emitter, roi, count + place), dtype),
        )
    return found


def _element(emitter: Emitter, vector: Value, place: int) -> Value:
    """Return an element of a vector as a scalar."""
    if vector.constant is not None:
        return emitter.constant(vector.constant.reshape(-1)[place])
    return reshape(emitter, emitter.node("Slice", [vector], starts=(place,), ends=(place + 1,), axes=(0,)), ())


def scales_of(array: np.ndarray) -> Sequence[float | Float]:
    """Return the elements of an operand as numbers, or as what the host works out."""
    found: list[float | Float] = []
    for scale in array.reshape(-1).tolist():
        number = float(scale) if isinstance(scale, float | int | np.floating) else known(scale)
        found.append(scale if number is None else number)
    return found


def known_indices(resizing: Resizing, place: int, sampling: object) -> np.ndarray | None:
    """Return the element that each result takes of the largest size of a dimension, where that is known."""
    line = largest(resizing, place)
    return None if line is None else taps(line, sampling).indices[:, 0]  # type: ignore[arg-type]
