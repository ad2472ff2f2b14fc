"""Names in kernel text of types, combiners and fields; everything that a stub may name comes from these tables."""

from __future__ import annotations

import re

from nautilus_cli.errors import InternalError, nearest
from nautilus_cli.ir.types import DType

TYPES = {
    "f16": "nautilus::half",
    "bf16": "nautilus::bfloat16",
    "f32": "float",
    "f64": "double",
    "i8": "signed char",
    "i16": "short",
    "i32": "int",
    "i64": "long long",
    "u8": "unsigned char",
    "u16": "unsigned short",
    "u32": "unsigned int",
    "u64": "unsigned long long",
    "bool": "bool",
    "f8e4m3fn": "nautilus::float8_e4m3fn",
    "f8e4m3fnuz": "nautilus::float8_e4m3fnuz",
    "f8e5m2": "nautilus::float8_e5m2",
    "f8e5m2fnuz": "nautilus::float8_e5m2fnuz",
    "f8e8m0": "nautilus::float8_e8m0",
    "f4e2m1": "nautilus::float4_e2m1",
    "i4": "nautilus::signed4",
    "u4": "nautilus::unsigned4",
    "i2": "nautilus::signed2",
    "u2": "nautilus::unsigned2",
}
"""Element types by their short names."""

TAGS = {
    "sum": "nautilus::Sum",
    "max": "nautilus::Max",
    "min": "nautilus::Min",
    "prod": "nautilus::Prod",
    "any": "nautilus::Any",
    "all": "nautilus::All",
    "assign": "nautilus::Assign",
    "none": "nautilus::NoDivisor",
    "window": "nautilus::WindowDivisor",
    "valid": "nautilus::ValidDivisor",
}
"""Types that string fields of a problem stand for: combiners of core/reduce.cuh and kernels/scatter.cuh, divisors of kernels/pool.cuh."""

INDEX_TYPES = {32: "int", 64: "long long"}
"""Types of indices by their bits."""

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def type_name(dtype: DType) -> str:
    """Return the C++ name of an element type."""
    return _look_up(TYPES, dtype.name, "element type")


def tag_name(tag: str) -> str:
    """Return the C++ name of what a string field stands for."""
    return _look_up(TAGS, tag, "tag")


def index_name(bits: int) -> str:
    """Return the C++ name of the index type."""
    if bits not in INDEX_TYPES:
        raise InternalError(f"an index of {bits} bits", hint="Indices have 32 or 64 bits.")
    return INDEX_TYPES[bits]


def member_type(field: str) -> str:
    """Return the name of the type member for a dataclass field: `in_channels` gives `InChannels`."""
    return "".join(part.capitalize() for part in identifier(field).split("_"))


def member_constant(field: str) -> str:
    """Return the name of the constant member for a dataclass field: `tile_m` gives `kTileM`."""
    return "k" + member_type(field)


def boolean(value: bool) -> str:
    """Return a truth value as kernel text has it."""
    return "true" if value else "false"


def identifier(name: str) -> str:
    """Return NAME after checking that it is an identifier: names reach kernel text only through here.

    Raises:
        InternalError: it is not.
    """
    if not _IDENTIFIER.fullmatch(name):
        raise InternalError(f"{name!r} is no identifier")
    return name


def _look_up(table: dict[str, str], key: str, what: str) -> str:
    if key not in table:
        raise InternalError(f"{what} {key!r} has no name in kernel text", hint=nearest(key, table))
    return table[key]
