"""Timing of a loaded library by device events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from types import TracebackType
from typing import Any, Self

import numpy as np

from nautilus_cli.artifact.abi import LaunchMode
from nautilus_cli.errors import UsageError
from nautilus_cli.runtime.arrays import check, counted, dense_host_array, view
from nautilus_cli.runtime.library import Library
from nautilus_cli.runtime.shared_memory import HostMemory


@dataclass(frozen=True, slots=True)
class Timing:
    """Microseconds of one run, measured several times.

    Attributes:
        samples_us: one a sample, in the order measured.
    """

    samples_us: tuple[float, ...]

    @property
    def median_us(self) -> float:
        """The median sample."""
        return median(self.samples_us)

    @property
    def minimum_us(self) -> float:
        """The fastest sample."""
        return min(self.samples_us)

    def percentile_us(self, percent: float) -> float:
        """Return the value below which PERCENT of the samples lie, interpolated."""
        return float(np.percentile(self.samples_us, percent))

    @property
    def spread(self) -> float:
        """Distance of the quartiles relative to the median."""
        return (self.percentile_us(75) - self.percentile_us(25)) / self.median_us if self.median_us else 0.0


class Session:
    """One context of a library, for timing: its own stream, its own buffers.

    Args:
        library: the loaded library; the session must be closed before it.
        launch: `graph` or `stream`.
    """

    def __init__(self, library: Library, *, launch: str = "graph") -> None:
        self.library = library
        self._context = library.model.create_context(launch=LaunchMode[launch.upper()])

    def bind(self, inputs: Mapping[str, Any]) -> Callable[[], dict[str, np.ndarray]]:
        """Return what runs once on host arrays: copies them in, runs, and copies into outputs that are the same arrays each time.

        Raises:
            UsageError: an input is missing or not what the model wants.
        """
        addresses, shapes, views = [], [], {}
        for tensor in self.library.inputs:
            if tensor.name not in inputs:
                raise UsageError(f"missing input '{tensor.name}'", where=str(self.library.path))
            found = view(dense_host_array(inputs[tensor.name], tensor), f"input '{tensor.name}'", 0)
            check(tensor, found, f"input '{tensor.name}'")
            addresses.append(found.address)
            views[tensor.name] = found
            shapes.append(found.shape)
        values = addresses if self.library.model.reads_values else None
        if self.library.model.is_open:
            self._context.reshape(shapes, values)
        sized, memory = self.library.model.outputs_for(shapes, values), HostMemory(self.library.inputs, views)
        results = {t.name: np.empty(t.shape, t.dtype) if t.shared is None else memory.rows(t) for t in sized}
        addresses = memory.inputs(addresses)
        places = memory.outputs(sized, [array.ctypes.data for array in results.values()])

        def run(_: object = (views, memory)) -> dict[str, np.ndarray]:  # the default keeps the inputs as long as the function lives
            self._context.run_host(addresses, places)
            if not self.library.model.is_counted:
                return results
            found = self._context.output_shapes([array.ndim for array in results.values()], 0)
            return {name: counted(array, shape) for (name, array), shape in zip(results.items(), found, strict=True)}

        return run

    def feed(self, inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Run once on host arrays, which the timed runs then read; return the outputs.

        Raises:
            UsageError: an input is missing or not what the model wants.
        """
        return self.bind(inputs)()

    def time(self, *, samples: int = 20, runs: int = 10, warmup: int = 10) -> Timing:
        """Time runs on what was fed last (zeros before): SAMPLES times RUNS runs back to back, after WARMUP runs.

        Raises:
            DeviceError: a run failed.
        """
        return Timing(self._context.time_us(samples=samples, runs=runs, warmup=warmup))

    def close(self) -> None:
        """Free the context; a second call does nothing."""
        self._context.destroy()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
