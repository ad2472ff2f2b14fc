"""The page on control flow names the limits that hold."""

from __future__ import annotations

from pathlib import Path

import tests
from nautilus_cli.frontend import importer
from nautilus_cli.frontend.constructs import if_, loop

PAGE = Path(tests.__path__[0]).parent / "docs" / "control-flow.md"


def test_limits() -> None:
    text = " ".join(PAGE.read_text().split())
    assert f"may unroll to {importer.MAX_UNROLLED_NODES} nodes and iterations" in text
    assert f"| up to {loop.MOST_CONDITIONAL} copies" in text
    assert f"both are computed, up to {if_.MOST_NODES} nodes together" in text
