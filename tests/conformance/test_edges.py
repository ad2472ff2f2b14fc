from __future__ import annotations

import os

import pytest

from nautilus_cli.targets import registry
from nautilus_cli.toolchain.cache import Cache
from tests.conformance import edges, harness


@pytest.mark.slow
def test_every_type_at_its_edges():
    cases = list(edges.cases())
    run = harness.run(cases, registry.target("emulated"), store=Cache.default(), jobs=min(2, len(os.sched_getaffinity(0))))
    failed = {key: outcome for key, outcome in run.outcomes.items() if outcome.status != "passed"}
    assert not failed, "\n".join(f"{key}: {outcome.status}: {outcome.message}" for key, outcome in failed.items())
