"""The parts of the conformance run: which cases there are, how they are compared, judged, grouped, kept in a file, and lost."""

from __future__ import annotations

import json
import os
import time
from collections import Counter

import ml_dtypes
import numpy as np
import pytest
from onnx import helper
from onnx.backend.test.runner import Runner

from nautilus_cli.codegen.render import Rendered
from tests.conformance import archive, cases, command, expectations, workers
from tests.conformance.building import UNIT_LEAST, UNIT_MOST, cut
from tests.conformance.cases import Case, Choice, DataSet, core_kinds, kinds
from tests.conformance.changes import changed_files, operators_of
from tests.conformance.comparing import mismatch
from tests.conformance.harness import Outcome


@pytest.fixture(scope="module")
def known() -> list[Case]:
    return cases.load()


def test_every_suite_is_there_whole(known):
    assert Counter(case.suite for case in known) >= Counter(
        {"node": 1884, "simple": 23, "pytorch-converted": 82, "pytorch-operator": 35, "light": 9}
    )
    assert len({case.key for case in known}) == len(known)


def test_core_is_what_the_list_says_and_beyond_is_its_narrow_types(known):
    count = Counter(kind for case in known for kind in kinds(case))
    assert count == {"core": 1607, "static": 1290, "runtime": 317, "beyond": 164}
    assert set(core_kinds()) <= {case.name for case in known if case.suite == "node"}


def test_the_expected_failures_are_cases(known):
    assert set(expectations.read()) <= {case.key for case in known}


def test_parts_are_disjoint_and_whole(known):
    parts = [{case.key for case in known if Choice(part=(i, 3)).has(case)} for i in range(3)]
    assert set.union(*parts) == {case.key for case in known} and sum(map(len, parts)) == len(known)
    assert all(len(part) > len(known) / 4 for part in parts)


def test_operators_of_changed_files_are_chosen_whatever_their_hash(known):
    operators = operators_of(["nautilus_cli/ops/gemm.py", "nautilus_cli/ops/activations.py", "nautilus_cli/ops/checks.py", "README.md"])
    assert "Gemm" in operators and "Relu" in operators and "MatMul" not in operators
    part = Choice(part=(0, 10**9), operators=frozenset({"Gemm"}))
    assert {case.operator for case in known if part.has(case)} == {"Gemm"}


def test_a_commit_that_is_not_there_has_no_changes():
    assert changed_files("--output=x") == changed_files("no such commit") == ()


F32, BF16 = np.float32, ml_dtypes.bfloat16
PAIRS = [
    (np.array([1.0, 2.0], F32), np.array([1.0005, 2.0], F32)),
    (np.array([1.0, 2.0], F32), np.array([1.002, 2.0], F32)),
    (np.array([1.0, np.nan, np.inf], F32), np.array([1.0, np.nan, np.inf], F32)),
    (np.array([np.inf], F32), np.array([-np.inf], F32)),
    (np.array([np.nan], F32), np.array([0.0], F32)),
    (np.array([0.0], F32), np.array([-0.0], F32)),
    (np.array([0.0], F32), np.array([1e-6], F32)),
    (np.array([1.0], F32), np.array([1.0], np.float64)),
    (np.array([1.0], F32), np.array([[1.0]], F32)),
    (np.array([1.0], BF16), np.array([1.0078125], BF16)),
    (np.array([1.0], BF16), np.array([1.03125], BF16)),
    (np.array([1000], np.int64), np.array([1001], np.int64)),
    (np.array([10], np.uint8), np.array([11], np.uint8)),
    (np.array([True, False]), np.array([True, False])),
    (np.array([True, False]), np.array([True, True])),
    (np.zeros((0, 3), F32), np.zeros((0, 3), F32)),
]


@pytest.mark.parametrize("number", range(len(PAIRS)))
def test_outputs_are_compared_as_by_the_runner(number):
    wanted, found = PAIRS[number]
    try:
        Runner.assert_similar_outputs([wanted], [found], 1e-3, 1e-7)
        is_similar = True
    except AssertionError:
        is_similar = False
    assert (mismatch([wanted], [found], rtol=1e-3, atol=1e-7) is None) == is_similar


def test_a_missing_output_is_a_mismatch():
    assert mismatch([np.ones(1), np.ones(1)], [np.ones(1)], rtol=1e-3, atol=1e-7) == "1 outputs; 2 are wanted"


def test_a_failure_that_is_not_expected_and_a_success_that_is_not_are_surprises():
    outcomes = {"a": Outcome(status="passed"), "b": Outcome(status="wrong"), "c": Outcome(status="passed"), "d": Outcome(status="refused")}
    verdict = expectations.judge(outcomes, {"c": "reason", "d": "reason"})
    assert set(verdict.failures) == {"b"} and verdict.successes == ("c",) and not verdict.is_good
    assert expectations.judge(outcomes, {"c": "reason", "d": "reason"}, is_strict=False).successes == ()
    assert expectations.judge({"a": outcomes["a"]}, {"d": "not run"}).is_good


def test_the_file_of_expected_failures_survives_writing(tmp_path):
    path = tmp_path / "expected.toml"
    reasons = {"node/b": 'has "quotes"', "node/a": 'has "quotes"', "node/c": "another"}
    expectations.write(reasons, path)
    assert expectations.read(path) == reasons
    path.write_text(path.read_text() + '[[group]]\nreason = "again"\ncases = ["node/a"]\n')
    with pytest.raises(ValueError, match="twice"):
        expectations.read(path)


def test_one_kernel_more_leaves_most_units_as_they_were():
    kernels = [Rendered(symbol=f"kernel_{i}", text="") for i in range(1000)]
    groups = cut(kernels)
    assert [kernel for group in groups for kernel in group] == kernels
    assert all(UNIT_LEAST <= len(group) <= UNIT_MOST for group in groups[:-1])
    more = cut([*kernels[:100], Rendered(symbol="new", text=""), *kernels[100:]])
    assert sum(group in groups for group in more) >= len(groups) - 4


def test_few_kernels_occupy_every_compiler():
    assert [len(group) for group in cut([Rendered(symbol=str(i), text="") for i in range(10)], jobs=2)] == [5, 5]


def misbehave(task: str) -> str:
    if task == "raise":
        raise KeyError("x")
    if task == "die":
        os._exit(3)
    if task == "hang":
        time.sleep(3600)
    return task.upper()


def test_a_process_that_raises_dies_or_hangs_costs_only_its_task(monkeypatch):
    give = workers._Worker.give
    monkeypatch.setattr(workers._Worker, "give", lambda worker, task, seconds: give(worker, task, seconds if task == "hang" else 600))
    tasks = ["a", "raise", "b", "die", "c", "hang", "d"]
    results = {task: str(result) for task, result in workers.each(misbehave, tasks, processes=2, timeout_s=1)}
    assert {task: results[task] for task in "abcd"} == {"a": "A", "b": "B", "c": "C", "d": "D"}
    assert results["raise"].startswith("KeyError: 'x'")
    assert results["die"] == "the process died: exit status 3"
    assert results["hang"] == "took longer than 1 s"


def test_processes_that_begin_anew_plan_and_compile_for_a_gpu(tmp_path, capsys):
    file = tmp_path / "cases.zip"
    assert command.main(["export", "--only", "test_abs", "--libraries", "--target", "sm_90a", "-o", str(file)]) == 0
    assert "1 cases" in capsys.readouterr().out
    assert list(archive.read_libraries(file)) == ["node/test_abs"]


def test_an_archive_keeps_every_bit(tmp_path):
    model = helper.make_model(helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [], []))
    values = (np.array([1, np.nan, -0.0], F32), np.array([1.5], BF16), np.array(3, np.int64), [np.ones(2), np.zeros((0, 1))], None)
    data = DataSet(inputs=values, outputs=(np.array([True]),))
    archive.write(
        [Case(suite="node", name="test_x", operator="Relu", model=model, data_sets=(data,), rtol=0.5, atol=0.25)], tmp_path / "cases.zip"
    )
    (case,) = archive.read(tmp_path / "cases.zip")
    assert (case.key, case.operator, case.rtol, case.atol, case.model) == ("node/test_x", "Relu", 0.5, 0.25, model)
    (found,) = case.data_sets
    for wanted, given in zip(values[:3], found.inputs[:3], strict=True):
        assert (given.dtype, given.shape, given.tobytes()) == (wanted.dtype, wanted.shape, wanted.tobytes())
    assert [a.tolist() for a in found.inputs[3]] == [[1.0, 1.0], []] and found.inputs[4] is None and found.outputs[0].tolist() == [True]


def test_cases_run_and_run_again_from_an_archive_of_their_libraries(tmp_path, capsys):
    only, file = ["--only", "test_abs", "--only", "test_identity_sequence"], str(tmp_path / "cases.zip")
    assert command.main([*only, "--json", str(tmp_path / "run.json")]) == 0
    assert command.main(["export", *only, "--libraries", "-o", file]) == 0
    assert command.main(["--archive", file, "--json", str(tmp_path / "again.json")]) == 0
    first, again = (json.loads((tmp_path / name).read_text()) for name in ("run.json", "again.json"))
    assert first["cases"]["node/test_abs"]["status"] == again["cases"]["node/test_abs"]["status"] == "passed"
    assert again["suites"]["node"] == {"passed": 1, "all": 2}
    assert "1 with a library for emulated" in capsys.readouterr().out
    assert command.main(["--archive", file, "--only", "nothing"]) == 2
