"""What tests on a device share: its target, options for compute-sanitizer, and a loud word where there is no device."""

from __future__ import annotations

import pytest

from nautilus_cli.targets.base import Target
from nautilus_cli.targets.registry import for_capability
from nautilus_cli.toolchain.device import driver


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("gpu", "tests on a device")
    group.addoption("--every", type=int, default=1, metavar="N", help="run each N-th case of a family; compute-sanitizer is slow")
    group.addoption(
        "--exact-buffers", action="store_true", help="no guard behind buffers, so that compute-sanitizer sees accesses beyond them"
    )


@pytest.fixture(scope="session")
def architecture() -> Target:
    """The target that runs on the first device."""
    (device, *_) = driver().devices
    found = for_capability(device.capability)
    assert found is not None, f"no target for compute capability {device.capability}"
    return found


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    problem = driver().problem
    if problem:
        terminalreporter.section("NO GPU: the tests in tests/gpu did not run", sep="!", red=True, bold=True)
        terminalreporter.line(f"Reason: {problem}. Nothing is known about this code on a device.")
