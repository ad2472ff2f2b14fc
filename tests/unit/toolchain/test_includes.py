"""The include closure: everything that may be read, wherever the tree lies."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from nautilus_cli.errors import InternalError
from nautilus_cli.toolchain.includes import IncludeScanner


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "include"
    (root / "n").mkdir(parents=True)
    (root / "n" / "a.cuh").write_text('#pragma once\n#include <n/b.cuh>\n#  include "c.cuh"\n#include <cstdint>\n')
    (root / "n" / "b.cuh").write_text("#include <n/a.cuh>\n")  # a cycle
    (root / "n" / "c.cuh").write_text("int c;\n")
    (root / "n" / "unused.cuh").write_text("int unused;\n")
    return root


def names(scanner: IncludeScanner, text: str) -> list[str]:
    return [path.name for path in scanner.closure(text)]


def test_the_closure_is_what_is_included_directly_or_not(tree: Path) -> None:
    assert names(IncludeScanner([tree]), "#include <n/a.cuh>\n") == ["a.cuh", "b.cuh", "c.cuh"]
    assert names(IncludeScanner([tree]), "#include <n/c.cuh>\n") == ["c.cuh"]
    assert names(IncludeScanner([tree]), "int x; // #include <n/c.cuh>\n") == []


def test_both_sides_of_a_condition_belong_to_it(tree: Path) -> None:
    text = "#ifdef X\n#include <n/c.cuh>\n#else\n#include <n/unused.cuh>\n#endif\n"
    assert names(IncludeScanner([tree]), text) == ["c.cuh", "unused.cuh"]


def test_the_first_folder_wins(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "other" / "n").mkdir(parents=True)
    (tmp_path / "other" / "n" / "c.cuh").write_text("int other;\n")
    (found,) = IncludeScanner([tmp_path / "other", tree]).closure("#include <n/c.cuh>")
    assert found.read_text() == "int other;\n"


def test_a_computed_include_is_refused(tree: Path) -> None:
    with pytest.raises(InternalError, match="an include is computed: HEADER"):
        IncludeScanner([tree]).closure("#include HEADER\n")


def test_the_digest_changes_with_what_is_included_only(tree: Path) -> None:
    text = "#include <n/a.cuh>\n"
    before = IncludeScanner([tree]).digest(text)
    (tree / "n" / "unused.cuh").write_text("int changed;\n")
    assert IncludeScanner([tree]).digest(text) == before
    (tree / "n" / "c.cuh").write_text("int changed;\n")
    assert IncludeScanner([tree]).digest(text) != before


def test_the_digest_does_not_depend_on_the_place(tree: Path, tmp_path: Path) -> None:
    shutil.copytree(tree, tmp_path / "elsewhere" / "deeper")
    text = "#include <n/a.cuh>\n"
    assert IncludeScanner([tmp_path / "elsewhere" / "deeper"]).digest(text) == IncludeScanner([tree]).digest(text)


def test_the_digest_knows_which_file_has_which_content(tree: Path) -> None:
    text = "#include <n/c.cuh>\n#include <n/unused.cuh>\n"
    before = IncludeScanner([tree]).digest(text)
    c, unused = tree / "n" / "c.cuh", tree / "n" / "unused.cuh"
    first, second = c.read_text(), unused.read_text()
    c.write_text(second)
    unused.write_text(first)
    assert IncludeScanner([tree]).digest(text) != before
