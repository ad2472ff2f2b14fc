"""Run onnx's backend cases through the compiler: `python -m tests.conformance --help`."""

from __future__ import annotations

import sys

from tests.conformance.command import main

if __name__ == "__main__":
    sys.exit(main())
