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
    filled = runpy.run_path(str(ROOT / "docs/readme.py"))["filled"]
    assert filled(TEXT) == TEXT, "run: python docs/readme.py"


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
