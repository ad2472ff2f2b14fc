"""Device functions against numpy, over the edges of every type, in the emulator's twin."""

from __future__ import annotations

import ctypes
import re
from dataclasses import replace

import numpy as np
import pytest

from nautilus_cli import resources
from nautilus_cli.ir.types import DTYPES, F32, F64, NARROW
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Pointwise
from nautilus_cli.toolchain.cache import Cache
from nautilus_cli.toolchain.host_compiler import compile_object, link_image
from tests.emulated.functions import (
    CANCELS,
    EXACT,
    ZERO_OF_EITHER_SIGN,
    Entry,
    entries,
    operands,
    ties_of_half,
    translation_unit,
    violations,
)

HEADER = (resources.include() / "nautilus" / "core" / "math.cuh").read_text()
ENTRIES = {entry.symbol: entry for entry in entries()}


class Functions:
    """Calls the functions of a shared library."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library

    def call(self, entry: Entry, arrays: tuple[np.ndarray, ...]) -> np.ndarray:
        result = np.zeros(arrays[0].shape, entry.result.numpy)
        pointers = [ctypes.c_void_p(a.ctypes.data) for a in arrays]
        self._library[entry.symbol](ctypes.c_longlong(result.size), *pointers, *entry.scalars(), ctypes.c_void_p(result.ctypes.data))
        return result


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> Functions:
    store = Cache(tmp_path_factory.mktemp("cache"))
    path = tmp_path_factory.mktemp("functions") / "functions.so"
    path.write_bytes(link_image([compile_object(translation_unit(), store)], store))
    return Functions(ctypes.CDLL(str(path)))


def report(entry: Entry, arrays: tuple[np.ndarray, ...], found: np.ndarray) -> str:
    wrong = violations(entry, arrays, found)
    places = np.flatnonzero(wrong)[:5]
    expected = entry.truth(arrays)
    return "; ".join(f"{[a[i] for a in arrays]} gives {found[i]!r}, not {expected[i]!r}" for i in places)


@pytest.mark.parametrize("symbol", sorted(ENTRIES))
def test_function_gives_the_truth(symbol: str, functions: Functions) -> None:
    entry = ENTRIES[symbol]
    arrays = operands(entry, np.random.default_rng(len(symbol)))
    assert arrays[0].size >= 2
    found = functions.call(entry, arrays)
    assert not violations(entry, arrays, found).any(), report(entry, arrays, found)


def test_double_to_half_rounds_once(functions: Functions) -> None:
    entry = ENTRIES["cast_f64_f16"]
    found = functions.call(entry, (ties_of_half(),))
    assert not violations(entry, (ties_of_half(),), found).any()
    twice = ties_of_half().astype(np.float32).astype(np.float16).astype(np.float32)
    assert (twice != found).any(), "the values do not tell"


@pytest.mark.parametrize("form", [2, 3])
def test_gelu_of_a_half_result_is_a_fifth_of_its_unit_off_at_most(form: int, functions: Functions) -> None:
    """The forms for results that are rounded to 16 bits: 0.2 units of half, of 2^-24 and more."""
    entry = replace(ENTRIES["gelu_f32_0"], constants=(form,))
    values = np.concatenate([np.linspace(-14, 14, 400_001), [60000.0, -60000.0, np.inf]]).astype(np.float32)
    found, expected = functions.call(entry, (values,)), entry.truth((values,)).astype(np.float64)
    units = 2.0 ** (np.floor(np.log2(np.maximum(np.abs(expected), 2.0**-14))) - 10)
    finite = np.isfinite(values)
    assert (np.abs(found[finite] - expected[finite]) <= 0.2 * units[finite]).all()
    assert found[~finite] == np.inf
    edges = functions.call(entry, (np.array([0.0, -0.0, -np.inf, np.nan], np.float32),))
    assert np.signbit(edges[:2]).tolist() == [False, True] and edges[2] == 0 and np.isnan(edges[3])


def test_every_function_of_the_registry_is_in_the_header() -> None:
    defined = set(re.findall(r"^NAUTILUS_DEVICE \S+ (\w+)\(", HEADER, re.MULTILINE)) | set(
        re.findall(r"NAUTILUS_MATH_FORWARD\((\w+),", HEADER)
    )
    defined |= {f"{way}_{name}" for name in re.findall(r"NAUTILUS_MATH_BITS\((\w+), \w+, uint", HEADER) for way in ("bits_of", "from_bits")}
    named = {o.lowering.function for o in operators().values() if isinstance(o.lowering, Pointwise)}
    assert named <= defined
    assert {entry.function for entry in entries()} >= named


def test_every_pair_of_types_has_a_conversion() -> None:
    wide = [d for d in DTYPES.values() if d not in NARROW]  # the others: `test_narrow`
    assert {f"cast_{s}_{t}" for s in wide for t in wide} <= ENTRIES.keys()


def test_error_classes_name_functions() -> None:
    assert {entry.function for entry in entries()} >= EXACT | CANCELS | ZERO_OF_EITHER_SIGN


def test_powers_keep_the_parity_of_large_exponents(functions: Functions) -> None:
    entry = ENTRIES["pow_f32_i32"]
    arrays = np.array([-1, -1, -2, -0.5], np.float32), np.array([2**31 - 1, -(2**31) + 1, 2**31 - 1, 2**31 - 1], np.int32)
    assert functions.call(entry, arrays).tolist() == [-1, -1, -np.inf, 0]
    assert entry.truth(arrays).tolist() == [-1, -1, -np.inf, 0]


@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("dtype", [F32, F64])
def test_nan_propagates(name: str, dtype: object, functions: Functions) -> None:
    entry = ENTRIES[f"{name}_{dtype}_{dtype}"]
    a, b = (np.array(v, entry.operands[0].numpy) for v in ([np.nan, 1, np.nan], [1, np.nan, np.nan]))
    assert np.isnan(functions.call(entry, (a, b))).all()


def test_a_wrong_value_is_found() -> None:
    """The comparison can fail: values moved by more than the error, a lost NaN, a lost sign of zero."""
    x = np.array([0.5, np.nan, -0.0], np.float32)
    exp, neg = ENTRIES["exp_f32"], ENTRIES["neg_f32"]
    right = np.exp(x)
    assert not violations(exp, (x,), right).any()
    assert violations(exp, (x,), right * np.float32(1 + 2e-6)).tolist() == [True, False, True]
    assert violations(exp, (x,), np.nan_to_num(right)).tolist() == [False, True, False]
    assert violations(neg, (x,), np.abs(-x)).tolist() == [True, False, False]
    assert violations(neg, (-x,), np.array([0.5, np.nan, 0.0], np.float32)).tolist() == [False, False, True]
