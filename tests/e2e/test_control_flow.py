"""Control flow from file to library: what is unrolled, what is computed both ways, and what the run checks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import parser

import nautilus_cli
from nautilus_cli import driver
from nautilus_cli.errors import UsageError

STEPS = 24

CELL = "(float[4,8] h, float[4,8] e) => (float[4,8] n, float[4,8] o) { p = MatMul(h, w) s = Add(p, e) n = Tanh(s) o = Mul(n, n) }"

RECURRENCE = f"""g (float[4,8] h0, float[{STEPS},4,8] x, float[8,8] w) => (float[4,8] y, float[{STEPS},4,8] z) {{
    y, z = Scan <body = cell {CELL}, num_scan_inputs = 1, scan_input_directions = [1]> (h0, x) }}"""

NEWTON = """g (float[8] a, float tolerance) => (float[8] root) {
    n = Constant <value_int = 12> () on = Constant <value: tensor = bool {1}> () half = Constant <value_float = 0.5> ()
    root = Loop (n, on, a) <body = step (int64 i, bool c, float[8] x) => (bool more, float[8] next) {
        q = Div(a, x) s = Add(x, q) next = Mul(s, half) d = Sub(next, x) m = Abs(d)
        worst = ReduceMax <keepdims = 0> (m) more = Greater(worst, tolerance) }> }"""
"""Square roots, until none changes by more than a tolerance that only the run knows."""

PICK = """g (float[6,4] table, int64 place) => (float[4] y) {
    zero = Constant <value_int = 0> () first = Constant <value_ints = [0]> ()
    is_given = GreaterOrEqual(place, zero)
    y = If (is_given) <
        then_branch = given () => (float[4] picked) { picked = Gather(table, place) },
        else_branch = missing () => (float[4] mean) { mean = ReduceMean <axes = [0], keepdims = 0> (table) }> }"""
"""A row, or the mean of all: a place that is not given is no place at all, and is not looked up."""

COUNTED = """g (float[3] x, int64 k) => (float[3] y, float[5,3] z) {
    on = Constant <value: tensor = bool {1}> ()
    y, z = Loop (k, on, x) <body = add (int64 i, bool c, float[3] a) => (bool c2, float[3] b, float[3] s) {
        c2 = Identity(c) b = Add(a, x) s = Identity(b) }> }"""

PIECES = """g (float[2,6] x) => (float[6,4] y) {
    parts = SplitToSequence <axis = 1, keepdims = 1> (x)
    grown = SequenceMap <body = twice (float[2,1] p) => (float[2,2] q) { n = Neg(p) q = Concat <axis = 1> (p, n) }> (parts)
    joined = ConcatFromSequence <axis = 0, new_axis = 1> (grown)
    shape = Constant <value_ints = [6, 4]> () y = Reshape(joined, shape) }"""


def compiled(text: str, folder: Path, opset: int = 17) -> Path:
    """Compile a model and compare it with onnxruntime; return the library."""
    model, library = folder / "model.onnx", folder / "libmodel.so"
    onnx.save(parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]> {text}'), model)
    result = driver.compile(driver.CompileOptions(model=model, output=library, target="emulated"))
    assert result.verification is not None
    assert all(found.is_match for found in result.verification.comparisons.values()), result.verification.comparisons
    return library


def run(library: Any, **inputs: Any) -> np.ndarray:
    (first, *_) = library(inputs).values()
    return np.asarray(first)


def test_steps_of_a_scan_are_one_kernel(tmp_path: Path) -> None:
    """They differ in where they read: that is an argument."""
    manifest = json.loads(compiled(RECURRENCE, tmp_path).with_suffix(".json").read_text())
    launches = [manifest["kernels"][launch["kernel"]]["family"] for launch in manifest["launches"]]
    assert sum(family.startswith("gemm") for family in launches) == STEPS
    assert sum(kernel["family"].startswith("gemm") for kernel in manifest["kernels"]) <= 2  # the first state is an input


def test_a_loop_ends_where_the_run_says(tmp_path: Path) -> None:
    a = np.array([1, 2, 3, 4, 5, 6, 7, 1e4], np.float32)
    with nautilus_cli.load(compiled(NEWTON, tmp_path)) as library:
        coarse, fine = (run(library, a=a, tolerance=np.float32(tolerance)) for tolerance in (1e3, 1e-3))
    assert abs(coarse[7] - 100) > 100
    np.testing.assert_array_less(np.abs(fine - np.sqrt(a)), 1e-3)


def test_the_branch_that_is_not_taken_cannot_fail(tmp_path: Path) -> None:
    table = np.arange(24, dtype=np.float32).reshape(6, 4)
    with nautilus_cli.load(compiled(PICK, tmp_path)) as library:
        np.testing.assert_array_equal(run(library, table=table, place=np.int64(5)), table[5])
        for nowhere in (-1, -99):
            np.testing.assert_array_equal(run(library, table=table, place=np.int64(nowhere)), table.mean(0))
        with pytest.raises(UsageError, match="index outside"):
            run(library, table=table, place=np.int64(6))


def test_a_length_other_than_the_declared_one_is_an_error(tmp_path: Path) -> None:
    model, output = tmp_path / "model.onnx", tmp_path / "libmodel.so"
    onnx.save(parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {COUNTED}'), model)
    driver.compile(driver.CompileOptions(model=model, output=output, target="emulated", verify=False))
    x = np.ones(3, np.float32)
    with nautilus_cli.load(output) as library:
        np.testing.assert_array_equal(run(library, x=x, k=np.int64(5)), 6 * x)
        with pytest.raises(UsageError, match="index outside"):
            run(library, x=x, k=np.int64(4))
        np.testing.assert_array_equal(run(library, x=x, k=np.int64(5)), 6 * x)


def test_sequences_leave_tensors(tmp_path: Path) -> None:
    x = np.arange(12, dtype=np.float32).reshape(2, 6)
    with nautilus_cli.load(compiled(PIECES, tmp_path)) as library:
        expected = np.stack([np.concatenate([p, -p], 1) for p in np.split(x, 6, 1)]).reshape(6, 4)
        np.testing.assert_array_equal(run(library, x=x), expected)
