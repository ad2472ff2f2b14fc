"""Products whose blocks form clusters: operands for several blocks, and depths shared out. The emulator has clusters of one block."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nautilus_cli.ir.types import BF16, F32
from nautilus_cli.kernels import gemm_mma, gemm_wgmma
from nautilus_cli.targets.registry import target
from nautilus_cli.toolchain.device import driver
from tests.emulated.cases import gemm_mma as mma
from tests.emulated.cases import gemm_skinny as skinny
from tests.emulated.cases import gemm_wgmma as wgmma
from tests.emulated.cases.products import opened
from tests.emulated.driver import Driver
from tests.emulated.harness import Case, DeviceRunner, check
from tests.gpu.on_device import skip_without_device

pytestmark = pytest.mark.gpu

skip_without_device()
if driver().devices[0].capability != (9, 0):
    pytest.skip("clusters of wgmma are for sm_90a", allow_module_level=True)

RAGGED = (2, 600, 520, 330)

SHARED = gemm_wgmma.Schedule(tile_m=128, tile_n=128, consumers=2, stages=3, group_m=2, blocks=4)
TURNS = gemm_wgmma.Schedule(tile_m=128, tile_n=128, consumers=2, ping_pong=True, stages=4, blocks=2)
ONE = gemm_wgmma.Schedule(tile_m=64, tile_n=64, consumers=1, stages=6)
ROWS = gemm_wgmma.Schedule(tile_m=128, tile_n=64, consumers=2, stages=6)
SLICES = gemm_wgmma.Schedule(tile_m=64, tile_n=64, consumers=2, slices_depth=True, stages=6)
SPLIT = gemm_mma.Schedule(tile_m=32, tile_n=64, tile_k=32, warp_m=16, warp_n=32, stages=3)


def _wgmma() -> list[Case]:
    found = []
    for name, schedule in (("shared", SHARED), ("turns", TURNS)):
        for cluster_m, cluster_n in ((2, 1), (1, 2)):
            clustered = wgmma.replace(schedule, cluster_m=cluster_m, cluster_n=cluster_n)
            label = f"wgmma-{name}-{cluster_m}x{cluster_n}"
            found.append(wgmma.plain(f"{label}-kk", RAGGED, clustered))
            found.append(wgmma.plain(f"{label}-mn", RAGGED, clustered, storage=BF16, a_k_last=False, b_k_last=False))
            found.append(wgmma.plain(f"{label}-tf32", (1, 260, 300, 100), clustered, storage=F32))
            found.append(wgmma.plain(f"{label}-boxes", RAGGED, wgmma.replace(clustered, stores_boxes=True)))
            if name == "shared":
                found.append(wgmma.plain(f"{label}-split", (1, 260, 300, 200), clustered, storage=F32, terms=3))
    return found


def _parts() -> list[Case]:
    """Depths shared out, of 8 and of 16 steps."""
    found = []
    for name, schedule in (("one", ONE), ("rows", ROWS), ("slices", SLICES)):
        for cluster_k in (2, 3, 4):
            shared = wgmma.replace(schedule, cluster_k=cluster_k, tile_n=96 if cluster_k == 3 else 64)
            found.append(wgmma.plain(f"wgmma-{name}-{cluster_k}-ragged", (2, 150, 200, 450), shared))
            found.append(wgmma.plain(f"wgmma-{name}-{cluster_k}-deep", (1, 49, 120, 1000), shared, storage=BF16, result=F32))
    return found


def _open() -> list[Case]:
    """Depths that only the run knows, of which some blocks have none."""
    found = []
    for cluster_k, k in ((2, 450), (4, 200), (4, 72), (3, 64)):
        shared = wgmma.replace(ONE, cluster_k=cluster_k, tile_n=96 if cluster_k == 3 else 64)
        one = wgmma.plain(f"wgmma-one-{cluster_k}-{k}", (1, 150, 200, k // 8 * 8), wgmma.replace(shared, cluster_k=1, blocks=1))
        schedule = replace(shared, vector_c=2, blocks=cluster_k * 3 * -(-200 // shared.tile_n))
        found.append(opened(replace(one, request=replace(one.request, schedule=schedule)), "k", 8))
    for cluster_k in (2, 8):
        split = mma.replace(SPLIT, cluster_k=cluster_k, slices_k=1, tile_k=32)
        found.append(opened(mma.plain(f"mma-{cluster_k}", (1, 40, 72, 200), split), "mnk", 8))
        rows = replace(skinny.SCHEDULES["rows"], cluster_k=cluster_k)
        found.append(opened(skinny.plain(f"skinny-{cluster_k}", (1, 3, 72, 2600), rows, tile_k=256), "mnk", 8))
    return found


def _mma() -> list[Case]:
    found = []
    for cluster_k in (2, 4, 8):
        for slices_k in (1, 2):
            schedule = mma.replace(SPLIT, cluster_k=cluster_k, slices_k=slices_k, tile_k=32 * slices_k)
            found.append(mma.plain(f"mma-{cluster_k}-{slices_k}-ragged", RAGGED, schedule))
            found.append(mma.plain(f"mma-{cluster_k}-{slices_k}-one-row", (1, 1, 264, 1000), schedule, b_k_last=False))
            found.append(mma.plain(f"mma-{cluster_k}-{slices_k}-short", (1, 40, 72, 24), schedule, storage=F32))
    return found


def _skinny() -> list[Case]:
    """Depths shared out: of all of A's rows at once, and of a ring, with a block that has none."""
    found = []
    for cluster_k in (2, 4, 8):
        for name, schedule in (("rows", skinny.SCHEDULES["rows"]), ("one", skinny.SCHEDULES["one"]), ("narrow", skinny.TENSOR["narrow"])):
            shared = replace(schedule, cluster_k=cluster_k)
            found.append(skinny.plain(f"skinny-{name}-{cluster_k}-ragged", (2, 7, 41, 1096), shared))
            found.append(skinny.plain(f"skinny-{name}-{cluster_k}-ring", (1, 3, 72, 2600), shared, tile_k=256))
            found.append(skinny.plain(f"skinny-{name}-{cluster_k}-short", (1, 4, 40, 24), shared, storage=BF16))
    return found


def _moments() -> list[Case]:
    """Moments of rows that parts of the depth leave, each of its own columns, and that they take."""
    found = []
    for cluster_k in (2, 3, 4):
        shared = wgmma.replace(ONE, cluster_k=cluster_k, tile_n=128 if cluster_k == 4 else 64)
        found.append(replace(wgmma.summarises(shared, (1, 150, 256, 448)), name=f"wgmma-{cluster_k}-summarises"))
        found.append(replace(wgmma.normalises(shared, (1, 150, 200, 448), shift=2.0), name=f"wgmma-{cluster_k}-normalises"))
    for cluster_k in (2, 4):
        split = mma.replace(SPLIT, cluster_k=cluster_k)
        found.append(replace(mma.summarises(split, (1, 70, 128, 256)), name=f"mma-{cluster_k}-summarises"))
        found.append(replace(mma.normalises(split, (1, 70, 72, 256), shift=2.0), name=f"mma-{cluster_k}-normalises"))
    return found


CASES = (*_wgmma(), *_parts(), *_open(), *_mma(), *_skinny(), *_moments())


@pytest.fixture(scope="module")
def runner() -> DeviceRunner:
    return DeviceRunner(CASES, Driver.real(), target("sm_90a"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_matches_numpy(case: Case, runner: DeviceRunner) -> None:
    check(case, runner, ("sm_90a",))
