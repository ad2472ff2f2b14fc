"""What holds for the schedules of every family on the problems of its cases, and of these families on shapes of real models."""

from __future__ import annotations

from itertools import islice
from math import prod
from typing import Any

import pytest

from nautilus_cli.ir.types import F16, F32, F64
from nautilus_cli.kernels import elimination, gather, pointwise, row, scan, scatter, top_k
from nautilus_cli.kernels.base import Family
from nautilus_cli.kernels.registry import families, family
from nautilus_cli.targets.registry import targets

PROBLEMS: list[tuple[Family, Any]] = [
    *((pointwise.FAMILY, pointwise.Problem(elements=n, element_bytes=b)) for n in (1, 7, 1000, 150528, 10**8, 2**33) for b in (1, 2, 4, 8)),
    *(
        (row.FAMILY, row.Problem(rows=rows, columns=columns, row_major=is_major, element_bytes=size))
        for rows, columns in ((1, 1), (1, 1000), (12 * 128, 128), (197, 768), (2048, 49), (8, 50257), (1, 10**7), (3, 0), (10**6, 3))
        for is_major in (True, False)
        for size in (2, 4)
    ),
    *(
        (
            gather.FAMILY,
            gather.Problem(rows=rows, columns=columns, extents=(30522,), strides=(columns,), data=data, data_slot=0),
        )
        for rows, columns in ((1, 1), (128, 768), (512, 1024), (3, 10**6), (10**6, 1), (5, 7))
        for data in (F16, F32)
    ),
    *(
        (
            scan.FAMILY,
            scan.Problem(
                rows=rows, columns=columns, combine="sum", is_exclusive=False, is_row_contiguous=is_row_contiguous, storage=storage
            ),
        )
        for rows, columns in ((1, 1), (1, 10**7), (64, 50257), (4096, 128), (10**6, 3), (8, 4096))
        for is_row_contiguous in (True, False)
        for storage in (F16, F64)
    ),
    *(
        (
            scatter.FAMILY,
            scatter.Problem(
                rows=rows,
                columns=columns,
                updates=updates,
                extents=(rows,),
                strides=(1,),
                combine="sum",
                is_shared=is_shared,
                is_row_contiguous=is_row_contiguous,
                value=value,
            ),
        )
        for rows, columns, updates in ((1, 1, 1), (10**4, 64, 10**5), (4096, 1024, 1), (10**6, 1, 10**6), (50257, 8, 50), (7, 9, 3))
        for is_shared, is_row_contiguous in ((True, False), (False, False), (False, True))
        for value in (F32, F64)
    ),
    *(
        (top_k.FAMILY, top_k.Problem(rows=rows, columns=columns, count=count, is_largest=True, value=value))
        for rows, columns, count in (
            (1, 1, 1),
            (10**5, 64, 2),
            (4096, 128, 8),
            (1, 50257, 50),
            (1, 8400, 300),
            (64, 1000, 5),
            (1, 10**6, 10**6),
            (3, 10**5, 5000),
            (7, 300, 300),
        )
        for value in (F32, F64)
    ),
    *(
        (elimination.FAMILY, elimination.Problem(matrices=matrices, order=order, is_inverse=is_inverse, value=value))
        for matrices, order in ((1, 1), (10**6, 3), (4096, 4), (5, 9), (1000, 32), (3, 33), (64, 65), (1, 110))
        for is_inverse in (False, True)
        for value in (F32, F64)
    ),
]


@pytest.mark.parametrize("name", targets())
def test_the_chosen_schedule_is_legal_and_covers_the_problem(name: str) -> None:
    target = targets()[name]
    for kind, problem in PROBLEMS:
        schedule = kind.choose(problem, target)
        assert kind.violations(problem, schedule, target) == (), (problem, schedule)
        geometry = kind.geometry(problem, schedule)
        assert 1 <= geometry.threads <= 1024
        assert geometry.smem_bytes <= target.smem_bytes_block
        assert all(1 <= n <= limit for n, limit in zip(geometry.grid, (2**31 - 1, 65535, 65535), strict=True)), (problem, geometry)


def test_enough_blocks_and_wide_accesses_on_a_large_device() -> None:
    target = targets()["sm_90a"]
    for kind, problem in PROBLEMS:
        if kind is not pointwise.FAMILY or problem.elements < 10**6:
            continue
        schedule = kind.choose(problem, target)
        assert schedule.vector * problem.element_bytes == min(16, 8 * problem.element_bytes)
        assert prod(kind.geometry(problem, schedule).grid) >= 2 * target.multiprocessors


@pytest.mark.parametrize(
    "kind",
    [pointwise.FAMILY, row.FAMILY, gather.FAMILY, scan.FAMILY, scatter.FAMILY, top_k.FAMILY, elimination.FAMILY],
    ids=lambda kind: kind.name,
)
def test_the_search_space_is_fixed_and_has_legal_points(kind: Family) -> None:
    target = targets()["sm_90a"]
    for problem in [p for k, p in PROBLEMS if k is kind][:6]:
        space = list(kind.schedules(problem, target))
        assert space == list(kind.schedules(problem, target))
        assert len(set(space)) == len(space)
        legal = [s for s in space if not kind.violations(problem, s, target)]
        assert legal
        assert all(kind.geometry(problem, s).threads == s.threads for s in islice(legal, 20))


def test_illegal_schedules_say_why() -> None:
    target = targets()["sm_90a"]
    problem = row.Problem(rows=4, columns=100, row_major=True)

    def why(**changes: int) -> str:
        fields = {"threads": 64, "row_lanes": 1, "column_threads": 32, "vector": 4, "items": 1, **changes}
        return "; ".join(row.FAMILY.violations(problem, row.Schedule(**fields), target))

    assert why() == ""
    assert "power of two" in why(vector=3)
    assert "no multiple of vectors of 8" in why(vector=8)
    assert "hold no 100 columns" in why(column_threads=8, items=3)
    assert "at most 32" in why(items=9)
    assert "no whole warps" in why(threads=48, column_threads=16)
    assert "a warp has 32" in why(row_lanes=64, threads=2048)
    assert "no multiple of 1 × 32" in why(threads=80)
    assert "power of two" in pointwise.FAMILY.violations(
        pointwise.Problem(elements=5), pointwise.Schedule(threads=32, vector=6, unroll=1), target
    )[0]  # fmt: skip
    assert "no multiple of vectors" in gather.FAMILY.violations(
        gather.Problem(rows=1, columns=6, extents=(2,), strides=(6,), data=F32, data_slot=0),
        gather.Schedule(threads=32, column_threads=1, vector=4),
        target,
    )[0]  # fmt: skip


def test_a_scatter_fills_the_device_where_it_can() -> None:
    target = targets()["sm_90a"]
    for kind, problem in PROBLEMS:
        if kind is scatter.FAMILY and problem.rows * problem.columns >= 10**6:
            schedule = kind.choose(problem, target)
            assert (
                prod(kind.geometry(problem, schedule).grid) * schedule.threads
                >= target.multiprocessors * target.threads_multiprocessor // 2
            )


def test_illegal_scatters_say_why() -> None:
    target = targets()["sm_90a"]
    shared, apart = (
        scatter.Problem(
            rows=100,
            columns=12,
            updates=5,
            extents=(100,),
            strides=(1,),
            combine="sum",
            is_shared=is_shared,
            is_row_contiguous=False,
            value=F32,
        )
        for is_shared in (True, False)
    )

    def why(problem: scatter.Problem, **changes: int) -> str:
        fields = {"threads": 64, "group_threads": 32, "group_columns": 4, "rows": 16, "vector": 1, **changes}
        return "; ".join(scatter.FAMILY.violations(problem, scatter.Schedule(**fields), target))

    assert why(shared) == ""
    assert "different indices" in why(apart)
    assert why(apart, group_columns=1) == ""
    assert "1 or 32 are possible" in why(shared, group_threads=16)
    assert "no multiple of 32 threads a group" in why(shared, threads=48)
    assert "4 columns for 1 threads" in why(shared, group_threads=1)
    assert "no multiple of vectors of 8" in why(shared, vector=8)
    assert "bytes of shared memory" in why(shared, rows=10**5)
    assert "at least one is needed" in why(shared, rows=0)


def test_illegal_top_k_schedules_say_why() -> None:
    problem = top_k.Problem(rows=4, columns=100000, count=20000, is_largest=True, value=F32)

    def why(**changes: int) -> str:
        fields: dict[str, Any] = {"threads": 64, "row_threads": 32, "items": 1, "tile": 64, "is_selected": False, **changes}
        return "; ".join(top_k.FAMILY.violations(problem, top_k.Schedule(**fields), targets()["sm_90a"]))

    assert why() == ""
    assert why(row_threads=64) == why(row_threads=8) == ""
    assert "power of two" in why(row_threads=24)
    assert "no multiple of 128 threads a row" in why(row_threads=128)
    assert "neither part of a warp nor the block" in why(threads=128, row_threads=64)
    assert "no whole warps" in why(threads=40, row_threads=8)
    assert "different ways" in why(row_threads=8, is_selected=True)
    assert "bytes of shared memory" in why(is_selected=True)
    assert "at least one is needed" in why(tile=0)


def test_registry() -> None:
    assert {"pointwise", "row", "gather"} <= set(families())
    assert family("row") is row.FAMILY
    with pytest.raises(Exception, match="Known: row"):
        family("rows")
    with pytest.raises(TypeError):
        families()["x"] = row.FAMILY  # type: ignore[index]


def test_illegal_elimination_schedules_say_why() -> None:
    problem = elimination.Problem(matrices=4, order=300, is_inverse=False, value=F32)

    def said(**fields: int) -> str:
        return "; ".join(elimination.FAMILY.violations(problem, elimination.Schedule(**fields), targets()["sm_90a"]))

    assert "2048 threads a block" in said(threads=2048, team_threads=1)
    assert "team_threads is 3; it must be a power of two" in said(threads=96, team_threads=3)
    assert "48 threads are no multiple of 32 threads a matrix" in said(threads=48, team_threads=32)
    assert "64 threads a matrix are neither part of a warp nor the block" in said(threads=128, team_threads=64)
    assert "8 threads are no whole warps" in said(threads=8, team_threads=4)
    assert "matrices of order 300 take 362416 bytes of shared memory" in said(threads=512, team_threads=512)


@pytest.mark.parametrize("name", ["emulated", "sm_90a"])
def test_many_accesses_leave_shorter_vectors(name: str) -> None:
    """Up to three accesses nothing changes; what a wide Concat reads fits into registers, and into a compiler's patience."""
    on, large = targets()[name], 10**8
    few, some, many = (pointwise.FAMILY.choose(pointwise.Problem(elements=large, accesses=n), on) for n in (3, 12, 200))
    assert few == pointwise.FAMILY.choose(pointwise.Problem(elements=large), on)
    assert few.vector * few.unroll > some.vector * some.unroll >= 2
    assert (many.vector, many.unroll) == (1, 1)
    assert some.threads == few.threads
