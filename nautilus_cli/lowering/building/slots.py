"""What the pointer arguments of one kernel refer to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from nautilus_cli.ir.graph import Value


@dataclass(slots=True, eq=False)
class PackedWeight:
    """A constant in the form in which a kernel reads it; packed when that is first asked for, since choosing kernels does not need it.

    Attributes:
        pack: makes the packed contents, C-contiguous.
        recipe: name of the packed form.
        tensors: ONNX tensors that it holds, as far as they are known.
    """

    pack: Callable[[], np.ndarray]
    recipe: str
    tensors: tuple[str, ...]
    _array: np.ndarray | None = field(default=None, init=False, repr=False)

    @property
    def array(self) -> np.ndarray:
        """The packed contents."""
        if self._array is None:
            self._array = self.pack()
        return self._array


@dataclass(frozen=True, slots=True)
class Status:
    """The context's status word."""


Referent = Value | PackedWeight | Status


class Slots:
    """Numbers the pointer arguments of a kernel in order of first use."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self.referents: list[Referent] = []

    def number(self, referent: Referent) -> int:
        """Return the slot of REFERENT, taking a new one at its first use."""
        key = id(referent)
        if key not in self._numbers:
            self._numbers[key] = len(self.referents)
            self.referents.append(referent)
        return self._numbers[key]
