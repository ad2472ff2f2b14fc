from __future__ import annotations

import pytest

from nautilus_cli.codegen.names import TYPES, identifier, index_name, member_constant, member_type, tag_name, type_name
from nautilus_cli.errors import InternalError
from nautilus_cli.ir.types import DTYPES, F16, DType


def test_every_element_type_has_a_name() -> None:
    assert set(TYPES) == set(DTYPES)
    assert type_name(F16) == "nautilus::half"


def test_members() -> None:
    assert member_type("in_channels") == "InChannels"
    assert member_constant("tile_m") == "kTileM"
    assert (index_name(32), index_name(64)) == ("int", "long long")
    assert tag_name("max") == "nautilus::Max"


@pytest.mark.parametrize("name", ['a"); system("x', "{{ c }}", "", "1a", "a-b", "a::b", "ä"])
def test_a_name_that_is_no_identifier_never_reaches_text(name: str) -> None:
    for make in (identifier, member_type, member_constant):
        with pytest.raises(InternalError):
            make(name)


def test_unknown_names_list_the_nearest() -> None:
    with pytest.raises(InternalError, match="Known: max"):
        tag_name("maxx")
    with pytest.raises(InternalError, match="i128"):
        type_name(DType("i128", 128, "int"))
    with pytest.raises(InternalError, match="16 bits"):
        index_name(16)
