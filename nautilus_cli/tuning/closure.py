"""The device code that a family's measurements are of."""

from __future__ import annotations

import hashlib

from nautilus_cli import resources
from nautilus_cli.kernels.base import Family
from nautilus_cli.toolchain.includes import IncludeScanner


def family_digest(family: Family) -> str:
    """Return a digest of a family's stub and of every header that it includes; the same wherever the project lies.

    Raises:
        InternalError: the stub or a header cannot be found out.
    """
    stub = (resources.kernel_stubs() / family.template).read_bytes()
    includes = "".join(f"#include <{header}>\n" for header in family.headers)
    closure = IncludeScanner([resources.include()]).digest(includes)
    return hashlib.sha256(stub + closure).hexdigest()[:32]
