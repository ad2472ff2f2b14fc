"""What the command line and Python callers ask for: compile, verify, tune and inspect a model."""

from nautilus_cli.driver.compilation import CompileResult, compile
from nautilus_cli.driver.inspection import InspectResult, inspect
from nautilus_cli.driver.options import CompileOptions, InspectOptions, Progress, TuneOptions, VerifyOptions
from nautilus_cli.driver.tuning import TuneResult, tune
from nautilus_cli.driver.verification import VerifyResult, verify

__all__ = [
    "CompileOptions",
    "CompileResult",
    "InspectOptions",
    "InspectResult",
    "Progress",
    "TuneOptions",
    "TuneResult",
    "VerifyOptions",
    "VerifyResult",
    "compile",
    "inspect",
    "tune",
    "verify",
]
