"""The plan: kernels, launches and memory as data; everything that the library and the manifest need."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nautilus_cli.ir.counts import room
from nautilus_cli.ir.requirement import Requirement
from nautilus_cli.ir.types import DType
from nautilus_cli.kernels.base import Geometry, KernelRequest, TensorMap
from nautilus_cli.lowering.program import Step, Word

__all__ = ["ALIGNMENT_BYTES", "Buffer", "Kernel", "Launch", "Plan", "Port", "Weight", "Word"]

ALIGNMENT_BYTES = 256
"""Alignment of buffers and weights: a full set of 32-byte sectors for eight lanes, and what cuMemAlloc guarantees."""


SIZES_NOTE = "sizes"
"""What a launch is that only works out sizes: it is no group's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """Memory that an input and an output have in common, in which the output is the input and some rows more.

    Attributes:
        port: number of the other one, among the outputs of an input and the inputs of an output.
        axis: dimension along which the rows lie.
        capacity: rows that there is room for: the tensor lies as one whose dimension AXIS is this.
    """

    port: int
    axis: int
    capacity: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Port:
    """An input or output of the library: in ONNX order, dense unless it shares its memory.

    Attributes:
        name: the ONNX name.
        dtype: element type.
        shape: its sizes; symbols where they are open.
        shared: the memory that it has in common with another port; None where it has its own.
        counted: (dimension, word of the arena) where a kernel gives how large it is: an int64 among those at the arena's front.
    """

    name: str
    dtype: DType
    shape: tuple[int, ...]
    shared: Shared | None = None
    counted: tuple[tuple[int, int], ...] = ()

    @property
    def stored_shape(self) -> tuple[int, ...]:
        """The shape of the dense tensor in memory, the room for further rows included."""
        if self.shared is None:
            return self.shape
        return (*self.shape[: self.shared.axis], self.shared.capacity, *self.shape[self.shared.axis + 1 :])

    @property
    def bytes(self) -> int:
        """What the caller gives memory for; the host divides it by the sizes of a counted output, each at most, to know an element."""
        return room(self.stored_shape, self.dtype)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """A distinct kernel.

    Attributes:
        request: what it is.
        geometry: how it is launched; equal requests have equal geometry.
        recipes: names of the packed forms of the weights that it reads, sorted.
        maps: tensor maps that the host encodes ahead of a launch's words.
    """

    request: KernelRequest
    geometry: Geometry
    recipes: tuple[str, ...] = ()
    maps: tuple[TensorMap, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """What is launched in a launch's place for some sizes.

    Attributes:
        condition: at most 0 for these sizes.
        kernel: index into Plan.kernels.
        words: the argument block: pointers, then scalars.
    """

    condition: int
    kernel: int
    words: tuple[Word, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One launch.

    Attributes:
        kernel: index into Plan.kernels.
        words: the argument block: pointers, then scalars.
        origin: ONNX nodes that it computes.
        note: what it is where it computes none (a copy).
        alternatives: of which the first whose condition holds is launched in its place.
    """

    kernel: int
    words: tuple[Word, ...]
    origin: tuple[str, ...] = ()
    note: str = ""
    alternatives: tuple[Alternative, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Weight:
    """One constant in its packed form.

    Attributes:
        array: the packed bytes as an array, C-contiguous.
        recipe: how it was packed: `dense`, `gemm_nk`, `conv_krsc`, ...
        offset: byte offset in the weights section.
        tensors: ONNX tensors that it holds.
    """

    array: np.ndarray
    recipe: str
    offset: int
    tensors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Buffer:
    """A piece of the arena.

    Attributes:
        offset: in bytes.
        bytes: size.
        first: launch that writes it.
        last: last launch that reads it.
        tensor: ONNX tensor that it equals, if any.
    """

    offset: int
    bytes: int
    first: int
    last: int
    tensor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Plan:
    """A model as kernels, launches and memory.

    Attributes:
        target: the target's name.
        inputs, outputs: in ONNX order.
        kernels: distinct kernels.
        launches: in order; of branches and the bodies of loops too.
        buffers: of the arena.
        arena_bytes: size of the workspace.
        weights: in order of offset.
        weight_bytes: size of the weights section.
        checks: what the host makes sure of before it launches anything.
        steps: which launches run, and when; empty where all do, one after another.
        slots: how many addresses move while it runs.
        limits: (name, word of the arena, greatest value) of numbers that kernels give, of which a run makes sure.
    """

    target: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    kernels: tuple[Kernel, ...]
    launches: tuple[Launch, ...]
    buffers: tuple[Buffer, ...]
    arena_bytes: int
    weights: tuple[Weight, ...]
    weight_bytes: int

    checks: tuple[Requirement, ...] = ()
    steps: tuple[Step, ...] = ()
    slots: int = 0
    limits: tuple[tuple[str, int, int], ...] = ()
