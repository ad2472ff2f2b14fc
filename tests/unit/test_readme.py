"""The README tells the truth: its generated parts are up to date, and every file it names is there."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import click

from nautilus_cli.cli.main import SUBCOMMANDS, nautilus

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "README.md").read_text()


def test_generated_parts_are_up_to_date() -> None:
    made = runpy.run_path(str(ROOT / "docs/readme.py"))
    assert made["filled"](TEXT) == TEXT, "run: python docs/readme.py"
    assert made["operators_page"](made["kept_results"]()) == (ROOT / "docs/operators.md").read_text(), "run: python docs/readme.py"


def test_the_page_of_operators_holds_counts_of_a_conformance_run() -> None:
    made = runpy.run_path(str(ROOT / "docs/readme.py"))
    counts = {"Relu": {"passed": 3, "all": 4}, "Frobnicate": {"passed": 0, "all": 2}}
    run = {"operators": counts, "suites": {"node": {"passed": 3, "all": 6}}, "target": "emulated", "versions": {"onnx": "1.23.2"}}
    page = made["operators_page"](run)
    assert "| node | 3 | 6 |" in page
    assert re.search(r"^\| Relu \| elementwise, fused \| 1–\d+ \| 3 of 4 \|", page, re.MULTILINE)
    assert "Not in the tables below: Frobnicate (0 of 2)." in page
    assert "| Abs | elementwise, fused |" in page


def test_what_onnx_defines_by_unsupported_operators_is_not_claimed() -> None:
    made = runpy.run_path(str(ROOT / "docs/readme.py"))
    supported = made["supported"]()
    assert supported["HannWindow"] and supported["Relu"] == "elementwise, fused"
    if "RandomUniformLike" not in supported:
        assert "Bernoulli" not in supported


def test_every_link_leads_somewhere() -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", TEXT)
    assert len(links) > 10
    missing = [link for link in links if not (ROOT / link).exists()]
    assert not missing


def test_every_subcommand_is_shown() -> None:
    for name in SUBCOMMANDS:
        assert f"nautilus {name}" in TEXT


def test_every_command_has_the_options_that_it_is_shown_with() -> None:
    commands = re.findall(r"^nautilus ([^#\n]+)", TEXT, flags=re.MULTILINE)
    assert len(commands) > len(SUBCOMMANDS)
    for line in commands:
        name, *words = line.split()
        found = nautilus.get_command(click.Context(nautilus), name)
        assert found is not None
        known = {option for param in found.params for option in param.opts}
        assert {word for word in words if word.startswith("-")} <= known, line
