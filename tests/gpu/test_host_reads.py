"""Bounds of numbers that kernels give, numbers for which the host waits, growing states, packed caches: the emulator's models on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e import test_count_bounds as bounds
from tests.e2e import test_counts, test_run_time_control_flow
from tests.e2e import test_growing_states as growing
from tests.e2e import test_host_reads as reads
from tests.e2e import test_numbers_in_bodies as numbers
from tests.e2e import test_packed_caches as packed_caches
from tests.e2e.decoders import PACKED
from tests.gpu.on_device import on_the_device, skip_without_device

pytestmark = pytest.mark.gpu

skip_without_device()

_on_the_device = on_the_device(bounds, reads, packed_caches, test_counts, test_run_time_control_flow)


@pytest.mark.parametrize("make", [bounds.kept, bounds.compressed, bounds.unique, bounds.suppressed])
def test_a_lesser_bound(make: Callable[..., object], tmp_path: Path) -> None:
    bounds.test_a_lesser_bound(make, tmp_path)  # type: ignore[arg-type]


@pytest.mark.parametrize("packed", PACKED)
def test_packed_caches(packed: str, tmp_path: Path) -> None:
    packed_caches.test_each_step_from_an_empty_past_on(packed, tmp_path)


@pytest.mark.parametrize("launch", ["graph", "stream"])
def test_each_iteration_appends_a_row(launch: str, tmp_path: Path) -> None:
    growing.test_each_iteration_appends_a_row(launch, tmp_path)


@pytest.mark.parametrize("launch", ["graph", "stream"])
def test_with_branches_and_loops_around(launch: str, tmp_path: Path) -> None:
    reads.test_with_branches_and_loops_around(launch, tmp_path)


@pytest.mark.parametrize("launch", ["graph", "stream"])
def test_numbers_that_an_iteration_computes(launch: str, tmp_path: Path) -> None:
    for run in (
        numbers.test_a_slice_up_to_the_iterations_number,
        numbers.test_each_iteration_waits_for_what_it_finds,
        numbers.test_reads_within_loops_and_branches_of_loops,
    ):
        run(launch, tmp_path)


@pytest.mark.parametrize(
    "run",
    [
        bounds.test_a_bound_within_an_iteration,
        bounds.test_numbers_that_decide_shapes,
        bounds.test_what_is_taken_without_a_bound_is_told,
        bounds.test_a_loop_whose_end_only_the_run_knows,
        reads.test_a_number_without_a_bound,
        reads.test_a_bound_that_is_too_great,
        reads.test_beside_numbers_that_outputs_have,
        reads.test_two_in_a_row,
        reads.test_a_number_beyond_what_can_be,
        numbers.test_as_many_as_a_state_says,
        numbers.test_a_number_that_is_computed_around_the_loop,
        numbers.test_until_a_condition_ends_it,
        numbers.test_in_a_branch,
        numbers.test_a_shape_of_a_number_and_constants,
        numbers.test_what_a_branch_that_is_not_taken_computes_is_no_error,
        numbers.test_a_number_beyond_its_range,
        numbers.test_a_number_without_a_bound,
        numbers.test_the_users_bound_of_it,
        numbers.test_a_state_grows_by_a_number_of_the_iteration,
        numbers.test_in_a_scan,
        growing.test_a_bound_of_the_users,
        growing.test_a_condition_says_how_much_it_grows,
        growing.test_as_much_as_a_kernel_finds_is_appended,
        growing.test_each_iteration_makes_it_another_size,
        growing.test_a_decoder_with_its_caches_in_the_loop,
    ],
)
def test_as_emulated(run: Callable[[Path], None], tmp_path: Path) -> None:
    run(tmp_path)
