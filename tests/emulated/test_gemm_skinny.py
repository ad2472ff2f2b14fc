"""Numerics of the gemm_skinny family on the emulator."""

from __future__ import annotations

import pytest

from tests.emulated.cases.gemm_skinny import cases
from tests.emulated.harness import OPTIONS, Case, EmulatedRunner, Options, check

CASES = cases()


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> EmulatedRunner:
    return EmulatedRunner(CASES, tmp_path_factory.mktemp("gemm_skinny"))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_matches_numpy(case: Case, options: Options, runner: EmulatedRunner) -> None:
    runner.configure(options)
    check(case, runner)
