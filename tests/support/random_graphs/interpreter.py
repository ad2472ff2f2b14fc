"""Runs a plan in numpy: what kernels must do, said once more and slowly, with every access checked.

It finds what passes, fusion and lowering get wrong without compiling anything: each graph takes milliseconds. Every load must stay in
its tensor, every tensor must be alive and written before it is read, every store must write each of its elements once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any

import numpy as np

from nautilus_cli.ir.expression import Apply, Constant, Expression, IndexedLoad, Inside, Load, Parameter, RowProgram
from nautilus_cli.ir.index_map import IndexMap
from nautilus_cli.ir.types import DTYPES, DType
from nautilus_cli.kernels.base import KernelRequest
from nautilus_cli.lowering.plan import Plan, Word
from nautilus_cli.ops.cast import converted
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import NoAttrs, Pointwise

Array = np.ndarray


def knows(plan: Plan) -> bool:
    """Whether every kernel of a plan is one that `run` can run: all but recurrences."""
    return all(hasattr(_Launch, kernel.request.family) for kernel in plan.kernels)


class InterpreterError(Exception):
    """A plan breaks a rule that kernels rely on."""


@dataclass(eq=False)
class Space:
    """A tensor in memory.

    Attributes:
        bytes: its contents.
        written: whether each byte was written.
        is_writable: whether kernels may write it.
    """

    bytes: Array
    written: Array
    is_writable: bool

    def typed(self, dtype: DType) -> Array:
        """Return the elements."""
        usable = self.bytes.size // dtype.bytes * dtype.bytes
        return self.bytes[:usable].view(dtype.numpy)


def run(plan: Plan, feeds: Mapping[str, Array]) -> dict[str, Array]:
    """Return the outputs of a plan."""
    return Interpreter(plan, feeds).run()


class Interpreter:
    """One run of a plan."""

    def __init__(self, plan: Plan, feeds: Mapping[str, Array]) -> None:
        self.plan = plan
        self.arena = Space(np.full(plan.arena_bytes, 0xFF, np.uint8), np.zeros(plan.arena_bytes, bool), True)
        self.inputs = [_read_only(feeds[port.name]) for port in plan.inputs]
        self.outputs = [_empty(prod(port.shape) * port.dtype.bytes) for port in plan.outputs]
        self.weights = {w.offset: _read_only(w.array) for w in plan.weights if w.array.size}
        self._check_buffers()

    def run(self) -> dict[str, Array]:
        """Launch after launch."""
        for number, launch in enumerate(self.plan.launches):
            request = self.plan.kernels[launch.kernel].request
            if len(launch.words) != request.pointers + request.scalars:
                raise InterpreterError(f"launch {number} has {len(launch.words)} words")
            spaces = [self._space(number, word) for word in launch.words]
            _Launch(request, spaces).run()
        for port, space in zip(self.plan.outputs, self.outputs, strict=True):
            if not space.written.all():
                raise InterpreterError(f"output {port.name} is not written")
        return {port.name: space.typed(port.dtype).reshape(port.shape) for port, space in zip(self.plan.outputs, self.outputs, strict=True)}

    def _space(self, number: int, word: Word) -> Space | None:
        if word.kind == "input":
            return _behind(self.inputs[word.index], word.value)
        if word.kind == "output":
            return _behind(self.outputs[word.index], word.value)
        if word.kind == "weights":
            begin = max((offset for offset in self.weights if offset <= word.value), default=None)
            return None if begin is None else _behind(self.weights[begin], word.value - begin)
        if word.kind == "arena":
            here = [b for b in self.plan.buffers if b.offset <= word.value < b.offset + max(b.bytes, 1) and b.first <= number <= b.last]
            alive = [b for b in here if b.bytes]
            if here and not alive:
                return _empty(0)
            if len(alive) != 1:
                raise InterpreterError(f"launch {number}: {len(alive)} buffers at {word.value}")
            place = slice(alive[0].offset, alive[0].offset + alive[0].bytes)
            if alive[0].first == number:
                self.arena.bytes[place] = 0xFF
                self.arena.written[place] = False
            return _behind(Space(self.arena.bytes[place], self.arena.written[place], True), word.value - alive[0].offset)
        return None

    def _check_buffers(self) -> None:
        for number, a in enumerate(self.plan.buffers):
            if a.offset % 256 or a.offset + a.bytes > self.plan.arena_bytes:
                raise InterpreterError(f"a buffer at {a.offset} of {a.bytes} bytes in an arena of {self.plan.arena_bytes}")
            for b in self.plan.buffers[number + 1 :]:
                if a.first <= b.last and b.first <= a.last and a.offset < b.offset + b.bytes and b.offset < a.offset + a.bytes:
                    raise InterpreterError(f"buffers at {a.offset} and {b.offset} overlap while both are alive")


def _behind(space: Space, begin: int) -> Space:
    """What a pointer into a space reaches: a kernel that is given one touches nothing before it."""
    return Space(space.bytes[begin:], space.written[begin:], space.is_writable) if begin else space


def _empty(size: int) -> Space:
    return Space(np.full(size, 0xFF, np.uint8), np.zeros(size, bool), True)


def _read_only(array: Array) -> Space:
    raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return Space(raw, np.ones(raw.size, bool), False)


class _Launch:
    """One kernel on its tensors."""

    def __init__(self, request: KernelRequest, spaces: Sequence[Space | None]) -> None:
        self.request = request
        self.functors = dict(request.functors)
        self.spaces = spaces
        self.stored: set[int] = set()
        self.loaded: set[int] = set()

    def run(self) -> None:
        """Run the family's kernel."""
        with np.errstate(all="ignore"):
            getattr(self, self.request.family)(self.request.problem)
        both = [s for s in self.stored for o in self.loaded if self.spaces[s] is self.spaces[o]]
        if both:
            raise InterpreterError("a kernel reads what it writes")

    # Families

    def pointwise(self, problem: Any) -> None:
        self.evaluate(self.functors["Body"], (problem.elements,))

    def row(self, problem: Any) -> None:
        program = self.functors["Program"]
        assert isinstance(program, RowProgram)
        rows, columns = problem.rows, problem.columns
        results: list[Array] = []
        for reduction in program.reductions:
            (term,) = self.evaluate(reduction.term, (rows, columns), [np.broadcast_to(r[:, None], (rows, columns)) for r in results])
            combined = _COMBINERS[reduction.combine](np.broadcast_to(term, (rows, columns)))
            (finished,) = self.evaluate(reduction.finish, (rows,), [*results, combined.astype(term.dtype)])
            results.append(np.broadcast_to(finished, (rows,)))
        self.evaluate(program.column_epilogue, (rows, columns), [np.broadcast_to(r[:, None], (rows, columns)) for r in results])
        self.evaluate(program.row_epilogue, (rows,), results)

    def gemm(self, problem: Any) -> None:
        p = problem
        a = self.matrix("A", (p.batch, p.m, p.k) if p.a_k_last else (p.batch, p.k, p.m))
        b = self.matrix("B", (p.batch, p.n, p.k) if p.b_k_last else (p.batch, p.k, p.n))
        left = a if p.a_k_last else a.swapaxes(1, 2)
        right = b.swapaxes(1, 2) if p.b_k_last else b
        kind = p.accumulate.numpy
        sums = left.astype(kind) @ right.astype(kind)
        parameters = [sums[..., 0::2], sums[..., 1::2]] if p.is_paired else [sums]
        self.evaluate(self.functors["Epilogue"], parameters[0].shape, parameters)

    gemm_skinny = gemm

    def conv(self, problem: Any) -> None:
        p = problem
        x = self.image(p, p.groups * p.in_channels)
        taps = p.kernel_depth * p.kernel_height * p.kernel_width
        w = self.matrix("Weight", (p.groups * p.out_channels, taps * p.in_channels))
        kind = p.accumulate.numpy
        seen = _windows(p, x.astype(kind), 0)
        seen = seen.reshape(-1, taps, p.groups, p.in_channels)
        result = np.einsum("mtgc,gotc->mgo", seen, w.astype(kind).reshape(p.groups, p.out_channels, taps, p.in_channels))
        self.finish_image(p, [result], p.groups * p.out_channels)

    depthwise = conv

    def conv_transpose(self, problem: Any) -> None:
        p = problem
        kind = p.accumulate.numpy
        x = self.image(p, p.groups * p.in_channels).astype(kind)
        firsts, numbers = prod(p.steps), prod(p.class_taps)
        w = self.matrix("Weight", (p.groups * p.out_channels, firsts, numbers * p.in_channels)).astype(kind)
        w = w.reshape(p.groups, p.out_channels, *p.steps, *p.class_taps, p.in_channels)
        pads, dilations = _three(p, "pad"), _three(p, "dilation")
        inputs, outputs, kernel = _three(p, "in"), _three(p, "out"), _three(p, "kernel")
        reach = [(n - 1) * s + (k - 1) * d + 1 for n, s, k, d in zip(inputs, p.strides, kernel, dilations, strict=True)]
        size = [max(r, b + o) for r, b, o in zip(reach, pads, outputs, strict=True)]
        result = np.zeros((p.batch, *size, p.groups, p.out_channels), kind)
        grouped = x.reshape(*x.shape[:4], p.groups, p.in_channels)
        for tap in np.ndindex(*kernel):
            first = tuple(t % step for t, step in zip(tap, p.steps, strict=True))
            number = tuple(t // step for t, step in zip(tap, p.steps, strict=True))
            weights = w[(slice(None), slice(None), *first, *number)]
            places = tuple(slice(t * d, t * d + (n - 1) * s + 1, s) for t, d, n, s in zip(tap, dilations, inputs, p.strides, strict=True))
            result[(slice(None), *places)] += np.einsum("bzyxgc,goc->bzyxgo", grouped, weights)
        cut = tuple(slice(b, b + o) for b, o in zip(pads, outputs, strict=True))
        self.finish_image(p, [result[(slice(None), *cut)]], p.groups * p.out_channels)

    def pool(self, problem: Any) -> None:
        p = problem
        x = self.image(p, p.channels)
        lowest = 0 if p.combine == "sum" else -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
        seen = _windows(p, x, lowest)
        result = seen.max(axis=1) if p.combine == "max" else seen.sum(axis=1, dtype=x.dtype)
        if p.divisor != "none":
            ones = np.ones((p.batch, *_three(p, "in"), 1))
            after = (p.pad_back, p.pad_bottom, p.pad_right) if p.divisor == "window" else None
            result = result / _windows(p, ones, 0, after=after).sum(axis=1).astype(x.dtype)
        results = [result.astype(x.dtype)]
        if getattr(p, "has_indices", False):
            shape = (p.batch, *_three(p, "in"), p.channels)
            batch, z, y, across, channel = np.indices(shape)
            extents = (p.batch, p.channels, *_three(p, "in"))
            place = (z, y, across)
            if p.is_column_major:  # along the first dimension first; one of extent 1 does not count
                extents, place = (*extents[:2], *extents[:1:-1]), place[::-1]
            numbers = np.ravel_multi_index((batch, channel, *place), extents)
            is_greatest = (seen == result[:, None]) | (np.isnan(seen) if seen.dtype.kind == "f" else False)
            known = _windows(p, numbers, -1)
            first = np.argmax(is_greatest & (known >= 0), axis=1)
            results.append(np.take_along_axis(known, first[:, None], 1)[:, 0])
        self.finish_image(p, results, p.channels)

    def image(self, p: Any, channels: int) -> Array:
        """Return X as [batch, depth, height, width, channels]."""
        inputs = _three(p, "in")
        return self.matrix("X", (p.batch * inputs[0], *inputs[1:], channels)).reshape(p.batch, *inputs, channels)

    def finish_image(self, p: Any, results: Sequence[Array], channels: int) -> None:
        """Hand pixels to the epilogue."""
        extents = (p.batch * p.out_depth, p.out_height, p.out_width, channels)
        self.evaluate(self.functors["Epilogue"], extents, [r.reshape(extents) for r in results])

    def gather(self, problem: Any) -> None:
        p = problem
        base = self.functors["Base"]
        assert isinstance(base, Expression)
        (load,) = base.steps
        assert isinstance(load, Load) and load.slot == p.data_slot
        offsets, valid = load.map.offsets()
        if not valid.all() or load.map.extents != (p.rows, p.columns):
            raise InterpreterError("the base of a gather has guards or other extents")
        for number, (extent, stride) in enumerate(zip(p.extents, p.strides, strict=True)):
            (index,) = self.evaluate(self.functors[f"Index{number}"], (p.rows,))
            index = np.broadcast_to(index, (p.rows,)).astype(np.int64)
            index = np.where(index < 0, index + extent, index)
            if ((index < 0) | (index >= extent)).any():
                raise InterpreterError("an index is out of range")
            offsets = offsets + (index * stride)[:, None]
        self.evaluate(self.functors["Epilogue"], (p.rows, p.columns), [self.read(load, offsets, np.ones(offsets.shape, bool))])

    def scan(self, problem: Any) -> None:
        p = problem
        term = self.matrix("Term", (p.rows, p.columns))
        combined = (np.cumsum if p.combine == "sum" else np.cumprod)(term, axis=1, dtype=term.dtype)
        if p.is_exclusive:
            first = np.full((p.rows, 1), 0 if p.combine == "sum" else 1, term.dtype)
            combined = np.concatenate([first, combined[:, :-1]], axis=1)[:, : p.columns]
        self.evaluate(self.functors["Epilogue"], (p.rows, p.columns), [combined])

    def top_k(self, problem: Any) -> None:
        p = problem
        x = self.matrix("X", (p.rows, p.columns))
        found = np.empty((p.rows, p.count), np.int64)
        for row in range(p.rows):
            order = _ascending(x[row])
            found[row] = (order if not p.is_largest else _ascending(x[row], is_reversed=True))[: p.count]
        values = np.take_along_axis(x, found, 1)
        self.evaluate(self.functors["Epilogue"], (p.rows, p.count), [values, found])

    def scatter(self, problem: Any) -> None:
        p = problem
        result = self.matrix("Data", (p.rows, p.columns)).copy()
        updates = self.matrix("Update", (p.updates, p.columns))
        rows = np.zeros((p.updates, p.columns), np.int64)
        for number, (extent, stride) in enumerate(zip(p.extents, p.strides, strict=True)):
            index = self.matrix(f"Index{number}", (p.updates, p.columns)).astype(np.int64)
            index = np.where(index < 0, index + extent, index)
            if ((index < 0) | (index >= extent)).any():
                raise InterpreterError("an index is out of range")
            rows = rows + index * stride
        combine = _UPDATES[p.combine]
        for number in range(p.updates):
            for column in range(p.columns):
                place = rows[number, column], column
                result[place] = combine(result[place], updates[number, column])
        self.evaluate(self.functors["Epilogue"], (p.rows, p.columns), [result])

    def resize(self, problem: Any) -> None:
        p = problem
        x = self.matrix("X", (p.rows, *p.inputs, p.channels))
        for axis, (extent, taps) in enumerate(zip(p.outputs, p.taps, strict=True)):
            first = self.matrix(f"First{axis}", (extent,)).astype(np.int64)
            places = np.clip(first[:, None] + np.arange(taps), 0, p.inputs[axis] - 1)
            seen = np.moveaxis(np.take(x, places, axis + 1), axis + 2, -1)
            x = seen @ np.ones(1, x.dtype) if not p.is_weighted else self._weighted(seen, axis, extent, taps)
            x = x.astype(seen.dtype)
        self.evaluate(self.functors["Epilogue"], (p.rows, *p.outputs, p.channels), [x])

    def _weighted(self, seen: Array, axis: int, extent: int, taps: int) -> Array:
        weights = self.matrix(f"Weight{axis}", (extent, taps))
        shape = [1] * seen.ndim
        shape[axis + 1], shape[-1] = extent, taps
        return np.asarray((seen * weights.reshape(shape)).sum(axis=-1))

    # Expressions

    def matrix(self, name: str, extents: tuple[int, ...]) -> Array:
        """Return the one result of a functor at all coordinates."""
        (value,) = self.evaluate(self.functors[name], extents)
        return np.broadcast_to(value, extents)

    def evaluate(self, expression: Any, extents: tuple[int, ...], parameters: Sequence[Array] = ()) -> list[Array]:
        """Return the results of an expression over all coordinates, and store what it stores."""
        values: list[Array] = []
        for step in expression.steps:
            if isinstance(step, Parameter):
                value = parameters[step.index]
            elif isinstance(step, Load):
                value = self.read(step, *_offsets(step.map, extents))
            elif isinstance(step, IndexedLoad):
                index = self.read(step.index, *_offsets(step.index.map, extents)).astype(np.int64)
                index = np.where(index < 0, index + step.extent, index)
                offsets, valid = _offsets(step.data.map, extents)
                value = self.read(step.data, offsets + index * step.stride, valid & (index >= 0) & (index < step.extent))
            elif isinstance(step, Inside):
                value = _offsets(step.map, extents)[1]
            elif isinstance(step, Constant):
                number = float.fromhex(step.text) if step.dtype.is_float else int(step.text)
                value = np.asarray(np.float64(number) if step.dtype.is_float else number).astype(step.dtype.numpy)
            else:
                value = np.asarray(_function(step)(*(values[i] for i in step.operands))).astype(step.dtype.numpy)
            if not isinstance(step, Inside) and value.dtype != step.dtype.numpy:
                raise InterpreterError(f"{step} gives {value.dtype}")
            values.append(value)
        for store in expression.stores if prod(extents) else ():
            offsets, valid = _offsets(store.map, extents)
            space = self.spaces[store.slot]
            if not valid.all() or space is None or not space.is_writable:
                raise InterpreterError("a store has guards, or nowhere to go")
            self.stored.add(store.slot)
            target = space.typed(store.storage)
            flat = offsets.reshape(-1)
            if flat.size != target.size or not np.array_equal(np.sort(flat), np.arange(target.size)):
                raise InterpreterError(f"a store of {flat.size} elements does not write each of {target.size} once")
            target[flat] = np.broadcast_to(values[store.step], extents).reshape(-1).astype(store.storage.numpy)
            space.written[:] = True
        return [values[i] for i in expression.results]

    def read(self, load: Load, offsets: Array, valid: Array) -> Array:
        """Return elements in their compute type, zero where there is none."""
        space = self.spaces[load.slot]
        result = np.zeros(offsets.shape, load.dtype.numpy)
        if not valid.any():
            return result
        if space is None:
            raise InterpreterError("a load from nowhere")
        self.loaded.add(load.slot)
        source = space.typed(load.storage)
        chosen = offsets[valid]
        if chosen.min() < 0 or chosen.max() >= source.size:
            raise InterpreterError(f"a load of elements {chosen.min()} to {chosen.max()} of {source.size}")
        if not space.written.all():
            raise InterpreterError("a load of what was not written")
        result[valid] = source[chosen].astype(load.dtype.numpy)
        return result


def _offsets(index_map: IndexMap, extents: tuple[int, ...]) -> tuple[Array, Array]:
    if index_map.extents != extents:
        raise InterpreterError(f"a map over {index_map.extents} in a kernel over {extents}")
    return index_map.offsets()


def _three(p: Any, name: str) -> tuple[int, int, int]:
    """Return the numbers of a window along depth, height and width."""
    names = ("front", "top", "left") if name == "pad" else ("depth", "height", "width")
    depth, height, width = (getattr(p, f"{name}_{along}") for along in names)
    return depth, height, width


def _windows(p: Any, x: Array, fill: float, *, after: tuple[int, int, int] | None = None) -> Array:
    """Return [pixels, taps, channels] of X, with FILL outside; where AFTER is given, the padding holds ones too."""
    inputs, outputs, kernel = _three(p, "in"), _three(p, "out"), _three(p, "kernel")
    strides, dilations, pads = _three(p, "stride"), _three(p, "dilation"), _three(p, "pad")
    reach = [(o - 1) * s + (k - 1) * d + 1 for o, s, k, d in zip(outputs, strides, kernel, dilations, strict=True)]
    size = [max(r, b + n) for r, b, n in zip(reach, pads, inputs, strict=True)]
    image = np.full((x.shape[0], *size, x.shape[4]), fill, x.dtype)
    image[(slice(None), *(slice(b, b + n) for b, n in zip(pads, inputs, strict=True)))] = x
    if after is not None:
        image[(slice(None), *(slice(0, b + n + a) for b, n, a in zip(pads, inputs, after, strict=True)))] = 1
    found = []
    for tap in np.ndindex(*kernel):
        places = (slice(t * d, t * d + (o - 1) * s + 1, s) for t, d, o, s in zip(tap, dilations, outputs, strides, strict=True))
        found.append(image[(slice(None), *places)].reshape(-1, x.shape[4]))
    return np.stack(found, axis=1)


def _ascending(row: Array, *, is_reversed: bool = False) -> Array:
    """Return the order of a row's elements, equal ones by their places, NaN above all."""
    places = np.arange(row.size)
    if row.dtype.kind == "f":
        keys = (np.where(np.isnan(row), 0, row), np.isnan(row))
        return np.lexsort((places, -keys[0], ~keys[1]) if is_reversed else (places, keys[0], keys[1]))
    wide = row.astype(object)
    return np.array(sorted(places, key=lambda i: (-wide[i] if is_reversed else wide[i], i)), np.int64).reshape(-1)


_UPDATES: Mapping[str, Callable[[Any, Any], Any]] = {
    "assign": lambda old, new: new,
    "sum": np.add,
    "prod": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}

_COMBINERS: Mapping[str, Callable[[Array], Array]] = {
    "sum": lambda x: np.sum(x, axis=1, dtype=x.dtype),
    "prod": lambda x: np.prod(x, axis=1, dtype=x.dtype),
    "max": lambda x: np.max(x, axis=1, initial=False if x.dtype.kind == "b" else -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min),
    "min": lambda x: np.min(x, axis=1, initial=True if x.dtype.kind == "b" else np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).max),
}


def _with_attributes(op: str) -> Callable[..., Array]:
    """Return an operator whose function takes its attributes as further operands."""
    operator = operators()[op]

    def call(*values: Array) -> Array:
        count = len(values) - len(operator.attributes.__dataclass_fields__)  # type: ignore[attr-defined]
        attrs = operator.attributes(*(v.item() for v in values[count:]))
        return np.asarray(operator.evaluate(attrs, values[:count], 1)[0])

    return call


def _gelu(x: Array, form: Array) -> Array:
    operator = operators()["Gelu"]
    return np.asarray(operator.evaluate(operator.attributes("tanh" if form == 1 else "none"), (x,), 1)[0])


def _bit_shift(x: Array, count: Array, is_left: Array) -> Array:
    operator = operators()["BitShift"]
    return np.asarray(operator.evaluate(operator.attributes("LEFT" if is_left else "RIGHT"), (x, count), 1)[0])


@cache
def _functions() -> Mapping[str, Callable[..., Array]]:
    """Return the device functions by name: the truths of the operators that they are made for."""
    found: dict[str, Callable[..., Array]] = {
        "identity": lambda x: x,
        "where": np.where,
        "gelu": _gelu,
        "bit_shift": _bit_shift,
    }
    for operator in operators().values():
        lowering = operator.lowering
        if isinstance(lowering, Pointwise) and lowering.function not in found:
            if lowering.constants is None and operator.attributes is NoAttrs:
                found[lowering.function] = lambda *x, operator=operator: operator.evaluate(NoAttrs(), x, 1)[0]  # type: ignore[misc]
            else:
                found[lowering.function] = _with_attributes(operator.name)
    return found


def _function(step: Apply) -> Callable[..., Array]:
    if step.function.startswith("cast_"):
        target = DTYPES[step.function.split("_")[2]]
        return lambda x: converted(x, target)
    return _functions()[step.function]
