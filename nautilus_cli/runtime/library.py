"""Load a compiled library and call it; needs numpy only."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from ctypes import memmove
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import numpy as np

from nautilus_cli.artifact.abi import LaunchMode, Place
from nautilus_cli.errors import UsageError, nearest
from nautilus_cli.ir.types import UCS4
from nautilus_cli.numerics.strings import strings
from nautilus_cli.runtime.arrays import LEGACY_STREAM, OPEN, View, check, counted, dense_host_array, view
from nautilus_cli.runtime.binding import Binding
from nautilus_cli.runtime.context import Context
from nautilus_cli.runtime.description import Dimension, EmulatorOptions, ModelInfo, Tensor
from nautilus_cli.runtime.device_array import DeviceArray
from nautilus_cli.runtime.model import Model
from nautilus_cli.runtime.shared_memory import HostMemory, host_array


def load(
    path: str | os.PathLike[str],
    *,
    device: int = 0,
    place: str = "automatic",
    emulator: EmulatorOptions | None = None,
    launch: str = "graph",
) -> Library:
    """Load a library that `nautilus compile` wrote.

    Args:
        path: the library.
        device: number of the GPU.
        place: `automatic` (the GPU; the emulator only where the library holds nothing else), `gpu` or `emulated`.
        emulator: options for an emulated run.
        launch: `graph` replays one CUDA graph a run, `stream` launches kernel after kernel.

    Raises:
        FileError: the file is missing, truncated, damaged, or no such library.
        DeviceError: there is no driver, no device, no code for the device, or no memory.
        UsageError: an option has no such value.
    """
    model = Model(
        Path(path),
        device=device,
        place=_choice(Place, place, "place"),
        emulator=emulator,
        launch=_choice(LaunchMode, launch, "launch"),
    )
    return Library(model, Path(path), device)


Choice = TypeVar("Choice", Place, LaunchMode)


def _choice(choices: type[Choice], name: str, where: str) -> Choice:
    known = {c.name.lower(): c for c in choices}
    if name not in known:
        raise UsageError(f"'{name}' is no choice", where=where, hint=nearest(name, known))
    return known[name]


class Library:
    """A loaded model.

    `library(x=array)` runs it: keywords are inputs, the result maps output names to arrays in ONNX order. Numpy arrays and tensors of
    other libraries in host memory run synchronously and give numpy arrays. Tensors in device memory run without copies, asynchronously on
    a stream, and give `DeviceArray`s. Threads may call one library at the same time: each call takes a context of its own.

    Use it as a context manager, or call `close`.
    """

    def __init__(self, model: Model, path: Path, device: int) -> None:
        self.path = path
        self.device = device
        self._model: Model | None = model

    @property
    def model(self) -> Model:
        """The loaded model; raises UsageError once the library is closed."""
        if self._model is None:
            raise UsageError("the library is closed", where=str(self.path))
        return self._model

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """The inputs, in ONNX order."""
        return self.model.inputs

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """The outputs, in ONNX order."""
        return self.model.outputs

    @property
    def dimensions(self) -> tuple[Dimension, ...]:
        """The dimensions whose sizes are known only when the model runs."""
        return self.model.dimensions

    @property
    def info(self) -> ModelInfo:
        """Target, device, sizes and digests."""
        return self.model.info

    @property
    def is_emulated(self) -> bool:
        """Whether it runs on the CPU; its times then say nothing about a GPU."""
        return self.info.is_emulated

    @property
    def manifest(self) -> dict[str, Any]:
        """The manifest beside the library.

        Raises:
            FileError: it is missing, or is that of another library.
        """
        from nautilus_cli.artifact import manifest  # here, so that loading needs numpy only and little of it

        return manifest.read(manifest.manifest_path(self.path), digest=self.info.manifest_sha256)

    def __call__(
        self, inputs: Mapping[str, Any] | None = None, /, *, stream: object = None, out: Mapping[str, Any] | None = None, **named: Any
    ) -> dict[str, Any]:
        """Run the model once.

        Args:
            inputs: input name to tensor, for names that are no Python identifiers, or `stream` or `out`.
            stream: for tensors in device memory: a CUDA stream as a number or as an object of torch or cupy; the legacy default stream
                if None. A run with host tensors ignores it. Where the model computes how large an output is, the call waits for it.
            out: output name to a tensor to write; outputs not named get new arrays. Where the model computes how large an output is, the
                tensor has room for the largest, and what is returned of a numpy array is its front, in the shape that came out.
            named: inputs by keyword.

        Raises:
            UsageError: a tensor is missing, unknown, or of a wrong type, shape, layout or place; an index in it is out of range.
            DeviceError: the device failed.
        """
        if inputs is not None and not isinstance(inputs, Mapping):
            raise UsageError("inputs are passed by name", where=str(self.path), hint=f"Inputs: {_list(self.inputs)}.")
        given = self._match({**(inputs or {}), **named}, self.inputs, "input", is_complete=True)
        results = self._match(out or {}, self.outputs, "output", is_complete=False)
        number = _stream(stream)
        views = {t.name: view(dense_host_array(given[t.name], t), f"input '{t.name}'", number) for t in self.inputs}
        targets = {name: view(array, f"output '{name}'", number) for name, array in results.items()}
        is_host = self._is_host({**{f"input '{n}'": v for n, v in views.items()}, **{f"output '{n}'": v for n, v in targets.items()}})
        if not is_host and any(t.shared for t in self.inputs):
            raise UsageError(
                "inputs and outputs share memory that is larger than their tensors",
                where=str(self.path),
                hint="nautilus_cli.Decoder keeps such memory on the device, or pass arrays in host memory.",
            )
        for tensor in self.inputs:
            check(tensor, views[tensor.name], f"input '{tensor.name}'")
        with self.model.borrow_context() as context:
            shapes = [views[t.name].shape for t in self.inputs]
            held = self._values(views, context, number) if self.model.reads_values else []
            values = [array.ctypes.data for array in held] if held else None
            if self.model.is_open:
                context.reshape(shapes, values)
            sized = self.model.outputs_for(shapes, values)
            for tensor in sized:
                if tensor.name not in results:
                    made = self._allocate(tensor, context, is_host=is_host, stream=number)
                    results[tensor.name], targets[tensor.name] = made, view(made, f"output '{tensor.name}'", -1)
                _check_output(tensor, targets[tensor.name])
            addresses = [views[t.name].address for t in self.inputs], [targets[t.name].address for t in self.outputs]
            if is_host:
                memory = HostMemory(self.inputs, views)
                context.run_host(memory.inputs(addresses[0]), memory.outputs(sized, addresses[1]))
                for tensor in (t for t in sized if t.shared is not None):
                    host_array(targets[tensor.name], tensor)[...] = memory.rows(tensor)
            else:
                for producer in _other_streams(views.values(), number):
                    context.synchronize(producer)
                context.run(*addresses, number)
            if self.model.is_counted:
                found = context.output_shapes([len(t.shape) for t in self.outputs], number)
                results = {t.name: counted(results[t.name], shape) for t, shape in zip(self.outputs, found, strict=True)}
        return {t.name: _as_strings(t, results[t.name]) if t.name not in (out or {}) else results[t.name] for t in self.outputs}

    def _values(self, views: Mapping[str, View], context: Context, stream: int) -> list[np.ndarray]:
        """Return the bytes of what decides shapes, one array an input: of an input that decides none, no bytes."""
        found = []
        for tensor in self.inputs:
            lies = views[tensor.name]
            array = np.empty(tensor.read_elements * tensor.type.bytes, np.uint8)
            if array.nbytes and lies.is_host:
                memmove(array.ctypes.data, lies.address, array.nbytes)
            elif array.nbytes:
                for producer in _other_streams([lies], stream):
                    context.synchronize(producer)
                self.model.copy(array.ctypes.data, lies.address, array.nbytes, 1, stream)
                context.synchronize(stream)
            found.append(array)
        return found

    def _match(self, given: Mapping[str, Any], tensors: Sequence[Tensor], kind: str, *, is_complete: bool) -> dict[str, Any]:
        """Refuse names that the model does not have, and missing ones."""
        known = {t.name for t in tensors}
        for name in given:
            if name not in known:
                raise UsageError(f"the model has no {kind} '{name}'", where=str(self.path), hint=f"{kind.capitalize()}s: {_list(tensors)}.")
        missing = [t for t in tensors if t.name not in given]
        if is_complete and missing:
            names = ", ".join(f"'{t.name}'" for t in missing)
            raise UsageError(f"missing {kind} {names}", where=str(self.path), hint=f"{kind.capitalize()}s: {_list(tensors)}.")
        return dict(given)

    def _is_host(self, views: Mapping[str, View]) -> bool:
        """Whether the tensors lie in host memory; all must lie in the same."""
        places = {v.is_host for v in views.values()}
        if len(places) == 2:
            host = next(where for where, v in views.items() if v.is_host)
            raise UsageError("this tensor lies in host memory and others on the device", where=host, hint="Pass all in the same memory.")
        is_host = False not in places
        if not is_host and self.is_emulated:
            raise UsageError("the library is emulated and cannot read device memory", where=str(self.path), hint="Pass numpy arrays.")
        for where, v in views.items():
            if not v.is_host and v.device != self.device:
                raise UsageError(f"the tensor lies on device {v.device}; the library on {self.device}", where=where)
        return is_host

    def _allocate(self, tensor: Tensor, context: Context, *, is_host: bool, stream: int) -> np.ndarray | DeviceArray:
        """Return an array for an output that the caller did not give one for."""
        if is_host:
            return np.empty(tensor.shape, tensor.dtype)
        return DeviceArray(self.model, context, tensor, stream=stream, device=self.device)

    def targets(self) -> tuple[str, ...]:
        """Return the names of the targets that the library holds code for."""
        return tuple(t.name.decode() for t in self.model.binding.targets())

    def configure_emulator(self, options: EmulatorOptions) -> None:
        """Set the emulator's options for runs to come.

        Raises:
            UsageError: the library runs on a GPU.
        """
        self.model.configure_emulator(options)

    def close(self) -> None:
        """Free contexts and weights. Runs must have ended; device arrays of earlier runs stay valid."""
        if self._model is not None:
            self._model.release_contexts()
            self._model = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._model is None:
            return f"Library({str(self.path)!r}, closed)"
        return f"Library({str(self.path)!r}, target={self.info.target!r}, inputs=[{_list(self.inputs)}], outputs=[{_list(self.outputs)}])"


def held_targets(path: Path) -> tuple[tuple[str, bool], ...]:
    """Return (name, is emulated) of the targets that a library holds code for, without a device.

    Raises:
        FileError: it is no library, or it is damaged.
    """
    binding = Binding(path)
    try:
        return tuple((t.name.decode(), bool(t.emulated)) for t in binding.targets())
    finally:
        binding.close()


def _as_strings(tensor: Tensor, result: Any) -> Any:
    """Return a result of code points in host memory as strings, any other as it is."""
    return strings(result) if tensor.type == UCS4 and isinstance(result, np.ndarray) else result


def _check_output(tensor: Tensor, target: View) -> None:
    where = f"output '{tensor.name}'"
    check(tensor, target, where)
    if not target.is_writable:
        raise UsageError("the array is read-only", where=where)


def _list(tensors: Sequence[Tensor]) -> str:
    return ", ".join(f"{t.name}: {t.type}[{', '.join('?' if d == OPEN else str(d) for d in t.shape)}]" for t in tensors) or "none"


def _stream(stream: Any) -> int:
    """Return a CUDA stream as a number."""
    if stream is None:
        return 0
    if isinstance(stream, int):
        return stream
    if hasattr(stream, "__cuda_stream__"):  # the protocol of cuda-python: (version, handle)
        return int(stream.__cuda_stream__()[1])
    for name in ("cuda_stream", "ptr"):  # torch, cupy
        if hasattr(stream, name):
            return int(getattr(stream, name))
    raise UsageError(f"{type(stream).__name__} is no CUDA stream", where="stream", hint="Pass its address, or a stream of torch or cupy.")


def _other_streams(views: Any, stream: int) -> set[int]:
    """Return the streams, other than ours, that inputs still depend on."""
    ours = stream or LEGACY_STREAM
    return {v.producer_stream for v in views if v.producer_stream is not None and v.producer_stream != ours}
