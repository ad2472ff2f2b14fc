"""compile, verify, inspect and tune through the command line, on the emulator."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import nautilus_cli
from tests.e2e import commands, networks
from tests.e2e.commands import Caller
from tests.e2e.networks import BATCH, CLASSES, HIDDEN, WIDTH, perceptron, resampled, saved
from tests.support.alive import children, comes, is_alive


@pytest.fixture
def library(model: Path, nautilus: Caller) -> Path:
    """The model's library, verified."""
    path = model.with_name("libmodel.so")
    nautilus("compile", model, "-o", path, "--target", "emulated").done()
    return path


def manifest_of(library: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(library.with_suffix(".json").read_text())
    return content


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def digests(library: Path) -> tuple[str, str]:
    """Return the SHA-256 of a library and of its manifest."""
    return hashlib.sha256(library.read_bytes()).hexdigest(), hashlib.sha256(library.with_suffix(".json").read_bytes()).hexdigest()


# --- what is written


def test_what_is_written(library: Path, tmp_path: Path) -> None:
    assert files(tmp_path) == {"model.onnx", "libmodel.so", "libmodel.json", "libmodel.verify.json"}
    assert os.access(library, os.X_OK)
    with nautilus_cli.load(library) as loaded:
        assert [(p.name, p.dtype.name, p.shape) for p in loaded.inputs] == [("x", "float32", (BATCH, WIDTH))]
        assert [(p.name, p.dtype.name, p.shape) for p in loaded.outputs] == [
            ("y", "float32", (BATCH, CLASSES)),
            ("hidden", "float32", (BATCH, HIDDEN)),
        ]
        np.testing.assert_allclose(loaded(x=np.ones((BATCH, WIDTH), np.float32))["y"].sum(axis=1), 1, rtol=1e-6)


def test_manifest(library: Path, model: Path) -> None:
    found = manifest_of(library)
    assert found["schema"] == 1
    assert found["target"] == "emulated"
    assert found["more_targets"] == []
    assert found["bindings"] == {}
    assert found["model_sha256"] == hashlib.sha256(model.read_bytes()).hexdigest()
    assert found["inputs"] == [{"name": "x", "dtype": "f32", "shape": [BATCH, WIDTH]}]
    assert found["outputs"] == [
        {"name": "y", "dtype": "f32", "shape": [BATCH, CLASSES]},
        {"name": "hidden", "dtype": "f32", "shape": [BATCH, HIDDEN]},
    ]

    first, second, softmax = found["kernels"]
    assert [kernel["family"] for kernel in found["kernels"]] == ["gemm_skinny", "gemm_skinny", "row"]
    assert (first["problem"]["m"], first["problem"]["n"], first["problem"]["k"]) == (BATCH, HIDDEN, WIDTH)
    assert first["schedule"]["tile_m"] >= 1
    assert set(first["weight_recipes"]) == {"dense", "gemm_nk"}
    assert second["weight_recipes"] == ["gemm_nk"]
    assert softmax["weight_recipes"] == []
    for kernel in found["kernels"]:
        assert kernel["symbol"].startswith(f"{kernel['family']}_")
        assert kernel["threads"] % 32 == 0 or kernel["threads"] < 32

    assert [launch["kernel"] for launch in found["launches"]] == [0, 1, 2]
    assert [launch["nodes"] for launch in found["launches"]] == [["first", "bias", "activation"], ["second"], ["softmax"]]
    for launch in found["launches"]:
        assert len(launch["grid"]) == 3
        assert all(extent >= 1 for extent in launch["grid"])
        assert launch["words"]

    assert found["arena_bytes"] == max(buffer["offset"] + buffer["bytes"] + -buffer["bytes"] % 256 for buffer in found["buffers"])
    assert found["code_bytes"] < library.stat().st_size
    assert {name for weight in found["weights"] for name in weight["tensors"]} == {"w1", "b1", "w2"}
    assert found["weight_bytes"] >= sum(weight["bytes"] for weight in found["weights"])
    assert {"nautilus", "onnx", "numpy", "jinja2"} <= found["tools"].keys()


def test_copies_are_launches(tmp_path: Path, nautilus: Caller) -> None:
    """A transposed input that leaves as it is: one kernel, which only moves data, and says so."""
    node = networks.helper.make_node("Transpose", ["x"], ["y"], "turn", perm=[1, 0])
    path = saved(networks.model([node], [networks.port("x", 3, 5)], [networks.port("y", 5, 3)]), tmp_path / "m.onnx")
    nautilus("compile", path, "-o", tmp_path / "libm.so", "--target", "emulated").done()
    (launch,) = manifest_of(tmp_path / "libm.so")["launches"]
    assert (launch["nodes"], launch["note"]) == (["turn"], "copy")


def test_verdict_is_a_file(library: Path) -> None:
    found = json.loads(library.with_suffix(".verify.json").read_text())
    assert found["match"] is True
    assert [(output["name"], output["match"], output["failures"]) for output in found["outputs"]] == [("y", True, 0), ("hidden", True, 0)]
    assert found["seed"] == 0
    assert found["reference"].startswith("onnxruntime ")


def test_no_verify(model: Path, nautilus: Caller, tmp_path: Path) -> None:
    said = nautilus("compile", model, "-o", tmp_path / "libmodel.so", "--target", "emulated", "--no-verify").done()
    assert "cosine" not in said.out
    assert files(tmp_path) == {"model.onnx", "libmodel.so", "libmodel.json"}


def only_nautilus_runs_it(path: Path) -> Path:
    """Write a model of an operator that onnxruntime has no float64 kernel for."""
    ports = [networks.port(name, 2, 3, dtype=TensorProto.DOUBLE) for name in ("x", "y")]
    return saved(networks.model([helper.make_node("Selu", ["x"], ["y"], "activation")], ports[:1], ports[1:]), path)


def test_what_onnxruntime_cannot_run_is_compiled_and_says_so(nautilus: Caller, tmp_path: Path) -> None:
    """The library is complete: that there is no reference is a note of compile, and an error only of verify."""
    model = only_nautilus_runs_it(tmp_path / "model.onnx")
    done = nautilus("compile", model, "-o", tmp_path / "libmodel.so", "--target", "emulated").done()
    assert "note: not verified; the library is complete" in done.err
    assert "onnxruntime cannot load it" in done.err and "Selu" in done.err
    assert files(tmp_path) == {"model.onnx", "libmodel.so", "libmodel.json"}
    assert "onnxruntime cannot load it" in nautilus("verify", model, tmp_path / "libmodel.so").refused(3)
    x = np.linspace(-1, 1, 6).reshape(2, 3)
    np.savez(tmp_path / "x.npz", x=x)
    np.savez(tmp_path / "y.npz", y=1.05070102214813232421875 * np.where(x > 0, x, 1.67326319217681884765625 * np.expm1(x)))
    nautilus("verify", model, tmp_path / "libmodel.so", "--inputs", tmp_path / "x.npz", "--golden", tmp_path / "y.npz").done()


def test_without_onnxruntime_a_model_is_compiled_and_says_so(
    model: Path, nautilus: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    monkeypatch.delitem(sys.modules, "nautilus_cli.verify.oracle", raising=False)
    done = nautilus("compile", model, "-o", tmp_path / "libmodel.so", "--target", "emulated").done()
    assert "not verified; the library is complete" in done.err and "onnxruntime cannot be imported" in done.err
    assert "onnxruntime cannot be imported" in nautilus("verify", model, tmp_path / "libmodel.so").refused(3)


def test_compiling_again_without_verifying_drops_the_old_verdict(library: Path, model: Path, nautilus: Caller) -> None:
    nautilus("compile", model, "-o", library, "--target", "emulated", "--no-verify").done()
    assert not library.with_suffix(".verify.json").exists()


def test_result_as_json(model: Path, nautilus: Caller, tmp_path: Path) -> None:
    found = json.loads(nautilus("compile", model, "-o", tmp_path / "libmodel.so", "--target", "emulated", "--json").done().out)
    (target,) = found["targets"]
    assert (target["target"], target["kernels"], target["launches"]) == ("emulated", 3, 3)
    assert found["library_bytes"] == (tmp_path / "libmodel.so").stat().st_size
    assert found["verification"]["match"] is True


def test_default_target_is_explained(model: Path, nautilus: Caller, tmp_path: Path) -> None:
    done = nautilus("compile", model, "-o", tmp_path / "libmodel.so", "--no-verify").done()
    target = manifest_of(tmp_path / "libmodel.so")["target"]
    assert f"target {target}" in done.err
    if target == "emulated":
        assert "runs on the CPU" in done.err
        assert "says nothing about a GPU" in done.err


def test_target_that_cannot_run_here_is_compiled_and_says_so(model: Path, nautilus: Caller, tmp_path: Path) -> None:
    done = nautilus("compile", model, "-o", tmp_path / "libmodel.so", "--target", "sm_120").done()
    assert manifest_of(tmp_path / "libmodel.so")["target"] == "sm_120"
    if "not verified" in done.err:
        assert "nautilus verify model.onnx libmodel.so" in done.err
        assert not (tmp_path / "libmodel.verify.json").exists()


def test_temporaries(model: Path, nautilus: Caller, tmp_path: Path) -> None:
    output, folder = tmp_path / "libmodel.so", tmp_path / "kept" / "here"
    nautilus("compile", model, "-o", output, "--target", "sm_90a", "--no-verify", "--save-temps", folder).done()
    symbols = [kernel["symbol"] for kernel in manifest_of(output)["kernels"]]
    assert {f"{symbol}.{suffix}" for symbol in symbols for suffix in ("cu", "cubin")} <= files(folder)
    for symbol in symbols:
        assert f"{symbol}(" in (folder / f"{symbol}.cu").read_text()
    assert "MatMul" in (folder / "graph.txt").read_text()


# --- the same input gives the same bytes


def test_same_bytes_from_anywhere(model: Path, library: Path, tmp_path: Path) -> None:
    """Another cache, which is empty, another folder, another file name, another hash seed, another number of jobs; and two at once."""
    expected = digests(library)
    started = []
    for number in (1, 2):
        folder = tmp_path / f"elsewhere {number}"
        folder.mkdir()
        shutil.copy(model, folder / f"copy{number}.onnx")
        environment = {
            "NAUTILUS_CACHE_DIR": str(tmp_path / "cold"),
            "PYTHONHASHSEED": str(number),
            "LC_ALL": "C",
            "TZ": f"Etc/GMT+{number}",
        }
        arguments = ("compile", f"copy{number}.onnx", "-o", f"lib{number}.so", "--target", "emulated", "--no-verify", "--jobs", str(number))
        started.append((folder / f"lib{number}.so", commands.start(*arguments, cwd=folder, **environment)))
    for path, process in started:
        commands.finished(process).done()
        assert digests(path) == expected
    halves = [path for path in (tmp_path / "cold").rglob("*") if path.is_file() and path.name.startswith(".")]
    assert not halves


def test_same_bytes_for_a_gpu(model: Path, nautilus: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiler of the GPU's code is as deterministic."""
    found = []
    for number in (1, 2):
        monkeypatch.setenv("NAUTILUS_CACHE_DIR", str(tmp_path / f"cold{number}"))
        path = tmp_path / f"lib{number}.so"
        nautilus("compile", model, "-o", path, "--target", "sm_90a", "--no-verify", "--jobs", str(number)).done()
        found.append(digests(path))
    assert found[0] == found[1]


def test_damaged_cache_is_built_anew(
    model: Path, library: Path, nautilus: Caller, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = digests(library)
    copy = tmp_path / "cache"
    shutil.copytree(cache / "image", copy / "image")
    for kind in ("object", "host"):
        (copy / kind).symlink_to(cache / kind)
    for path in (copy / "image").rglob("*"):
        if path.is_file():
            content = bytearray(path.read_bytes())
            content[len(content) // 2] ^= 1
            path.write_bytes(content)
    monkeypatch.setenv("NAUTILUS_CACHE_DIR", str(copy))
    nautilus("compile", model, "-o", library, "--target", "emulated").done()
    assert digests(library) == expected


# --- shapes and constants


@pytest.mark.parametrize("option", [f"x={BATCH}x{WIDTH}", f"x:{BATCH}x{WIDTH}"])
def test_shape(option: str, nautilus: Caller, tmp_path: Path) -> None:
    """In our spelling and in trtexec's; what comes out is as if the model had said so itself."""
    path = saved(perceptron(batch="batch"), tmp_path / "open.onnx")
    nautilus("compile", path, "-o", tmp_path / "libopen.so", "--target", "emulated", "--shape", option).done()
    found = manifest_of(tmp_path / "libopen.so")
    assert found["inputs"][0]["shape"] == [BATCH, WIDTH]
    assert [output["shape"] for output in found["outputs"]] == [[BATCH, CLASSES], [BATCH, HIDDEN]]


def test_verify_takes_shapes_from_the_library(nautilus: Caller, tmp_path: Path) -> None:
    path = saved(perceptron(batch="batch"), tmp_path / "open.onnx")
    library = tmp_path / "libopen.so"
    nautilus("compile", path, "-o", library, "--target", "emulated", "--shape", f"x={BATCH}x{WIDTH}", "--no-verify").done()
    assert "ok" in nautilus("verify", path, library).done().out


@pytest.mark.parametrize(("rate", "factor"), [("16000", 2.0), ("8000", 0.5)])
def test_bind(rate: str, factor: float, nautilus: Caller, tmp_path: Path) -> None:
    """The branch that the constant chooses is compiled; the library has one input less, and verify knows the constant."""
    path, library = saved(resampled(), tmp_path / "m.onnx"), tmp_path / "libm.so"
    nautilus("compile", path, "-o", library, "--target", "emulated", "--bind", f"sr={rate}").done()
    found = manifest_of(library)
    assert found["bindings"] == {"sr": rate}
    assert [port["name"] for port in found["inputs"]] == ["x"]
    nautilus("verify", path, library, "--seed", "7").done()
    with nautilus_cli.load(library) as loaded:
        np.testing.assert_array_equal(loaded(x=np.full((1, 16), 3, np.float32))["y"], np.full((1, 16), 3 * factor, np.float32))


# --- nothing half-written


@pytest.mark.parametrize("to", ["group", "process"])
def test_interruption_leaves_nothing(to: str, model: Path, tmp_path: Path) -> None:
    """Ctrl-C goes to the whole group, the compilers included; `kill -INT` to Nautilus alone."""
    output, temporary, cold = tmp_path / "out", tmp_path / "tmp", tmp_path / "cache"
    output.mkdir()
    temporary.mkdir()
    environment = {"NAUTILUS_CACHE_DIR": str(cold), "TMPDIR": str(temporary)}
    process = commands.start("compile", model, "-o", output / "libmodel.so", "--target", "emulated", cwd=tmp_path, **environment)
    compilers: dict[int, int] = {}

    def compiles() -> bool:
        compilers.update(children(process.pid) if any(temporary.glob("nautilus-*")) else {})
        return bool(compilers) or process.poll() is not None

    assert comes(compiles) and process.poll() is None, commands.finished(process).err
    done = commands.interrupted(process, is_group=to == "group")
    assert (done.code, done.out, done.err.strip()) == (130, "", "error: interrupted.")
    assert files(output) == set()
    assert files(temporary) <= {".ses"}, "all but onnxruntime's own"
    assert not [path for path in cold.rglob("*") if path.is_file() and path.name.startswith(".")]
    assert not [pid for pid, since in compilers.items() if is_alive(pid, since)]


def test_failure_leaves_the_library_that_was_there(library: Path, model: Path, nautilus: Caller, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    nautilus("compile", model, "-o", library, "--target", "emulated", "--shape", "x=3x3").refused(2)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_full_disk_leaves_what_was_there(library: Path, model: Path, tmp_path: Path) -> None:
    """A limit of the file size stands for the disk's end: it is met in the middle of the library."""
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    limit = library.stat().st_size // 2
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, unlimited[1]))
    try:
        process = commands.start("compile", model, "-o", library, "--target", "emulated", cwd=tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    said = commands.finished(process).refused(7)
    assert "libmodel" in said
    assert "File too large" in said
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


# --- tune


def test_compile_obeys_what_tune_recorded(
    nautilus: Caller, tmp_path: Path, cache: Path, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = networks.helper.make_node("MatMul", ["x", "w"], ["y"], "product")
    weight = np.random.default_rng(0).standard_normal((24, 20)).astype(np.float32)
    path = saved(networks.model([node], [networks.port("x", 12, 24)], [networks.port("y", 12, 20)], {"w": weight}), tmp_path / "m.onnx")
    own = tmp_path / "cache"
    own.mkdir()
    for kind in ("object", "image", "host"):  # compiled code is shared; records are not
        (own / kind).symlink_to(cache / kind)
    monkeypatch.setenv("NAUTILUS_CACHE_DIR", str(own))

    def compiled() -> dict[str, Any]:
        nautilus("compile", path, "-o", tmp_path / "libm.so", "--target", "emulated").done()
        (kernel,) = manifest_of(tmp_path / "libm.so")["kernels"]
        schedule: dict[str, Any] = kernel["schedule"]
        return schedule

    untuned = compiled()
    tuned = json.loads(nautilus("tune", path, "--trials", "3", "--target", "emulated", "--json").done().out)
    (problem,) = tuned["problems"]
    assert problem["family"] == "gemm"
    assert problem["trials"] == 3
    assert any("emulator's, not a GPU's" in note for note in tuned["notes"])

    records_file = own / "tuning" / "records.jsonl"
    records = [json.loads(line) for line in records_file.read_text().splitlines()]
    assert len(records) == 3
    right = [record for record in records if record["verdict"] == "ok"]
    assert records[0]["schedule"] == untuned, "the family's own choice is measured first"
    assert compiled() == min(right, key=lambda record: record["median_us"])["schedule"]

    slower = max(right, key=lambda record: record["median_us"])
    other = next(record for record in right if record["schedule"] != untuned)
    records_file.write_text(json.dumps({**slower, "schedule": other["schedule"], "median_us": 0.001}) + "\n")
    assert compiled() == other["schedule"]
    inspected = json.loads(nautilus("inspect", path, "--target", "emulated", "--json").done().out)
    assert f"tile_m={other['schedule']['tile_m']} " in inspected["kernels"][0]["schedule"]


# --- inspect


def test_inspect_a_model(model: Path, nautilus: Caller) -> None:
    said = nautilus("inspect", model, "--target", "emulated").done().out
    for line in (
        "opset 20, by tests",
        "MatMul(%x, %w1)",
        "first, bias, activation",
        "tile_m=",
        "templates/include/nautilus/kernels/",
        "logits",
    ):
        assert line in said
    found = json.loads(nautilus("inspect", model, "--target", "emulated", "--json").done().out)
    assert found["operators"] == {"MatMul": 2, "Add": 1, "Relu": 1, "Softmax": 1}
    assert found["unsupported"] == []
    assert [kernel["source"] for kernel in found["kernels"]] == [
        f"templates/include/nautilus/kernels/{n}.cuh" for n in ("gemm_skinny", "gemm_skinny", "row")
    ]
    assert all((commands.ROOT / kernel["source"]).is_file() for kernel in found["kernels"])
    assert [launch["nodes"] for launch in found["launches"]] == [["first", "bias", "activation"], ["second"], ["softmax"]]
    assert found["buffers"][0]["tensor"] == "logits"


def test_inspect_one_node(model: Path, nautilus: Caller) -> None:
    found = json.loads(nautilus("inspect", model, "--target", "emulated", "--explain", "bias", "--json").done().out)
    assert [launch["nodes"] for launch in found["launches"]] == [["first", "bias", "activation"]]
    assert "bias" in nautilus("inspect", model, "--target", "emulated", "--explain", "biass").refused(2)


def test_inspect_shows_what_is_unsupported(nautilus: Caller, tmp_path: Path) -> None:
    nodes = [
        networks.helper.make_node("Relu", ["x"], ["a"], "fine"),
        networks.helper.make_node("StringNormalizer", ["a"], ["y"], "odd"),
    ]
    path = saved(networks.model(nodes, [networks.port("x", 3)], [networks.port("y", 3)]), tmp_path / "m.onnx")
    assert "odd" in nautilus("inspect", path, "--target", "emulated").refused(3)


def test_inspect_a_library(library: Path, nautilus: Caller) -> None:
    said = nautilus("inspect", library).done().out
    for line in ("targets emulated", "x: f32[2, 8]", "first, bias, activation", "slices_k=", "gemm_skinny.cuh"):
        assert line in said
    found = json.loads(nautilus("inspect", library, "--json").done().out)
    assert manifest_of(library).items() <= found.items()
    assert found["targets"] == [{"name": "emulated", "emulated": True}]


def test_inspect_a_library_without_its_manifest(library: Path, nautilus: Caller) -> None:
    library.with_suffix(".json").unlink()
    assert "libmodel.json" in nautilus("inspect", library).refused(7)


# --- verify


def test_verify_given_inputs(library: Path, model: Path, nautilus: Caller, tmp_path: Path) -> None:
    x = np.random.default_rng(3).standard_normal((BATCH, WIDTH)).astype(np.float32)
    np.savez(tmp_path / "x.npz", x=x)
    nautilus("verify", model, library, "--inputs", tmp_path / "x.npz", "--save-outputs", tmp_path / "y.npz").done()
    with nautilus_cli.load(library) as loaded, np.load(tmp_path / "y.npz") as outputs:
        expected = loaded(x=x)
        assert set(outputs.files) == {"y", "hidden"}
        for name in outputs.files:
            np.testing.assert_array_equal(outputs[name], expected[name])
    found = json.loads(library.with_suffix(".verify.json").read_text())
    assert (found["seed"], found["inputs"][0]["values"]) == (None, "given")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({}, "lacks the input 'x'"),
        ({"x": np.zeros((BATCH, WIDTH))}, "float64"),
        ({"x": np.zeros((1, WIDTH), np.float32)}, f"[{BATCH}, {WIDTH}]"),
        ({"x": np.zeros((BATCH, WIDTH), np.float32), "z": np.zeros(1)}, "no input 'z'"),
    ],
)
def test_verify_inputs_that_do_not_fit(
    arrays: dict[str, Any], message: str, library: Path, model: Path, nautilus: Caller, tmp_path: Path
) -> None:
    np.savez(tmp_path / "x.npz", **arrays)
    assert message in nautilus("verify", model, library, "--inputs", tmp_path / "x.npz").refused(2)


def test_verify_inputs_that_are_none(library: Path, model: Path, nautilus: Caller, tmp_path: Path) -> None:
    (tmp_path / "x.npz").write_bytes(b"no archive")
    assert "x.npz" in nautilus("verify", model, library, "--inputs", tmp_path / "x.npz").refused(7)
    assert "none.npz" in nautilus("verify", model, library, "--inputs", tmp_path / "none.npz").refused(7)


def test_verify_range(library: Path, model: Path, nautilus: Caller, tmp_path: Path) -> None:
    """The bias and the inputs are all that the hidden layer is made of: with zeros for inputs only the bias is left."""
    nautilus("verify", model, library, "--range", "x=0..0", "--save-outputs", tmp_path / "y.npz").done()
    bias = next(numpy_helper.to_array(t) for t in perceptron().graph.initializer if t.name == "b1")
    with np.load(tmp_path / "y.npz") as outputs:
        np.testing.assert_array_equal(outputs["hidden"], np.broadcast_to(np.maximum(bias, 0), (BATCH, HIDDEN)))


def test_verify_is_seeded(library: Path, model: Path, nautilus: Caller, tmp_path: Path) -> None:
    kept = []
    for number, seed in enumerate((5, 5, 6)):
        kept.append(tmp_path / f"{number}.npz")
        nautilus("verify", model, library, "--seed", str(seed), "--save-outputs", kept[-1]).done()
    first, again, other = (path.read_bytes() for path in kept)
    assert first == again
    assert first != other


def damage(library: Path, weight: str, column: int | slice) -> None:
    """Turn the sign of the largest number in a column of a weight, where it lies in the library."""
    array = next(numpy_helper.to_array(t) for t in perceptron().graph.initializer if t.name == weight)[..., column]
    content = bytearray(library.read_bytes())
    place = content.find(array.tobytes())
    assert place > 0
    content[place + int(np.abs(array).argmax()) * array.itemsize + 3] ^= 0x80
    library.write_bytes(content)


def test_verify_notices_a_damaged_weight(library: Path, model: Path, nautilus: Caller) -> None:
    damage(library, "b1", slice(None))
    done = nautilus("verify", model, library)
    assert done.code == 6
    assert "FAILED" in done.out
    assert "2 of 2 outputs differ" in done.err


def test_verify_tolerance_of_one_output(library: Path, model: Path, nautilus: Caller) -> None:
    """A weight that only y depends on is damaged: y is wrong by more than rounding, and by less than one."""
    damage(library, "w2", 0)
    done = nautilus("verify", model, library, "--rtol", "hidden=1", "--atol", "hidden=0.5", "--rtol", "0", "--json")
    assert done.code == 6
    assert "1 of 2 outputs differ" in done.err
    outputs = {output["name"]: output for output in json.loads(done.out)["outputs"]}
    assert (outputs["hidden"]["match"], outputs["hidden"]["rtol"], outputs["hidden"]["atol"]) == (True, 1, 0.5)
    assert (outputs["y"]["match"], outputs["y"]["rtol"]) == (False, 0)
    assert outputs["y"]["atol"] > 0
    assert json.loads(library.with_suffix(".verify.json").read_text())["match"] is False
    nautilus("verify", model, library, "--atol", "y=1").done()
    assert json.loads(library.with_suffix(".verify.json").read_text())["match"] is True
    assert "'z'" in nautilus("verify", model, library, "--rtol", "z=0").refused(2)


def test_verify_another_model(library: Path, nautilus: Caller, tmp_path: Path) -> None:
    other = saved(perceptron(seed=1), tmp_path / "other.onnx")
    assert "another model" in nautilus("verify", other, library).refused(7)


def test_verify_a_library_with_another_manifest(library: Path, model: Path, nautilus: Caller) -> None:
    path = library.with_suffix(".json")
    path.write_text(path.read_text().replace('"schema": 1', '"schema":  1'))
    assert "not that of the library" in nautilus("verify", model, library).refused(7)


@pytest.mark.parametrize("kept", [0, 1000, 0.5, 0.99])
def test_verify_a_library_cut_off(kept: float, library: Path, model: Path, nautilus: Caller) -> None:
    content = library.read_bytes()
    library.write_bytes(content[: int(kept * len(content)) if kept < 1 else int(kept)])
    assert "libmodel.so" in nautilus("verify", model, library).refused(7)


def test_verify_something_else(model: Path, nautilus: Caller, tmp_path: Path) -> None:
    assert "model.onnx" in nautilus("verify", model, model).refused(7)
    assert "none.so" in nautilus("verify", model, tmp_path / "none.so").refused(7)
