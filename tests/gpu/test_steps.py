"""Branches and loops whose course only the run knows, on a GPU: the models that the emulator runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e import test_run_time_control_flow as models
from tests.gpu.on_device import on_the_device, skip_without_device

pytestmark = pytest.mark.gpu

skip_without_device()

_on_the_device = on_the_device(models)


@pytest.mark.parametrize("launch", ["graph", "stream"])
def test_the_run_takes_a_branch(launch: str, tmp_path: Path) -> None:
    models.test_the_run_takes_a_branch(launch, tmp_path)


@pytest.mark.parametrize(
    "run",
    [
        models.test_a_loop_ends_when_its_condition_says,
        models.test_newton_until_nothing_changes,
        models.test_a_trip_count_that_only_the_run_knows,
        models.test_scan_outputs_of_a_loop_with_a_condition,
        models.test_loops_within_loops,
        models.test_a_loop_in_a_branch_for_every_batch,
        models.test_states_that_change_places,
        models.test_a_long_scan_is_a_few_kernels,
        models.test_a_scan_of_open_length,
        models.test_branches_with_results_of_other_shapes,
        models.test_sizes_that_kernels_give_in_an_iteration,
        models.test_a_decoder_speaks_until_the_end,
        models.test_threads_run_loops_at_once,
        models.test_a_loop_that_does_not_end_is_an_error,
        models.test_an_index_out_of_range_in_a_loop_is_reported,
    ],
)
def test_as_emulated(run: Callable[[Path], None], tmp_path: Path) -> None:
    run(tmp_path)
