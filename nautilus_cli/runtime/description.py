"""What a model says about itself, and how an emulated one runs, as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nautilus_cli.artifact.abi import DTYPE_CODES, Order
from nautilus_cli.ir.types import DTYPES, UCS4, DType
from nautilus_cli.runtime.binding import EmulatorOptionsStruct, ModelInfoStruct, TensorStruct

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


def tensor_of(tensor: TensorStruct) -> Tensor:
    """Return an input or output, of what C says."""
    dtype = _DTYPE_OF_CODE[tensor.dtype]
    shared = SharedMemory(port=tensor.shared - 1, axis=tensor.axis, capacity=tensor.capacity) if tensor.shared else None
    return Tensor(
        name=tensor.name.decode(),
        dtype=_numpy_dtype(dtype),
        shape=tuple(tensor.shape[: tensor.rank]),
        type=dtype,
        bytes=tensor.bytes,
        shared=shared,
        read_elements=tensor.read_elements,
    )


def info_of(info: ModelInfoStruct) -> ModelInfo:
    """Return what a model says about itself, of what C says."""
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


def _numpy_dtype(dtype: DType) -> np.dtype:
    """Return the numpy type; unsigned integers of the same width where that is one of ml_dtypes, which is not installed."""
    try:
        return dtype.numpy
    except ImportError:
        return DTYPES[dtype.bits_type].numpy
