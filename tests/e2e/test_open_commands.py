"""What the command line shows, checks and compares of models with open dimensions."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

from nautilus_cli.driver import verification
from nautilus_cli.errors import DeviceError
from nautilus_cli.frontend.load import load
from nautilus_cli.ir.dims import Symbol
from nautilus_cli.ir.dims_text import parse_size
from nautilus_cli.ir.ranges import DimRange
from nautilus_cli.ir.substitution import substitute
from nautilus_cli.ir.text import constants_by_key, print_graph
from nautilus_cli.ir.text_reader import parse_graph
from nautilus_cli.lowering.planner import plan_each
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.verifier import verify_graph
from nautilus_cli.passes import pipeline
from nautilus_cli.targets.registry import target
from nautilus_cli.toolchain.cache import Cache
from nautilus_cli.tuning.records import recorded_choice
from tests.e2e.commands import Caller
from tests.e2e.decoders import DIMS, decoder
from tests.e2e.networks import perceptron, saved

RANGE = ("--dim", "batch=1..40@16")
EMULATED = ("--target", "emulated")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return saved(perceptron(batch="batch"), tmp_path / "model.onnx")


def test_a_plan_is_shown_without_being_built(nautilus: Caller, model: Path) -> None:
    shown = nautilus("compile", model, "--dry-run", *EMULATED, *RANGE).done().out
    assert "batch: 1..40" in shown and "x: f32[batch, 8]" in shown
    data = json.loads(nautilus("compile", model, "--dry-run", *EMULATED, *RANGE, "--json").done().out)
    assert [port["shape"] for port in data["outputs"]] == [["batch", 4], ["batch", 16]]
    assert [buffer["bytes"] for buffer in data["buffers"]] == ["16*batch"]
    assert data["arena_bytes"] == -(-16 * 40 // 256) * 256, "the most that any size needs"
    assert "the model needs" in nautilus("compile", model, "--dry-run", *EMULATED, *RANGE, "--max-memory", "1kB").refused(2)
    assert not model.with_name("libmodel.so").exists()


def test_a_cache_in_place_is_shown(nautilus: Caller, tmp_path: Path) -> None:
    path = tmp_path / "decoder.onnx"
    onnx.save(decoder(), path)
    ranges = ("--dim", "batch=1..2", "--dim", "sequence=1..6", "--dim", "past=0..20")
    shown = nautilus("compile", path, "--dry-run", *EMULATED, *ranges, "--inplace-cache").done().out
    assert "past.1.key in the memory of present.1.key, with room for 26 along dimension 2" in shown
    data = json.loads(nautilus("compile", path, "--dry-run", *EMULATED, *ranges, "--inplace-cache", "--json").done().out)
    assert data["inputs"][1]["shared"] == {"port": 1, "axis": 2, "capacity": 26}
    plain = json.loads(nautilus("compile", path, "--dry-run", *EMULATED, *ranges, "--json").done().out)
    assert len(data["launches"]) < len(plain["launches"]) and "shared" not in plain["inputs"][1]
    assert data["memory_bytes"] < plain["memory_bytes"]


def test_a_model_is_looked_into(nautilus: Caller, model: Path) -> None:
    shown = nautilus("inspect", model, *EMULATED, *RANGE).done().out
    assert "input 'x' = %x : f32[batch, 8]" in shown and "m=batch" in shown
    data = json.loads(nautilus("inspect", model, *EMULATED, *RANGE, "--json").done().out)
    assert "m=batch" in data["kernels"][0]["problem"]
    assert "launch 0: gemm" in nautilus("inspect", model, *EMULATED, *RANGE, "--explain", "first").done().out
    assert "leaves open" in nautilus("inspect", model, *EMULATED).refused(3)


@pytest.mark.parametrize("has_mask", [False, True])
def test_the_text_of_a_model_parses_back(has_mask: bool, tmp_path: Path) -> None:
    """Of a decoder, before and after the passes, with its caches in place: shapes that nodes compute, and attributes that are sizes."""
    path = saved(decoder(has_mask=has_mask), tmp_path / "decoder.onnx")
    graph = load(path, dims={**DIMS, "total": DimRange(1, 26)} if has_mask else DIMS).graph
    attributes = {name: operator.attributes for name, operator in operators().items()}
    for each in (graph, pipeline.simplify(graph, inplace_cache=True)):
        text = print_graph(each)
        parsed = parse_graph(text, attributes, constants_by_key(each))
        assert print_graph(parsed) == text
        verify_graph(parsed)
    assert "{axis=2, position=size('past')}" in text and "dim 'past' = 0..20" in text


def test_a_model_is_checked(nautilus: Caller, model: Path) -> None:
    for more in ((), ("--fp32-mode", "3xtf32")):
        assert "launches" in nautilus("check", model, "--target", "sm_90a,emulated", *RANGE, *more).done().out
    assert "leaves open" in nautilus("check", model, *EMULATED).out


def compiled(nautilus: Caller, model: Path, *more: str) -> Path:
    library = model.with_name("libmodel.so")
    nautilus("compile", model, "-o", library, *EMULATED, *more, "--no-verify").done()
    return library


def test_a_library_is_compared_at_sizes_of_the_users(nautilus: Caller, model: Path) -> None:
    library = compiled(nautilus, model, *RANGE)
    saved_inputs = model.with_name("x.npz")
    for given in (("--dim", "batch=7"), ("--shape", "x=7x8"), ("--shape", "x=7x8", "--dim", "batch=7")):
        assert "compared at the sizes given" in nautilus("verify", model, library, *given, "--save-inputs", saved_inputs).done().err
        with np.load(saved_inputs) as arrays:
            assert arrays["x"].shape == (7, 8)
    assert "the library was compiled for 1 to 40" in nautilus("verify", model, library, "--dim", "batch=41").refused(2)
    assert "no dimension of this name" in nautilus("verify", model, library, "--dim", "bach=4").refused(2)
    assert "dimension batch is 4 by --dim 'batch', and 5 here" in nautilus(
        "verify", model, library, "--dim", "batch=4", "--shape", "x=5x8"
    ).refused(2)
    assert "with these sizes the library takes 5x8" in nautilus("verify", model, library, "--shape", "x=5x9").refused(2)
    assert "the arrays of --inputs say" in nautilus("verify", model, library, "--inputs", saved_inputs, "--dim", "batch=7").refused(2)


def test_golden_outputs_and_folders_of_cases(nautilus: Caller, model: Path, tmp_path: Path) -> None:
    library = compiled(nautilus, model, *RANGE)
    cases = tmp_path / "cases"
    cases.mkdir()
    for size in (1, 7, 40):
        golden, inputs = tmp_path / "y.npz", tmp_path / "x.npz"
        given = ("--dim", f"batch={size}")
        nautilus("verify", model, library, *given, "--save-inputs", inputs, "--save-outputs", golden).done()
        nautilus("verify", model, library, *given, "--golden", golden).done()
        with np.load(inputs) as x, np.load(golden) as y:
            np.savez(cases / f"{size}.npz", **(x if size == 7 else {**x, **y}))
            wrong = {**y, "y": y["y"] + 1}
        np.savez(golden, **wrong)
        assert nautilus("verify", model, library, *given, "--golden", golden).code == 6
    data = json.loads(nautilus("verify", model, library, "--dataset", cases, "--json").done().out)
    assert [case["case"] if "case" in case else case["name"] for case in data["cases"]] == ["1.npz", "7.npz", "40.npz"]
    assert "leaves dimensions open (batch)" in nautilus("verify", model, library, "--golden", golden).refused(2)
    np.savez(cases / "2.npz", x=np.zeros((41, 8), np.float32))
    assert "the library was compiled for 1 to 40" in nautilus("verify", model, library, "--dataset", cases).refused(2)


@pytest.mark.parametrize("sizes", ["batch=1..40", "batch=1..40@5,11"])
def test_each_group_is_compared_with_the_kernel_that_the_sizes_choose(nautilus: Caller, model: Path, sizes: str) -> None:
    library = compiled(nautilus, model, "--dim", sizes)
    manifest = json.loads(library.with_suffix(".json").read_text())
    batch = Symbol("batch", 1, 40)

    def chosen(launch: dict[str, Any], size: int) -> int:
        """Return the number of the kernel that a launch has for a batch."""
        for one in launch.get("alternatives", ()):
            if substitute(parse_size(one["condition"].removesuffix(" <= 0"), {"batch": batch}), {"batch": size}) <= 0:
                return int(one["kernel"])
        return int(launch["kernel"])

    compared = []
    for size in (1, 7, 40):
        done = nautilus("verify", model, library, "--per-node", "--dim", f"batch={size}", "--json").done()
        assert "has other kernels" not in done.err
        data = json.loads(done.out)
        assert len(data["groups"]) >= 3 and data["fault"] is None
        compared.append({group["kernel"] for group in data["groups"]})
        assert compared[-1] == {manifest["kernels"][chosen(launch, size)]["symbol"] for launch in manifest["launches"]}
        assert any(tensor["name"] == "hidden" and tensor["match"] for group in data["groups"] for tensor in group["tensors"])
    assert compared[0] != compared[-1], "one row takes another kernel than forty do"


def test_a_mask_as_long_as_past_and_tokens_is_sampled_too(nautilus: Caller, tmp_path: Path) -> None:
    path = saved(decoder(has_mask=True), tmp_path / "masked.onnx")
    ranges = ("--dim", "batch=1..2", "--dim", "sequence=1..6", "--dim", "past=0..20", "--dim", "total=1..26")
    library = compiled(nautilus, path, *ranges, "--inplace-cache")
    assert json.loads(library.with_suffix(".json").read_text())["inputs"][1]["shape"] == ["batch", "past + sequence"]
    given = ("--dim", "batch=2", "--shape", "past.0.key=2x3x5x8", "--dim", "sequence=3")
    done = nautilus("verify", path, library, *given, "--range", "position_ids=0..40", "--range", "attention_mask=1..1").done()
    assert "compared at the sizes given" in done.err


def test_what_is_tuned_at_a_point_is_compiled(nautilus: Caller, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NAUTILUS_CACHE_DIR", str(tmp_path / "cache"))  # records of its own
    data = json.loads(nautilus("tune", model, *EMULATED, *RANGE, "--trials", "3", "--json").done().out)
    sizes = {int(re.search(r" m=(\d+) ", problem["problem"])[1]) for problem in data["problems"]}  # type: ignore[index]
    assert sizes & {13, 16} and sizes <= {13, 16, 37, 40}, "the point, the prime below it, or those of the range"
    choice = recorded_choice(Cache.default(), target("emulated"))
    fused = pipeline.run(load(model, dims={"batch": DimRange(1, 40)}).graph)
    plan_each(fused, ((target("emulated"), choice),), points={"batch": (16,)}, fp32_mode="ffma")
    assert choice.hits, "compile with the same point finds what was recorded"
    said = nautilus("tune", model, *EMULATED, "--dim", "batch=1..40", "--trials", "1").done().err
    assert "tuned for the largest sizes; --dim NAME=1..512@128,256 says which sizes matter." in said


def test_sizes_that_the_model_itself_does_not_take(nautilus: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are told, with what the model says of them, and no verdict of the others passes for one of all."""
    text = """<ir_version: 8, opset_import: ["" : 18]> g (float[n] x) => (float[n] y) <float[8] table = {0, 1, 2, 3, 4, 5, 6, 7}> {
        zero = Constant <value_int = 0> () one = Constant <value_int = 1> () size = Shape(x) axis = Constant <value_ints = [0]> ()
        n = Squeeze(size, axis) places = Range(zero, n, one) offsets = Gather(table, places) y = Add(x, offsets) }"""
    path, library = saved(onnx.parser.parse_model(text), tmp_path / "model.onnx"), tmp_path / "libmodel.so"
    verdict = tmp_path / "libmodel.verify.json"
    said = nautilus("compile", path, "-o", library, *EMULATED, "--dim", "n=1..9").refused(3)
    assert "the model does not take the largest sizes of the library, 'n' = 9: " in said and "index 8 is outside a dimension of 8" in said
    assert library.exists() and not verdict.exists()
    assert "the model does not take the largest sizes of the library: " in nautilus("verify", path, library).refused(3)
    nautilus("compile", path, "-o", library, *EMULATED, "--dim", "n=1..8").done()
    nautilus("verify", path, library, "--dim", "n=9").refused(2)
    assert json.loads(verdict.read_text())["match"]
    runs = iter((verification.verify_loaded, lambda *_: (_ for _ in ()).throw(DeviceError("the device is gone"))))
    monkeypatch.setattr(verification, "verify_loaded", lambda *arguments: next(runs)(*arguments))
    assert "the device is gone" in nautilus("verify", path, library).refused(5)
    assert not verdict.exists()
