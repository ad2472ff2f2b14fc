"""Every device function that the registry names, as one translation unit, and what numpy says of it.

A function becomes a kernel `name(count, operands..., constants..., result)` that one thread runs: the same text for both machines.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from nautilus_cli.codegen.names import TYPES
from nautilus_cli.errors import ModelError
from nautilus_cli.ir.types import BOOL, DTYPES, F32, F64, I32, I64, NARROW, U32, DType, TensorType
from nautilus_cli.numerics.tolerance import FUNCTION_ULPS
from nautilus_cli.ops.activations import GeluAttrs, IsInfAttrs, LeakyReluAttrs
from nautilus_cli.ops.arg_key import KEYED, ArgIndexAttrs, ArgKeyAttrs
from nautilus_cli.ops.arithmetic import ModAttrs
from nautilus_cli.ops.cast import converted
from nautilus_cli.ops.logical import BitShiftAttrs
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Inference, Operator, Pointwise

ATTRIBUTES: dict[str, tuple[Any, ...]] = {
    "nautilus::ArgIndex": tuple(ArgIndexAttrs(last) for last in (0, 1)),
    "nautilus::ArgKey": tuple(ArgKeyAttrs(is_min, last) for is_min in (0, 1) for last in (0, 1)),
    "BitShift": (BitShiftAttrs("LEFT"), BitShiftAttrs("RIGHT")),
    "Gelu": (GeluAttrs("none"), GeluAttrs("tanh")),
    "LeakyRelu": (LeakyReluAttrs(0.125),),
    "IsInf": (IsInfAttrs(0, 1), IsInfAttrs(1, 0), IsInfAttrs(1, 1)),
    "Mod": (ModAttrs(0), ModAttrs(1)),
}
"""Where the defaults do not show everything."""

EXACT = frozenset(
    {
        *("abs", "add", "ceil", "div", "floor", "leaky_relu", "max", "min", "mod", "mul", "neg", "prelu", "reciprocal", "relu", "round"),
        *("look_up", "sign", "sqrt", "sub", "thresholded_relu", "where"),
    }
)
"""Floating-point functions of one rounding or none: equal bit for bit on every machine."""

CANCELS = frozenset({"gelu", "hard_sigmoid", "hard_swish"})
"""Functions that add numbers of different sign: their error is relative to those, not to the result."""

ZERO_OF_EITHER_SIGN = frozenset({"max", "min", "relu", "prelu", "leaky_relu", "sign"})
"""The specification leaves the sign of a zero open."""

ULPS = 2 * FUNCTION_ULPS
"""For a function and the steps around it, on either side of the comparison."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Entry:
    """One function for operands of certain types.

    Attributes:
        symbol: the kernel's name.
        call: what it calls, without operands.
        operands: compute types.
        constants: scalars after them, of the type of the first operand.
        result: compute type.
        operator: whose truth it must match; None for a conversion or a combiner.
        attrs: of the operator.
        target: of a conversion, the type whose rounding the result has.
    """

    symbol: str
    call: str
    operands: tuple[DType, ...]
    constants: tuple[float | int, ...]
    result: DType
    operator: Operator | None = None
    attrs: Any = None
    target: DType | None = None

    @property
    def function(self) -> str:
        """The function's name alone."""
        return self.call.rsplit("::", 1)[-1]

    def text(self) -> str:
        """Return the kernel."""
        first = TYPES[self.operands[0].name]
        pointers = [f"const {TYPES[d.name]} *x{i}" for i, d in enumerate(self.operands)]
        scalars = [f"{first} c{i}" for i in range(len(self.constants))]
        arguments = ", ".join([f"x{i}[i]" for i in range(len(self.operands))] + [f"c{i}" for i in range(len(self.constants))])
        parameters = ", ".join(["long long count", *pointers, *scalars, f"{TYPES[self.result.name]} *result"])
        body = f"for (long long i = 0; i < count; ++i) result[i] = {self.call}({arguments});"
        return f'extern "C" __global__ void {self.symbol}({parameters}) {{ {body} }}'

    def scalars(self) -> list[Any]:
        """Return the constants as C passes them."""
        kind = np.ctypeslib.as_ctypes_type(self.operands[0].numpy)
        return [kind(c) for c in self.constants]

    def truth(self, arrays: tuple[np.ndarray, ...]) -> np.ndarray:
        """Return numpy's values; of float32 operands, computed in float64 and rounded once."""
        with np.errstate(all="ignore"):
            if self.target is not None:
                return converted(arrays[0], self.target).astype(self.result.numpy)
            assert self.operator is not None
            wide = tuple(a.astype(np.float64) if a.dtype == np.float32 else a for a in arrays)
            return self.operator.evaluate(self.attrs, wide, 1)[0].astype(self.result.numpy)


@cache
def entries() -> tuple[Entry, ...]:
    """Return every function of the registry for every compute type that its operator allows, and every conversion.

    Those to narrow types are in `test_narrow`.
    """
    found: dict[str, Entry] = {}
    for name in sorted(operators()):
        operator = operators()[name]
        if isinstance(operator.lowering, Pointwise):
            for entry in _of_operator(operator, operator.lowering):
                found.setdefault(entry.symbol, entry)
    for source, target in product((d for d in DTYPES.values() if d not in NARROW), repeat=2):
        symbol = f"cast_{source}_{target}"
        found[symbol] = Entry(
            symbol=symbol,
            call=f"nautilus::math::{symbol}",
            operands=(source.compute,),
            constants=(),
            result=target.compute,
            target=target,
        )
    return tuple(found.values())


def _of_operator(operator: Operator, lowering: Pointwise) -> Iterator[Entry]:
    for attrs in ATTRIBUTES.get(operator.name) or (operator.attributes(),):
        for storage in _signatures(operator, attrs):
            types = tuple(TensorType(d, (1,)) for d in storage)
            (result,) = operator.infer(Inference(attrs, types, (None,) * len(types), 1))
            constants = lowering.constants(attrs, types) if lowering.constants is not None else ()
            if operator.normalise is not None and not storage[0].is_float and any(isinstance(c, float) for c in constants):
                continue  # the operator takes whole numbers as floats, since its constants need not be whole
            kinds = "_".join([*(d.name for d in storage), *(str(c).replace("-", "m").replace(".", "_") for c in constants)])
            yield Entry(
                symbol=f"{lowering.function}_{kinds}",
                call=f"nautilus::math::{lowering.function}",
                operands=storage,
                constants=constants,
                result=result.dtype.compute,
                operator=operator,
                attrs=attrs,
            )


def _signatures(operator: Operator, attrs: Any) -> list[tuple[DType, ...]]:
    """Return the operand types that a shape rule accepts, in compute types."""
    compute = [d for d in DTYPES.values() if d.compute == d]
    if operator.name == "Where":
        return [(BOOL, d, d) for d in compute]
    if operator.name == "nautilus::ArgKey":
        return [(d, U32) for d in compute if d in KEYED]
    if operator.name == "Pow":
        return [pair for pair in product((F32, F64, I32, I64), compute) if BOOL not in pair]
    count = 2 if isinstance(operator.lowering, Pointwise) and operator.lowering.fold else None
    found = []
    for dtype in compute:
        for operands in (count,) if count else (1, 2):
            types = tuple(TensorType(dtype, (1,)) for _ in range(operands))
            try:
                operator.infer(Inference(attrs, types, (None,) * operands, 1))
            except ModelError:
                continue
            found.append((dtype,) * operands)
    return found


def translation_unit() -> str:
    """Return the text of all functions."""
    lines = ["#include <nautilus/core/math.cuh>", "#include <nautilus/core/reduce.cuh>", *(entry.text() for entry in entries())]
    return "\n".join(lines) + "\n"


def special_values(dtype: DType) -> np.ndarray:
    """Return the edges of a type."""
    if dtype == BOOL:
        return np.array([False, True])
    kind = dtype.numpy
    if not dtype.is_float:
        limits = np.iinfo(kind)
        numbers = [0, 1, 2, 3, 5, 7, 8, 13, 31, 32, 63, 64, limits.max, limits.max - 1, limits.min, limits.min + 1]
        numbers += [-1, -2, -3, -7, -8] if dtype.kind == "int" else []
        return np.array([n for n in numbers if limits.min <= n <= limits.max], kind)
    limits_f = np.finfo(kind)
    positive = [0.0, 1.0, 0.5, 1.5, 2.5, 3.0, 1 / 3, np.pi, 20.0, 20.5, 88.0, 1e4, 1e-3, 2**24, 1e30, np.inf]
    positive += [limits_f.tiny, limits_f.smallest_subnormal, limits_f.max, limits_f.eps, 1 + limits_f.eps, 65504.0, 65519.0, 65520.0]
    return np.array([*positive, *(-p for p in positive), np.nan], kind)


def operands(entry: Entry, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Return every combination of edges, and random values of every magnitude."""
    edges = np.meshgrid(*(special_values(d) for d in entry.operands), indexing="ij")
    drawn = [_random(rng, d, 4000) for d in entry.operands]
    arrays = tuple(np.concatenate([e.reshape(-1), d]) for e, d in zip(edges, drawn, strict=True))
    kept = _defined(entry, arrays)
    return tuple(np.ascontiguousarray(a[kept]) for a in arrays)


def _random(rng: np.random.Generator, dtype: DType, count: int) -> np.ndarray:
    if dtype == BOOL:
        return rng.random(count) < 0.5
    if not dtype.is_float:
        limits = np.iinfo(dtype.numpy)
        wide = rng.integers(limits.min, limits.max, count, dtype.numpy, endpoint=True)
        near = rng.integers(max(limits.min, -40), 40, count).astype(dtype.numpy)
        return np.where(rng.random(count) < 0.5, wide, near)
    exponents = np.where(rng.random(count) < 0.5, rng.uniform(-4, 4, count), rng.uniform(-40, 38, count))
    return np.asarray(rng.choice([-1, 1], count) * 10**exponents).astype(dtype.numpy)


def _defined(entry: Entry, arrays: tuple[np.ndarray, ...]) -> np.ndarray:
    """Leave out what the specification leaves undefined: floats that an integer type cannot hold."""
    first = arrays[0]
    everything = np.ones(first.shape, bool)
    if entry.target is not None and entry.operands[0].is_float and entry.target.kind in ("int", "uint"):
        return _fits(first, entry.target)
    if entry.function.startswith("bits_of_"):  # of a NaN: not those it had
        return np.isfinite(first) if entry.function == "bits_of_f8e8m0" else ~np.isnan(first)
    if entry.function == "look_up":
        return ~np.isnan(first)
    if entry.function == "unpack_bits":
        return arrays[1] < 8
    if entry.function == "pow" and not entry.operands[0].is_float and entry.operands[1].is_float:
        with np.errstate(all="ignore"):
            # Up to the 53 bits that double precision holds, and not so near a whole number that the last bit decides.
            exponent = arrays[1].astype(np.float64)
            value = np.power(first.astype(np.float64), exponent)
            is_near = (np.abs(value - np.rint(value)) < 1e-9 * np.maximum(1, np.abs(value))) & (exponent != np.rint(exponent))
            return _fits(value, entry.operands[0]) & (np.abs(value) < 2**53) & ~is_near
    if entry.function == "pow" and entry.operands[0].is_float and not entry.operands[1].is_float:
        # Beyond, the exponent is rounded before the power is taken.
        return np.abs(arrays[1].astype(np.float64)) <= 2.0 ** (np.finfo(first.dtype).nmant + 1)
    return everything


def _fits(values: np.ndarray, dtype: DType) -> np.ndarray:
    limits = np.iinfo(dtype.numpy)
    with np.errstate(all="ignore"):
        cut = np.trunc(values.astype(np.float64))
        return np.isfinite(values) & (cut >= float(limits.min)) & (cut < 2.0 ** (dtype.bits - (dtype.kind == "int")))


def violations(entry: Entry, arrays: tuple[np.ndarray, ...], found: np.ndarray) -> np.ndarray:
    """Return where FOUND is not what numpy says, within the function's error."""
    expected = entry.truth(arrays)
    if not entry.result.is_float:
        return found != expected
    both_nan = np.isnan(found) & np.isnan(expected)
    if entry.target is not None or entry.function in EXACT:
        wrong = ~both_nan & (found != expected)
    else:
        limits = np.finfo(expected.dtype)
        with np.errstate(all="ignore"):
            size = np.abs(expected)
            first = np.abs(arrays[0]).astype(expected.dtype)
            if entry.function in CANCELS:
                size = np.maximum(size, np.maximum(first, 1))
            # Below the normal range a factor may be flushed to zero before it is multiplied by the operand.
            floor = limits.tiny * np.maximum(1, first)
            unit = np.spacing(np.minimum(size, limits.max))
            wrong = ~both_nan & (found != expected) & ~(np.abs(found - expected) <= np.maximum(ULPS * unit, floor))
            # An overflow within the error of the largest number.
            largest = limits.max * (1 - ULPS * limits.eps)
            wrong &= ~((np.abs(found) >= largest) & (size >= largest) & (np.sign(found) == np.sign(expected)))
    if entry.function not in ZERO_OF_EITHER_SIGN:
        wrong |= (found == 0) & (expected == 0) & (np.signbit(found) != np.signbit(expected))
    return np.asarray(wrong)


def ties_of_half() -> np.ndarray:
    """Doubles just beside the middle of two float16 numbers, which rounding by way of float32 would take for the middle."""
    middle = 1 + (2 * np.arange(64) + 1) * 2.0**-11
    return np.concatenate([middle, middle + 2.0**-40, middle - 2.0**-40, -middle - 2.0**-40, 6e-8 * middle])
