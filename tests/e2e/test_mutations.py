"""Mutated networks: everything before the compilers refuses them in words or takes them; nothing breaks."""

from __future__ import annotations

import subprocess
import sys
from random import Random

import pytest
from onnx import ModelProto, helper

from models import small
from nautilus_cli.codegen.render import render
from nautilus_cli.errors import InternalError, NautilusError
from nautilus_cli.frontend import load_model
from nautilus_cli.frontend.external_data import ExternalData
from nautilus_cli.lowering.planner import plan
from nautilus_cli.ops.registry import operators
from nautilus_cli.passes import pipeline
from nautilus_cli.targets.registry import target
from tests.e2e.commands import ROOT, child_environment
from tests.unit.frontend.mutations import mutated_fields, seeds

MUTATIONS_A_NETWORK = 12
SIZES = (0, 1, 2, 3, 5, 7, 17)
ONNX_OPERATORS = sorted(name for name in operators() if "::" not in name)

NETWORKS = {
    **{f"seed{number}": proto for number, proto in enumerate(seeds())},
    **{f"{name}-{exporter}": small.build(name, exporter) for name in small.NETWORKS for exporter in small.EXPORTERS},
}


def another_operator(proto: ModelProto, random: Random) -> None:
    random.choice(proto.graph.node).op_type = random.choice(ONNX_OPERATORS)


def another_size(proto: ModelProto, random: Random) -> None:
    dims = [dim for value in proto.graph.input for dim in value.type.tensor_type.shape.dim]
    if dims:
        random.choice(dims).dim_value = random.choice(SIZES)


def one_node_more(proto: ModelProto, random: Random) -> None:
    """Put a node of any operator, with its defaults, between a node and its readers."""
    number = random.randrange(len(proto.graph.node))
    old = proto.graph.node[number].output[0]
    for reader in proto.graph.node[number + 1 :]:
        reader.input[:] = [f"{old} changed" if name == old else name for name in reader.input]
    proto.graph.node.insert(number + 1, helper.make_node(random.choice(ONNX_OPERATORS), [old], [f"{old} changed"]))


def mutated(proto: ModelProto, random: Random) -> ModelProto:
    if random.random() < 0.4:
        return mutated_fields(proto, random)
    changed = ModelProto()
    changed.CopyFrom(proto)
    random.choice((another_operator, another_size, one_node_more))(changed, random)
    return changed


@pytest.mark.parametrize("name", NETWORKS)
def test_mutated_network(name: str) -> None:
    refusals: list[NautilusError] = []
    for number in range(MUTATIONS_A_NETWORK):
        proto = mutated(NETWORKS[name], Random(f"{name} {number}"))
        try:
            fused = pipeline.run(load_model(proto, ExternalData(None), "").graph)
            planned = plan(fused, target("sm_90a"), lambda family, problem, on: family.choose(problem, on), fp32_mode="ffma")
            for kernel in planned.kernels:
                render(kernel.request)
        except NautilusError as error:
            refusals.append(error)
    assert not [error for error in refusals if isinstance(error, InternalError)]
    assert all(error.message for error in refusals)


@pytest.mark.parametrize("kind", ["bytes", "fields", "networks"])
def test_at_length(kind: str) -> None:
    """What runs them by the ten thousand, on a few."""
    command = [sys.executable, "-m", "tests.bench.fuzz", kind, "--count", "30", "--first", "1000"]
    done = subprocess.run(command, cwd=ROOT, env=child_environment({}), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    counts = done.stdout.splitlines()[-1]
    assert counts.startswith(f"30 {kind}: ")
    assert "'refused'" in counts and "broken" not in counts
