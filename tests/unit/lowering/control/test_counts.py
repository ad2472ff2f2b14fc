"""Where numbers that kernels give lie, and behind which kernel what follows from them is worked out."""

from __future__ import annotations

import pytest

from nautilus_cli.errors import InternalError
from nautilus_cli.ir.constructors import count, read
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.requirement import Limit
from nautilus_cli.ir.types import F32, I64, TensorType
from nautilus_cli.lowering.control.counts import CountTable

N, M = count("n", 20), count("m", 9)


def number() -> Value:
    return Value(TensorType(I64, ()))


def tensor() -> Value:
    return Value(TensorType(F32, (4,)))


def test_numbers_lie_one_after_another() -> None:
    n, m = number(), number()
    table = CountTable([("n", n), ("m", m)], [(n,), (m,)], [(), ()])
    assert (table.offset(n), table.offset(m), table.bytes) == (0, 8, 16)
    assert table.holds(n) and not table.holds(tensor())
    assert table.steps == []


def test_a_multiple_and_some_needs_no_kernel() -> None:
    n, m = number(), number()
    table = CountTable([("n", n), ("m", m)], [(n, m), (tensor(),)], [(), (3 * M + 1, N)])
    assert table.steps == [] and table.bytes == 16
    assert (table.size_offset(3 * M + 1), table.size_offset(N)) == (8, 0)


def test_what_the_host_reads_is_worked_out_too() -> None:
    n = number()
    table = CountTable([("n", n)], [(n,), (tensor(),)], [(), (2 * N,)], dims=(N, 2 * N, 5))
    (step,) = table.steps
    assert step.behind == 0 and not step.is_late
    # Vectors begin at a multiple of 16 bytes.
    assert table.dims((N, 2 * N, 5)) == ((0, 0), (1, 2))
    assert table.bytes == 24 and table.offset(step.group.outputs[0]) == 16


def test_a_size_is_worked_out_behind_the_last_number_in_it() -> None:
    n, m = number(), number()
    outputs = [(n,), (tensor(),), (m,), (tensor(),)]
    table = CountTable([("n", n), ("m", m)], outputs, [(), (N * N,), (), (N * M, N * N)])
    assert [(step.behind, step.is_late) for step in table.steps] == [(0, False), (2, False)]
    assert table.size_offset(N * N) == 16 and table.size_offset(N * M) == 32 and table.bytes == 40


def test_a_size_of_what_the_host_reads_is_late() -> None:
    n, k = number(), number()
    size = N * read("k", 5)
    table = CountTable([("n", n), ("k", k)], [(k,), (n,), (tensor(),)], [(), (), (size,)])
    assert [(step.behind, step.is_late) for step in table.steps] == [(1, True)]


def test_a_kernel_that_needs_a_size_too_early() -> None:
    n = number()
    with pytest.raises(InternalError, match="kernel 0 needs the size .*, which is not known before kernel 1"):
        CountTable([("n", n)], [(tensor(),), (n,)], [(N * N,), ()])


def test_limits_are_of_what_is_counted_and_the_least() -> None:
    n = number()
    table = CountTable([("n", n)], [(n,)], [()])
    limits = [Limit(name="found", count="n", most=12), Limit(name="found", count="n", most=7), Limit(name="other", count="absent", most=3)]
    assert table.limits(limits) == (("found", 0, 7),)
