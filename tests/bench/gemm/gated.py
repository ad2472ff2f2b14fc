"""Measures gated units, y = silu(A B1) · (A B2): both products in one kernel against two kernels of ours, and against torch's.

Usage:
    python -m tests.bench.gemm.gated build FILE           compile the kernels for sm_90a; needs no GPU
    python -m tests.bench.gemm.gated run FILE OUT.json    measure them; needs a GPU and torch

Of one kernel, and of each of two, the best by the ranking are built; what a compilation would choose is marked. Of two kernels the first
stores silu(A B1) and the second reads it where its sums are finished; each pair of these is measured as one graph.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from nautilus_cli.errors import ToolchainError
from nautilus_cli.ir.expression import Expression, Load
from nautilus_cli.ir.index_map import identity
from nautilus_cli.ir.types import F16, F32
from nautilus_cli.kernels.base import KernelRequest
from nautilus_cli.kernels.registry import family
from nautilus_cli.lowering.building.lowered import Lowered
from nautilus_cli.lowering.building.operands import Operand
from nautilus_cli.lowering.building.products import Product
from nautilus_cli.lowering.building.slots import Slots
from nautilus_cli.lowering.choosing.choice import chosen, serves
from nautilus_cli.targets.registry import target
from tests.bench.gemm.parts import Part, Shape, command, compiled, ranked
from tests.emulated.building import Steps

SHAPES = ((512, 2816, 1024), (4096, 8192, 2048), (1, 8192, 2048), (16, 8192, 2048), (128, 8192, 2048), (512, 8192, 2048))
"""m, columns of B1 and of B2, k."""
BUILT = 3
"""Schedules of a kernel beside the one that a compilation chooses."""
ROTATED_BYTES = 160 << 20
GRAPH_US = 1000
TURNS = 9


WORST_ERROR = 4e-3
"""Greatest norm of the error over that of the result."""


def lowered(shape: Shape, role: str) -> Lowered:
    """Return a part of a unit as a group of a graph would be lowered."""
    m, n, k = shape
    columns = 2 * n if role == "pair" else n
    a, b = (Expression((Load(slot, F16, identity((1, rows, k))),), (0,)) for slot, rows in ((0, m), (1, columns)))
    steps = Steps()
    if role == "second":
        result = steps.apply("mul", steps.parameter(0), steps.load(3, F16, identity((1, m, n))))
    else:
        result = steps.apply("mul", steps.parameter(0), steps.apply("sigmoid", steps.parameter(0)))
        result = result if role == "first" else steps.apply("mul", result, steps.parameter(1))
    steps.store(result, 2, F16, identity((1, m, n)))
    left, right = Operand(dtype=F16, expression=a), Operand(dtype=F16, expression=b, is_constant=True)
    product = Product(batch=1, m=m, n=columns, k=k, a=left, b=right, accumulate=F32, is_paired=role == "pair")
    return product.lowered((("Epilogue", steps.expression()),), Slots(), "ffma")


def built() -> Iterator[Part]:
    """Yield the kernels; pointers are A, B, C, and for `second` what `first` stored."""
    sm_90a = target("sm_90a")
    for shape in SHAPES:
        for role in ("pair", "first", "second"):
            part = lowered(shape, role)
            best = chosen(part, sm_90a, lambda kind, problem, on: kind.choose(problem, on))
            problems = [(name, p) for name, p in part.alternatives if serves(family(name), p, part.functors)]
            found = ranked(problems, _tiling, count=BUILT, first=[(best.family.name, best.problem, best.schedule)])
            for number, (name, problem, schedule) in enumerate(found):
                pointers = 4 if role == "second" else 3
                request = KernelRequest(family=name, problem=problem, schedule=schedule, functors=part.functors, pointers=pointers)
                try:
                    yield compiled(shape, role, request, number=number, is_chosen=number == 0)
                except ToolchainError as error:
                    print(f"{shape} {role}: {error}")


def _tiling(schedule: Any) -> tuple[Any, ...]:
    """Return what tells schedules that are worth a look apart."""
    s = schedule
    return s.tile_m, s.tile_n, s.threads, getattr(s, "ping_pong", 0), getattr(s, "cluster_k", 1)


def measure(shape: Shape, kernels: Sequence[Part], cuda: Any) -> list[dict[str, Any]]:
    """Check and time the kernels of a unit, all with programmatic edges as in a compiled model."""
    import torch

    from tests.bench.gemm.measure import captured, in_turns, timed

    m, n, k = shape
    generator = torch.Generator("cuda").manual_seed(1)

    def drawn(*sizes: int, scale: float = 1.0) -> torch.Tensor:
        return (torch.randn(sizes, device="cuda", generator=generator) * scale).half()

    copies = max(1, min(32, -(-ROTATED_BYTES // (4 * n * k))))
    a = drawn(m, k)
    weights = [drawn(n, 2, k, scale=k**-0.5) for _ in range(copies)]  # rows in turn, as a pair has them
    apart = [[w[:, i].contiguous() for w in weights] for i in range(2)]
    gates, results = ([torch.empty(m, n, device="cuda", dtype=torch.half) for _ in range(copies)] for _ in range(2))
    checked = torch.unique(torch.randint(0, m, (48,), device="cuda"))

    def truth(copy: int) -> torch.Tensor:
        first, second = (a[checked].double() @ side[copy].double().t() for side in apart)
        return torch.nn.functional.silu(first) * second

    def blocks(kernel: Part) -> Callable[[int], None]:
        function = cuda.function(kernel)
        found = []
        for copy in range(copies):
            places = {
                "pair": [weights[copy], results[copy]],
                "first": [apart[0][copy], gates[copy]],
                "second": [apart[1][copy], results[copy], gates[copy]],
            }[kernel.role]
            found.append(cuda.block(kernel, [a.data_ptr(), *(t.data_ptr() for t in places)]))
        return lambda number: cuda.launch(kernel, function, found[number % copies], is_dependent=True)

    def torchs(number: int) -> None:
        first, second = (a @ side[number % copies].t() for side in apart)
        torch.mul(torch.nn.functional.silu(first), second, out=results[number % copies])

    launched = {id(kernel): blocks(kernel) for kernel in kernels}
    contenders: dict[str, tuple[Callable[[int], None], bool]] = {"torch": (torchs, True)}
    for one in kernels:
        if one.role == "pair":
            contenders[f"one: {one.label}"] = launched[id(one)], one.is_chosen
    for one in (kernel for kernel in kernels if kernel.role == "first"):
        for two in (kernel for kernel in kernels if kernel.role == "second"):

            def both(number: int, one: Part = one, two: Part = two) -> None:
                launched[id(one)](number)
                launched[id(two)](number)

            contenders[f"two: {one.label}, {two.label}"] = both, one.is_chosen and two.is_chosen
    rows = []
    graphs = {}
    estimate = timed(captured(torchs, 4)) / 4
    launches = int(max(4, min(200, GRAPH_US / estimate)))
    for label, (call, is_chosen) in contenders.items():
        results[copies - 1].fill_(float("nan"))
        call(copies - 1)
        torch.cuda.synchronize()
        found = results[copies - 1][checked].double()
        error = float((found - truth(copies - 1)).norm() / truth(copies - 1).norm())
        rows.append(
            {"shape": shape, "label": label, "is_chosen": is_chosen, "error": error, "is_right": error < WORST_ERROR, "copies": copies}
        )
        graphs[label] = captured(call, launches), launches
    times = in_turns(graphs, TURNS)
    for row in rows:
        row["us"] = statistics.median(times[row["label"]])
    print(f"-- {m}x{n}x{k}, {copies} copies, {launches} launches")
    best = {kind: min(row["us"] for row in rows if row["label"].startswith(kind)) for kind in ("one", "two", "torch")}
    untuned = {kind: min(row["us"] for row in rows if row["label"].startswith(kind) and row["is_chosen"]) for kind in ("one", "two")}
    print(f"   best: one {best['one']:.2f} two {best['two']:.2f} torch {best['torch']:.2f}  two/one x{best['two'] / best['one']:.3f}")
    print(f"   untuned: one {untuned['one']:.2f} two {untuned['two']:.2f}  two/one x{untuned['two'] / untuned['one']:.3f}")
    for row in sorted(rows, key=lambda row: row["us"])[:12]:
        print(f"   {row['us']:9.2f} us {'*' if row['is_chosen'] else ' '} {row['label']}  err {row['error']:.1e}")
    return rows


if __name__ == "__main__":
    sys.exit(command(sys.argv[1:], __doc__, built, measure))
