"""A tiny library over a fake emulated image (fake_image.c): what the host code does, without kernels of ours or a GPU."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from nautilus_cli import resources
from nautilus_cli.artifact import bundle
from nautilus_cli.artifact.variant import Variant
from nautilus_cli.artifact.weights_file import WeightsPlace
from nautilus_cli.ir.types import F32, I64
from nautilus_cli.kernels.base import Geometry, KernelRequest
from nautilus_cli.lowering.plan import Buffer, Kernel, Launch, Plan, Port, Weight, Word
from nautilus_cli.targets.base import Target
from nautilus_cli.targets.emulated import TARGET as EMULATED
from nautilus_cli.targets.sm_90a import TARGET as SM_90A
from nautilus_cli.toolchain.host_compiler import find

MODEL_DIGEST = bytes(range(32))
WEIGHTS = np.arange(6, dtype=np.float32).reshape(2, 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    elements: int
    storage: str = "float"


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    vector: int = 4


def compile_c(output: Path, *arguments: str | Path, compiler: tuple[str, ...] = ()) -> None:
    found = find("C")
    plain = ["-fno-sanitize=undefined"] if found.is_zig and not compiler else []
    command = [*(compiler or found.command), *plain, "-g", "-Wall", "-Wextra", "-Werror"]
    folders = [f"-I{resources.include()}", f"-I{resources.host()}"]
    done = subprocess.run([*command, *folders, *map(str, arguments), "-o", str(output)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def shared(output: Path, *sources: Path, flags: tuple[str, ...] = ()) -> bytes:
    compile_c(output, "-O1", "-shared", "-fPIC", "-fvisibility=hidden", "-pthread", *flags, *sources, "-ldl")
    return output.read_bytes()


def host_library(folder: Path, *, flags: tuple[str, ...] = ()) -> bytes:
    return shared(folder / "host.so", *sorted(resources.host().glob("*.c")), flags=("-std=c99", "-Wpedantic", *flags))


def fake_image(folder: Path, *, flags: tuple[str, ...] = ()) -> bytes:
    return shared(folder / "image.so", Path(__file__).with_name("fake_image.c"), flags=("-std=gnu99", *flags))


def _kernel(name: str, pointers: int, scalars: int = 0) -> Kernel:
    problem = Problem(elements=6)
    request = KernelRequest(family=name, problem=problem, schedule=Schedule(), functors=(), pointers=pointers, scalars=scalars)
    return Kernel(request=request, geometry=Geometry(grid=(2, 1, 1), threads=64, smem_bytes=1024), recipes=("dense",))


def _launch(kernel: int, *words: tuple[str, int, int], origin: tuple[str, ...] = (), note: str = "") -> Launch:
    return Launch(kernel=kernel, words=tuple(Word(kind=k, index=i, value=v) for k, i, v in words), origin=origin, note=note)


SYMBOLS = ("fake_add", "fake_gather", "fake_counters", "fake_options")


@cache
def plan() -> Plan:
    """sum = (x + y) + weights; picked = sum.flat[index]; counters and options of the image."""
    return Plan(
        target="emulated",
        inputs=(
            Port(name="x", dtype=F32, shape=(2, 3)),
            Port(name="y.1", dtype=F32, shape=(2, 3)),
            Port(name="index", dtype=I64, shape=(2,)),
        ),
        outputs=(
            Port(name="sum", dtype=F32, shape=(2, 3)),
            Port(name="picked", dtype=F32, shape=(2,)),
            Port(name="counters", dtype=I64, shape=(4,)),
            Port(name="options", dtype=I64, shape=(4,)),
        ),
        kernels=(_kernel("add", 3, 1), _kernel("gather", 4, 2), _kernel("counters", 1), _kernel("options", 1)),
        launches=(
            _launch(0, ("input", 0, 0), ("input", 1, 0), ("arena", 0, 256), ("integer", 0, 6), origin=('"); system("x',)),
            _launch(0, ("arena", 0, 256), ("weights", 0, 256), ("output", 0, 0), ("integer", 0, 6), origin=("add", "{{ c }}")),
            _launch(
                1,
                ("output", 0, 0),
                ("input", 2, 0),
                ("output", 1, 0),
                ("status", 0, 0),
                ("integer", 0, 6),
                ("integer", 0, 2),
                origin=("pick",),
            ),
            _launch(2, ("output", 2, 0), note="counters"),
            _launch(3, ("output", 3, 0), note="options"),
        ),
        buffers=(Buffer(offset=256, bytes=24, first=0, last=1, tensor="t"),),
        arena_bytes=512,
        weights=(
            Weight(array=np.zeros(3, np.int8), recipe="dense", offset=0, tensors=("z",)),
            Weight(array=WEIGHTS, recipe="dense", offset=256, tensors=("w",)),
        ),
        weight_bytes=512,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    symbols: tuple[str, ...]
    data: bytes


def variant(image: bytes, target: Target = EMULATED, **changes: object) -> Variant:
    changed = replace(plan(), **changes)  # type: ignore[arg-type]
    return Variant(target=target, plan=changed, symbols=SYMBOLS, images=(Image(symbols=SYMBOLS, data=image),))


def gpu_variant() -> Variant:
    """Code for a GPU that no machine can load: for what happens before that."""
    images = tuple(Image(symbols=(symbol,), data=b"\x7fELF not really the cubin of " + symbol.encode()) for symbol in SYMBOLS)
    return replace(variant(b"", SM_90A), images=images)


def write(output: Path, host: bytes, *variants: Variant, weights: WeightsPlace = WeightsPlace.INTERNAL) -> Path:
    bundle.write(
        output,
        host_library=host,
        variants=variants,
        model_digest=MODEL_DIGEST,
        tools={"gcc": "12"},
        producer="1.2.3",
        weights=weights,
        fp32_mode="ffma",
    )
    return output
