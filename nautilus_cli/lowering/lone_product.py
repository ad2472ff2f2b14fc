"""A matrix product by itself, many times over: what its benchmark launches."""

from __future__ import annotations

from dataclasses import dataclass

from nautilus_cli.ir.expression import Expression, Load, Parameter, Store
from nautilus_cli.ir.index_map import identity
from nautilus_cli.ir.types import F32, DType
from nautilus_cli.kernels.base import Choose, Geometry, KernelRequest
from nautilus_cli.kernels.gemm import Problem
from nautilus_cli.kernels.registry import tensor_maps
from nautilus_cli.lowering.choice import chosen
from nautilus_cli.lowering.gemm import alternative_products, is_straight
from nautilus_cli.lowering.lowered import INDEX_32_LIMIT, Lowered
from nautilus_cli.lowering.plan import ALIGNMENT_BYTES, Kernel, Launch, Plan, Port, Word
from nautilus_cli.lowering.slots import Slots
from nautilus_cli.targets.base import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class LoneProduct:
    """C [m, n] = A [m, k] Bᵀ, where B [n, k] is a weight, packed as weights are.

    Attributes:
        m: rows of A and C.
        n: rows of B and columns of C.
        k: length of the sums.
        dtype: of A, B and C.
        fp32_mode: how floats of 32 bits are multiplied, as `Lowering` has it.
    """

    m: int
    n: int
    k: int
    dtype: DType
    fp32_mode: str = "ffma"

    def lowered(self) -> Lowered:
        """Return the product as a group of a graph would be lowered."""
        m, n, k, dtype = self.m, self.n, self.k, self.dtype
        a, b = (Expression((Load(slot, dtype, identity((1, rows, k))),), (0,)) for slot, rows in ((0, m), (1, n)))
        problem = Problem(
            batch=1,
            m=m,
            n=n,
            k=k,
            a_k_last=True,
            b_k_last=True,
            accumulate=F32,
            a_storage=dtype,
            b_storage=dtype,
            is_straight=is_straight(a, F32) and is_straight(b, F32),
        )
        epilogue = Expression((Parameter(0, F32),), (), (Store(0, 2, dtype, identity((1, m, n))),))
        functors = (("A", a), ("B", b), ("Epilogue", epilogue))
        alternatives = alternative_products(problem, dict(functors), (dtype, dtype), True, self.fp32_mode)
        return Lowered(family="gemm", problem=problem, functors=functors, slots=Slots(), alternatives=alternatives)

    def request(self, target: Target, choose: Choose) -> KernelRequest:
        """Return the kernel that a compilation for TARGET would take.

        Raises:
            ModelError: the product is beyond what a launch can be.
        """
        lowered = self.lowered()
        found = chosen(lowered, target, choose)
        largest = max(self.m * self.k, self.n * self.k, self.m * self.n)
        return KernelRequest(
            family=found.family.name,
            problem=found.problem,
            schedule=found.schedule,
            functors=lowered.functors,
            pointers=3,
            index_bits=64 if largest > INDEX_32_LIMIT else 32,
        )


def rotated(product: LoneProduct, request: KernelRequest, geometry: Geometry, target: str, *, copies: int, launches: int) -> Plan:
    """Return a plan of LAUNCHES of a product's kernel that walk over COPIES of B and C, as the weights of a model do.

    Its inputs are `a`, and `b` with all copies, `stride(product.n * product.k)` elements apart; its output `c` likewise.
    """
    p = product
    strides = {name: stride(p, elements) for name, elements in (("b", p.n * p.k), ("c", p.m * p.n))}
    return Plan(
        target=target,
        inputs=(Port(name="a", dtype=p.dtype, shape=(p.m * p.k,)), Port(name="b", dtype=p.dtype, shape=(copies * strides["b"],))),
        outputs=(Port(name="c", dtype=p.dtype, shape=(copies * strides["c"],)),),
        kernels=(Kernel(request=request, geometry=geometry, maps=tensor_maps(request)),),
        launches=tuple(
            Launch(
                kernel=0,
                words=(
                    Word(kind="input", index=0),
                    Word(kind="input", index=1, value=number % copies * strides["b"] * p.dtype.bytes),
                    Word(kind="output", index=0, value=number % copies * strides["c"] * p.dtype.bytes),
                ),
            )
            for number in range(launches)
        ),
        buffers=(),
        arena_bytes=0,
        weights=(),
        weight_bytes=0,
    )


def stride(product: LoneProduct, elements: int) -> int:
    """Return how far apart copies of so many elements lie: whole alignments."""
    step = ALIGNMENT_BYTES // product.dtype.bytes
    return -(-elements // step) * step


__all__ = ["LoneProduct", "rotated", "stride"]
