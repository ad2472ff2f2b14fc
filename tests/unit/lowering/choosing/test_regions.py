"""Samples, kernels that are kept of many, and the list of limits that picks one of them."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from nautilus_cli.ir.binding import bind
from nautilus_cli.ir.dims import is_symbolic
from nautilus_cli.ir.types import F16, F32, DType
from nautilus_cli.kernels.base import Family, Priced, Ranked
from nautilus_cli.kernels.registry import family
from nautilus_cli.lowering.choosing import regions
from nautilus_cli.lowering.choosing.dispatch import first_serving
from nautilus_cli.lowering.choosing.intervals import Intervals
from nautilus_cli.lowering.choosing.serving import Serving
from nautilus_cli.lowering.single.lone_product import LoneProduct
from nautilus_cli.targets.base import Target
from nautilus_cli.targets.registry import target


def analytic(family: Family, problem: object, where: Target) -> object:
    return family.choose(problem, where)


def test_a_ladder_has_powers_of_two_and_from_some_size_on_what_lies_between() -> None:
    assert regions.ladder(1, 32, 1, 8) == (1, 2, 4, 8, 12, 16, 24, 32)
    assert regions.ladder(3, 41, 1, 64) == (3, 4, 8, 16, 32, 41)
    assert regions.ladder(8, 96, 8, 32) == (8, 16, 32, 48, 64, 96)


def test_combinations_leave_out_sizes_of_the_last_axes_first_and_keep_the_largest() -> None:
    found = regions.combined(("a", "b"), ((1, 2, 3), (4, 5, 6)), 6)
    assert {one["a"] for one in found} == {1, 2, 3}
    assert {one["b"] for one in found} == {4, 6}
    assert all(one["b"] in (4, 6) for one in found)


def test_losses_are_against_the_best_and_have_a_limit() -> None:
    assert regions.losses([[1.0, 2.0, float("inf")], [30.0, 3.0, 3.0]]).tolist() == [[1.0, 2.0, 8.0], [8.0, 1.0, 1.0]]


def test_few_kernels_are_kept_each_for_what_the_others_are_bad_at() -> None:
    loss = np.array([[1.0, 1.1, 5.0], [1.0, 1.1, 5.0], [5.0, 4.0, 1.0]])
    assert regions.kept(loss, np.ones(3), 2) == [1, 2], "the second is never as bad as the others; the third makes up for it"
    assert regions.kept(np.ones((4, 3)), np.ones(4), 3) == [0], "the others gain nothing"


@pytest.mark.parametrize("seed", range(5))
def test_the_first_leaf_whose_limits_hold_has_the_kernel_of_its_samples(seed: int) -> None:
    """Kernels that rule boxes of a plane: every sample finds its own, and other points find some kernel."""
    random = np.random.default_rng(seed)
    features = random.integers(1, 100, (400, 2))
    owner = (features[:, 0] > 40).astype(int) + 2 * (features[:, 1] > 25)
    loss = np.where(np.arange(4) == owner[:, None], 1.0, 3.0)
    found = regions.leaves(features, loss, np.ones(400))
    assert found[-1].limits == {}
    for point, kernel in zip(features, owner, strict=True):
        assert next(leaf.kernel for leaf in found if all(point[f] <= limit for f, limit in leaf.limits.items())) == kernel


@cache
def servings(symbolic: str, dtype: DType, **sizes: int) -> tuple[Serving, ...]:
    product = LoneProduct(m=sizes.get("m", 1), n=sizes.get("n", 1), k=sizes.get("k", 1), dtype=dtype, symbolic=symbolic, fp32_mode="ffma")
    return Intervals(target("sm_90a"), analytic).servings(product.lowered())


def estimated(name: str, problem: object, schedule: object) -> float:
    kind = family(name)
    assert isinstance(kind, Ranked)
    return kind.estimated_us(problem, schedule, target("sm_90a"))


CLOSE = 1.35
"""How much longer a kernel for all sizes may be estimated to take than the best one of a size: 1.04 on average."""


@pytest.mark.parametrize(("symbolic", "dtype", "known"), [("mn", F16, {"k": 768}), ("mk", F16, {"n": 1024}), ("nk", F32, {"m": 256})])
def test_several_open_sizes_have_a_legal_kernel_near_the_best_everywhere(symbolic: str, dtype: DType, known: dict[str, int]) -> None:
    found = servings(symbolic, dtype, **known)
    assert found[-1].condition == 0
    random = np.random.default_rng(7)
    ratios = []
    for _ in range(24):
        sizes = {name: 8 * int(2 ** random.uniform(0, 10)) for name in symbolic}
        serving = first_serving(found, sizes)
        assert serving is not None
        kernel = serving.chosen
        problem = bind(serving.plain(kernel.problem), sizes)
        assert not kernel.family.violations(problem, kernel.schedule, target("sm_90a"))
        lone = LoneProduct(**{"m": 1, "n": 1, "k": 1, **known, **sizes}, dtype=dtype, fp32_mode="ffma").request(target("sm_90a"), analytic)
        ratios.append(estimated(kernel.family.name, problem, kernel.schedule) / estimated(lone.family, lone.problem, lone.schedule))
    assert max(ratios) < CLOSE
    assert np.mean(ratios) < 1.1


@pytest.mark.parametrize(
    "sizes",
    [
        (128, 768, 768),
        (197, 768, 768),
        (211, 3072, 1024),
        (196, 1024, 256),
        (1, 2048, 2048),
        (1, 8192, 2048),
        (1, 5120, 5120),
        (3, 4096, 4096),
    ],
)
def test_three_open_sizes_have_kernels_as_good_as_those_of_one_size(sizes: tuple[int, int, int]) -> None:
    at = dict(zip("mnk", sizes, strict=True))
    serving = first_serving(servings("mnk", F16), at)
    assert serving is not None
    kernel = serving.chosen
    here = estimated(kernel.family.name, bind(serving.plain(kernel.problem), at), kernel.schedule)
    lone = LoneProduct(**at, dtype=F16, fp32_mode="ffma").request(target("sm_90a"), analytic)
    assert here < 1.05 * estimated(lone.family, lone.problem, lone.schedule)


@pytest.mark.parametrize("k", [512, 768, 2048, 2816, 8192])
def test_one_row_has_a_kernel_as_good_as_its_own(k: int) -> None:
    serving = first_serving(servings("mk", F16, n=1024), {"m": 1, "k": k})
    assert serving is not None
    kernel = serving.chosen
    here = estimated(kernel.family.name, bind(serving.plain(kernel.problem), {"m": 1, "k": k}), kernel.schedule)
    lone = LoneProduct(m=1, n=1024, k=k, dtype=F16, fp32_mode="ffma").request(target("sm_90a"), analytic)
    assert here < 1.05 * estimated(lone.family, lone.problem, lone.schedule)


def test_no_multiples_are_served_by_kernels_that_need_none() -> None:
    found = servings("mk", F16, n=1000)
    for sizes in ({"m": 7, "k": 21}, {"m": 100, "k": 333}, {"m": 1, "k": 1}):
        serving = first_serving(found, sizes)
        assert serving is not None
        assert not serving.dims
        assert not serving.chosen.family.violations(bind(serving.chosen.problem, sizes), serving.chosen.schedule, target("sm_90a"))
    multiple = first_serving(found, {"m": 64, "k": 1024})
    assert multiple is not None
    assert multiple.dims
    assert sum(is_symbolic(one.condition) for one in found) == len(found) - 1


@pytest.mark.parametrize("sizes", [{"m": 64, "k": 1024}, {"m": 1, "k": 512}, {"m": 3000, "k": 96}, {"m": 16, "k": 8192}])
def test_what_the_host_counts_is_what_is_estimated(sizes: dict[str, int]) -> None:
    kernels = [one.chosen for one in servings("mk", F16, n=1000) if one.dims]
    assert len({kernel.family.name for kernel in kernels}) > 1
    for kernel in kernels:
        assert isinstance(kernel.family, Priced)
        us = estimated(kernel.family.name, bind(kernel.problem, sizes), kernel.schedule)
        ns = bind(kernel.family.open_ns(kernel.problem, kernel.schedule, target("sm_90a")), sizes)
        assert us == float("inf") or ns / 1000 == pytest.approx(us, rel=0.2)
