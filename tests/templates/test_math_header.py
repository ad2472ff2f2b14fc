"""The device functions of expressions compile for GPUs, each in a kernel of its own."""

from __future__ import annotations

import pytest

from nautilus_cli.targets.registry import target
from nautilus_cli.toolchain.cache import Cache
from nautilus_cli.toolchain.nvrtc import compile_kernel
from tests.emulated import test_narrow
from tests.emulated.functions import entries, translation_unit


@pytest.mark.parametrize("name", ["sm_80", "sm_90a"])
def test_every_function_compiles(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    cubin = compile_kernel(translation_unit(), "functions", target(name), Cache(tmp_path_factory.mktemp("cubins")))
    assert {entry.symbol for entry in entries()} == cubin.resources.keys()
    assert "warning" not in cubin.log, cubin.log


@pytest.mark.parametrize("name", ["sm_80", "sm_90a"])
def test_every_narrow_conversion_compiles(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    cubin = compile_kernel(test_narrow.translation_unit(), "narrow", target(name), Cache(tmp_path_factory.mktemp("cubins")))
    assert test_narrow.CONVERSIONS.keys() <= cubin.resources.keys()
    assert "warning" not in cubin.log, cubin.log
