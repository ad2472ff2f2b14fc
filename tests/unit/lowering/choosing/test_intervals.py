"""Kernels for intervals of sizes: every size has one that is legal there, and about as good as one for that size alone."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from nautilus_cli.frontend.load import load
from nautilus_cli.ir.binding import bind
from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.dims import same
from nautilus_cli.ir.expression import Load
from nautilus_cli.ir.occurrences import symbols
from nautilus_cli.ir.ranges import DimRange
from nautilus_cli.ir.substitution import substitute
from nautilus_cli.kernels import row
from nautilus_cli.kernels.base import KernelRequest, Ranked
from nautilus_cli.kernels.registry import families
from nautilus_cli.lowering.building.lowered import Lowered
from nautilus_cli.lowering.building.slots import Slots
from nautilus_cli.lowering.choosing.dispatch import first_serving
from nautilus_cli.lowering.choosing.intervals import Intervals
from nautilus_cli.lowering.choosing.kernels_by_key import assigned_kernels
from nautilus_cli.lowering.choosing.ladders import tile_ends, weights_of
from nautilus_cli.lowering.choosing.ranges import MULTIPLE
from nautilus_cli.lowering.plan import Launch, Plan
from nautilus_cli.lowering.planner import plan_each
from nautilus_cli.passes import pipeline
from nautilus_cli.targets.base import Target
from nautilus_cli.targets.registry import target as target_named
from tests.e2e.networks import model

SHAPES = ((1, 1), (1, 8), (3, 7), (4, 64), (16, 33), (2, 509), (1, 512), (32, 128), (32, 512), (31, 499))
SIZES = [{"batch": b, "rows": n} for b, n in SHAPES]
CLOSE, FAR = 1.25, 2.0
"""How much longer a kernel for many sizes may take than the best for one, by the estimates that choose both: where one expression is all
that matters, and where the number of products does too, of which few and many are told apart only."""


def analytic(family: Any, problem: Any, on: Target) -> Any:
    return family.choose(problem, on)


def attention() -> onnx.ModelProto:
    """y = softmax(x w (x w)') x: a product of fixed columns, one of open ones, and one of open depth, of 16-bit numbers."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["z"]),
        helper.make_node("Transpose", ["z"], ["zt"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["z", "zt"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["shares"], axis=-1),
        helper.make_node("MatMul", ["shares", "z"], ["y"]),
    ]
    weight = np.random.default_rng(0).standard_normal((768, 768)).astype(np.float16)
    port = helper.make_tensor_value_info
    ports = [port("x", TensorProto.FLOAT16, ["batch", "rows", 768])], [port("y", TensorProto.FLOAT16, ["batch", "rows", 768])]
    return model(nodes, *ports, {"w": weight})


@cache
def planned(target: str, points: tuple[int, ...] = ()) -> Plan:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        onnx.save(attention(), path)
        dims = {"batch": DimRange(1, 32), "rows": DimRange(1, 512)}
        fused = pipeline.run(load(path, dims=dims).graph)
    (found,) = plan_each(fused, [(target_named(target), analytic)], points={"rows": points} if points else {}, fp32_mode="ffma")
    return found


def windows() -> onnx.ModelProto:
    """A convolution, a depthwise one and a pool of images of any number and size."""
    random = np.random.default_rng(0)
    weights = {n: random.standard_normal(shape).astype(np.float16) for n, shape in (("w", (256, 128, 3, 3)), ("d", (256, 1, 5, 5)))}
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["wide"], pads=[1, 1, 1, 1]),
        helper.make_node("Conv", ["wide", "d"], ["deep"], group=256, pads=[2, 2, 2, 2]),
        helper.make_node("MaxPool", ["deep"], ["y"], kernel_shape=[3, 3], strides=[2, 2]),
    ]
    port = helper.make_tensor_value_info
    ports = [port("x", TensorProto.FLOAT16, ["batch", 128, "height", "width"])], [port("y", TensorProto.FLOAT16, None)]
    return model(nodes, *ports, weights)


@cache
def planned_windows(target: str) -> Plan:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        onnx.save(windows(), path)
        dims = {"batch": DimRange(1, 32), "height": DimRange(8, 64), "width": DimRange(8, 64)}
        fused = pipeline.run(load(path, dims=dims).graph)
    (found,) = plan_each(fused, [(target_named(target), analytic)], fp32_mode="ffma")
    return found


def launched(plan: Plan, launch: Launch, sizes: Mapping[str, int]) -> KernelRequest:
    """Return what the host launches: the first alternative whose condition holds, else the launch itself."""
    return plan.kernels[(first_serving(launch.alternatives, sizes) or launch).kernel].request


@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "emulated"])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_every_size_has_a_kernel_that_is_legal_there(target: str, sizes: Mapping[str, int]) -> None:
    plan = planned(target)
    for launch in plan.launches:
        request = launched(plan, launch, sizes)
        assert families()[request.family].violations(bind(request.problem, sizes), request.schedule, target_named(target)) == ()


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_kernels_are_about_as_good_as_those_for_one_size(sizes: Mapping[str, int]) -> None:
    plan, on = planned("sm_90a"), target_named("sm_90a")
    for launch in plan.launches:
        request = launched(plan, launch, sizes)
        family = families()[request.family]
        if not isinstance(family, Ranked):
            continue
        at = bind(request.problem, sizes)
        alone = family.estimated_us(at, family.choose(at, on), on)
        limit = CLOSE if same(request.problem.batch, 1) else FAR
        assert family.estimated_us(at, request.schedule, on) < limit * alone, f"{request.family} at {sizes}"


IMAGES = [
    {"batch": b, "height": h, "width": w}
    for b, h, w in ((1, 8, 8), (1, 14, 14), (32, 7 * 8, 7 * 8), (3, 17, 29), (8, 28, 28), (32, 64, 64))
]


@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "emulated"])
@pytest.mark.parametrize("sizes", IMAGES, ids=str)
def test_kernels_over_windows_are_legal_and_about_as_good_as_those_for_one_size(target: str, sizes: Mapping[str, int]) -> None:
    plan, on = planned_windows(target), target_named(target)
    requests = [launched(plan, launch, sizes) for launch in plan.launches]
    assert {"conv", "depthwise", "pool"} <= {request.family for request in requests}
    for request in requests:
        family, at = families()[request.family], bind(request.problem, sizes)
        assert family.violations(at, request.schedule, on) == ()
        if isinstance(family, Ranked) and not on.is_emulated:
            assert family.estimated_us(at, request.schedule, on) < FAR * family.estimated_us(at, family.choose(at, on), on), family.name


def test_patches_of_images_whose_width_is_a_multiple_are_read_by_vectors() -> None:
    weight = np.random.default_rng(0).standard_normal((768, 3, 16, 16)).astype(np.float16)
    patches = helper.make_node("Conv", ["x", "w"], ["y"], strides=[16, 16])
    port = helper.make_tensor_value_info
    ports = [port("x", TensorProto.FLOAT16, ["batch", 3, "height", "width"])], [port("y", TensorProto.FLOAT16, None)]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        onnx.save(model([patches], *ports, {"w": weight}), path)
        dims = {"batch": DimRange(1, 8), "height": DimRange(64, 384), "width": DimRange(64, 384)}
        fused = pipeline.run(load(path, dims=dims).graph)
    (plan,) = plan_each(fused, [(target_named("sm_90a"), analytic)], fp32_mode="ffma")
    (launch,) = plan.launches
    for width, wanted in ((224, 8), (225, 1)):
        request = launched(plan, launch, {"batch": 1, "height": 100, "width": width})
        (rows,) = (step.map for step in dict(request.functors)["A"].steps if isinstance(step, Load))
        assert request.family != "conv" and rows.contiguous_width(8) == wanted


def test_rows_of_a_product_of_dimensions_and_one_have_kernels_by_length() -> None:
    """Softmax over the patches of an image and a class token: 197 columns go to warps, as where they are known, 577 to blocks."""
    height, width = symbol("height", 4, 24), symbol("width", 4, 24)
    columns, on = height * width + 1, target_named("sm_90a")
    family = families()["row"]
    problem = row.Problem(rows=12 * columns, columns=columns, row_major=True, element_bytes=2)
    found = Intervals(on, analytic).servings(Lowered(family="row", problem=problem, functors=(), slots=Slots()))
    for sizes in ({"height": h, "width": w} for h, w in ((4, 4), (14, 14), (24, 24), (7, 23))):
        serving = first_serving(found, sizes)
        assert serving is not None
        served = serving.chosen.schedule
        alone = family.choose(bind(problem, sizes), on)
        assert served.column_threads == alone.column_threads, sizes
        assert served.items * served.vector < 2 * alone.items * alone.vector, sizes


def test_products_go_to_tensor_cores_and_sizes_that_are_multiples_have_kernels_of_their_own() -> None:
    plan = planned("sm_90a")
    used = {launched(plan, launch, {"batch": 16, "rows": 256}).family for launch in plan.launches}
    assert "gemm_wgmma" in used and "gemm" not in used
    odd, even = ({launched(plan, launch, {"batch": 16, "rows": n}).schedule for launch in plan.launches} for n in (255, 256))
    assert {s.vector for s in odd if hasattr(s, "vector")} == {1}
    assert {s.vector for s in even if hasattr(s, "vector")} == {MULTIPLE}


def test_arguments_of_kernels_for_multiples_are_sizes_as_they_are() -> None:
    plan = planned("sm_90a")
    special = [(a, plan.kernels[a.kernel].request) for launch in plan.launches for a in launch.alternatives]
    assert len(special) > 8
    for sizes in ({"batch": 3, "rows": 64}, {"batch": 1, "rows": 512}):
        for alternative, request in special:
            values = [substitute(word.value, sizes) for word in alternative.words[request.pointers :]]
            assert values == [substitute(value, sizes) for value in request.scalar_values]
            assert bind(plan.kernels[alternative.kernel].geometry, sizes).grid[0] > 0


def test_sizes_that_the_user_names_get_the_kernels_of_a_library_for_them_alone() -> None:
    plan, on = planned("sm_90a", (128, 384)), target_named("sm_90a")
    for launch in plan.launches:
        request = launched(plan, launch, {"batch": 1, "rows": 384})
        family = families()[request.family]
        at = bind(request.problem, {"batch": 1, "rows": 384})
        if isinstance(family, Ranked):
            best = family.estimated_us(at, family.choose(at, on), on)
            assert family.estimated_us(at, request.schedule, on) < (CLOSE if same(request.problem.batch, 1) else FAR) * best


def test_few_kernels_serve_many_steps_and_stay_while_they_do_about_as_well() -> None:
    costs = [[1.0, 1.01, 9.0], [1.0, 1.02, 9.0], [2.0, 1.0, 9.0], [1.0, 1.01, 9.0], [5.0, 5.0, 1.0]]
    assert assigned_kernels(costs, 3, [1.0] * 5) == [0, 0, 1, 1, 2]
    assert len(set(assigned_kernels(costs, 1, [1.0] * 5))) == 1
    assert len(set(assigned_kernels(costs, 2, [1.0] * 5))) == 2


def test_steps_count_by_the_part_of_an_octave_that_they_end() -> None:
    costs = [[1.0, 2.0], [2.0, 1.0], [2.0, 1.0], [2.0, 1.0]]
    assert assigned_kernels(costs, 1, weights_of([1, 1024, 1025, 1026])) == [1] * 4
    assert assigned_kernels(costs, 1, weights_of([1, 2, 3, 4])) == [0] * 4
    assert assigned_kernels(costs, 1, weights_of([1000, 1001, 1002, 1003])) == [0] * 4


def test_a_ladder_has_the_ends_of_tiles() -> None:
    (dim,) = symbols(symbol("n", 1, 5000))
    ends = tile_ends(dim)
    assert {1, 2, 4, 8, 16, 32, 64, 96, 128, 192, 576, 1024, 2048, 2176, 4096, 4352, 5000} <= set(ends)
    assert list(ends) == sorted(ends, reverse=True) and len(ends) < 80
    (dim,) = symbols(symbol("n", 24, 5000, 24))
    assert all(24 <= size <= 5000 and size % 24 == 0 for size in tile_ends(dim))
