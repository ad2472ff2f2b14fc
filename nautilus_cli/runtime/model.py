"""A model on a device, and its contexts: the C handles with an owner each."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ctypes import POINTER, byref, c_float, c_int64, c_size_t, c_void_p, cast, pointer
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from nautilus_cli.artifact.abi import DTYPE_CODES, LaunchMode, Order, Place
from nautilus_cli.errors import UsageError
from nautilus_cli.ir.types import DTYPES, UCS4, DType
from nautilus_cli.runtime.binding import (
    Binding,
    ContextOptionsStruct,
    DimensionStruct,
    EmulatorOptionsStruct,
    ModelInfoStruct,
    ModelOptionsStruct,
    TensorStruct,
)

_DTYPE_OF_CODE = {code: DTYPES.get(name, UCS4) for name, code in DTYPE_CODES.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class EmulatorOptions:
    """How an emulated model runs; no GPU has these.

    Attributes:
        order: in which blocks and threads run: `fifo`, `reverse` or `random`.
        seed: of `random`.
        lazy: asynchronous copies complete as late as they may.
        poison: shared memory and fresh allocations hold NaNs.
        threads: threads of the operating system; 0 is one a core.
    """

    order: str = "fifo"
    seed: int = 0
    lazy: bool = False
    poison: bool = False
    threads: int = 0

    def struct(self) -> EmulatorOptionsStruct:
        """Return them as C has them."""
        return EmulatorOptionsStruct(
            order=Order[self.order.upper()], seed=self.seed, lazy=self.lazy, poison=self.poison, threads=self.threads
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedMemory:
    """Memory that an input and an output have in common: the cache of a decoder.

    Attributes:
        port: number of the other one, among the outputs of an input and the inputs of an output.
        axis: dimension along which the output is the input and some rows more.
        capacity: rows that there is room for: the memory is that of a dense tensor whose dimension AXIS is this.
    """

    port: int
    axis: int
    capacity: int

    def stored_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """Return the shape of the memory of a tensor of SHAPE."""
        return (*shape[: self.axis], self.capacity, *shape[self.axis + 1 :])


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """An input or output.

    Attributes:
        name: as in the ONNX model.
        dtype: its numpy type.
        shape: its shape; -1 where a dimension is open, or computed.
        type: its element type as Nautilus names it.
        bytes: of the dense tensor, at its largest; of all the memory where it is shared.
        shared: the memory that it has in common with another one; None where it has its own.
        read_elements: of an input: how many elements, from the first on, the host reads, since they decide shapes.
    """

    name: str
    dtype: np.dtype
    shape: tuple[int, ...]
    type: DType
    bytes: int
    shared: SharedMemory | None = None
    read_elements: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Dimension:
    """A dimension whose size is known only when the model runs.

    Attributes:
        name: as the model calls it, or an input's name and a number.
        low: its smallest size.
        high: its largest size.
        divisor: of every size.
    """

    name: str
    low: int
    high: int
    divisor: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInfo:
    """What a loaded model says about itself.

    Attributes:
        target: the target chosen, for example `sm_90a`.
        device: name of the GPU, or of the emulator.
        is_emulated: whether it runs on the CPU.
        driver_version: (major, minor).
        launch_count: kernels launched in one run; of branches and loops, each that may be, once.
        workspace_bytes: device memory of one context beside inputs and outputs, at most.
        weight_bytes: device memory of the weights.
        model_sha256, manifest_sha256, plan_sha256, weights_sha256: in hexadecimal.
        version: of the Nautilus that made the library.
    """

    target: str
    device: str
    is_emulated: bool
    driver_version: tuple[int, int]
    launch_count: int
    workspace_bytes: int
    weight_bytes: int
    model_sha256: str
    manifest_sha256: str
    plan_sha256: str
    weights_sha256: str
    version: str


def _numpy_dtype(dtype: DType) -> np.dtype:
    """Return the numpy type; unsigned integers of the same width where that is one of ml_dtypes, which is not installed."""
    try:
        return dtype.numpy
    except ImportError:
        return DTYPES[dtype.bits_type].numpy


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
        self._binding.call("context_reshape_values", self.handle, pointers, None if values is None else _addresses(values))

    def run(self, inputs: Sequence[int], outputs: Sequence[int], stream: int) -> None:
        """Enqueue a run with device addresses."""
        self._binding.call("run", self.handle, _addresses(inputs), _addresses(outputs), stream)

    def run_host(self, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        """Run with host addresses and wait."""
        self._binding.call("run_host", self.handle, _addresses(inputs), _addresses(outputs))

    def output_shapes(self, ranks: Sequence[int], stream: int) -> tuple[tuple[int, ...], ...]:
        """Wait for the last run, which was enqueued on a stream; return the shapes of its outputs, which have these ranks."""
        found = _shapes([(0,) * rank for rank in ranks])
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


def _addresses(pointers: Sequence[int]) -> object:
    return (c_void_p * max(len(pointers), 1))(*pointers)


def _shape_arrays(shapes: Sequence[Sequence[int]]) -> tuple[Any, list[Any]]:
    """Return arrays of numbers, one a tensor, for C to read or to write: pointers to them, and they themselves."""
    numbers = [(c_int64 * max(len(shape), 1))(*shape) for shape in shapes]
    return (POINTER(c_int64) * max(len(numbers), 1))(*(cast(n, POINTER(c_int64)) for n in numbers)), numbers


def _shapes(shapes: Sequence[Sequence[int]]) -> Any:
    return _shape_arrays(shapes)[0]


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
        self.info = _info(info)
        self.inputs = tuple(self._tensor("input", i) for i in range(info.input_count))
        self.outputs = tuple(self._tensor("output", i) for i in range(info.output_count))
        self.dimensions = tuple(self._dimension(i) for i in range(info.dimension_count))
        self.is_counted = info.counted_count > 0
        self.reads_values = any(tensor.read_elements for tensor in self.inputs)

    def _tensor(self, kind: str, index: int) -> Tensor:
        tensor = TensorStruct()
        self.binding.call(kind, self.handle, index, byref(tensor))
        dtype = _DTYPE_OF_CODE[tensor.dtype]
        shape = tuple(tensor.shape[: tensor.rank])
        shared = SharedMemory(port=tensor.shared - 1, axis=tensor.axis, capacity=tensor.capacity) if tensor.shared else None
        return Tensor(
            name=tensor.name.decode(),
            dtype=_numpy_dtype(dtype),
            shape=shape,
            type=dtype,
            bytes=tensor.bytes,
            shared=shared,
            read_elements=tensor.read_elements,
        )

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
        found = _shapes([t.shape for t in self.outputs])
        self.binding.call("shapes_of_values", self.handle, _shapes(shapes), None if values is None else _addresses(values), found, None)
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
            "shapes_of_values", self.handle, _shapes(shapes), None if values is None else _addresses(values), None, byref(size)
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


def _info(info: ModelInfoStruct) -> ModelInfo:
    return ModelInfo(
        target=info.target.decode(),
        device=info.device.decode("utf-8", "replace"),
        is_emulated=bool(info.emulated),
        driver_version=(info.driver_version // 1000, info.driver_version % 1000 // 10),
        launch_count=info.launch_count,
        workspace_bytes=info.workspace_bytes,
        weight_bytes=info.weight_bytes,
        model_sha256=info.model_digest.decode(),
        manifest_sha256=info.manifest_digest.decode(),
        plan_sha256=info.plan_digest.decode(),
        weights_sha256=info.weights_digest.decode(),
        version=info.version.decode(),
    )


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
