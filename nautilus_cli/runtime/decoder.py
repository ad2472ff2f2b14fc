"""A decoder, step after step, with its caches on the device: they are neither copied nor moved from one step to the next."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from math import prod
from types import TracebackType
from typing import Any, Self

import numpy as np

from nautilus_cli.errors import UsageError
from nautilus_cli.runtime.arrays import OPEN, check, view
from nautilus_cli.runtime.context import Context
from nautilus_cli.runtime.description import Tensor
from nautilus_cli.runtime.library import Library
from nautilus_cli.runtime.model import Model
from nautilus_cli.runtime.shared_memory import host_array

_TO_DEVICE, _TO_HOST = 0, 1


class Decoder:
    """Runs a library of `nautilus compile --inplace-cache`: each step reads the caches and appends to them.

    Inputs other than the caches are arrays in host memory, and so are outputs. Use it as a context manager, or call `close`.

    Args:
        library: the loaded library; the decoder must be closed before it.
        batch: the size of every dimension of the caches that is open and along which they do not grow.

    Raises:
        UsageError: the library has no caches that are one buffer, or they cannot grow.
    """

    def __init__(self, library: Library, *, batch: int = 1) -> None:
        self.library = library
        self._model = library.model
        self._caches = {number: tensor for number, tensor in enumerate(library.inputs) if tensor.shared is not None}
        if not self._caches:
            raise UsageError(
                "no input shares its memory with an output", where=str(library.path), hint="Compile with --inplace-cache for a decoder."
            )
        self._shapes: dict[int, list[int]] = {}
        for number, tensor in self._caches.items():
            assert tensor.shared is not None
            if tensor.shape[tensor.shared.axis] != OPEN:
                raise UsageError(
                    f"input '{tensor.name}' has a fixed length, so that no second step follows a first",
                    where=str(library.path),
                    hint="Compile with a range for its length, for example --dim past=0..1023.",
                )
            self._shapes[number] = [batch if size == OPEN else size for size in tensor.shape]
        self._context = self._model.create_context(device_only=True)
        self._memory: dict[tuple[str, str], int] = {}
        self._finalizer = weakref.finalize(self, _dispose, self._model, self._context, self._memory)
        self.reset()

    @property
    def length(self) -> int:
        """Rows that the caches hold."""
        number, tensor = next(iter(self._caches.items()))
        assert tensor.shared is not None
        return self._shapes[number][tensor.shared.axis]

    def reset(self, length: int = 0) -> None:
        """Forget all rows but the first LENGTH, which stay as they are; no later step may read what was forgotten."""
        for number, tensor in self._caches.items():
            assert tensor.shared is not None
            held = self._shapes[number][tensor.shared.axis]
            if not 0 <= length <= max(0, held):
                raise UsageError(f"the caches hold {max(0, held)} rows, not {length}", where=str(self.library.path))
            self._shapes[number][tensor.shared.axis] = length

    def takes(self, shapes: Mapping[str, Sequence[int]]) -> bool:
        """Whether the library was compiled for a step of these shapes behind the rows that the caches hold.

        Args:
            shapes: of the inputs other than the caches, by name.
        """
        wanted = [self._shapes[i] if i in self._shapes else shapes[tensor.name] for i, tensor in enumerate(self.library.inputs)]
        if any(
            known not in (OPEN, size)
            for tensor, shape in zip(self.library.inputs, wanted, strict=True)
            for known, size in zip(tensor.shape, shape, strict=True)
        ):
            return False
        try:
            self._model.outputs_for(wanted)
        except UsageError:
            return False
        return True

    def step(self, inputs: Mapping[str, Any] | None = None, /, **named: Any) -> dict[str, np.ndarray]:
        """Run once: the outputs by name, without the caches, which are that much longer then.

        Args:
            inputs: input name to array, for names that are no Python identifiers.
            named: inputs by keyword.

        Raises:
            UsageError: an input is missing, unknown, or not what the model wants; the caches have no room for more. They stay as they were.
            DeviceError: the device failed.
        """
        if not self._finalizer.alive:
            raise UsageError("the decoder is closed", where=str(self.library.path))
        given = {**(inputs or {}), **named}
        plain = [t for t in self.library.inputs if t.shared is None]
        if unknown := sorted(given.keys() - {t.name for t in plain}):
            raise UsageError(f"a step takes no input '{unknown[0]}'", where=str(self.library.path), hint=f"Inputs: {_names(plain)}.")
        arrays = {}
        for tensor in plain:
            if tensor.name not in given:
                raise UsageError(f"missing input '{tensor.name}'", where=str(self.library.path), hint=f"Inputs: {_names(plain)}.")
            found = view(np.asarray(given[tensor.name], order="C"), f"input '{tensor.name}'", 0)
            check(tensor, found, f"input '{tensor.name}'")
            arrays[tensor.name] = host_array(found, tensor)
        shapes = [arrays[t.name].shape if t.shared is None else self._shapes[i] for i, t in enumerate(self.library.inputs)]
        if self.library.dimensions:
            self._context.reshape(shapes)
        sized = self._model.outputs_for(shapes)
        addresses = [self._place("input", t, shapes[i]) for i, t in enumerate(self.library.inputs)]
        results = [0 if t.shared is not None else self._place("output", t, t.shape) for t in self.library.outputs]
        for tensor, address in zip(self.library.inputs, addresses, strict=True):
            if tensor.shared is None:
                array = arrays[tensor.name]
                self._model.copy(address, array.ctypes.data, array.nbytes, _TO_DEVICE, 0)
        self._context.run(addresses, results, 0)
        outputs = {t.name: np.empty(t.shape, t.dtype) for t in sized if t.shared is None}
        for tensor, address in zip(sized, results, strict=True):
            if tensor.shared is None:
                array = outputs[tensor.name]
                self._model.copy(array.ctypes.data, address, array.nbytes, _TO_HOST, 0)
        self._context.synchronize(0)
        for tensor in (t for t in sized if t.shared is not None):
            assert tensor.shared is not None
            self._shapes[tensor.shared.port][tensor.shared.axis] = tensor.shape[tensor.shared.axis]
        return outputs

    def _place(self, kind: str, tensor: Tensor, shape: Sequence[int]) -> int:
        """Return the device memory of an input or output, as large as it ever is; a cache's is that of its actual batch."""
        key = kind, tensor.name
        if key not in self._memory:
            stored = shape if tensor.shared is None else tensor.shared.stored_shape(shape)
            size = tensor.bytes if tensor.shared is None else prod(stored) * tensor.type.bytes
            self._memory[key] = self._model.allocate(max(1, size))
        return self._memory[key]

    def close(self) -> None:
        """Free the caches; a second call does nothing."""
        self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def _names(tensors: list[Tensor]) -> str:
    return ", ".join(t.name for t in tensors) or "none"


def _dispose(model: Model, context: Context, memory: dict[tuple[str, str], int]) -> None:
    context.destroy()
    for address in memory.values():
        model.free(address)
    memory.clear()
