"""A third of onnx's backend cases, chosen by hash, and those of operators whose files the last commit or the working tree changes.

tests/e2e/test_packages.py compiles every light network.
"""

from __future__ import annotations

import os

import pytest

from nautilus_cli.targets import registry
from nautilus_cli.toolchain.cache import Cache
from tests.conformance import expectations, harness
from tests.conformance.cases import Choice, load
from tests.conformance.changes import changed_files, operators_of

OF = 3


@pytest.mark.slow
def test_a_third_of_the_cases_goes_as_expected():
    choice = Choice(part=(0, OF), operators=operators_of(changed_files("HEAD~1")))
    cases = [case for case in load() if choice.has(case) and not case.key.startswith("light/")]
    run = harness.run(cases, registry.target("emulated"), store=Cache.default(), jobs=min(2, len(os.sched_getaffinity(0))))
    verdict = expectations.judge(run.outcomes, expectations.read())
    assert not verdict.failures, "\n".join(f"{key}: {outcome.status}: {outcome.message}" for key, outcome in verdict.failures.items())
    assert not verdict.successes, f"these pass and must leave {expectations.FILE.name}: {verdict.successes}"
