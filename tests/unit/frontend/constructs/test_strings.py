"""Strings are refused wherever they come from, by what holds, makes or takes them; StringNormalizer alone takes an input of strings."""

from __future__ import annotations

import pytest

from tests.unit.frontend.constructs.held import refused


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("g (string[2] x) => (string[2] y) { y = Reshape <allowzero = 0> (x, x) }", "node '#0 Reshape' (Reshape)"),
        ("g (string[2] x) => (bool[2] y) { y = Equal(x, x) }", "node '#0 Equal' (Equal)"),
        ("g (string[2] x) => (string[2] y) { o = Optional(x) y = OptionalGetElement(o) }", "node '#0 Optional' (Optional)"),
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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("g (string[2] x) => (float[2] y) { y = Identity(x) }", "output 'y': is declared as f32, but the graph computes ucs4[2, 64]"),
        ("g (float[2] x) => (string[2] y) { y = Neg(x) }", "output 'y': is declared as ucs4, but the graph computes f32[2]"),
    ],
)
def test_an_output_is_strings_where_it_is_declared_so(text: str, message: str) -> None:
    assert message in refused(text)
