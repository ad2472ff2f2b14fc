"""Bounds of numbers that only the run knows, as the user gives them: `--dim found.count=0..100`, and what is taken without."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest

import nautilus_cli
from nautilus_cli import driver
from nautilus_cli.errors import NotServedError, UsageError
from nautilus_cli.ir.ranges import DimRange
from nautilus_cli.runtime.library import Library
from tests.e2e.commands import Caller
from tests.e2e.test_counts import Feed, Network, hold, masks
from tests.e2e.test_run_time_control_flow import COLLATZ, COUNTED, DRAINED, Compiled, drawn

TARGET = "emulated"

ELEMENTS, MOST = 200, 20


def compiled(network: Network, folder: Path, dims: Mapping[str, DimRange]) -> tuple[Path, driver.CompileResult]:
    path, output = folder / "model.onnx", folder / "model.so"
    onnx.save(network.model(), path)
    return output, driver.compile(driver.CompileOptions(model=path, output=output, target=TARGET, dims=dims, verify=False, jobs=1))


def kept(s: Network) -> tuple[str, Callable[[int], Feed]]:
    """Which elements are not zero."""
    found = s.node("NonZero", s.input("x", np.float32, ELEMENTS))
    return found, lambda count: {"x": (np.arange(ELEMENTS) * 7 % ELEMENTS < count).astype(np.float32)}


def compressed(s: Network) -> tuple[str, Callable[[int], Feed]]:
    found = s.node("Compress", s.input("x", np.float32, ELEMENTS, 2), s.input("keep", bool, ELEMENTS), axis=0)
    return found, lambda count: {"x": drawn(ELEMENTS, 2), "keep": np.arange(ELEMENTS) >= ELEMENTS - count}


def unique(s: Network) -> tuple[str, Callable[[int], Feed]]:
    found, *_ = s.nodes_of("Unique", s.input("x", np.int64, ELEMENTS), outputs=4)
    return found, lambda count: {"x": np.arange(ELEMENTS)[::-1].copy() % max(count, 1)}


def suppressed(s: Network) -> tuple[str, Callable[[int], Feed]]:
    """Boxes beside each other, of which as many as wanted are above the least score."""
    boxes, scores = s.input("boxes", np.float32, 1, ELEMENTS, 4), s.input("scores", np.float32, 1, 1, ELEMENTS)
    limits = (s.constant([ELEMENTS]), s.constant([0.5], np.float32), s.constant([0.5], np.float32))
    found = s.node("NonMaxSuppression", boxes, scores, *limits)
    left = np.arange(ELEMENTS, dtype=np.float32)[:, None]
    places = np.concatenate([left, left, left + 0.9, left + 0.9], 1)[None]

    def feed(count: int) -> Feed:
        return {"boxes": places, "scores": np.linspace(1, 0.6, ELEMENTS, dtype=np.float32)[None, None] * (np.arange(ELEMENTS) < count)}

    return found, feed


@pytest.mark.parametrize("make", [kept, compressed, unique, suppressed])
def test_a_lesser_bound(make: Callable[[Network], tuple[str, Callable[[int], Feed]]], tmp_path: Path) -> None:
    """Right up to the bound, of which memory is planned; one more is an error that names the number, and the library goes on."""
    s = Network()
    found, feed = make(s)
    name = f"{found}.count"
    hold(s.model(), [feed(count) for count in (1, 7, MOST)], tmp_path, {name: DimRange(0, MOST)})
    with nautilus_cli.load(tmp_path / "model.so") as library:
        assert [one for one in library.manifest["limits"] if one["name"] == name and one["most"] == MOST]
        shapes = [tensor.shape for tensor in library.inputs]
        assert MOST in library.model.outputs_for(shapes)[0].shape
        refused(library, feed(MOST + 1), name, MOST + 1)
        refused(library, feed(ELEMENTS), name, ELEMENTS)
        assert MOST in library(feed(MOST))[found].shape


def refused(library: Library, feed: Feed, name: str, value: int) -> None:
    with pytest.raises(NotServedError, match=f"'{name.replace('[', '.')}' is {value}; the library was compiled for at most {MOST}"):
        library(feed)


def test_a_bound_above_what_there_can_be_changes_nothing(tmp_path: Path) -> None:
    s = Network()
    found, feed = kept(s)
    hold(s.model(), [feed(count) for count in (0, 100)], tmp_path, {f"{found}.count": DimRange(0, 5000)})
    assert json.loads((tmp_path / "model.json").read_text())["limits"] == []


def test_a_bound_within_an_iteration(tmp_path: Path) -> None:
    """A number that each iteration gives: the first iteration in which it is too great ends the run."""
    text = """g (float[40] x, int64 k) => (float[40] y, float total) {
    zero = Constant <value_float = 0.0> () least = Constant <value_float = 0.3> () axis = Constant <value_ints = [0]> ()
    y, total = Loop (k, , x, zero) <body = b (int64 i, bool c, float[40] a, float s) => (bool c2, float[40] b, float s2) {
        c2 = Identity(c) m = Greater(a, least) found = NonZero(m) places = Squeeze(found, axis) v = Gather(a, places)
        squares = Mul(v, v) t = ReduceSum <keepdims = 0> (squares, axis) s2 = Add(s, t) b = Sin(a) }> }"""
    model = Compiled(text, tmp_path, **{"found.count": DimRange(0, 10)})
    few, many = (np.where(np.arange(40) < count, 2, -2).astype(np.float32) for count in (10, 11))
    model.hold(*({"x": few, "k": np.int64(k)} for k in (0, 1, 5)))
    with nautilus_cli.load(model.library) as library:
        with pytest.raises(NotServedError, match=r"'found.count' is 11; the library was compiled for at most 10"):
            library({"x": many, "k": np.int64(3)})
        assert library({"x": many, "k": np.int64(0)})["total"] == 0


def test_numbers_that_decide_shapes(tmp_path: Path) -> None:
    """How many rows a TopK, a Range and a Slice give, computed by the model: the tensor's name and the element's number."""
    s = Network()
    mask, x = s.input("mask", np.int64, 300), s.input("x", np.float32, 300)
    number = s.node("ReduceSum", mask, s.constant([0]))
    s.nodes_of("TopK", x, number, outputs=2)
    name = f"{number}[0]"
    feeds = [{"mask": (np.arange(300) < count).astype(np.int64), "x": drawn(300)} for count in (1, 5, MOST)]
    hold(s.model(), feeds, tmp_path, {name: DimRange(0, MOST)})
    with nautilus_cli.load(tmp_path / "model.so") as library:
        assert library.model.outputs_for([tensor.shape for tensor in library.inputs])[0].shape == (MOST,)
        refused(library, {"mask": np.ones(300, np.int64), "x": drawn(300)}, name, 300)


def single(number: int) -> np.ndarray:
    """Many numbers whose sum is one of them."""
    return np.array([number] + [0] * 99)


def test_what_is_taken_without_a_bound_is_told(tmp_path: Path) -> None:
    s = Network()
    number = s.node("ReduceSum", s.input("mask", np.int64, 100), s.constant([0]))
    s.node("Expand", s.constant([0.5], np.float32), number)
    output, result = compiled(s, tmp_path, {})
    (note,) = result.notes
    assert "is a size without a bound, which the model computes: up to 4096 is taken; --dim " in note
    name = note.split()[0]
    with nautilus_cli.load(output) as library:
        assert library({"mask": single(4096)})["n1_0"].shape == (4096,)
        for given, told in ((4097, "4097"), (2**40, "at least 2147483647")):
            with pytest.raises(NotServedError, match=f"is {told}; the library was compiled for at most 4096"):
                library({"mask": single(given)})
    output, result = compiled(s, tmp_path, {name: DimRange(0, 9000)})
    assert result.notes == ()
    with nautilus_cli.load(output) as library:
        assert library({"mask": single(9000)})["n1_0"].shape == (9000,)


def test_a_loop_whose_end_only_the_run_knows(tmp_path: Path) -> None:
    """Its scan outputs have a default bound, of which a note tells, and with the user's they have that."""
    text = DRAINED.replace("most = Constant <value_int = 100> ()", "").replace("Loop (most,", "Loop (,")
    assert any("up to 512 iterations are taken; --dim z.count=0..N" in note for note in Compiled(text, tmp_path).result.notes)
    model = Compiled(text, tmp_path, **{"z.count": DimRange(0, 900)})
    assert not model.result.notes
    x = np.ones(3, np.float32)
    model.hold({"x": x, "bound": np.float32(1200)})
    with nautilus_cli.load(model.library) as library, pytest.raises(UsageError, match="goes on after 900 iterations"):
        library({"x": x, "bound": np.float32(1e9)})
    lesser = Compiled(DRAINED, tmp_path, **{"z.count": DimRange(0, 30)})
    lesser.hold({"x": x, "bound": np.float32(60)})
    assert lesser.manifest["counts"] == [{"name": "z.count", "most": 30}]


def test_a_trip_count_may_be_any_number_below_nought(tmp_path: Path) -> None:
    """Scan outputs depend on it: it has a bound by default, but no least value."""
    model = Compiled(COUNTED, tmp_path)
    model.hold(*({"x": drawn(3), "k": np.int64(k)} for k in (-(2**31), -5000, -1, 0, 4)))
    with nautilus_cli.load(model.library) as library, pytest.raises(UsageError, match="input 'k' holds 4097 in element 0"):
        library({"x": drawn(3), "k": np.int64(4097)})


@pytest.mark.parametrize(
    ("dims", "told"),
    [
        ({"found.count": DimRange(0, 3)}, "--dim 'found.count': no input has a dimension of this name, and no kernel gives a number"),
        ({"steps": DimRange(1, 3)}, "a number that a kernel gives is any from 0 on, not 1..3"),
        ({"steps": DimRange(0, 4, 2)}, "a number that a kernel gives is any from 0 on, not 0..4"),
    ],
)
def test_a_bound_of_nothing_is_refused(dims: Mapping[str, DimRange], told: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=told):
        Compiled(COLLATZ, tmp_path, **dims)


def test_from_the_command_line(nautilus: Caller, tmp_path: Path) -> None:
    """Inputs that are drawn for the comparison may have more than the bound; that is said, and is no reason to refuse the library."""
    s = Network()
    found, feed = kept(s)
    path, output = tmp_path / "model.onnx", tmp_path / "libmodel.so"
    onnx.save(s.model(), path)
    done = nautilus("compile", path, "-o", output, "--target", TARGET, "--dim", f"{found}.count=0..{MOST}").done()
    assert "not verified; the library is complete" in done.err and f"the library was compiled for at most {MOST}" in done.err
    assert f"{found}.count" in nautilus("inspect", output).done().out
    np.savez(tmp_path / "x.npz", **feed(7))
    nautilus("verify", path, output, "--inputs", tmp_path / "x.npz").done()
    refused = nautilus("compile", path, "-o", output, "--target", TARGET, "--dim", "found.cont=0..3").refused(2)
    assert "'found.cont': no input has a dimension of this name, and no kernel gives a number that is called so" in refused


def test_masks_of_one_tensor_have_one_bound(tmp_path: Path) -> None:
    s = Network()
    mask, x = s.input("mask", bool, 40), s.input("x", np.float32, 40)
    rows, others = s.node("Compress", x, mask, axis=0), s.node("Compress", s.node("Neg", x), mask, axis=0)
    s.node("Add", rows, others)
    feeds = [{"mask": m, "x": drawn(40)} for m in masks(40) if m.sum() <= 30]
    hold(s.model(), feeds, tmp_path, {f"{rows}.count": DimRange(0, 30)})
