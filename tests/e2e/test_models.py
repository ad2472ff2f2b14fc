"""Whole networks: small ones are compiled, run on the emulator and held against onnxruntime; the real ones are planned."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import nautilus_cli
from models import catalogue, small, weightless
from nautilus_cli import driver
from nautilus_cli.lowering.fusion.choice import choose_fusion
from nautilus_cli.lowering.plan import Plan
from nautilus_cli.lowering.planner import plan
from nautilus_cli.passes import pipeline
from nautilus_cli.runtime.description import EmulatorOptions
from nautilus_cli.runtime.library import Library
from nautilus_cli.targets.registry import target
from tests.support.hollow import hollow

LIBRARY_BYTES = 2_000_000
"""What a library may weigh without its weights."""

SHUFFLED = (
    EmulatorOptions(order="reverse", poison=True, threads=1),
    EmulatorOptions(order="random", seed=1, lazy=True, poison=True),
    EmulatorOptions(order="random", seed=2, poison=True, threads=3),
)
"""Orders of blocks and threads, and moments at which asynchronous copies arrive, that a GPU could as well choose."""

LAUNCHES = {"resnet50": 56, "mobilenet_v3": 73, "vit_b16": 112, "bert_base": 137, "gpt2_s128": 111}
"""The most kernels that a run may launch: more means that a fusion was lost. Fewer are welcome; lower the number then."""

HALF_LAUNCHES = {"vit_b16": 89, "gpt2_s128": 88}
"""The same of networks of 16 bits, where that is less: norms are no kernels there, where products alone read them."""

KERNELS = {"resnet50": 27, "mobilenet_v3": 52, "vit_b16": 12, "bert_base": 12, "gpt2_s128": 10}
"""The most distinct kernels: more means that equal problems are no longer seen as equal. Of 16 bits, two more leave or take moments."""

COPIES = {"vit_b16": 1}
"""Launches that only move data: the class token before the patches."""

ZOO = [
    pytest.param(name, graph.path, id=f"{name}/{graph.path.name.removesuffix(catalogue.SUFFIX)}")
    for name in LAUNCHES
    for graph in catalogue.catalogue()[name].graphs
    if graph.batch == 1
]

FOLDED = {"Shape", "Size", "NonZero", "Range", "Constant", "ConstantOfShape", "If"}
"""What must be evaluated at compile time."""


@pytest.mark.parametrize("dtype", small.TYPES)
@pytest.mark.parametrize("exporter", small.EXPORTERS)
@pytest.mark.parametrize("name", small.NETWORKS)
def test_small_network(tmp_path: Path, name: str, exporter: str, dtype: str) -> None:
    """Compiles, agrees with onnxruntime, and gives the very same bytes in whatever order the emulator runs it."""
    model, output = tmp_path / "model.onnx", tmp_path / "libmodel.so"
    onnx.save(small.build(name, exporter, dtype), model)
    result = driver.compile(driver.CompileOptions(model=model, output=output, target="emulated"))

    assert result.verification is not None
    assert all(found.is_match for found in result.verification.comparisons.values()), result.verification.comparisons
    assert result.verification.notes == ()
    assert result.library_bytes - result.weight_bytes < LIBRARY_BYTES

    with nautilus_cli.load(output) as library:
        inputs = drawn(library)
        expected = library(inputs)
        for options in SHUFFLED:
            library.configure_emulator(options)
            for port, array in library(inputs).items():
                assert np.isfinite(array.astype(np.float32)).all()
                np.testing.assert_array_equal(array, expected[port], err_msg=f"{port} with {options}")


def drawn(library: Library) -> dict[str, np.ndarray]:
    """Return inputs for a small network: its indices are below 97 and its masks are ones and zeros."""
    random = np.random.default_rng(1)
    inputs = {}
    for port in library.inputs:
        if port.dtype.kind == "f":
            inputs[port.name] = random.standard_normal(port.shape).astype(port.dtype)
        else:
            inputs[port.name] = random.integers(0, 2 if port.name == "mask" else 97, port.shape).astype(port.dtype)
    return inputs


def planned(path: Path, folder: Path) -> Plan:
    """Plan a real network for a GPU."""
    fused = choose_fusion(pipeline.simplify(hollow(weightless.read(path), folder).graph), fp32_mode="ffma")
    left = {node.op for group in fused.groups for node in group.members()}
    assert not left & FOLDED
    return plan(fused, target("sm_90a"), lambda family, problem, machine: family.choose(problem, machine), fp32_mode="ffma")


@pytest.mark.parametrize(("name", "path"), ZOO)
def test_real_network_is_planned(tmp_path: Path, name: str, path: Path) -> None:
    """Both exporters, both types: everything fuses as it should, and no shape arithmetic is left."""
    found = planned(path, tmp_path)
    is_half = ".fp16." in path.name
    assert len(found.launches) <= (HALF_LAUNCHES if is_half else LAUNCHES).get(name, LAUNCHES[name])
    assert len(found.kernels) <= KERNELS[name] + 2 * (is_half and name in HALF_LAUNCHES)
    assert sum(launch.note == "copy" for launch in found.launches) <= COPIES.get(name, 0)
