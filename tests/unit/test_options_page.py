"""docs/options.md tells the truth: every option, function and name of ours in it exists."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import nautilus_cli
from nautilus_cli.cli.main import SUBCOMMANDS, nautilus
from nautilus_cli.runtime.library import Library

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs/options.md").read_text()
ABI = (ROOT / "templates/include/nautilus/abi.h").read_text()

_CELL = re.compile(r"(?<!\\)\|")
_SPAN = re.compile(r"`([^`]+)`")


def rows() -> Iterator[tuple[str, str]]:
    """Yield both cells of each row of each table."""
    for line in TEXT.splitlines():
        if line.startswith("| `") or (line.startswith("| ") and not line.endswith("| Nautilus |")):
            _, theirs, ours, _ = _CELL.split(line)
            yield theirs.strip(), ours.strip()


ROWS = list(rows())
SPANS = sorted({span for _, ours in ROWS for span in _SPAN.findall(ours)} - {"test_data_set_0"})


def command(words: list[str]) -> tuple[click.Command, list[str]]:
    """Return the subcommand that WORDS begin with, and the rest."""
    context = click.Context(nautilus)
    found = nautilus.get_command(context, words[0])
    assert found is not None
    if isinstance(found, click.Group):
        inner = found.get_command(context, words[1])
        assert inner is not None, f"no such subcommand: {' '.join(words[:2])}"
        return inner, words[2:]
    return found, words[1:]


def test_there_are_tables() -> None:
    assert len(ROWS) > 70
    assert all(theirs and ours for theirs, ours in ROWS)
    assert {name for name in SUBCOMMANDS if any(span.split()[0] == name for span in SPANS)} == set(SUBCOMMANDS)


@pytest.mark.parametrize("span", SPANS)
def test_what_is_ours_exists(span: str) -> None:
    words = span.split()
    if words[0] in SUBCOMMANDS:
        found, rest = command(words)
        known = {option for param in found.params for option in (*param.opts, *param.secondary_opts)}
        assert {word for word in rest if word.startswith("-") and not word[1:].isdigit()} <= known
    elif span.startswith("nautilus_cli.load(") or " = nautilus_cli.load(" in span:
        named = re.findall(r"(\w+)=", span.partition("load(")[2])
        assert set(named) <= set(inspect.signature(nautilus_cli.load).parameters)
    elif span.startswith("library("):
        named = re.findall(r"(\w+)=", span)
        assert set(named) <= {"x", *inspect.signature(Library.__call__).parameters}
    elif span.startswith("library."):
        assert hasattr(Library, span.removeprefix("library."))
    else:
        assert re.search(rf"NAUTILUS_API [^;]*\b{re.escape(span)}\(", ABI), f"{span} is nothing of ours"


def test_values_are_what_options_take() -> None:
    """Each `compile`, `bench` or other line with values parses; the files that it names need not be there."""
    for span in SPANS:
        words = span.split()
        if words[0] not in SUBCOMMANDS:
            continue
        found, rest = command(words)
        values = {"N": "3", "S": "2.5", "SEED": "7"}
        filled = [values.get(word, word.replace("Nx", "1x")) for word in rest]
        arguments = sum(isinstance(param, click.Argument) and param.required for param in found.params)
        filled += ["file"] * arguments  # more than wanted where the line names them: the parser keeps what is left over
        context = click.Context(found, info_name=words[0], allow_extra_args=True, ignore_unknown_options=False)
        given, _, _ = found.make_parser(context).parse_args(filled)
        for param in found.params:
            if isinstance(param, click.Option) and param.name in given:
                param.type_cast_value(context, given[param.name])


def test_the_readme_leads_here() -> None:
    assert "(docs/options.md)" in (ROOT / "README.md").read_text()
