"""What bench() has measured, as numbers and as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from nautilus_cli.runtime.benchmark import Load, Measured
from nautilus_cli.toolchain.clocks import Clocks


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Times of one runner.

    Attributes:
        name: what ran.
        measured: its samples.
        percentiles: those asked for, in microseconds, by percent.
    """

    name: str
    measured: Measured
    percentiles: Mapping[float, float]

    def numbers(self) -> dict[str, float]:
        """Return least, median, greatest and mean, in microseconds."""
        samples = self.measured.samples_us
        numbers = {"min": samples.min(), "median": np.median(samples), "max": samples.max(), "mean": samples.mean()}
        return {name: float(number) for name, number in numbers.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchResult:
    """What was measured.

    Attributes:
        library: the file.
        target: what it ran on.
        device: name of the GPU, or of the emulator.
        is_emulated: whether it ran on the CPU: the times are then no speed.
        load: how much was measured.
        inputs: what each input held, in a few words.
        series: the library's times, then onnxruntime's where it was measured.
        clocks: of the GPU between the measurements; empty where they cannot be read.
        versions: of what took part.
        notes: sentences for the user.
    """

    library: Path
    target: str
    device: str
    is_emulated: bool
    load: Load
    inputs: Mapping[str, str]
    series: tuple[Series, ...]
    clocks: tuple[Clocks, ...]
    versions: Mapping[str, str]
    notes: tuple[str, ...]

    def to_data(self, *, has_samples: bool = False) -> dict[str, Any]:
        """Return it as JSON types, with every sample where asked for."""
        return {
            "library": str(self.library),
            "target": self.target,
            "device": self.device,
            "emulated": self.is_emulated,
            "load": asdict(self.load),
            "inputs": dict(self.inputs),
            "series": [_series_data(series, has_samples=has_samples) for series in self.series],
            "clocks": _clocks_data(self.clocks),
            "versions": dict(self.versions),
            "notes": list(self.notes),
        }


def _series_data(series: Series, *, has_samples: bool) -> dict[str, Any]:
    data: dict[str, Any] = {
        "name": series.name,
        "latency_us": {**series.numbers(), **{f"p{percent:g}": value for percent, value in series.percentiles.items()}},
        "throughput_per_s": series.measured.throughput_per_s,
        "samples": len(series.measured.samples_us),
        "runs_per_sample": series.measured.runs_per_sample,
        "elapsed_s": series.measured.elapsed_s,
    }
    return {**data, "samples_us": [float(sample) for sample in series.measured.samples_us]} if has_samples else data


def _clocks_data(clocks: tuple[Clocks, ...]) -> dict[str, float] | None:
    if not clocks:
        return None
    sm = [found.sm_mhz for found in clocks]
    return {
        "sm_mhz": median(sm),
        "lowest_sm_mhz": min(sm),
        "highest_sm_mhz": max(sm),
        "most_sm_mhz": clocks[-1].most_sm_mhz,
        "memory_mhz": median(found.memory_mhz for found in clocks),
    }
