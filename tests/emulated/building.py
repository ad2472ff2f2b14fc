"""Short ways to write expressions in tests."""

from __future__ import annotations

from nautilus_cli.ir.expression import Apply, Constant, Expression, IndexedLoad, Inside, Load, Parameter, Step, Store
from nautilus_cli.ir.index_map import IndexMap
from nautilus_cli.ir.types import F32, DType


class Steps:
    """Collects the steps of an expression; every method returns the index of its step."""

    def __init__(self) -> None:
        self._steps: list[Step] = []
        self._stores: list[Store] = []

    def load(self, slot: int, storage: DType, index_map: IndexMap) -> int:
        return self._add(Load(slot, storage, index_map))

    def indexed(self, data: Load, index: Load, extent: int, stride: int) -> int:
        return self._add(IndexedLoad(data, index, extent, stride))

    def inside(self, index_map: IndexMap) -> int:
        return self._add(Inside(index_map))

    def parameter(self, index: int, dtype: DType = F32) -> int:
        return self._add(Parameter(index, dtype))

    def constant(self, value: float | int | bool, dtype: DType = F32) -> int:
        return self._add(Constant(float(value).hex() if dtype.is_float else str(int(value)), dtype))

    def apply(self, function: str, *operands: int, dtype: DType = F32) -> int:
        return self._add(Apply(function, operands, dtype))

    def store(self, step: int, slot: int, storage: DType, index_map: IndexMap) -> None:
        self._stores.append(Store(step, slot, storage, index_map))

    def expression(self, *results: int) -> Expression:
        return Expression(tuple(self._steps), results, tuple(self._stores))

    def _add(self, step: Step) -> int:
        self._steps.append(step)
        return len(self._steps) - 1
