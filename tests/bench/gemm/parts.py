"""What benches of work that takes one kernel or several share: the kernels, compiled to travel, and the command line.

A bench builds kernels for some products where no GPU is needed, and measures them product by product where there is one.
"""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nautilus_cli.codegen import render
from nautilus_cli.kernels.base import Geometry, KernelRequest, TensorMap
from nautilus_cli.kernels.registry import family, tensor_maps
from nautilus_cli.lowering.single.alone import Slot, slots
from nautilus_cli.targets.registry import target
from nautilus_cli.toolchain.cache import Cache
from nautilus_cli.toolchain.nvrtc import compile_kernel

Shape = tuple[int, ...]
"""m, n and k, and more where a bench says so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A kernel, compiled.

    Attributes:
        shape: of the product that it is for.
        role: what it is among the kernels of that product.
        label: for rows of results, unique among them.
        is_chosen: whether a compilation would take it.
        symbol: name in the cubin.
        cubin: the code.
        geometry: how it is launched.
        maps: tensor maps ahead of the pointers.
        pointers: how many there are.
        slots: what they point to.
        scalars: integers behind the pointers.
    """

    shape: Shape
    role: str
    label: str
    is_chosen: bool
    symbol: str
    cubin: bytes
    geometry: Geometry
    maps: tuple[TensorMap, ...]
    pointers: int
    slots: tuple[Slot, ...]
    scalars: tuple[int, ...] = ()


Ranking = tuple[str, Any, Any]
"""A family, its problem and a schedule."""


def ranked(
    problems: Iterable[tuple[str, Any]], tiling: Callable[[Any], object], *, count: int, first: Sequence[Ranking] = ()
) -> list[Ranking]:
    """Return the legal schedules of least estimated time on sm_90a.

    Args:
        problems: of families of products.
        tiling: of a schedule, what tells it from those before it that are no different to look at.
        count: how many, beside those of FIRST.
        first: what comes ahead of them.
    """
    sm_90a = target("sm_90a")
    found: list[tuple[float, Ranking]] = []
    for name, problem in problems:
        kind: Any = family(name)
        legal = (s for s in kind.rules.candidates(problem.product, sm_90a) if not kind.violations(problem, s, sm_90a))
        found += [(kind.estimated_us(problem, s, sm_90a), (name, problem, s)) for s in legal]
    kept = list(first)
    seen = {(name, tiling(schedule)) for name, _, schedule in kept}
    for _, one in sorted(found, key=lambda item: item[0]):
        key = one[0], tiling(one[2])
        if key not in seen and len(kept) < count + len(first):
            seen.add(key)
            kept.append(one)
    return kept


def compiled(
    shape: Shape, role: str, request: KernelRequest, *, number: int, is_chosen: bool = False, geometry: Geometry | None = None
) -> Part:
    """Compile a kernel for sm_90a.

    Args:
        shape: of the product that it is for.
        role: what it is among the kernels of that product.
        request: the kernel.
        number: among those of its role, for its label.
        is_chosen: whether a compilation would take it.
        geometry: how it is launched; by default as its family says.
    """
    text = render(request)
    cubin = compile_kernel(text.text, text.symbol, target("sm_90a"), Cache.default())
    if spilled := cubin.resources[text.symbol].spill_store_bytes:
        print(f"{shape} {role} {request.schedule}: spills {spilled} bytes")
    s = request.schedule
    tile = f" {s.tile_m}x{s.tile_n} of {s.threads}" if hasattr(s, "tile_m") else ""
    return Part(
        shape=shape,
        role=role,
        label=f"{role} {number}: {request.family}{tile}",
        is_chosen=is_chosen,
        symbol=text.symbol,
        cubin=cubin.image,
        geometry=geometry or family(request.family).geometry(request.problem, s),
        maps=tensor_maps(request),
        pointers=request.pointers,
        slots=slots(request),
    )


Measure = Callable[[Shape, Sequence[Part], Any], list[dict[str, Any]]]
"""From a product's shape, its kernels and a Cuda to rows of results."""


def run(path: Path, out: Path, measure: Measure) -> int:
    """Measure what was built; return 1 where a row says that a result is wrong."""
    from tests.bench.gemm.measure import Cuda

    parts: list[Part] = pickle.loads(path.read_bytes())
    cuda = Cuda()
    rows: list[dict[str, Any]] = []
    for shape in dict.fromkeys(part.shape for part in parts):
        rows += measure(shape, [part for part in parts if part.shape == shape], cuda)
        out.write_text(json.dumps(rows, indent=1))
        sys.stdout.flush()
    return int(not all(row.get("is_right", True) for row in rows))


def command(arguments: Sequence[str], usage: str | None, build: Callable[[], Iterable[Part]], measure: Measure) -> int:
    """Run a bench's command line: `build FILE` or `run FILE OUT.json`."""
    match arguments:
        case ["build", file]:
            parts = list(build())
            Path(file).write_bytes(pickle.dumps(parts))
            print(f"{len(parts)} kernels, {Path(file).stat().st_size >> 10} KiB")
            return 0
        case ["run", file, results]:
            return run(Path(file), Path(results), measure)
    print(usage, file=sys.stderr)
    return 2
