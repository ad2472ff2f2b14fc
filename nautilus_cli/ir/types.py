"""Element types, dimensions and tensor types."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.dims import is_symbolic, same


@dataclass(frozen=True, slots=True)
class DType:
    """An element type.

    Attributes:
        name: short name as printed, for example `f16`.
        bits: width of a value; a bool takes 8.
        kind: `float`, `int`, `uint` or `bool`.
    """

    name: str
    bits: int
    kind: str

    @property
    def bytes(self) -> int:
        """Bytes of one stored element; one of less than 8 bits takes a byte, in whose low bits it stands, as in ml_dtypes."""
        return max(1, self.bits // 8)

    @property
    def numpy(self) -> np.dtype:
        """The numpy type of the same layout (bf16 and the narrow types come from ml_dtypes)."""
        if self.name in _ML_DTYPES:
            import ml_dtypes

            found: np.dtype = np.dtype(getattr(ml_dtypes, _ML_DTYPES[self.name]))
            return found
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
        if self.is_float:
            return F32 if self.bits < 32 else self
        return (I8 if self.kind == "int" else U8) if self.bits < 8 else self

    @property
    def bits_type(self) -> str:
        """Name of the unsigned integer that stands for it where the type itself is not known: in .npy files, without ml_dtypes."""
        return f"u{8 * self.bytes}"

    @property
    def limits(self) -> tuple[int, int]:
        """The lowest and the highest integer; of an integer type."""
        if self.kind == "int":
            return -(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1
        return 0, 1 if self.kind == "bool" else (1 << self.bits) - 1

    def packed_bytes(self, elements: int) -> int:
        """Bytes of ELEMENTS as ONNX packs them in a file: several narrow ones to a byte, the first in its low bits."""
        return (elements * self.bits + 7) // 8

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
F8E4M3FN = DType("f8e4m3fn", 8, "float")
F8E4M3FNUZ = DType("f8e4m3fnuz", 8, "float")
F8E5M2 = DType("f8e5m2", 8, "float")
F8E5M2FNUZ = DType("f8e5m2fnuz", 8, "float")
F8E8M0 = DType("f8e8m0", 8, "float")
F4E2M1 = DType("f4e2m1", 4, "float")
I4 = DType("i4", 4, "int")
U4 = DType("u4", 4, "uint")
I2 = DType("i2", 2, "int")
U2 = DType("u2", 2, "uint")

UCS4 = DType("ucs4", 32, "uint")
"""What an input or output of strings has: code points, of which its last dimension says how many a string may have. Within a graph they are
u32, so that this is no member of DTYPES."""

NARROW = (F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ, F8E8M0, F4E2M1, I4, U4, I2, U2)
"""Types that hold quantised values and nothing computes in: they are cast, quantised, dequantised and moved."""

DTYPES = {d.name: d for d in (F16, BF16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, BOOL, *NARROW)}

_ML_DTYPES = {
    "bf16": "bfloat16",
    "f8e4m3fn": "float8_e4m3fn",
    "f8e4m3fnuz": "float8_e4m3fnuz",
    "f8e5m2": "float8_e5m2",
    "f8e5m2fnuz": "float8_e5m2fnuz",
    "f8e8m0": "float8_e8m0fnu",
    "f4e2m1": "float4_e2m1fn",
    "i4": "int4",
    "u4": "uint4",
    "i2": "int2",
    "u2": "uint2",
}
"""Names of the types that numpy takes from ml_dtypes."""

ML_DTYPES = frozenset(_ML_DTYPES)
"""Names of the types that numpy alone does not know."""

_NAMES = {numpy_name: name for name, numpy_name in _ML_DTYPES.items()}


def dtype_of(array: np.ndarray | np.dtype) -> DType:
    """Return the element type of a numpy array or dtype.

    Raises:
        ModelError: there is none (strings, complex numbers, objects).
    """
    dtype = array if isinstance(array, np.dtype) else array.dtype
    name = _NAMES.get(dtype.name) or ("bool" if dtype.kind == "b" else f"{dtype.kind}{dtype.itemsize * 8}")
    if name not in DTYPES:
        raise ModelError(f"element type {dtype} is not supported", hint=f"Supported: {', '.join(DTYPES)}.")
    return DTYPES[name]


def unpacked(data: np.ndarray, dtype: DType, elements: int) -> np.ndarray:
    """Return the elements of a type of less than 8 bits that ONNX packed into bytes, one a byte, flat.

    Source: onnx.proto, TensorProto.raw_data and int32_data.
    """
    shifts = np.arange(0, 8, dtype.bits, dtype=np.uint8)
    codes = (data.reshape(-1, 1) >> shifts & np.uint8((1 << dtype.bits) - 1)).reshape(-1)
    return codes[:elements].view(dtype.numpy)


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
    """Element type and shape, in ONNX order; equal where they are for all sizes of their dimensions."""

    dtype: DType
    shape: Shape

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorType) and self.dtype == other.dtype and same(self.shape, other.shape)

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
