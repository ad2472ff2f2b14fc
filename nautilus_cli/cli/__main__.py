"""`python -m nautilus_cli.cli` is `nautilus`."""

from __future__ import annotations

import sys

from nautilus_cli.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
