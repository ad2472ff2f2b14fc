"""What the command line and Python callers ask for: compile, verify, run, time, tune and inspect a model.

Each function is imported on first use: running a library needs numpy only, and a comparison with a golden file no onnxruntime.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nautilus_cli.driver.benchmark import BenchOptions, bench
    from nautilus_cli.driver.benchmark_result import BenchResult
    from nautilus_cli.driver.caching import CacheInfo, CacheOptions, cache_info, clear_cache
    from nautilus_cli.driver.checking import CheckOptions, CheckResult, check
    from nautilus_cli.driver.compilation import CompileResult, compile
    from nautilus_cli.driver.generation import GenerateOptions, GenerateResult, generate
    from nautilus_cli.driver.inspection import InspectResult, inspect
    from nautilus_cli.driver.library_diagnosis import LibraryDiagnosis, LibraryDiagnosisOptions, diagnose_library
    from nautilus_cli.driver.options import CompileOptions, InspectOptions, Progress, TuneOptions, VerifyOptions
    from nautilus_cli.driver.planning import PreviewOptions, preview
    from nautilus_cli.driver.product_benchmark import ProductBenchOptions, bench_product
    from nautilus_cli.driver.product_benchmark_result import ProductBenchResult
    from nautilus_cli.driver.running import RunOptions, RunResult, run
    from nautilus_cli.driver.tuning import TuneResult, tune
    from nautilus_cli.driver.verification import verify
    from nautilus_cli.driver.verification_result import VerifyResult
    from nautilus_cli.runtime.benchmark import Load

__all__ = [
    "BenchOptions",
    "BenchResult",
    "CacheInfo",
    "CacheOptions",
    "CheckOptions",
    "CheckResult",
    "CompileOptions",
    "CompileResult",
    "GenerateOptions",
    "GenerateResult",
    "InspectOptions",
    "InspectResult",
    "LibraryDiagnosis",
    "LibraryDiagnosisOptions",
    "Load",
    "PreviewOptions",
    "ProductBenchOptions",
    "ProductBenchResult",
    "Progress",
    "RunOptions",
    "RunResult",
    "TuneOptions",
    "TuneResult",
    "VerifyOptions",
    "VerifyResult",
    "bench",
    "bench_product",
    "cache_info",
    "check",
    "clear_cache",
    "compile",
    "diagnose_library",
    "generate",
    "inspect",
    "preview",
    "run",
    "tune",
    "verify",
]

_MODULES = {
    "benchmark": ("BenchOptions", "Load", "bench"),
    "benchmark_result": ("BenchResult",),
    "caching": ("CacheInfo", "CacheOptions", "cache_info", "clear_cache"),
    "checking": ("CheckOptions", "CheckResult", "check"),
    "compilation": ("CompileResult", "compile"),
    "generation": ("GenerateOptions", "GenerateResult", "generate"),
    "inspection": ("InspectResult", "inspect"),
    "library_diagnosis": ("LibraryDiagnosis", "LibraryDiagnosisOptions", "diagnose_library"),
    "options": ("CompileOptions", "InspectOptions", "Progress", "TuneOptions", "VerifyOptions"),
    "planning": ("PreviewOptions", "preview"),
    "product_benchmark": ("ProductBenchOptions", "bench_product"),
    "product_benchmark_result": ("ProductBenchResult",),
    "running": ("RunOptions", "RunResult", "run"),
    "tuning": ("TuneResult", "tune"),
    "verification": ("verify",),
    "verification_result": ("VerifyResult",),
}
"""Which module of this package holds which names."""


def __getattr__(name: str) -> Any:
    """Import on first use."""
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
