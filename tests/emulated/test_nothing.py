"""Launches that have nothing to do change nothing, and wait for those ahead of them: the runner asks for that of every launch."""

from __future__ import annotations

import pytest

from nautilus_cli.kernels.registry import families
from tests.emulated.cases.nothing import DIMENSIONS, NEVER, cases
from tests.emulated.harness import OPTIONS, Case, EmulatedRunner, Options, check

CASES = tuple(case for family in DIMENSIONS for case in cases(family))


def test_every_family_has_cases_of_every_dimension() -> None:
    assert {*DIMENSIONS, *NEVER} == set(families())
    found = {(case.request.family, name) for case in CASES for name in case.sizes}
    assert found == {(family, dimension) for family, dimensions in DIMENSIONS.items() for dimension in dimensions}


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> EmulatedRunner:
    return EmulatedRunner(CASES, tmp_path_factory.mktemp("nothing"))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_changes_nothing(case: Case, options: Options, runner: EmulatedRunner) -> None:
    runner.configure(options)
    check(case, runner)
