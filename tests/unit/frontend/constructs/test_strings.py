"""Strings are refused wherever they come from, by what holds or makes them."""

from __future__ import annotations

import pytest

from tests.unit.frontend.constructs.held import refused


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("g (string[2] x) => (string[2] y) { y = StringNormalizer <case_change_action = \"LOWER\"> (x) }", "input 'x'"),
        ("g (float[2] x) => (string[2] y) { y = Cast <to = 8> (x) }", "node '#0 Cast' (Cast)"),
        ("g (float[2] x) => (float[2] y) <string[1] s = {\"a\"}> { t = Identity(s) y = Neg(x) }", ""),
        ("g (float[2] x) => (bool y) { s = Constant <value_strings = [\"a\"]> () y = Equal(s, s) }", "node '#0 Constant' (Constant)"),
        ("g (float[2] x) => (float[2] y) { s = SequenceEmpty <dtype = 8> () y = Neg(x) }", "node '#0 SequenceEmpty' (SequenceEmpty)"),
    ],
)  # fmt: skip
def test_string(text: str, place: str) -> None:
    found = refused(text)
    assert "string" in found.lower()
    assert found.startswith(place)
