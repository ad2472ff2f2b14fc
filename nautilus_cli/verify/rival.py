"""onnxruntime to measure against, as its users run it: all optimisations, and the GPU where it can use one.

Unlike the oracle, which runs a graph as it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from nautilus_cli.errors import ModelError
from nautilus_cli.verify.oracle import EXTERNAL_FOLDER, LOG_FATAL, is_utf8, reason, source_of, to_value

_CUDA, _CPU = "CUDAExecutionProvider", "CPUExecutionProvider"


class Rival:
    """A session of onnxruntime.

    Args:
        model: the file, whose external data lies beside it; or a model's bytes.
        folder: where external data lies, of a model that is given as bytes.
        device: number of the GPU to use, where onnxruntime can; None for the CPU.

    Raises:
        ModelError: onnxruntime cannot load the model.
    """

    def __init__(self, model: Path | bytes, folder: Path | None = None, *, device: int | None = None) -> None:
        self._where = str(model) if isinstance(model, Path) else "the model"
        self._device = device if device is not None and _CUDA in onnxruntime.get_available_providers() else None
        options = onnxruntime.SessionOptions()
        options.log_severity_level = LOG_FATAL
        if isinstance(model, bytes) and folder is not None and is_utf8(folder):
            options.add_session_config_entry(EXTERNAL_FOLDER, str(folder))
        providers: list[Any] = [_CPU] if self._device is None else [(_CUDA, {"device_id": self._device}), _CPU]
        try:
            self._session = onnxruntime.InferenceSession(source_of(model), options, providers=providers)
        except Exception as error:  # onnxruntime's own classes share no public base
            raise ModelError(f"onnxruntime cannot load it: {reason(error)}", where=self._where) from error
        if _CUDA not in self._session.get_providers():
            self._device = None

    @property
    def name(self) -> str:
        """What it is, with its version and where it runs."""
        return f"onnxruntime {onnxruntime.__version__}, {'CPU' if self._device is None else 'CUDA'}"

    @property
    def version(self) -> str:
        """Of onnxruntime."""
        return str(onnxruntime.__version__)

    @property
    def is_on_gpu(self) -> bool:
        """Whether it uses the GPU."""
        return self._device is not None

    def bind(self, inputs: Mapping[str, np.ndarray], *, include_transfers: bool) -> Callable[[], object]:
        """Return what runs once and waits for the end; the function is for one thread, several may run at a time.

        Args:
            inputs: by name; those that the model does not have are left out.
            include_transfers: whether a run on the GPU copies inputs from host memory and outputs back.

        Raises:
            ModelError: onnxruntime cannot run the model.
        """
        arrays = {port.name: inputs[port.name] for port in self._session.get_inputs() if port.name in inputs}
        try:
            run = self._on_device(arrays) if self._device is not None and not include_transfers else self._on_host(arrays)
            run()
        except Exception as error:
            raise ModelError(f"onnxruntime cannot run it: {reason(error)}", where=self._where) from error
        return run

    def _on_host(self, arrays: Mapping[str, np.ndarray]) -> Callable[[], object]:
        names = [port.name for port in self._session.get_outputs()]
        values = {name: to_value(array) for name, array in arrays.items()}
        return lambda: self._session.run_with_ort_values(names, values)

    def _on_device(self, arrays: Mapping[str, np.ndarray]) -> Callable[[], object]:
        binding = self._session.io_binding()
        for name, array in arrays.items():
            binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(array, "cuda", self._device))
        for port in self._session.get_outputs():
            binding.bind_output(port.name, "cuda", self._device)
        return lambda: self._session.run_with_iobinding(binding)
