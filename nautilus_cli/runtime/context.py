"""A context: what one run at a time needs."""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import POINTER, c_float, c_int64, c_void_p, cast
from typing import Any

from nautilus_cli.runtime.binding import Binding


class Context:
    """What one run at a time needs; use `Model.create_context`."""

    def __init__(self, binding: Binding, handle: int) -> None:
        self._binding = binding
        self.handle = handle
        self._given: tuple[Any, list[Any]] = _shape_arrays(())
        """Arrays of the last shapes: making them takes as long as the host's own work on new shapes."""

    def reshape(self, shapes: Sequence[Sequence[int]], values: Sequence[int] | None = None) -> None:
        """Set the shapes of the inputs for the runs to come; raises UsageError where the library was not compiled for them.

        VALUES are as `Model.outputs_for` takes them.
        """
        pointers, numbers = self._given
        if [len(array) for array in numbers] != [max(len(shape), 1) for shape in shapes]:
            pointers, numbers = self._given = _shape_arrays(shapes)
        for array, shape in zip(numbers, shapes, strict=True):
            array[: len(shape)] = shape
        self._binding.call("context_reshape_values", self.handle, pointers, None if values is None else addresses(values))

    def run(self, inputs: Sequence[int], outputs: Sequence[int], stream: int) -> None:
        """Enqueue a run with device addresses."""
        self._binding.call("run", self.handle, addresses(inputs), addresses(outputs), stream)

    def run_host(self, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        """Run with host addresses and wait."""
        self._binding.call("run_host", self.handle, addresses(inputs), addresses(outputs))

    def output_shapes(self, ranks: Sequence[int], stream: int) -> tuple[tuple[int, ...], ...]:
        """Wait for the last run, which was enqueued on a stream; return the shapes of its outputs, which have these ranks."""
        found = shapes_for_c([(0,) * rank for rank in ranks])
        self._binding.call("output_shapes", self.handle, found, stream)
        return tuple(tuple(numbers[:rank]) for numbers, rank in zip(found, ranks, strict=False))

    def synchronize(self, stream: int) -> None:
        """Wait for a stream; raise what went wrong on the device. Any thread may call it."""
        self._binding.call("synchronize", self.handle, stream)

    def time_us(self, *, samples: int, runs: int, warmup: int) -> tuple[float, ...]:
        """Return microseconds of one run, once a sample of RUNS runs back to back."""
        times = (c_float * samples)()
        self._binding.call("time", self.handle, samples, runs, warmup, times)
        return tuple(times)

    def destroy(self) -> None:
        """Free it; a second call does nothing."""
        if self.handle:
            self._binding.call("context_destroy", self.handle)
            self.handle = 0


def addresses(pointers: Sequence[int]) -> object:
    """Return addresses as C takes them."""
    return (c_void_p * max(len(pointers), 1))(*pointers)


def _shape_arrays(shapes: Sequence[Sequence[int]]) -> tuple[Any, list[Any]]:
    """Return arrays of numbers, one a tensor, for C to read or to write: pointers to them, and they themselves."""
    numbers = [(c_int64 * max(len(shape), 1))(*shape) for shape in shapes]
    return (POINTER(c_int64) * max(len(numbers), 1))(*(cast(n, POINTER(c_int64)) for n in numbers)), numbers


def shapes_for_c(shapes: Sequence[Sequence[int]]) -> Any:
    """Return shapes for C to read, or to write."""
    return _shape_arrays(shapes)[0]
