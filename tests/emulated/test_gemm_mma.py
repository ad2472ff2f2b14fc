"""Numerics of the gemm_mma family on the emulator."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from nautilus_cli.ir.binding import bind
from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.types import F16
from nautilus_cli.kernels.base import Geometry
from tests.emulated.cases import attention_scores
from tests.emulated.cases.gemm_mma import cases, masked
from tests.emulated.harness import OPTIONS, Case, EmulatedRunner, Options, check

CASES = cases()


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> EmulatedRunner:
    return EmulatedRunner(CASES, tmp_path_factory.mktemp("gemm_mma"))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_matches_numpy(case: Case, options: Options, runner: EmulatedRunner) -> None:
    runner.configure(options)
    check(case, runner)


class OneBlock(Case):
    """A case that is launched with a block where its sizes ask for none, as the host does."""

    @property
    def geometry(self) -> Geometry:
        found = super().geometry
        return replace(found, grid=tuple(max(1, blocks) for blocks in found.grid))


@pytest.mark.parametrize(("m", "n"), [(0, 61), (67, 0), (0, 0)])
def test_a_block_without_rows_or_columns_stores_nothing(m: int, n: int, tmp_path: Path) -> None:
    case = masked("wide", (1, 67, 61, 24), "heads", "mn")
    problem = replace(case.request.problem, m=symbol("m", 0, 100), n=symbol("n", 0, 100))
    functors = attention_scores.masked_functors((1, problem.m, problem.n, 24), "heads", is_merged=False, storage=F16)
    request = replace(case.request, problem=problem, functors=tuple(zip(("A", "B", "Epilogue"), functors, strict=True)))
    elements = (attention_scores.HEADS * m * 24, attention_scores.HEADS * n * 24, 0, 0)
    none = OneBlock(
        name=f"none-{m}x{n}",
        request=request,
        buffers=tuple(buffer[:count] for buffer, count in zip(case.buffers, elements, strict=True)),
        expected={},
        scalars=bind(request.scalar_values, {"m": m, "n": n}),
        sizes={"m": m, "n": n},
    )
    assert min(none.geometry.grid) == 1
    check(none, EmulatedRunner((none,), tmp_path))
