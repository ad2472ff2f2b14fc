"""Cases of the depthwise family: windows, multipliers, edges, schedules, types, prologues and epilogues."""

from __future__ import annotations

from functools import cache

from nautilus_cli.ir.types import F16, F32, F64
from nautilus_cli.kernels.base import KernelRequest
from nautilus_cli.kernels.depthwise import FAMILY
from nautilus_cli.kernels.strip import Schedule
from nautilus_cli.targets.registry import target
from tests.emulated.cases.conv import conv_case, problem_of, typed
from tests.emulated.cases.gemm import with_long_indices
from tests.emulated.cases.windows import deepened
from tests.emulated.harness import Case

SCHEDULES = {
    "long": Schedule(threads=64, lanes=4, vector=4, pixels=4),
    "single": Schedule(threads=32, lanes=8, vector=1, pixels=1),
    "pair": Schedule(threads=32, lanes=2, vector=2, pixels=2),
    "deep": Schedule(threads=32, lanes=32, vector=8, pixels=1),
}


WINDOWS = {
    "one-pixel": problem_of(groups=1, channels=(1, 1), size=(1, 1), kernel=(1, 1)),
    "same": problem_of(batch=2, groups=24, channels=(1, 1), size=(9, 11), kernel=(3, 3), pads=(1, 1, 1, 1)),
    "strided": problem_of(groups=40, channels=(1, 1), size=(14, 13), kernel=(5, 5), stride=(2, 2), pads=(2, 2, 2, 2)),
    "odd-channels": problem_of(groups=7, channels=(1, 1), size=(8, 9), kernel=(3, 3), stride=(2, 1), pads=(0, 1, 1, 0)),
    "dilated": problem_of(groups=16, channels=(1, 1), size=(11, 12), kernel=(3, 2), dilation=(2, 4), pads=(2, 4, 2, 4)),
    "multiplied": problem_of(batch=2, groups=6, channels=(1, 3), size=(7, 6), kernel=(3, 3), pads=(1, 1, 1, 1)),
    "one-dimensional": problem_of(batch=2, groups=16, channels=(1, 1), size=(1, 37), kernel=(1, 3), pads=(0, 2, 0, 0)),
    "large-kernel": problem_of(groups=8, channels=(1, 1), size=(17, 18), kernel=(9, 11), pads=(4, 5, 4, 5)),
    "volume": deepened(
        problem_of(batch=2, groups=16, channels=(1, 1), size=(5, 7), kernel=(3, 3), pads=(1, 1, 1, 1)), 5, 3, stride=2, pads=(1, 2)
    ),
    "whole-image": problem_of(groups=32, channels=(1, 1), size=(7, 7), kernel=(7, 7)),
}
"""Depthwise convolutions by name."""


@cache
def cases() -> tuple[Case, ...]:
    """Return all cases."""
    found = []
    for name, problem in WINDOWS.items():
        for storage in (F32, F16):
            own = typed(problem, storage, F32)
            for schedule_name, schedule in SCHEDULES.items():
                if not FAMILY.violations(own, schedule, target("sm_80")):
                    found.append(conv_case(f"{name}-{schedule_name}-{storage}", own, schedule, storage=storage))
        found.append(conv_case(f"{name}-chosen", problem, FAMILY.choose(problem, target("sm_90a"))))
    found.append(conv_case("fused", WINDOWS["same"], SCHEDULES["long"], is_fused=True))
    found.append(conv_case("fused-f16", typed(WINDOWS["strided"], F16, F32), SCHEDULES["deep"], storage=F16, is_fused=True))
    found.append(with_long_indices(conv_case("fused-pair", WINDOWS["same"], SCHEDULES["pair"], is_fused=True)))
    found.append(conv_case("f64", typed(WINDOWS["same"], F64, F64), SCHEDULES["pair"], storage=F64))
    found.append(conv_case("padded-weights", WINDOWS["strided"], SCHEDULES["long"], weight_padding=3))
    return tuple(found)


def representative() -> KernelRequest:
    """Return a request with work before and after the sums."""
    return next(case.request for case in cases() if case.name == "fused")
