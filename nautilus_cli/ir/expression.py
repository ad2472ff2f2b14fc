"""Pointwise expressions as data: what a kernel's prologue, body or epilogue computes at one coordinate.

An expression is in SSA form: step i may use steps before it. It never holds CUDA text, only names of device functions
that `templates/include/nautilus/core/math.cuh` defines.
"""

from __future__ import annotations

from dataclasses import dataclass

from nautilus_cli.ir.index_map import IndexMap
from nautilus_cli.ir.types import DType


@dataclass(frozen=True, slots=True)
class Parameter:
    """A value that the kernel hands in: an accumulator, or the result of a row reduction.

    Attributes:
        index: position among the kernel's parameters.
        dtype: compute type.
    """

    index: int
    dtype: DType


@dataclass(frozen=True, slots=True)
class Load:
    """Read one element; where the map's guards do not hold, nothing is read and the value is zero.

    Attributes:
        slot: which pointer argument of the kernel.
        storage: type in memory; the value has `storage.compute`.
        map: from the iteration coordinates to the element's offset.
    """

    slot: int
    storage: DType
    map: IndexMap

    @property
    def dtype(self) -> DType:
        """The compute type."""
        return self.storage.compute


@dataclass(frozen=True, slots=True)
class IndexedLoad:
    """Read one element at a place that another one, an integer, decides.

    An index below zero counts from the end, once. With one out of range nothing is read, the value is zero, and the kernel stores code 1 in
    the word that its last pointer argument names.

    Attributes:
        data: reads the element that there is where the index is 0.
        index: reads the index.
        extent: how many values the index takes.
        stride: what one step of the index adds to the element's offset.
    """

    data: Load
    index: Load
    extent: int
    stride: int

    @property
    def slot(self) -> int:
        """Which pointer argument the elements lie behind."""
        return self.data.slot

    @property
    def storage(self) -> DType:
        """Type in memory of the elements."""
        return self.data.storage

    @property
    def map(self) -> IndexMap:
        """From the iteration coordinates to the offset of the element where the index is 0."""
        return self.data.map

    @property
    def dtype(self) -> DType:
        """The compute type."""
        return self.data.dtype


@dataclass(frozen=True, slots=True)
class Inside:
    """True where every guard of the map holds; the value is a bool."""

    map: IndexMap


@dataclass(frozen=True, slots=True)
class Constant:
    """A scalar known at compile time.

    Attributes:
        text: `float.hex()` of a floating-point value (`nan`, `inf`, `-inf` as such), decimal digits of an integer, `0` or `1` of a bool.
            Text, so that equal bits hash equally and NaN equals itself.
        dtype: compute type.
    """

    text: str
    dtype: DType


@dataclass(frozen=True, slots=True)
class Apply:
    """Apply a device function.

    Attributes:
        function: its name in core/math.cuh, the same on device and emulated.
        operands: indices of earlier steps.
        dtype: compute type of the result.
    """

    function: str
    operands: tuple[int, ...]
    dtype: DType


@dataclass(frozen=True, slots=True)
class Size:
    """A number known when the kernel is launched, converted to a compute type.

    Attributes:
        value: an expression of dimensions.
        dtype: compute type.
    """

    value: int
    dtype: DType


AnyLoad = Load | IndexedLoad
"""A step that reads memory."""

Step = Parameter | Load | IndexedLoad | Inside | Constant | Size | Apply


@dataclass(frozen=True, slots=True)
class Store:
    """Write the value of a step.

    Attributes:
        step: index of the step.
        slot: which pointer argument of the kernel.
        storage: type in memory; the value is rounded to it.
        map: from the iteration coordinates to the element's offset; unguarded.
    """

    step: int
    slot: int
    storage: DType
    map: IndexMap


@dataclass(frozen=True, slots=True)
class Expression:
    """Steps and what becomes of them.

    Attributes:
        steps: in order of evaluation.
        results: indices of the steps handed back to the kernel (one for a prologue, none for an epilogue).
        stores: what is written.
    """

    steps: tuple[Step, ...]
    results: tuple[int, ...] = ()
    stores: tuple[Store, ...] = ()

    def is_plain_load(self) -> bool:
        """Whether this only reads one unguarded element."""
        return len(self.steps) == 1 and isinstance(self.steps[0], Load) and not self.steps[0].map.is_guarded


@dataclass(frozen=True, slots=True)
class Reduction:
    """One reduction over the columns of a row.

    Attributes:
        combine: `sum`, `max`, `min`, `prod`, `any` or `all` (names of combiners in core/reduce.cuh).
        term: gives the value to combine at a column; its parameters are the results of the earlier reductions, in order.
        finish: maps the combined value (last parameter, after the earlier results) to the result, once a row: a mean divides here.
        dtype: compute type of the result.
    """

    combine: str
    term: Expression
    finish: Expression
    dtype: DType


@dataclass(frozen=True, slots=True)
class RowProgram:
    """Reductions over the columns of each row, then what is written.

    Coordinates are (row, column) in `term` and `column_epilogue`, and (row,) in `finish` and `row_epilogue`.

    Attributes:
        reductions: in order; each sees the results of those before it.
        column_epilogue: stores for every element; parameters are all reduction results.
        row_epilogue: stores once a row; parameters are all reduction results.
    """

    reductions: tuple[Reduction, ...]
    column_epilogue: Expression
    row_epilogue: Expression
