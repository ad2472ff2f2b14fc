"""Which operators a change touches: their cases run too, whatever their hash."""

from __future__ import annotations

import importlib
import subprocess
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[2]
OPERATORS = "nautilus_cli/ops/"


def changed_files(since: str) -> tuple[str, ...]:
    """Return the files that differ from a commit, paths below the root; none where this is no checkout or it has no such commit."""
    command = ["git", "-C", str(ROOT), "diff", "--name-only", "--diff-filter=d", "--end-of-options", since, "--", OPERATORS]
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    return tuple(done.stdout.splitlines()) if done.returncode == 0 else ()


def operators_of(files: Iterable[str]) -> frozenset[str]:
    """Return the operators that files define, by the names that ONNX has for them."""
    names: set[str] = set()
    for file in files:
        if file.startswith(OPERATORS) and file.endswith(".py"):
            module = importlib.import_module(file.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
            found = [*getattr(module, "OPERATORS", ()), *filter(None, [getattr(module, "OPERATOR", None)])]
            names.update(operator.name for operator in found)
    return frozenset(names)
