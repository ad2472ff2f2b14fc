"""Fills the generated parts of README.md: the C example and the table of supported operators.

Usage: python docs/readme.py [--check]
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Anchor, Cast, Decompose, HostOnly, Movement, Operator, Pointwise, Reduction

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
EXAMPLE = ROOT / "tests/e2e/example.c"

KINDS: tuple[tuple[str, type | tuple[type, ...]], ...] = (
    ("kernel families of their own", Anchor),
    ("reductions", Reduction),
    ("elementwise, fused", (Pointwise, Cast)),
    ("movement, absorbed into loads", Movement),
    ("written in simpler ones", Decompose),
    ("evaluated at compile time", HostOnly),
)


def support_table(known: dict[str, Operator]) -> str:
    """Return the operators by how kernels come of them, as a Markdown table."""
    known = {name: operator for name, operator in known.items() if not name.startswith("nautilus::")}
    lines = [f"{len(known)} operators:", "", "| how | operators |", "|---|---|"]
    for title, kind in KINDS:
        names = sorted(name for name, operator in known.items() if isinstance(operator.lowering, kind))
        lines.append(f"| {title} | {', '.join(names)} |")
    return "\n".join(lines)


def filled(text: str) -> str:
    """Return the README with its generated parts made anew."""
    text = re.sub(r"(<!-- example: .*? -->\n```c\n).*?(\n```)", lambda m: m[1] + EXAMPLE.read_text().rstrip() + m[2], text, flags=re.DOTALL)
    table = support_table(dict(operators()))
    return re.sub(r"(<!-- support: .*? -->\n).*?(\n\n## )", lambda m: m[1] + table + m[2], text, flags=re.DOTALL)


def main(arguments: list[str]) -> int:
    """Write the README, or with --check only say whether it is up to date."""
    old = README.read_text()
    new = filled(old)
    if arguments == ["--check"]:
        return int(old != new)
    README.write_text(new)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
