"""The C interface of a library (`nautilus/abi.h`) through ctypes."""

from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, Structure, byref, c_char_p, c_float, c_int, c_int32, c_int64, c_size_t, c_uint, c_uint32, c_ulonglong, c_void_p
from pathlib import Path
from typing import Any, ClassVar

from nautilus_cli.artifact.abi import ABI_VERSION, Status
from nautilus_cli.artifact.elf import mapped_bytes
from nautilus_cli.artifact.special_files import refuse_special
from nautilus_cli.errors import DeviceError, FileError, InternalError, NautilusError, NotServedError, UsageError

_HEAD_BYTES = 64 * 1024
"""How much of a file is read to find its program headers, which linkers put first."""

_ERRORS: dict[Status, type[NautilusError]] = {
    Status.INVALID_ARGUMENT: UsageError,
    Status.BAD_LIBRARY: FileError,
    Status.NO_DRIVER: DeviceError,
    Status.NO_DEVICE: DeviceError,
    Status.UNFIT_DEVICE: DeviceError,
    Status.OUT_OF_MEMORY: DeviceError,
    Status.DEVICE_ERROR: DeviceError,
    Status.INDEX_OUT_OF_RANGE: UsageError,
    Status.UNSUPPORTED: UsageError,
    Status.NOT_SERVED: NotServedError,
}


class Sized(Structure):
    """A structure that begins with its size."""

    _fields_: ClassVar[Any] = [("struct_bytes", c_size_t)]

    def __init__(self, **fields: Any) -> None:
        super().__init__(**fields)
        self.struct_bytes = ctypes.sizeof(self)


class TensorStruct(Sized):
    """nautilus_tensor."""

    _fields_: ClassVar[Any] = [
        ("name", c_char_p),
        ("dtype", c_int),
        ("rank", c_uint32),
        ("shape", POINTER(c_int64)),
        ("bytes", c_size_t),
        ("shared", c_uint32),
        ("axis", c_uint32),
        ("capacity", c_int64),
        ("read_elements", c_size_t),
    ]


class TargetStruct(Sized):
    """nautilus_target."""

    _fields_: ClassVar[Any] = [("name", c_char_p), ("major", c_int32), ("minor", c_int32), ("exact", c_int32), ("emulated", c_int32)]


class EmulatorOptionsStruct(Sized):
    """nautilus_emulator_options."""

    _fields_: ClassVar[Any] = [("order", c_uint), ("lazy", c_uint), ("poison", c_uint), ("threads", c_uint), ("seed", c_ulonglong)]


class ModelOptionsStruct(Sized):
    """nautilus_model_options."""

    _fields_: ClassVar[Any] = [("device", c_int32), ("place", c_int32), ("emulator", POINTER(EmulatorOptionsStruct))]


class ModelInfoStruct(Sized):
    """nautilus_model_info."""

    _fields_: ClassVar[Any] = [
        ("target", c_char_p),
        ("device", c_char_p),
        ("emulated", c_int32),
        ("driver_version", c_int32),
        ("input_count", c_size_t),
        ("output_count", c_size_t),
        ("launch_count", c_size_t),
        ("workspace_bytes", c_size_t),
        ("weight_bytes", c_size_t),
        ("model_digest", c_char_p),
        ("manifest_digest", c_char_p),
        ("plan_digest", c_char_p),
        ("weights_digest", c_char_p),
        ("version", c_char_p),
        ("dimension_count", c_size_t),
        ("counted_count", c_size_t),
    ]


class DimensionStruct(Sized):
    """nautilus_dimension."""

    _fields_: ClassVar[Any] = [("name", c_char_p), ("low", c_int64), ("high", c_int64), ("divisor", c_int64)]


class ContextOptionsStruct(Sized):
    """nautilus_context_options."""

    _fields_: ClassVar[Any] = [("workspace", c_void_p), ("workspace_bytes", c_size_t), ("launch", c_int32), ("device_only", c_int32)]


_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "nautilus_target_describe": (c_size_t, POINTER(TargetStruct)),
    "nautilus_model_create": (POINTER(ModelOptionsStruct), POINTER(c_void_p)),
    "nautilus_model_destroy": (c_void_p,),
    "nautilus_model_describe": (c_void_p, POINTER(ModelInfoStruct)),
    "nautilus_input": (c_void_p, c_size_t, POINTER(TensorStruct)),
    "nautilus_output": (c_void_p, c_size_t, POINTER(TensorStruct)),
    "nautilus_dimension_describe": (c_void_p, c_size_t, POINTER(DimensionStruct)),
    "nautilus_shapes": (c_void_p, POINTER(POINTER(c_int64)), POINTER(POINTER(c_int64)), POINTER(c_size_t)),
    "nautilus_shapes_of_values": (c_void_p, POINTER(POINTER(c_int64)), POINTER(c_void_p), POINTER(POINTER(c_int64)), POINTER(c_size_t)),
    "nautilus_model_emulator": (c_void_p, POINTER(EmulatorOptionsStruct)),
    "nautilus_context_create": (c_void_p, POINTER(ContextOptionsStruct), POINTER(c_void_p)),
    "nautilus_context_reshape": (c_void_p, POINTER(POINTER(c_int64))),
    "nautilus_context_reshape_values": (c_void_p, POINTER(POINTER(c_int64)), POINTER(c_void_p)),
    "nautilus_context_destroy": (c_void_p,),
    "nautilus_run": (c_void_p, POINTER(c_void_p), POINTER(c_void_p), c_void_p),
    "nautilus_synchronize": (c_void_p, c_void_p),
    "nautilus_check": (c_void_p,),
    "nautilus_run_host": (c_void_p, POINTER(c_void_p), POINTER(c_void_p)),
    "nautilus_output_shapes": (c_void_p, POINTER(POINTER(c_int64)), c_void_p),
    "nautilus_time": (c_void_p, c_size_t, c_size_t, c_size_t, POINTER(c_float)),
    "nautilus_allocate": (c_void_p, c_size_t, POINTER(c_void_p)),
    "nautilus_free": (c_void_p, c_void_p),
    "nautilus_copy": (c_void_p, c_void_p, c_void_p, c_size_t, c_int, c_void_p),
}
"""Parameters of each function that returns a status."""


def _check_file(path: Path) -> None:
    """Refuse what the loader would crash on: a file shorter than what it maps.

    Raises:
        FileError: it cannot be read, is no shared library, or is truncated.
    """
    refuse_special(path, "the library cannot be read")
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
            size = os.fstat(file.fileno()).st_size
    except OSError as error:
        raise FileError(f"the library cannot be read: {error.strerror}", where=str(path)) from error
    try:
        needed = mapped_bytes(head)
    except InternalError as error:
        raise FileError("this is not a shared library", where=str(path), hint="Pass what 'nautilus compile -o' wrote.") from error
    if size < needed:
        raise FileError(
            f"the library is truncated: it has {size} bytes of {needed}",
            where=str(path),
            hint="Compile the model again, or copy the whole file again.",
        )


class Binding:
    """A loaded library.

    Args:
        path: the file.

    Raises:
        FileError: it is not a library of Nautilus, or one of another interface version, or truncated.
    """

    def __init__(self, path: Path) -> None:
        _check_file(path)
        self.path = path
        # dlopen knows a library by the path it was given and would hand out an old one after a file was replaced. A descriptor
        # names this very file; that of a library that stays loaded may be given to another, so the path spells the inode, too.
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        inode = f"{os.fstat(self._descriptor).st_ino:b}"
        self._alias = f"/proc/self/fd{''.join('/.' if bit == '1' else '/' for bit in inode)}/{self._descriptor}"
        self._library: ctypes.CDLL | None = None
        try:
            self._library = ctypes.CDLL(self._alias, mode=os.RTLD_NOW | os.RTLD_LOCAL)
            self._declare(self._library)
            version = self._library.nautilus_abi_version()
        except (OSError, AttributeError) as error:
            self.close()
            message = str(error).replace(self._alias, path.name)
            raise FileError(
                f"this is not a library of Nautilus: {message}", where=str(path), hint="Pass what 'nautilus compile -o' wrote."
            ) from error
        if version != ABI_VERSION:
            self.close()
            raise FileError(f"the library's interface has version {version}; this Nautilus knows {ABI_VERSION}", where=str(path))

    @staticmethod
    def _declare(library: ctypes.CDLL) -> None:
        for name, parameters in _SIGNATURES.items():
            function = getattr(library, name)
            function.argtypes = parameters
            function.restype = c_int
        library.nautilus_abi_version.restype = c_int
        library.nautilus_last_error.restype = c_char_p
        library.nautilus_target_count.restype = c_size_t

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function of the interface by its name without `nautilus_`.

        Raises:
            NautilusError: of the class that fits its status, with the library's own text.
        """
        if self._library is None:
            raise UsageError("the library is closed", where=str(self.path))
        status = getattr(self._library, f"nautilus_{name}")(*arguments)
        if status != Status.OK:
            raise self._error(self._library, status)

    def _error(self, library: ctypes.CDLL, status: int) -> NautilusError:
        text = library.nautilus_last_error().decode("utf-8", "replace").replace(self._alias, self.path.name)
        known = status in {s.value for s in Status}
        kind = _ERRORS.get(Status(status), InternalError) if known else InternalError
        return kind(text.rstrip("."), where=str(self.path))

    def targets(self) -> tuple[TargetStruct, ...]:
        """Return the targets that the library holds code for; needs no device.

        Raises:
            FileError: the library is damaged.
        """
        if self._library is None:
            raise UsageError("the library is closed", where=str(self.path))
        count = self._library.nautilus_target_count()
        found = tuple(TargetStruct() for _ in range(max(count, 1)))
        for index, target in enumerate(found):
            self.call("target_describe", index, byref(target))
        return found

    def close(self) -> None:
        """Unload the library; nothing of it may be alive. A second call does nothing."""
        if self._library is not None:
            handle, self._library = self._library._handle, None
            _dlclose(handle)
        if self._descriptor >= 0:  # only now: its number is the name under which dlopen knows the library
            os.close(self._descriptor)
            self._descriptor = -1


def _dlclose(handle: int) -> None:
    """Unload a library, which ctypes itself never does."""
    function = ctypes.CDLL(None).dlclose
    function.argtypes = (c_void_p,)
    function(handle)
