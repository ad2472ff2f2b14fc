"""Every family compiles for every architecture, without spills; no device is needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from nautilus_cli.codegen import render
from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.expression import Expression, Load
from nautilus_cli.ir.index_map import from_strides, identity
from nautilus_cli.ir.types import F16, F32, I64, DType
from nautilus_cli.kernels import gemm_wgmma, row, wgmma_product
from nautilus_cli.kernels.base import KernelRequest
from nautilus_cli.kernels.registry import families
from nautilus_cli.kernels.wgmma_product import Schedule
from nautilus_cli.kernels.wgmma_product.resources import spare_registers
from nautilus_cli.lowering.building.lowered import main_storage
from nautilus_cli.targets.registry import target, targets
from nautilus_cli.toolchain.cache import Cache
from nautilus_cli.toolchain.nvrtc import compile_kernel
from tests.emulated.building import Steps
from tests.emulated.cases import gemm_mma, gemm_skinny, prologues
from tests.emulated.cases.families import representative
from tests.emulated.cases.products import Operation, read
from tests.emulated.cases.programs import layer_norm
from tests.emulated.harness import OLDEST, Case

SHAPE: dict[str, Any] = {"batch": 1, "m": 1024, "n": 1536, "k": 2048, "a_k_last": True, "b_k_last": True, "multiply": F16}


@pytest.mark.parametrize("architecture", [name for name, known in targets().items() if not known.is_emulated])
@pytest.mark.parametrize("family", families())
def test_compiles(family: str, architecture: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    request = representative(family)
    if OLDEST.get(family, "sm_80") != "sm_80" and families()[family].violations(request.problem, request.schedule, target(architecture)):
        pytest.skip(f"{family} is not for {architecture}")
    kernel = render(request)
    cubin = compile_kernel(kernel.text, kernel.symbol, target(architecture), Cache(tmp_path_factory.mktemp("cubins")))
    used = cubin.resources[kernel.symbol]
    assert cubin.image.startswith(b"\x7fELF")
    assert used.spill_load_bytes == used.spill_store_bytes == used.stack_bytes == 0, "values that should be in registers are in memory"
    assert used.smem_bytes == 0, "kernels take their shared memory dynamically"
    assert "warning" not in cubin.log, cubin.log


@pytest.mark.parametrize(
    "case", [case for case in gemm_skinny.cases() if case.sizes and "computed" in case.name], ids=lambda case: case.name
)
def test_open_sizes_and_computed_operands_compile(case: Case, tmp_path_factory: pytest.TempPathFactory) -> None:
    """What is only instantiated for one way of loading must not be named for the others."""
    kernel = render(case.request)
    cubin = compile_kernel(kernel.text, kernel.symbol, target("sm_90a"), Cache(tmp_path_factory.mktemp("cubins")))
    assert cubin.resources[kernel.symbol].stack_bytes == 0


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
@pytest.mark.parametrize(
    "case",
    [case for case in gemm_mma.cases() if case.sizes and case.name.startswith("masked-heads") and "x93x93x" in case.name],
    ids=lambda case: case.name,
)
def test_results_that_are_stored_one_by_one_stay_in_registers(
    case: Case, architecture: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    kernel = render(case.request)
    cubin = compile_kernel(kernel.text, kernel.symbol, target(architecture), Cache(tmp_path_factory.mktemp("cubins")))
    used = cubin.resources[kernel.symbol]
    assert used.spill_load_bytes == used.spill_store_bytes == used.stack_bytes == 0


@pytest.mark.parametrize(
    ("product", "schedule"),
    [
        (SHAPE, Schedule(tile_m=128, tile_n=256, consumers=2, cluster_m=2, group_m=8)),
        (SHAPE, Schedule(tile_m=128, tile_n=256, consumers=2, cluster_m=2, group_m=8, stores_boxes=True)),
        (SHAPE, Schedule(tile_m=128, tile_n=128, consumers=2, ping_pong=True, cluster_n=2, stores_boxes=True)),
        (SHAPE, Schedule(tile_m=64, tile_n=192, consumers=3, ping_pong=True)),
        (SHAPE, Schedule(tile_m=64, tile_n=128, consumers=1, cluster_k=4)),
        (SHAPE, Schedule(tile_m=128, tile_n=64, consumers=2, slices_depth=True, cluster_k=2)),
        ({**SHAPE, "multiply": F32}, Schedule(tile_m=128, tile_n=192, consumers=2, cluster_m=2)),
        ({**SHAPE, "multiply": F32, "terms": 3}, Schedule(tile_m=128, tile_n=128, consumers=2, cluster_m=2)),
        ({**SHAPE, "multiply": F32, "terms": 3}, Schedule(tile_m=128, tile_n=64, consumers=2, stores_boxes=True)),
        *(({**SHAPE, "multiply": F32, "terms": 3, "k": k}, Schedule(tile_m=128, tile_n=96, consumers=2)) for k in (96, 128, 160)),
    ],
    ids=str,
)
def test_products_by_wgmma_keep_their_sums_in_registers(
    product: dict[str, Any], schedule: Schedule, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """No spills, and no word of the compiler's that it waits between products or leaves registers where they are."""
    sm_90a = target("sm_90a")
    problem = gemm_wgmma.Problem(**product, result_bytes=product["multiply"].bytes)
    steps = Steps()
    steps.store(steps.parameter(0, F32), 2, problem.multiply, identity((1, problem.m, problem.n)))
    functors = tuple(
        (name, read(slot, problem.multiply, identity((1, rows, problem.k)))) for slot, (name, rows) in enumerate((("A", 1024), ("B", 1536)))
    )
    completed = wgmma_product.completed(problem.product, schedule, sm_90a)
    assert gemm_wgmma.FAMILY.violations(problem, completed, sm_90a) == ()
    request = KernelRequest(
        family="gemm_wgmma", problem=problem, schedule=completed, functors=(*functors, ("Epilogue", steps.expression())), pointers=3
    )
    kernel = render(request)
    cubin = compile_kernel(kernel.text, kernel.symbol, sm_90a, Cache(tmp_path_factory.mktemp("cubins")))
    used = cubin.resources[kernel.symbol]
    assert used.spill_store_bytes == used.spill_load_bytes == used.stack_bytes == 0
    assert "warning" not in cubin.log, cubin.log


@pytest.mark.parametrize(
    "schedule",
    [
        Schedule(tile_m=64, tile_n=64, consumers=1, cluster_k=2),
        Schedule(tile_m=128, tile_n=96, consumers=2, slices_depth=True),
        Schedule(tile_m=128, tile_n=128, consumers=2),
    ],
    ids=str,
)
def test_the_compiler_has_nothing_to_say_of_an_open_depth(schedule: Schedule, tmp_path_factory: pytest.TempPathFactory) -> None:
    sm_90a, k = target("sm_90a"), symbol("k", 8, 8192, 8)
    problem = gemm_wgmma.Problem(batch=1, m=1024, n=1536, k=k, a_k_last=True, b_k_last=True, multiply=F16, b_is_constant=True)
    steps = Steps()
    steps.store(steps.parameter(0, F32), 2, F16, identity((1, 1024, 1536)))
    a, b = (read(slot, F16, identity((1, rows, k))) for slot, rows in enumerate((1024, 1536)))
    chosen = wgmma_product.completed(replace(problem.product, k=2048), schedule, sm_90a)
    chosen = gemm_wgmma.FAMILY.for_all_sizes(problem, chosen, sm_90a)
    functors = (("A", a), ("B", b), ("Epilogue", steps.expression()))
    request = KernelRequest(family="gemm_wgmma", problem=problem, schedule=chosen, functors=functors, pointers=3)
    kernel = render(replace(request, scalars=len(request.scalar_values)))
    cubin = compile_kernel(kernel.text, kernel.symbol, sm_90a, Cache(tmp_path_factory.mktemp("cubins")))
    assert "warning" not in cubin.log, cubin.log


@pytest.mark.parametrize("n", [3840, 3834])
@pytest.mark.parametrize(
    ("residuals", "has_bias", "has_gelu"),
    [
        ((), True, True),
        ((F16,), False, False),
        ((F16,), True, False),
        ((F16,), True, True),
        ((F32,), True, False),
        ((F16, F16), True, False),
    ],
    ids=["bias-gelu", "residual", "bias-residual", "bias-residual-gelu", "bias-residual32", "bias-residuals"],
)
def test_what_epilogues_load_fits_beside_the_sums(
    residuals: tuple[DType, ...], has_bias: bool, has_gelu: bool, n: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Of all ways to share out a tile, by legal schedules, those that leave fewest registers: none spills."""
    sm_90a, m, k = target("sm_90a"), 3840, 1024
    steps, where = Steps(), (1, m, n)
    value = steps.parameter(0, F32)
    if has_bias:
        value = steps.apply("add", value, steps.load(3, F16, from_strides(where, (0, 0, 1))))
    for slot, storage in enumerate(residuals, start=4):
        value = steps.apply("add", value, steps.load(slot, storage, identity(where)))
    if has_gelu:
        value = steps.apply("gelu", value, steps.constant(2.0))
    steps.store(value, 2, F16, identity(where))
    functors = {"A": read(0, F16, identity((1, m, k))), "B": read(1, F16, identity((1, n, k))), "Epilogue": steps.expression()}
    problem = gemm_wgmma.Problem(batch=1, m=m, n=n, k=k, a_k_last=True, b_k_last=True, multiply=F16)
    problem = gemm_wgmma.FAMILY.fitted(problem, functors)
    fullest: dict[tuple[object, ...], Schedule] = {}
    for schedule in wgmma_product.schedules(problem.product, sm_90a):
        s = schedule
        if s.cluster == s.group_m == 1 and spare_registers(problem.product, s) < 8 and not gemm_wgmma.FAMILY.violations(problem, s, sm_90a):
            fullest[s.rows, s.tile_n, s.consumers, s.stores_boxes] = s
    assert fullest, "registers are given away"
    for schedule in fullest.values():
        kernel = render(
            KernelRequest(family="gemm_wgmma", problem=problem, schedule=schedule, functors=tuple(functors.items()), pointers=6)
        )
        cubin = compile_kernel(kernel.text, kernel.symbol, sm_90a, Cache(tmp_path_factory.mktemp("cubins")))
        used = cubin.resources[kernel.symbol]
        assert used.spill_store_bytes == used.spill_load_bytes == used.stack_bytes == 0, schedule
        assert "warning" not in cubin.log, cubin.log


@pytest.mark.parametrize(
    ("operation", "schedule"),
    [
        (prologues.gated_left, Schedule(tile_m=128, tile_n=256, consumers=2, cluster_m=2, group_m=8, stores_boxes=True)),
        (prologues.normalised_left, Schedule(tile_m=128, tile_n=128, consumers=2, ping_pong=True, group_m=8)),
        (prologues.normalised_left, Schedule(tile_m=256, tile_n=128, consumers=2)),
        (prologues.cast_left, Schedule(tile_m=192, tile_n=128, consumers=3)),
        (prologues.scaled_left, Schedule(tile_m=64, tile_n=128, consumers=1, cluster_k=2)),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_products_of_a_computed_matrix_keep_all_in_registers(
    operation: Callable[[tuple[int, int, int, int], DType], Operation], schedule: Schedule, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The warpgroup that computes has registers for what it reads, and those that multiply have enough left."""
    sm_90a = target("sm_90a")
    buffers, a, b, epilogue = operation((1, 384, 512, 768), F16)
    functors = {"A": a, "B": b, "Epilogue": epilogue}
    problem = gemm_wgmma.Problem(batch=1, m=384, n=512, k=768, a_k_last=True, b_k_last=True, multiply=F16, a_storage=main_storage(a, F16))
    problem = gemm_wgmma.FAMILY.fitted(problem, functors)
    completed = wgmma_product.completed(problem.product, schedule, sm_90a)
    assert gemm_wgmma.FAMILY.violations(problem, completed, sm_90a) == ()
    request = KernelRequest(
        family="gemm_wgmma", problem=problem, schedule=completed, functors=tuple(functors.items()), pointers=len(buffers)
    )
    kernel = render(request)
    cubin = compile_kernel(kernel.text, kernel.symbol, sm_90a, Cache(tmp_path_factory.mktemp("cubins")))
    used = cubin.resources[kernel.symbol]
    assert used.spill_store_bytes == used.spill_load_bytes == used.stack_bytes == 0
    assert "warning" not in cubin.log, cubin.log


def _left_of_pitch(m: Any, k: int, pitch: int) -> Expression:
    """Return an A whose rows lie PITCH elements apart: of an odd one each element comes alone."""
    return read(3, F16, from_strides((1, m, k), (m * pitch, pitch, 1)))


def _gated_left(m: Any, k: int, pitch: int) -> Expression:
    """Return an A of two matrices, whose rows lie PITCH elements apart, and scales of columns."""
    steps, at = Steps(), from_strides((1, m, k), (m * pitch, pitch, 1))
    gate = steps.apply("mul", steps.load(3, F16, at), steps.apply("sigmoid", steps.load(4, F16, at)))
    return steps.expression(steps.apply("mul", gate, steps.load(5, F32, from_strides((1, m, k), (0, 0, 1)))))


def _gathered_left(m: Any, k: int, pitch: int) -> Expression:
    """Return an A whose rows an index names, of a table whose rows lie PITCH elements apart."""
    steps = Steps()
    at, of_row = from_strides((1, m, k), (0, 0, 1)), from_strides((1, m, k), (0, 1, 0))
    return steps.expression(steps.indexed(Load(3, F16, at), Load(4, I64, of_row), 29, pitch))


@pytest.mark.parametrize("is_open", [False, True], ids=["known-m", "open-m"])
@pytest.mark.parametrize(
    ("left", "k", "pitch", "schedule"),
    [
        (_left_of_pitch, 1024, 1025, Schedule(tile_m=128, tile_n=64, consumers=1)),
        (_left_of_pitch, 1020, 1020, Schedule(tile_m=128, tile_n=128, consumers=2)),
        (_left_of_pitch, 318, 318, Schedule(tile_m=128, tile_n=128, consumers=2)),
        (_left_of_pitch, 1017, 1017, Schedule(tile_m=256, tile_n=64, consumers=2)),
        (_left_of_pitch, 1017, 1017, Schedule(tile_m=192, tile_n=64, consumers=3)),
        (_gated_left, 1024, 1024, Schedule(tile_m=256, tile_n=64, consumers=2)),
        (_gated_left, 318, 318, Schedule(tile_m=256, tile_n=64, consumers=2)),
        (_gated_left, 29, 29, Schedule(tile_m=192, tile_n=32, consumers=1)),
        (_gathered_left, 1024, 1024, Schedule(tile_m=128, tile_n=64, consumers=1)),
        (_gathered_left, 318, 318, Schedule(tile_m=128, tile_n=128, consumers=2)),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_what_is_read_of_a_computed_matrix_fits_into_registers(
    left: Callable[[Any, int, int], Expression],
    k: int,
    pitch: int,
    schedule: Schedule,
    is_open: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """However short its vectors are, where each element comes alone, and where only the run knows how many rows there are."""
    sm_90a, n = target("sm_90a"), 4752
    m = symbol("m", 1, 100_000, 1) if is_open else 5000
    steps = Steps()
    steps.store(steps.parameter(0, F32), 2, F16, identity((1, m, n)))
    b = read(1, F16, from_strides((1, n, k), (n * 1024, 1024, 1)))
    functors = {"A": left(m, k, pitch), "B": b, "Epilogue": steps.expression()}
    problem = gemm_wgmma.Problem(batch=1, m=m, n=n, k=k, a_k_last=True, b_k_last=True, multiply=F16)
    problem = gemm_wgmma.FAMILY.fitted(problem, functors)
    completed = wgmma_product.completed(replace(problem.product, m=5000), replace(schedule, group_m=8), sm_90a)
    if is_open:
        completed = gemm_wgmma.FAMILY.for_all_sizes(problem, completed, sm_90a)
    assert gemm_wgmma.FAMILY.violations(problem, completed, sm_90a) == ()
    request = KernelRequest(family="gemm_wgmma", problem=problem, schedule=completed, functors=tuple(functors.items()), pointers=7)
    kernel = render(replace(request, scalars=len(request.scalar_values)))
    cubin = compile_kernel(kernel.text, kernel.symbol, sm_90a, Cache(tmp_path_factory.mktemp("cubins")))
    used = cubin.resources[kernel.symbol]
    assert used.spill_store_bytes == used.spill_load_bytes == used.stack_bytes == 0
    assert "warning" not in cubin.log, cubin.log


@pytest.mark.parametrize(("columns", "storage"), [(1024, F32), (1000, F16), (16384, F32), (32768, F16), (50257, F32)])
def test_chosen_rows_fit_into_registers(columns: int, storage: DType, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Two loads held, or read ahead, at the lengths where the choice changes."""
    sm_90a = target("sm_90a")
    problem = row.Problem(rows=8, columns=columns, row_major=True, element_bytes=storage.bytes)
    schedule = row.FAMILY.choose(problem, sm_90a)
    functors = (("Program", layer_norm(8, columns, storage)),)
    kernel = render(KernelRequest(family="row", problem=problem, schedule=schedule, functors=functors, pointers=8))
    cubin = compile_kernel(kernel.text, kernel.symbol, sm_90a, Cache(tmp_path_factory.mktemp("cubins")))
    used = cubin.resources[kernel.symbol]
    assert used.spill_store_bytes == used.stack_bytes == 0, schedule
    assert len(cubin.image) < 64 * 1024, "names of constants take more of the cubin than its code"
