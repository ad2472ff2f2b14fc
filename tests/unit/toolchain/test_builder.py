"""Building: one cubin a kernel, one emulated image for all, whatever the number of jobs."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from nautilus_cli.errors import InternalError, ToolchainError, UsageError
from nautilus_cli.targets.registry import target
from nautilus_cli.toolchain import emulated
from nautilus_cli.toolchain.builder import build
from nautilus_cli.toolchain.cache import Cache

from .conftest import Kernel, kernel


def test_cubins_hold_one_kernel_each(store: Cache, templates: Path) -> None:
    told: list[tuple[int, int]] = []
    kernels = [kernel(f"k{factor}", factor) for factor in (2, 3, 5)]
    found = build(kernels, target("sm_90a"), store=store, jobs=2, progress=lambda done, total: told.append((done, total)))
    assert [image.symbols for image in found.images] == [("k2",), ("k3",), ("k5",)]
    assert {(image.kind, image.capability, image.exact) for image in found.images} == {("cubin", (9, 0), True)}
    assert all(symbol.encode() in image.data for image in found.images for symbol in image.symbols)
    assert set(found.resources) == {"k2", "k3", "k5"}
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_an_emulated_image_holds_every_kernel(store: Cache, templates: Path, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    kernels = [kernel(f"k{factor}", factor) for factor in (2, 3, 5)]
    found = build(kernels, target("emulated"), store=store, jobs=2, progress=lambda done, total: told.append((done, total)))
    (image,) = found.images
    assert (image.kind, image.capability, image.symbols) == ("emulated", (0, 0), ("k2", "k3", "k5"))
    path = tmp_path / "image.so"
    path.write_bytes(image.data)
    library = ctypes.CDLL(str(path))
    assert [library.k2_call(10), library.k3_call(10), library.k5_call(10)] == [20, 30, 50]
    assert told[-1] == (3, 3)


@pytest.mark.parametrize("name", ["sm_80", "emulated"])
def test_the_number_of_jobs_does_not_change_the_bytes(name: str, templates: Path, tmp_path: Path) -> None:
    kernels = [kernel(f"k{factor}", factor) for factor in (2, 3, 5)]
    one, two = (build(kernels, target(name), store=Cache(tmp_path / str(jobs)), jobs=jobs) for jobs in (1, 2))
    assert one == two


@pytest.mark.parametrize("count", [0, 1, 2, 23, 24, 25, 48, 49, 100])
def test_units_are_even_and_keep_the_order(count: int) -> None:
    kernels = [Kernel(str(i), "") for i in range(count)]
    units = emulated.units(kernels)
    assert [kernel for unit in units for kernel in unit] == kernels
    sizes = [len(unit) for unit in units]
    assert max(sizes, default=0) <= emulated.KERNELS_PER_UNIT
    assert max(sizes, default=0) - min(sizes, default=0) <= 1
    assert 0 not in sizes


@pytest.mark.parametrize("name", ["sm_80", "emulated"])
@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_names_the_kernel(name: str, jobs: int, store: Cache, templates: Path) -> None:
    bad = Kernel("bad", "#include <nautilus/kernels/twice.cuh>\nint y = missing;\n")
    with pytest.raises(ToolchainError, match=r"^bad\.cu, line 2: .*missing"):
        build([kernel("k2", 2), bad, kernel("k3", 3)], target(name), store=store, jobs=jobs)


def test_a_plan_without_kernels_builds(store: Cache, templates: Path) -> None:
    assert build([], target("sm_80"), store=store).images == ()
    assert build([], target("emulated"), store=store).images[0].symbols == ()


def test_symbols_must_differ(store: Cache) -> None:
    with pytest.raises(InternalError, match="kernels share the symbol 'k'"):
        build([kernel("k", 2), kernel("k", 3)], target("sm_80"), store=store)


def test_jobs_must_be_positive(store: Cache) -> None:
    with pytest.raises(UsageError, match="--jobs: 0 is not a number of jobs"):
        build([], target("sm_80"), store=store, jobs=0)
