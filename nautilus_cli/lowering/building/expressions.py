"""From nodes of a group to an expression: what a kernel computes at one coordinate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod

import numpy as np

from nautilus_cli.errors import InternalError
from nautilus_cli.ir.dims import is_symbolic
from nautilus_cli.ir.expression import Apply, Constant, Expression, IndexedLoad, Inside, Load, Parameter, Size, Step, Store
from nautilus_cli.ir.graph import Group, Node, Value
from nautilus_cli.ir.index_map import IndexMap, agree, broadcast, compose, from_strides, physical
from nautilus_cli.ir.types import BOOL, DType
from nautilus_cli.lowering.building.slots import Slots
from nautilus_cli.ops.gather import Gathered, gathered
from nautilus_cli.ops.movement import is_transparent, pieces, step_through
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Cast, Movement, Pointwise

UNIFORM_ELEMENTS = 4096
"""Constants up to this many elements are looked at for being one repeated scalar, which then needs no load."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value that the kernel hands to an expression.

    Attributes:
        index: number of the parameter.
        map: the only map at which the kernel has it: from the iteration coordinates to the value's linear index.
    """

    index: int
    map: IndexMap


class ExpressionBuilder:
    """Builds one expression of a group's kernel.

    Args:
        group: the group; its nodes are evaluated, all else is loaded.
        slots: the kernel's pointer arguments.
        leaves: the values that the kernel hands in.
    """

    def __init__(self, group: Group, slots: Slots, leaves: Mapping[Value, Leaf] | None = None) -> None:
        self._producers: dict[Value, Node] = {v: node for node in group.nodes for v in node.results()}
        self._slots = slots
        self._leaves = leaves or {}
        self._steps: list[Step] = []
        self._known: dict[Step, int] = {}
        self._built: dict[tuple[Value, IndexMap], int] = {}
        self._stores: list[Store] = []
        self._given: dict[Value, tuple[int, IndexMap]] = {}

    def expression(self, results: Iterable[int] = ()) -> Expression:
        """Return what was built, with the steps RESULTS handed back to the kernel."""
        return Expression(tuple(self._steps), tuple(results), tuple(self._stores))

    def rounded(self, result: int, dtype: DType) -> Expression:
        """Return what was built, with a step handed back to the kernel as a tensor of DTYPE would hold it."""
        step = self._steps[result]
        rounding = f"cast_{dtype.compute}_{dtype}"
        is_wide = isinstance(step, Parameter) or (isinstance(step, Apply) and not step.function.endswith(f"_{dtype}"))
        if dtype != dtype.compute and is_wide:
            result = self.apply(rounding, (result,), dtype.compute)
        return self.expression((result,))

    def store(self, value: Value, index_map: IndexMap) -> None:
        """Compute VALUE at INDEX_MAP and write it in its order."""
        self.store_at(value, index_map, value, compose(index_map, physical(value.type.static, value.order)))

    def store_at(self, value: Value, index_map: IndexMap, memory: Value, target: IndexMap) -> None:
        """Compute VALUE at INDEX_MAP and write it into the memory of another one, at the offset that TARGET gives."""
        source, there = self._source(value, index_map)
        bits = self._bits_of(source)
        step = self.value(value, index_map) if bits is None else self.value(bits, there)
        storage = value.type.dtype if bits is None else bits.type.dtype
        self._stores.append(Store(step, self._slots.number(memory), storage, target))

    def _bits_of(self, value: Value) -> Value | None:
        """Return the integer whose bits VALUE has, where that is what a node of the group says; else None."""
        node = self._producers.get(value)
        lowering = None if node is None else operators()[node.op].lowering
        if node is None or not isinstance(lowering, Pointwise) or not lowering.reinterprets:
            return None
        (operand,) = node.operands()
        return None if operand.type.dtype.is_float else operand

    def value(self, value: Value, index_map: IndexMap) -> int:
        """Return the step that is VALUE's element at INDEX_MAP (iteration coordinates to VALUE's row-major linear index)."""
        key = self._source(value, index_map)
        if key not in self._built:
            self._built[key] = self._compute(*key)
        return self._built[key]

    def _source(self, value: Value, index_map: IndexMap) -> tuple[Value, IndexMap]:
        """Follow transparent movement back; a loop, since nothing bounds how much of it a model chains."""
        while value.constant is None and value in self._producers and value not in self._leaves and value not in self._given:
            node = self._producers[value]
            if not is_transparent(node):
                break
            value, inner = step_through(node, value)
            index_map = compose(index_map, inner)
        return value, index_map

    def constant(self, scalar: float | int | bool, dtype: DType) -> int:
        """Return the step of a scalar; of a size where that is known only when the kernel is launched."""
        if is_symbolic(scalar):
            return self._step(Size(scalar, dtype))  # type: ignore[arg-type]
        return self._step(scalar_constant(scalar, dtype))

    def apply(self, function: str, operands: tuple[int, ...], dtype: DType) -> int:
        """Return the step that applies a device function."""
        return self._step(Apply(function, operands, dtype))

    def parameter(self, index: int, dtype: DType) -> int:
        """Return the step of a value that the kernel hands in."""
        return self._step(Parameter(index, dtype))

    def give(self, value: Value, index_map: IndexMap, step: int) -> None:
        """Say that STEP is VALUE's element at INDEX_MAP: of a value that the kernel makes of what it hands in."""
        self._given[value] = (step, index_map)

    def _step(self, step: Step) -> int:
        if step not in self._known:
            self._known[step] = len(self._steps)
            self._steps.append(step)
        return self._known[step]

    def _compute(self, value: Value, index_map: IndexMap) -> int:
        leaf = self._leaves.get(value)
        if leaf is not None:
            if not agree(leaf.map, index_map):
                raise InternalError(f"a fused value is needed at {index_map}, but the kernel has it at {leaf.map}", where=value.tensor)
            return self.parameter(leaf.index, value.type.dtype.compute)
        if value in self._given:
            step, there = self._given[value]
            if not agree(there, index_map):
                raise InternalError(f"a fused value is needed at {index_map}, but the kernel has it at {there}", where=value.tensor)
            return step
        if value.constant is not None:
            scalar = uniform_scalar(value.constant)
            if scalar is not None:
                return self.constant(scalar, value.type.dtype.compute)
        if value.contents is not None and value.contents.size == 1:
            return self.constant(value.contents.item(), value.type.dtype.compute)
        if value.contents is not None:
            raise InternalError("a vector of sizes is read that no kernel stores", where=value.tensor)
        node = self._producers.get(value)
        if node is None or value.constant is not None:
            offset = compose(index_map, physical(value.type.static, value.order))
            return self._step(Load(self._slots.number(value), value.type.dtype, offset))
        lowering = operators()[node.op].lowering
        if isinstance(lowering, Movement):
            return self._movement(node, value, index_map)
        if isinstance(lowering, Pointwise):
            loaded = self._loaded_bits(node, value, index_map, lowering)
            return self._pointwise(node, value, index_map, lowering) if loaded is None else loaded
        if isinstance(lowering, Cast):
            return self._cast(node, value, index_map, lowering)
        if (found := gathered(node)) is not None:
            return self._gathered(found, value, index_map)
        raise InternalError(f"{node.op} cannot be part of an expression", where=value.tensor)

    def _loaded_bits(self, node: Node, value: Value, index_map: IndexMap, lowering: Pointwise) -> int | None:
        """Return the step that reads the bits of a float in memory as the integer VALUE; None where that is not what is asked."""
        if not lowering.reinterprets or value.type.dtype.is_float:
            return None
        (operand,) = node.operands()
        source, there = self._source(operand, index_map)
        if source.constant is not None or source in self._producers or source in self._leaves:
            return None
        return self._step(Load(self._slots.number(source), value.type.dtype, compose(there, physical(source.type.static, source.order))))

    def _gathered(self, found: Gathered, value: Value, index_map: IndexMap) -> int:
        """Return the step that reads what an index names; data and indices are in memory."""
        data, indices, axis = found.data, found.indices, found.axis
        shape = data.type.static
        inner, count = prod(shape[axis + 1 :]), indices.type.elements
        parts = (prod(shape[:axis]), count, inner)
        order = physical(shape, data.order)
        base = compose(compose(index_map, from_strides(parts, (shape[axis] * inner, 0, 1))), order)
        source, place = self._source(indices, compose(index_map, from_strides(parts, (0, 1, 0))))
        if source in self._producers or data in self._producers:
            raise InternalError("a gather in a product computes what it reads", where=value.tensor)
        at = compose(place, physical(source.type.static, source.order))
        index = Load(self._slots.number(source), source.type.dtype, at)
        (stage,) = order.stages
        (digit,) = stage.coordinates[axis]
        return self._step(IndexedLoad(Load(self._slots.number(data), data.type.dtype, base), index, shape[axis], digit.stride))

    def _movement(self, node: Node, value: Value, index_map: IndexMap) -> int:
        parts = pieces(node, value)
        result: int | None = None
        for piece in reversed(parts):
            operand_value = None if piece.operand is None else node.inputs[piece.operand]
            there = compose(index_map, piece.map)
            if there.is_void:
                continue
            if operand_value is None:
                step = self.constant(0, value.type.dtype.compute)
            else:
                step = self.value(operand_value, there)
            if result is not None and there.is_guarded:
                inside = self._step(Inside(there))
                step = self.apply("where", (inside, step, result), value.type.dtype.compute)
            result = step
        return self.constant(0, value.type.dtype.compute) if result is None else result

    def _pointwise(self, node: Node, value: Value, index_map: IndexMap, lowering: Pointwise) -> int:
        shape = value.type.static
        operands = [self.value(v, compose(index_map, broadcast(v.type.static, shape))) for v in node.operands()]
        dtype = value.type.dtype.compute
        types = tuple(v.type for v in node.operands())
        constants = lowering.constants(node.attrs, types) if lowering.constants is not None else ()
        scalars = [self.constant(c, types[0].dtype.compute) for c in constants]
        if lowering.fold:
            result = operands[0]
            for operand in operands[1:]:
                result = self.apply(lowering.function, (result, operand, *scalars), dtype)
            return result
        return self.apply(lowering.function, (*operands, *scalars), dtype)

    def _cast(self, node: Node, value: Value, index_map: IndexMap, lowering: Cast) -> int:
        operand = node.inputs[0]
        assert operand is not None
        step = self.value(operand, compose(index_map, broadcast(operand.type.static, value.type.static)))
        source, target = operand.type.dtype.compute, value.type.dtype
        if source == target:
            return step
        manner = "" if lowering.manner is None else lowering.manner(node.attrs, target)
        return self.apply(f"{manner}cast_{source}_{target}", (step,), target.compute)


def scalar_constant(scalar: float | int | bool, dtype: DType) -> Constant:
    """Return a scalar as an expression constant of a compute type."""
    if dtype.is_float:
        return Constant(float(scalar).hex() if np.isfinite(scalar) else str(float(scalar)), dtype)
    return Constant(str(int(bool(scalar)) if dtype == BOOL else int(scalar)), dtype)


def uniform_scalar(array: np.ndarray) -> float | int | bool | None:
    """Return the one value that every element of a small constant has, bit for bit, or None."""
    if array.size == 0 or array.size > UNIFORM_ELEMENTS:
        return None
    flat = np.ascontiguousarray(array).reshape(-1)
    raw = flat.view(np.uint8).reshape(array.size, -1)
    if not (raw == raw[0]).all():
        return None
    scalar: float | int | bool = flat[0].item() if flat.dtype.kind != "V" else float(flat[0])
    return scalar
