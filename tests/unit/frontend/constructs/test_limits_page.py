"""The page on control flow names the limits that hold."""

from __future__ import annotations

from pathlib import Path

import tests
from nautilus_cli.frontend import importer
from nautilus_cli.frontend.constructs import if_, loop, loop_body, unrolling
from nautilus_cli.lowering.program import MOST_DEPTH

PAGE = Path(tests.__path__[0]).parent / "docs" / "control-flow.md"


def test_limits() -> None:
    text = " ".join(PAGE.read_text().split())
    assert f"All loops that are unrolled may come to {importer.MAX_UNROLLED_NODES} nodes and iterations together" in text
    assert f"of up to {loop.MOST_UNROLLED} iterations that unroll to {loop.MOST_UNROLLED_NODES} nodes or fewer" in text
    assert f"Loop of a few small iterations ({loop.MOST_CHECKED_NODES} nodes)" in text
    assert f"a condition of the run may drop {unrolling.MOST_CONDITIONAL} iterations" in text
    assert f"where the model says one (up to {loop.MOST_BOUND}), else for {loop.MOST_PIECES}, " in text
    assert f"after {loop_body.MOST_OPEN_ITERATIONS} iterations, where only the run knows its end" in text
    assert f"A count of more than {loop_body.MOST_ITERATIONS} that is known at compile time" in text
    assert f"sequences or optional values, up to {if_.MOST_NODES} nodes together" in text
    assert f"Where both come to {if_.CHEAP_NODES} nodes or fewer" in text
    assert f"up to {MOST_DEPTH} deep" in text
