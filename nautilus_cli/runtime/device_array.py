"""Outputs of a run on the device."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from nautilus_cli.ir.types import DTYPES, NARROW
from nautilus_cli.runtime import dlpack
from nautilus_cli.runtime.arrays import LEGACY_STREAM
from nautilus_cli.runtime.context import Context
from nautilus_cli.runtime.description import Tensor
from nautilus_cli.runtime.model import Model

_TO_HOST = 1


class DeviceArray:
    """A dense tensor in device memory that this object owns.

    Frameworks take it without a copy through `__dlpack__` (torch.from_dlpack) or `__cuda_array_interface__` (cupy.asarray).
    Its contents are ready once `stream` has come to the end of the run that made it.

    Args:
        model: the loaded model, which stays loaded as long as the array lives.
        context: what the run is made with; it learns of an index out of range.
        tensor: the output that it holds.
        stream: the stream that the run was enqueued on.
        device: number of the GPU.
    """

    def __init__(self, model: Model, context: Context, tensor: Tensor, *, stream: int, device: int) -> None:
        self.name = tensor.name
        self.shape = tensor.shape
        self.dtype = tensor.dtype
        self.nbytes = tensor.bytes
        self.stream = stream
        self.device = device
        self.pointer = model.allocate(tensor.bytes)
        self._type = tensor.type
        self._model = model
        self._context = context
        weakref.finalize(self, model.free, self.pointer)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "data": (self.pointer, False),
            "shape": self.shape,
            "stream": self.stream or LEGACY_STREAM,
            "strides": None,
            "typestr": self.dtype.str,
            "version": 3,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return dlpack.CUDA, self.device

    def __dlpack__(self, *, stream: int | None = None, **_: object) -> object:
        # -1: the consumer wants no synchronisation. None is the legacy default stream.
        if stream != -1 and (stream or LEGACY_STREAM) != (self.stream or LEGACY_STREAM):
            self.synchronize()
        kind = DTYPES["u8"] if self._type in NARROW else self._type  # what few consumers know goes as its bytes
        return dlpack.export(
            self,
            address=self.pointer,
            kind=kind.kind,
            bits=kind.bits,
            is_bfloat=kind.name == "bf16",
            shape=self.shape,
            device=self.__dlpack_device__(),
        )

    def shrink(self, shape: Sequence[int]) -> None:
        """Be the front of the memory, in the shape that came out: a run had room for more."""
        self.shape = tuple(shape)
        self.nbytes = prod(self.shape) * self.dtype.itemsize

    def synchronize(self) -> None:
        """Wait for the contents; raise what went wrong in the run.

        Raises:
            NautilusError: the run failed, or met an index out of range.
        """
        if self._context.handle:
            self._context.synchronize(self.stream)
            return
        with self._model.borrow_context() as context:  # the library was closed meanwhile
            context.synchronize(self.stream)

    def numpy(self) -> np.ndarray:
        """Return a copy in host memory."""
        array = np.empty(self.shape, self.dtype)
        self._model.copy(array.ctypes.data, self.pointer, self.nbytes, _TO_HOST, self.stream)
        self.synchronize()
        return array

    def __repr__(self) -> str:
        return f"DeviceArray(name={self.name!r}, dtype={self.dtype}, shape={self.shape}, device={self.device})"
