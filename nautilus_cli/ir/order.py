"""Topological order."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from heapq import heapify, heappop, heappush


def sources_first(sources: Sequence[Collection[int]]) -> tuple[list[int], frozenset[int]]:
    """Return numbers so that each follows its sources, the lowest of those that can come next first; and those that cycles leave over.

    Args:
        sources: of each number, different ones.
    """
    readers: list[list[int]] = [[] for _ in sources]
    for number, needed in enumerate(sources):
        for source in needed:
            readers[source].append(number)
    waiting = [len(needed) for needed in sources]
    ready = [number for number, count in enumerate(waiting) if count == 0]
    heapify(ready)
    order: list[int] = []
    while ready:
        number = heappop(ready)
        order.append(number)
        for reader in readers[number]:
            waiting[reader] -= 1
            if waiting[reader] == 0:
                heappush(ready, reader)
    return order, frozenset(number for number, count in enumerate(waiting) if count)
