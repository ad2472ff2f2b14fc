"""Options and fixtures of all tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write golden files anew instead of comparing with them")
    parser.addoption("--exports", action="store_true", help="compile every network of models/exports, not a third of them")
    parser.addoption("--graphs", type=int, default=60, metavar="N", help="how many random graphs tests/e2e compile")
    parser.addoption("--seed", type=int, default=0, metavar="S", help="the first of their seeds")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compares a text with the file of that name under tests/golden, or writes it with --update-golden."""
    update = bool(request.config.getoption("--update-golden"))

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            return
        assert path.exists(), f"{path} is missing: run pytest --update-golden and read what it writes"
        assert text == path.read_text(), f"{path} differs: if the change is meant, run pytest --update-golden and read the difference"

    return compare
