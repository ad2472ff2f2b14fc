"""pyproject.toml says what the code needs: every import has a dependency, every dependency an import."""

from __future__ import annotations

import ast
import importlib
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

# Packages whose import name is another, or that are loaded by others.
IMPORT_NAMES = {"cuda-bindings": "cuda", "protobuf": "google"}
LOADED_BY_OTHERS = {"nvidia-cuda-nvrtc"}  # the shared library that cuda-bindings opens


def third_party_imports() -> dict[str, Path]:
    """Return the top-level packages that the code imports, with a file that does."""
    found: dict[str, Path] = {}
    for path in sorted((ROOT / "nautilus_cli").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module]
            for name in names:
                top = name.split(".")[0]
                if top != "nautilus_cli" and top not in sys.stdlib_module_names:
                    found.setdefault(top, path)
    return found


def declared() -> set[str]:
    """Return the names of the dependencies."""
    return {requirement.split(">")[0].split("<")[0].split("=")[0].strip() for requirement in PROJECT["dependencies"]}


def test_every_import_is_declared() -> None:
    names = {IMPORT_NAMES.get(name, name) for name in declared()}
    missing = {name: path for name, path in third_party_imports().items() if name not in names}
    assert not missing


def test_every_dependency_is_imported() -> None:
    imported = third_party_imports()
    unused = {name for name in declared() - LOADED_BY_OTHERS if IMPORT_NAMES.get(name, name) not in imported}
    assert not unused - {"optuna", "onnxruntime"}


def test_every_dependency_is_declared_once_and_explained() -> None:
    lines = (ROOT / "pyproject.toml").read_text().split("dependencies = [")[1].split("]")[0].strip().splitlines()
    assert len(lines) == len(declared())
    assert all("  # " in line for line in lines)


def test_the_command_exists() -> None:
    module, _, function = PROJECT["scripts"]["nautilus"].partition(":")
    assert callable(getattr(importlib.import_module(module), function))


@pytest.mark.parametrize("name", ["LICENSE", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "Makefile", ".ci/run"])
def test_the_papers_are_there(name: str) -> None:
    assert (ROOT / name).stat().st_size
