"""Element types, dimensions and tensor types."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.dims import is_symbolic


@dataclass(frozen=True, slots=True)
class DType:
    """An element type.

    Attributes:
        name: short name as printed, for example `f16`.
        bits: width in storage; a bool takes 8.
        kind: `float`, `int`, `uint` or `bool`.
    """

    name: str
    bits: int
    kind: str

    @property
    def bytes(self) -> int:
        """Bytes of one stored element."""
        return self.bits // 8

    @property
    def numpy(self) -> np.dtype:
        """The numpy type of the same layout (bf16 comes from ml_dtypes)."""
        if self.name == "bf16":
            import ml_dtypes

            bfloat16: np.dtype = np.dtype(ml_dtypes.bfloat16)
            return bfloat16
        if self.kind == "bool":
            return np.dtype(np.bool_)
        letter = {"float": "f", "int": "i", "uint": "u"}[self.kind]
        return np.dtype(f"{letter}{self.bytes}")

    @property
    def is_float(self) -> bool:
        """Whether values are floating point."""
        return self.kind == "float"

    @property
    def compute(self) -> DType:
        """The type in which kernels compute values stored as this one."""
        return F32 if self.is_float and self.bits < 32 else self

    def __str__(self) -> str:
        return self.name


F16 = DType("f16", 16, "float")
BF16 = DType("bf16", 16, "float")
F32 = DType("f32", 32, "float")
F64 = DType("f64", 64, "float")
I8 = DType("i8", 8, "int")
I16 = DType("i16", 16, "int")
I32 = DType("i32", 32, "int")
I64 = DType("i64", 64, "int")
U8 = DType("u8", 8, "uint")
U16 = DType("u16", 16, "uint")
U32 = DType("u32", 32, "uint")
U64 = DType("u64", 64, "uint")
BOOL = DType("bool", 8, "bool")

DTYPES = {d.name: d for d in (F16, BF16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, BOOL)}


def dtype_of(array: np.ndarray | np.dtype) -> DType:
    """Return the element type of a numpy array or dtype.

    Raises:
        ModelError: there is none (strings, complex numbers, objects).
    """
    dtype = array if isinstance(array, np.dtype) else array.dtype
    name = "bf16" if dtype.name == "bfloat16" else "bool" if dtype.kind == "b" else f"{dtype.kind}{dtype.itemsize * 8}"
    if name not in DTYPES:
        raise ModelError(f"element type {dtype} is not supported", hint=f"Supported: {', '.join(DTYPES)}.")
    return DTYPES[name]


@dataclass(frozen=True, slots=True)
class Sym:
    """A dimension known only by name until it is bound to a size or to a range of them (`dims.Symbolic`, which counts as an int)."""

    name: str

    def __str__(self) -> str:
        return self.name


Dim = int | Sym
Shape = tuple[Dim, ...]


def static_shape(shape: Shape, where: str) -> tuple[int, ...]:
    """Return SHAPE as numbers, symbolic ones where a dimension is bound to a range.

    Raises:
        ModelError: a dimension is not bound.
    """
    for dim in shape:
        if isinstance(dim, Sym):
            hint = "Pass --shape NAME=DIMxDIMx... for the input it comes from."
            raise ModelError(f"dimension '{dim}' is not bound", where=where, hint=hint)
    return tuple(d if is_symbolic(d) else int(d) for d in shape if not isinstance(d, Sym))


@dataclass(frozen=True, slots=True)
class TensorType:
    """Element type and shape, in ONNX order."""

    dtype: DType
    shape: Shape

    @property
    def static(self) -> tuple[int, ...]:
        """The shape as numbers, symbolic ones included; raises ModelError on an unbound dimension."""
        return static_shape(self.shape, "tensor")

    @property
    def elements(self) -> int:
        """Number of elements; 1 for a scalar."""
        return prod(self.static)

    @property
    def bytes(self) -> int:
        """Bytes of the dense tensor."""
        return self.elements * self.dtype.bytes

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(str(d) for d in self.shape)}]"
