"""The reference: onnxruntime on the CPU, running the model as it is written.

No graph optimisation is asked for, so that what is compared with is the graph of the file, operator by operator. Half-precision
operators that the CPU has no kernel for are computed in float32 between casts, which onnxruntime adds itself.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from nautilus_cli.artifact.abi import DTYPE_CODES
from nautilus_cli.errors import UsageError, nearest
from nautilus_cli.ir.names import quoted
from nautilus_cli.ir.types import BF16, NARROW, dtype_of, unpacked
from nautilus_cli.verify.no_reference import INSTEAD, NoReference

_NUMBERS = {dtype: DTYPE_CODES[dtype.name] for dtype in (BF16, *NARROW)}
"""ONNX's numbers of the element types that numpy lacks."""

_TYPES = {number: dtype for dtype, number in _NUMBERS.items()}

LOG_FATAL = 4

EXTERNAL_FOLDER = "session.model_external_initializers_file_folder_path"
"""Source: onnxruntime_session_options_config_keys.h."""


class Oracle:
    """A reference session.

    Args:
        model: the file, whose external data lies beside it; or a model's bytes.
        folder: where external data lies, of a model that is given as bytes.

    Raises:
        NoReference: onnxruntime cannot load the model.
    """

    def __init__(self, model: Path | bytes, folder: Path | None = None) -> None:
        self._where = str(model) if isinstance(model, Path) else "the model"
        source = source_of(model)
        try:
            self._session = _session(source, folder, onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL)
        except Exception:  # onnxruntime's own classes share no public base
            # Some releases place casts around fp16 operators that only their optimiser removes, and refuse the graph without it.
            try:
                self._session = _session(source, folder, onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL)
            except Exception as error:
                raise NoReference(f"onnxruntime cannot load it: {reason(error)}", where=self._where, hint=INSTEAD) from error

    @property
    def name(self) -> str:
        """What the reference is, with its version."""
        return f"onnxruntime {onnxruntime.__version__}"

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs that must be given."""
        return tuple(port.name for port in self._session.get_inputs())

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the outputs, in ONNX order."""
        return tuple(port.name for port in self._session.get_outputs())

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the outputs for these inputs, by name; names that the model does not have are an error.

        Raises:
            UsageError: an input is missing or unknown.
            NoReference: onnxruntime fails, or an output is no tensor.
        """
        for name in inputs:
            if name not in self.inputs:
                raise UsageError(f"the model has no input {quoted(name)}", where=self._where, hint=nearest(name, self.inputs))
        missing = [quoted(name) for name in self.inputs if name not in inputs]
        if missing:
            raise UsageError(f"lacks values for {', '.join(missing)}", where=self._where)
        has_strings = any(port.type == "tensor(string)" for port in (*self._session.get_inputs(), *self._session.get_outputs()))
        feeds = dict(inputs) if has_strings else {name: to_value(array) for name, array in inputs.items()}
        try:
            if has_strings:  # which onnxruntime's own values do not hold
                found = self._session.run(list(self.outputs), feeds)
                return {name: np.asarray(array) for name, array in zip(self.outputs, found, strict=True)}
            results = self._session.run_with_ort_values(list(self.outputs), feeds)
        except Exception as error:
            raise NoReference(f"onnxruntime cannot run it: {reason(error)}", where=self._where, hint=INSTEAD) from error
        return {name: self._to_array(name, value) for name, value in zip(self.outputs, results, strict=True)}

    def _to_array(self, name: str, value: Any) -> np.ndarray:
        if not value.is_tensor():
            raise NoReference(f"output {quoted(name)} is no tensor", where=self._where)
        if value.element_type() not in _TYPES:
            return np.asarray(value.numpy())
        # onnxruntime has no numpy type for it: take the bytes.
        dtype, shape = _TYPES[value.element_type()], value.shape()
        data = np.frombuffer(ctypes.string_at(value.data_ptr(), value.tensor_size_in_bytes()), np.uint8)
        return (unpacked(data, dtype, prod(shape)) if dtype.bits < 8 else data.view(dtype.numpy)).reshape(shape)


def _session(source: str | bytes, folder: Path | None, level: Any) -> Any:
    """Return a session on the CPU whose results do not vary."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = level
    options.use_deterministic_compute = True
    options.add_session_config_entry("session.disable_prepacking", "1")  # a copy of all weights, for a single run
    if isinstance(source, bytes) and folder is not None and is_utf8(folder):
        options.add_session_config_entry(EXTERNAL_FOLDER, str(folder))
    options.log_severity_level = LOG_FATAL  # what goes wrong is raised as well
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def to_value(array: np.ndarray) -> Any:
    """Return an array as onnxruntime's own."""
    dtype = dtype_of(array)
    if dtype in _NUMBERS:
        if dtype.bits < 8:
            raise NoReference(f"onnxruntime's Python interface takes no input of type {dtype}", hint=INSTEAD)
        bits = np.ascontiguousarray(array).view(f"u{dtype.bytes}").reshape(array.shape)
        return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, _NUMBERS[dtype])
    return onnxruntime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(array).reshape(array.shape))


def is_utf8(path: Path) -> bool:
    """Whether the bytes of a path are UTF-8."""
    return not any("\ud800" <= character <= "\udfff" for character in str(path))


def source_of(model: Path | bytes) -> str | bytes:
    """Return what onnxruntime loads: a path, which it takes as UTF-8 only, else what the file holds; data beside it is not found then."""
    if isinstance(model, bytes):
        return model
    return str(model) if is_utf8(model) else model.read_bytes()


def reason(error: Exception) -> str:
    """Return onnxruntime's message without its error code, on one line."""
    text = " ".join(str(error).split())
    return text.split(" : ", 2)[-1] if text.startswith("[ONNXRuntimeError]") else text
