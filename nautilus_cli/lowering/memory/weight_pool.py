"""Constants of a plan, each distinct contents once, and where they lie in the section of weights."""

from __future__ import annotations

import hashlib

import numpy as np

from nautilus_cli.ir.graph import Value
from nautilus_cli.lowering.building import packing
from nautilus_cli.lowering.building.slots import PackedWeight, Referent
from nautilus_cli.lowering.plan import ALIGNMENT_BYTES, Weight


class WeightPool:
    """Constants of the plan, each distinct contents once."""

    def __init__(self) -> None:
        self._by_source: dict[int, PackedWeight] = {}
        self._by_digest: dict[bytes, PackedWeight] = {}
        self._tensors: dict[int, list[str]] = {}
        self._offsets: dict[int, int] = {}
        self._kept: list[object] = []

    def add(self, referent: Referent) -> Referent:
        """Return the pooled weight of a constant; other referents are returned as they are."""
        if isinstance(referent, Value) and referent.constant is not None:
            constant = referent.constant
            key = id(constant)
            if key not in self._by_source:
                self._kept.append(constant)  # keeps the id from being taken again
                self._by_source[key] = self._pooled(
                    PackedWeight(lambda: np.ascontiguousarray(constant), "dense", packing.names((referent,)))
                )
            return self._by_source[key]
        if isinstance(referent, PackedWeight):
            return self._pooled(referent)
        return referent

    def _pooled(self, weight: PackedWeight) -> PackedWeight:
        digest = hashlib.sha256(weight.array.reshape(-1).view(np.uint8).data).digest()
        pooled = self._by_digest.setdefault(digest, weight)
        names = self._tensors.setdefault(id(pooled), [])
        names += [name for name in weight.tensors if name not in names]
        return pooled

    def layout(self) -> tuple[tuple[Weight, ...], int]:
        """Give each weight its offset, in order of first use; return them and the bytes of the section."""
        entries = []
        offset = 0
        for weight in self._by_digest.values():
            self._offsets[id(weight)] = offset
            entries.append(Weight(array=weight.array, recipe=weight.recipe, offset=offset, tensors=tuple(self._tensors[id(weight)])))
            offset += -(-weight.array.nbytes // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
        return tuple(entries), offset

    def offset(self, weight: PackedWeight) -> int:
        """Return the byte offset of a pooled weight; after layout()."""
        return self._offsets[id(weight)]
