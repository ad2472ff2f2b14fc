"""Schedules and memory of problems whose sizes are not known."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.binding import bind, dimensions
from nautilus_cli.ir.constructors import read, symbol
from nautilus_cli.ir.counts import reads_in
from nautilus_cli.ir.dims import Symbol, lower, upper
from nautilus_cli.ir.types import F32
from nautilus_cli.kernels.gather import Problem as Gather
from nautilus_cli.kernels.gemm import Problem as Gemm
from nautilus_cli.kernels.registry import families
from nautilus_cli.kernels.row import Problem as Row
from nautilus_cli.kernels.top_k import Problem as TopK
from nautilus_cli.lowering.choosing.ranges import RangedChoice, is_legal, representative
from nautilus_cli.lowering.memory.arena import Interval
from nautilus_cli.lowering.memory.stacking import stack
from nautilus_cli.targets import registry

N, M = symbol("n", 1, 64), symbol("m", 1, 512)
SHORT, FEW = symbol("short", 0, 4), symbol("few", 2, 4)


def chosen(family, problem, target):
    return family.choose(problem, target)


@pytest.mark.parametrize("target", ["emulated", "sm_80", "sm_90a"])
@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("row", Row(rows=N * 12, columns=768, row_major=True)),
        ("row", Row(rows=N * M * 12, columns=M, row_major=True)),
        ("gather", Gather(rows=N * 4, columns=64, extents=(M, N), strides=(N * 64, 64), data=F32, data_slot=0)),
        ("gemm", Gemm(batch=1, m=N * M, n=768, k=768, a_k_last=True, b_k_last=True, accumulate=F32)),
        ("gemm", Gemm(batch=N * 12, m=M, n=M, k=64, a_k_last=True, b_k_last=True, accumulate=F32)),
        ("gemm", Gemm(batch=N * 12, m=M, n=64, k=M, a_k_last=True, b_k_last=False, accumulate=F32)),
        ("gemm", Gemm(batch=1, m=SHORT + 2, n=SHORT + 2, k=FEW + 1, a_k_last=True, b_k_last=True, accumulate=F32)),
    ],
)
def test_the_schedule_of_a_range_is_legal_at_every_size(name: str, problem: object, target: str) -> None:
    family, on = families()[name], registry.target(target)
    schedule = RangedChoice(chosen)(family, problem, on)
    assert is_legal(family, problem, schedule, on)
    geometry = family.geometry(problem, schedule)
    for n, m in product((1, 2, 7, 64), (1, 3, 128, 511, 512)):
        sizes = {"n": n, "m": m}
        assert family.violations(bind(problem, sizes), schedule, on) == ()
        assert bind(geometry, sizes) == family.geometry(bind(problem, sizes), schedule)


def test_a_range_that_no_schedule_serves_is_refused() -> None:
    class Never:
        name = "row"

        def violations(self, problem, schedule, target):
            return ("no",)

        def choose(self, problem, target):
            return None

        def schedules(self, problem, target):
            return iter([1, 2])

    with pytest.raises(ModelError, match=r"no row kernel serves all sizes of n = 1\.\.64"):
        RangedChoice(chosen)(Never(), Row(rows=N, columns=4, row_major=True), registry.target("sm_80"))


def test_a_family_that_needs_numbers_is_refused() -> None:
    class Closed:
        name = "closed"
        needs_known_sizes = True

    problem = TopK(rows=N, columns=100, count=5, is_largest=True, value=F32)
    with pytest.raises(ModelError, match=r"closed kernels do not support open dimensions yet \(n\).*--shape"):
        RangedChoice(chosen)(Closed(), problem, registry.target("sm_80"))


def test_a_count_that_is_open_has_shared_memory_for_the_greatest() -> None:
    problem = TopK(rows=4, columns=1000, count=N, is_largest=True, value=F32)
    family = families()["top_k"]
    for name in ("sm_80", "emulated"):
        schedule = RangedChoice(chosen)(family, problem, registry.target(name))
        geometry = family.geometry(problem, schedule)
        assert schedule.is_selected
        assert geometry.smem_bytes == max(family.geometry(bind(problem, {"n": n}), schedule).smem_bytes for n in (1, 32, 64))


def test_representatives_promise_nothing_but_the_divisor() -> None:
    assert representative(Symbol("n", 1, 64)) == 61
    assert representative(Symbol("n", 8, 512, 8)) == 61 * 8
    assert representative(Symbol("n", 1, 2)) == 2
    assert [d.name for d in dimensions((N * M, ((M,),)))] == ["m", "n"]


def test_nothing_moves_when_the_host_reads_a_number() -> None:
    """What a number decides lies above all that was there when it was read."""
    first, second = read("first", 10**6), read("second", 10**6)
    needs = [
        Interval(bytes=second * first, first=4, last=5),
        Interval(bytes=N * 1000, first=0, last=5),
        Interval(bytes=first * 8, first=2, last=5),
        Interval(bytes=4096, first=1, last=4),
    ]
    offsets, total = stack(needs, 256, ["first", "second"])
    depends = [{s.name for s in reads_in(offset)} for offset in offsets]
    assert depends[1] == depends[2] == depends[3] == set() and depends[0] == {"first"}
    assert {s.name for s in reads_in(total)} == {"first", "second"}
    for n, a, b in product((1, 64), (0, 1, 900), (0, 7)):
        sizes = {"n": n, "first": a, "second": b}
        places = [(bind(o, sizes), bind(o, sizes) + bind(need.bytes, sizes)) for o, need in zip(offsets, needs, strict=True)]
        for (i, x), (j, y) in combinations(enumerate(needs), 2):
            if x.first <= y.last and y.first <= x.last:
                assert places[i][1] <= places[j][0] or places[j][1] <= places[i][0]


def test_buffers_alive_together_lie_apart_at_every_size() -> None:
    needs = [
        Interval(bytes=N * 1000, first=0, last=2),
        Interval(bytes=M * N * 4, first=1, last=3),
        Interval(bytes=4096, first=2, last=5),
        Interval(bytes=M, first=4, last=6),
        Interval(bytes=N * M, first=5, last=6),
    ]
    offsets, total = stack(needs, 256)
    for n, m in product((1, 2, 7, 64), (1, 3, 128, 511, 512)):
        sizes = {"n": n, "m": m}
        places = [(bind(o, sizes), bind(o, sizes) + bind(need.bytes, sizes)) for o, need in zip(offsets, needs, strict=True)]
        assert all(begin % 256 == 0 and end <= bind(total, sizes) for begin, end in places)
        assert lower(total) <= bind(total, sizes) <= upper(total)
        for (i, a), (j, b) in combinations(enumerate(needs), 2):
            if a.first <= b.last and b.first <= a.last:
                assert places[i][1] <= places[j][0] or places[j][1] <= places[i][0]
