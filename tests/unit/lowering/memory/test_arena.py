"""The arena planner."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nautilus_cli.lowering.memory.arena import Interval, place


@st.composite
def intervals(draw: st.DrawFn) -> list[Interval]:
    """Draw tensors with sizes and live ranges."""
    needs = []
    for _ in range(draw(st.integers(0, 12))):
        first = draw(st.integers(0, 8))
        needs.append(Interval(bytes=draw(st.integers(1, 1000)), first=first, last=first + draw(st.integers(0, 4))))
    return needs


@given(intervals())
def test_tensors_alive_together_never_overlap(needs: list[Interval]) -> None:
    """No launch sees two tensors in the same bytes, and all lie aligned inside the arena."""
    offsets, total = place(needs, 64)
    for i, (a, at) in enumerate(zip(needs, offsets, strict=True)):
        assert at % 64 == 0
        assert at + a.bytes <= total
        for b, bt in list(zip(needs, offsets, strict=True))[:i]:
            if a.first <= b.last and b.first <= a.last:
                assert at + a.bytes <= bt or bt + b.bytes <= at


def test_memory_is_used_again_after_its_last_reader() -> None:
    """A chain of equal tensors needs room for two."""
    chain = [Interval(bytes=256, first=i, last=i + 1) for i in range(10)]
    _, total = place(chain, 256)
    assert total == 512


def test_the_smallest_gap_that_fits_is_taken() -> None:
    """Best fit: the gap of 256 bytes is filled before the gap of 512."""
    wall = [Interval(bytes=1024, first=0, last=0), Interval(bytes=768, first=0, last=9), Interval(bytes=512, first=0, last=0)]
    offsets, total = place([*wall, Interval(bytes=512, first=1, last=9)], 256)
    assert offsets[3] + 512 <= total
    assert total == 1024 + 768 + 512
