from __future__ import annotations

import pytest

from nautilus_cli.codegen.constants import bits
from nautilus_cli.errors import InternalError
from nautilus_cli.ir.expression import Constant
from nautilus_cli.ir.types import BOOL, F16, F32, F64, I8, I32, I64, U8, U64, DType


@pytest.mark.parametrize(
    ("text", "dtype", "expected"),
    [
        ((1.0).hex(), F32, "0x3f800000u"),
        ((0.1).hex(), F32, "0x3dcccccdu"),  # rounded to nearest
        ((-0.0).hex(), F32, "0x80000000u"),
        ("nan", F32, "0x7fc00000u"),
        ("inf", F32, "0x7f800000u"),
        ("-inf", F32, "0xff800000u"),
        ((1e300).hex(), F32, "0x7f800000u"),
        ((0.1).hex(), F64, "0x3fb999999999999aull"),
        ("-1", I8, "0x000000ffu"),
        ("-2147483648", I32, "0x80000000u"),
        ("-9223372036854775808", I64, "0x8000000000000000ull"),
        ("18446744073709551615", U64, "0xffffffffffffffffull"),
        ("1", BOOL, "0x00000001u"),
    ],
)
def test_bits(text: str, dtype: DType, expected: str) -> None:
    assert bits(Constant(text, dtype)) == expected


@pytest.mark.parametrize(
    ("text", "dtype"), [("256", U8), ("-1", U8), ("128", I8), ("2", BOOL), ("9223372036854775808", I64), ("one", I32), ("1.5", I32)]
)
def test_a_number_that_the_type_does_not_hold_is_refused(text: str, dtype: DType) -> None:
    with pytest.raises(InternalError, match=f"{text}.*{dtype}|is no {dtype}"):
        bits(Constant(text, dtype))


def test_storage_types_have_no_constants() -> None:
    with pytest.raises(InternalError, match="f16"):
        bits(Constant((1.0).hex(), F16))
