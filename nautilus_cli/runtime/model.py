"""A model on a device."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ctypes import byref, c_size_t, c_void_p, pointer
from dataclasses import replace
from math import prod
from pathlib import Path

from nautilus_cli.artifact.abi import LaunchMode, Place
from nautilus_cli.errors import UsageError
from nautilus_cli.runtime.binding import Binding, ContextOptionsStruct, DimensionStruct, ModelInfoStruct, ModelOptionsStruct, TensorStruct
from nautilus_cli.runtime.context import Context, addresses, shapes_for_c
from nautilus_cli.runtime.description import Dimension, EmulatorOptions, Tensor, info_of, tensor_of


class Model:
    """A model on a device.

    It lives as long as something refers to it: the library that loaded it, or a device array that a run returned.

    Args:
        path: the library.
        device: number of the GPU.
        place: where it shall run.
        emulator: options for an emulated run.
        launch: how contexts launch their kernels unless they say otherwise.

    Raises:
        NautilusError: the library or the device is not fit.
    """

    def __init__(self, path: Path, *, device: int, place: Place, emulator: EmulatorOptions | None, launch: LaunchMode) -> None:
        self.binding = Binding(path)
        handle = c_void_p()
        options = ModelOptionsStruct(device=device, place=place)
        if emulator is not None:
            options.emulator = pointer(emulator.struct())
        try:
            self.binding.call("model_create", byref(options), byref(handle))
        except BaseException:
            self.binding.close()
            raise
        self.handle = handle.value or 0
        self.launch = launch
        self._idle: list[Context] = []
        self._lock = threading.Lock()
        self._finalizer = weakref.finalize(self, _dispose, self.binding, self.handle, self._idle)
        info = ModelInfoStruct()
        self.binding.call("model_describe", self.handle, byref(info))
        self.info = info_of(info)
        self.inputs = tuple(self._tensor("input", i) for i in range(info.input_count))
        self.outputs = tuple(self._tensor("output", i) for i in range(info.output_count))
        self.dimensions = tuple(self._dimension(i) for i in range(info.dimension_count))
        self.is_counted = info.counted_count > 0
        self.reads_values = any(tensor.read_elements for tensor in self.inputs)

    def _tensor(self, kind: str, index: int) -> Tensor:
        tensor = TensorStruct()
        self.binding.call(kind, self.handle, index, byref(tensor))
        return tensor_of(tensor)

    def _dimension(self, index: int) -> Dimension:
        found = DimensionStruct()
        self.binding.call("dimension_describe", self.handle, index, byref(found))
        return Dimension(name=found.name.decode(), low=found.low, high=found.high, divisor=found.divisor)

    @property
    def is_open(self) -> bool:
        """Whether sizes depend on shapes or values of inputs."""
        return bool(self.dimensions) or self.reads_values

    def outputs_for(self, shapes: Sequence[Sequence[int]], values: Sequence[int] | None = None) -> tuple[Tensor, ...]:
        """Return the outputs as they are for these shapes of the inputs; at their largest where the model computes how large they are.

        Args:
            shapes: of the inputs.
            values: addresses of the inputs in host memory, where their values decide shapes; others may be 0.

        Raises:
            UsageError: the library was not compiled for them.
        """
        if not self.is_open and not self.is_counted:
            return self.outputs
        found = shapes_for_c([t.shape for t in self.outputs])
        self.binding.call("shapes_of_values", self.handle, shapes_for_c(shapes), None if values is None else addresses(values), found, None)
        sized = []
        for tensor, numbers in zip(self.outputs, found, strict=False):
            shape = tuple(numbers[: len(tensor.shape)])
            stored = shape if tensor.shared is None else tensor.shared.stored_shape(shape)
            sized.append(replace(tensor, shape=shape, bytes=prod(stored) * tensor.type.bytes))
        return tuple(sized)

    def workspace_bytes_for(self, shapes: Sequence[Sequence[int]], values: Sequence[int] | None = None) -> int:
        """Return the device memory that one context needs beside inputs and outputs for these shapes of the inputs.

        Raises:
            UsageError: the library was not compiled for them.
        """
        size = c_size_t()
        self.binding.call(
            "shapes_of_values", self.handle, shapes_for_c(shapes), None if values is None else addresses(values), None, byref(size)
        )
        return size.value

    def create_context(
        self, *, launch: LaunchMode | None = None, workspace: tuple[int, int] | None = None, device_only: bool = False
    ) -> Context:
        """Return a context of its own, to be destroyed by the caller.

        Args:
            launch: how it launches its kernels.
            workspace: (address, bytes) of device memory of the caller's.
            device_only: without buffers for host runs, which are then not possible.
        """
        address, size = workspace or (0, 0)
        chosen = self.launch if launch is None else launch
        options = ContextOptionsStruct(workspace=address, workspace_bytes=size, launch=chosen, device_only=device_only)
        handle = c_void_p()
        self.binding.call("context_create", self.handle, byref(options), byref(handle))
        return Context(self.binding, handle.value or 0)

    @contextmanager
    def borrow_context(self) -> Iterator[Context]:
        """Yield a context that no other thread uses meanwhile; contexts are kept for the next call."""
        with self._lock:
            context = self._idle.pop() if self._idle else None
        if context is None:
            context = self.create_context()
        try:
            yield context
        finally:
            with self._lock:
                self._idle.append(context)

    def configure_emulator(self, options: EmulatorOptions) -> None:
        """Set the emulator's options for runs to come."""
        self.binding.call("model_emulator", self.handle, byref(options.struct()))

    def allocate(self, size: int) -> int:
        """Return the address of device memory."""
        address = c_void_p()
        self.binding.call("allocate", self.handle, size, byref(address))
        return address.value or 0

    def free(self, address: int) -> None:
        """Free device memory of `allocate`."""
        self.binding.call("free", self.handle, address)

    def copy(self, to: int, source: int, size: int, direction: int, stream: int) -> None:
        """Copy on a stream: 0 to the device, 1 to the host, 2 on the device."""
        self.binding.call("copy", self.handle, to, source, size, direction, stream)

    def release_contexts(self) -> None:
        """Destroy the contexts that are kept for the next call."""
        with self._lock:
            contexts, self._idle[:] = list(self._idle), []
        for context in contexts:
            context.destroy()


def _dispose(binding: Binding, handle: int, idle: list[Context]) -> None:
    """Free a model that nothing refers to any more. A context that its user did not destroy keeps it, to be safe."""
    for context in idle:
        context.destroy()
    idle.clear()
    try:
        binding.call("model_destroy", handle)
    except UsageError:
        return
    binding.close()
