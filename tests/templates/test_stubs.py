"""Stubs are thin: their variables are the render context, they have no logic, and their text is known."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import pytest
from jinja2 import meta

from nautilus_cli import resources
from nautilus_cli.codegen import render
from nautilus_cli.codegen.render import StubContext, environment
from nautilus_cli.kernels.registry import families
from nautilus_cli.toolchain.includes import IncludeScanner
from tests.emulated.cases.families import representative

STUBS = sorted(resources.kernel_stubs().glob("*.jinja"))


@pytest.mark.parametrize("family", families())
def test_text_is_golden(family: str, golden: Callable[[str, str], None]) -> None:
    golden(f"kernels/{family}.cu", render(representative(family)).text)


@pytest.mark.parametrize("family", families())
def test_variables_are_the_context(family: str) -> None:
    template = families()[family].template
    source = (resources.kernel_stubs() / template).read_text()
    assert meta.find_undeclared_variables(environment().parse(source)) == {field.name for field in fields(StubContext)}
    assert len(source.splitlines()) <= 40


@pytest.mark.parametrize("path", STUBS, ids=lambda path: path.name)
def test_no_logic(path: Path) -> None:
    source = path.read_text()
    code = re.findall(r"{%.*?%}|{{.*?}}", source, re.DOTALL)
    for piece in code:
        assert not re.search(r"\b(if|elif|else|filter)\b", piece), f"{path.name} decides: {piece}"
        assert "|" not in piece, f"{path.name} filters: {piece}"
        assert not re.search(r"[\w)\]]\s*[-+*/%]\s*[\w(\[]", piece.strip("{%-} ")), f"{path.name} computes: {piece}"


def test_every_stub_belongs_to_a_family() -> None:
    known = {family.template for family in families().values()}
    assert {path.name for path in STUBS if not path.name.startswith("_")} == known


@pytest.mark.parametrize("family", families())
def test_equal_requests_are_one_kernel(family: str) -> None:
    request = representative(family)
    first, second = render(request), render(replace(request))
    assert first == second
    assert re.fullmatch(rf"{family}_[0-9a-f]{{16}}", first.symbol)
    assert first.text.count(first.symbol) > 3


@pytest.mark.parametrize("family", families())
def test_every_kernel_waits_for_the_one_before_it(family: str) -> None:
    """The host lets kernels start early, and order is not transitive past one that does not wait."""
    text = render(representative(family)).text
    sources = [path.read_text() for path in IncludeScanner((resources.include(),)).closure(text) if path.parent.name == "kernels"]
    assert any("device::dependency_wait();" in source for source in sources)
