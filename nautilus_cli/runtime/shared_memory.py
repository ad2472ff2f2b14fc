"""Host arrays of inputs and outputs that share memory: put into it, with room behind their rows, and taken out of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ctypes import c_uint8
from math import prod

import numpy as np

from nautilus_cli.runtime.arrays import View
from nautilus_cli.runtime.description import SharedMemory, Tensor


def host_array(found: View, tensor: Tensor) -> np.ndarray:
    """Return a dense tensor in host memory as a numpy array on the same memory."""
    size = prod(found.shape) * tensor.dtype.itemsize
    raw = np.ctypeslib.as_array((c_uint8 * size).from_address(found.address)) if size else np.empty(0, np.uint8)
    return raw.view(tensor.dtype).reshape(found.shape)


def with_room(array: np.ndarray, shared: SharedMemory) -> np.ndarray:
    """Return memory that begins with the rows of an input; what lies behind them is zero."""
    memory = np.zeros(shared.stored_shape(array.shape), array.dtype)
    first_rows(memory, shared, array.shape[shared.axis])[...] = array
    return memory


def first_rows(memory: np.ndarray, shared: SharedMemory, rows: int) -> np.ndarray:
    """Return a view of the first rows."""
    view: np.ndarray = memory[(slice(None),) * shared.axis + (slice(rows),)]
    return view


class HostMemory:
    """The memory of the inputs that share it, for one run or many on host arrays.

    Args:
        inputs: the inputs of the model.
        views: where the array of each lies, by name.
    """

    def __init__(self, inputs: Sequence[Tensor], views: Mapping[str, View]) -> None:
        self._rooms = {
            number: with_room(host_array(views[tensor.name], tensor), tensor.shared)
            for number, tensor in enumerate(inputs)
            if tensor.shared is not None
        }

    def inputs(self, addresses: Sequence[int]) -> list[int]:
        """Return the addresses of the inputs, with that of the memory for those that share it."""
        return [self._rooms[i].ctypes.data if i in self._rooms else address for i, address in enumerate(addresses)]

    def outputs(self, tensors: Sequence[Tensor], addresses: Sequence[int]) -> list[int]:
        """Return the addresses of the outputs, likewise."""
        return [
            address if tensor.shared is None else self._rooms[tensor.shared.port].ctypes.data
            for tensor, address in zip(tensors, addresses, strict=True)
        ]

    def rows(self, tensor: Tensor) -> np.ndarray:
        """Return a view of an output, whose shape is that of the run."""
        assert tensor.shared is not None
        return first_rows(self._rooms[tensor.shared.port], tensor.shared, tensor.shape[tensor.shared.axis])
