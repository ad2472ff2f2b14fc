"""Formulas that run on symbolic integers and on plain ones alike."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.functions import maximum, minimum

RANGES = {"a": (1, 6, 1), "b": (2, 40, 1), "c": (0, 24, 8)}
SYMBOLS = {name: symbol(name, *bounds) for name, bounds in RANGES.items()}
SIZES = st.fixed_dictionaries({name: st.sampled_from(range(low, high + 1, step)) for name, (low, high, step) in RANGES.items()})

Formula = Callable[[dict[str, int]], int]
"""From the values of the names to a number; the same formula runs on symbols and on sizes."""


def formulas() -> st.SearchStrategy[Formula]:
    names = st.sampled_from(sorted(RANGES)).map(lambda name: lambda values: values[name])
    numbers = st.integers(-9, 9).map(lambda number: lambda values: number)

    def larger(inner: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
        positive = st.sampled_from([1, 2, 3, 4, 8, 12])
        return st.one_of(
            st.tuples(inner, inner).map(lambda p: lambda v: p[0](v) + p[1](v)),
            st.tuples(inner, inner).map(lambda p: lambda v: p[0](v) - p[1](v)),
            st.tuples(inner, inner).map(lambda p: lambda v: p[0](v) * p[1](v)),
            st.tuples(inner, positive).map(lambda p: lambda v: p[0](v) // p[1]),
            st.tuples(inner, positive).map(lambda p: lambda v: p[0](v) % p[1]),
            st.tuples(inner, positive).map(lambda p: lambda v: -(-p[0](v) // p[1])),
            st.tuples(inner, st.sampled_from(["a", "b"])).map(lambda p: lambda v: p[0](v) // v[p[1]]),
            st.tuples(inner, st.sampled_from(["a", "b"])).map(lambda p: lambda v: p[0](v) % v[p[1]]),
            st.tuples(inner, inner).map(lambda p: lambda v: maximum(p[0](v), p[1](v))),
            st.tuples(inner, inner).map(lambda p: lambda v: minimum(p[0](v), p[1](v))),
        )

    return st.recursive(st.one_of(names, numbers), larger, max_leaves=6)
