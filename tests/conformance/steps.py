"""What `nautilus compile` does, step by step, so that many models can share compilers: plan, build, assemble, run."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto

from nautilus_cli import __version__
from nautilus_cli.artifact import bundle
from nautilus_cli.artifact.variant import Variant
from nautilus_cli.codegen.render import Rendered, render
from nautilus_cli.frontend.load import LoadedModel, load
from nautilus_cli.lowering.plan import Plan
from nautilus_cli.lowering.planner import plan
from nautilus_cli.passes import pipeline
from nautilus_cli.runtime.description import EmulatorOptions
from nautilus_cli.runtime.library import load as load_library
from nautilus_cli.targets.base import Target
from nautilus_cli.toolchain import host_compiler
from nautilus_cli.toolchain.builder import Image
from nautilus_cli.toolchain.cache import Cache
from nautilus_cli.tuning.records import recorded_choice
from tests.conformance.cases import Case


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A model before its kernels are compiled.

    Attributes:
        model: as the frontend gives it.
        plan: kernels, launches and memory.
        kernels: the text of each of the plan's kernels.
    """

    model: LoadedModel
    plan: Plan
    kernels: tuple[Rendered, ...]


def plan_case(case: Case, target: Target, store: Cache, folder: Path) -> Planned:
    """Return the plan of a case. Of its inputs only the shapes are known, and only those that the model leaves open are told.

    Raises:
        NautilusError: it will not compile.
    """
    path = folder / "model.onnx"
    path.write_bytes(case.model.SerializeToString())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # constants overflow where the case means them to
        model = load(path, shapes=open_shapes(case.model, case.data_sets[0].inputs))
        planned = plan(pipeline.run(model.graph), target, recorded_choice(store, target), fp32_mode="ffma")
    return Planned(model=model, plan=planned, kernels=tuple(render(kernel.request) for kernel in planned.kernels))


def open_shapes(model: ModelProto, inputs: Sequence[Any]) -> dict[str, tuple[int, ...]]:
    """Return the shape of each input whose dimensions the model leaves open, as a user gives it with --shape."""
    shapes = {}
    for name, array in named_inputs(model, inputs).items():
        type_ = next(value.type for value in model.graph.input if value.name == name)
        if not isinstance(array, np.ndarray) or not type_.HasField("tensor_type"):
            continue
        tensor = type_.tensor_type
        if not tensor.HasField("shape") or not all(dim.HasField("dim_value") for dim in tensor.shape.dim):
            shapes[name] = array.shape
    return shapes


def named_inputs(model: ModelProto, inputs: Sequence[Any]) -> dict[str, Any]:
    """Return inputs by name: those of the graph that are no initializers, in order."""
    initial = {tensor.name for tensor in model.graph.initializer}
    names = [value.name for value in model.graph.input if value.name not in initial]
    return dict(zip(names, inputs, strict=False))


def write_library(planned: Planned, target: Target, images: Sequence[Image], store: Cache, output: Path) -> None:
    """Write a library and its manifest.

    Raises:
        NautilusError: it cannot be written.
    """
    variant = Variant(target=target, plan=planned.plan, symbols=tuple(kernel.symbol for kernel in planned.kernels), images=tuple(images))
    bundle.write(
        output,
        host_library=host_library(store),
        variants=(variant,),
        model_digest=bytes.fromhex(planned.model.sha256),
        tools={},
        producer=__version__,
        fp32_mode="ffma",
    )


def run_library(case: Case, path: Path, *, is_emulated: bool) -> list[list[np.ndarray]]:
    """Load the library of a case and return its outputs for each data set.

    Raises:
        NautilusError: it cannot be loaded or run.
    """
    emulator = EmulatorOptions(threads=1) if is_emulated else None
    results = []
    with load_library(path, place="emulated" if is_emulated else "gpu", emulator=emulator) as library:
        for data in case.data_sets:
            given = named_inputs(case.model, data.inputs)
            results.append(list(library({tensor.name: given[tensor.name] for tensor in library.inputs}).values()))
    return results


@cache
def _host_library(folder: Path) -> bytes:
    return host_compiler.shared_library(Cache(folder))


def host_library(store: Cache) -> bytes:
    """Return the library's host code."""
    return _host_library(store.folder)


def image(symbols: Sequence[str], data: bytes, target: Target) -> Image:
    """Return a module of kernels."""
    kind = "emulated" if target.is_emulated else "cubin"
    return Image(kind=kind, capability=target.capability, exact=target.exact, symbols=tuple(symbols), data=data)
