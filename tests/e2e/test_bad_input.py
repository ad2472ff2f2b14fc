"""What cannot be compiled: one paragraph that names the place, the documented exit code, and no file left."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper

from nautilus_cli.toolchain import host_compiler
from tests.e2e import commands, networks
from tests.e2e.commands import Caller, Outcome
from tests.e2e.networks import BATCH, WIDTH, perceptron, port, saved

USAGE, MODEL, TOOLCHAIN, FILES = 2, 3, 4, 7
"""Exit codes."""


class Workplace:
    """A folder with a model; whatever is refused must leave it as it was."""

    def __init__(self, folder: Path, nautilus: Caller) -> None:
        self.folder = folder
        self.model = folder / "model.onnx"
        self.library = folder / "libmodel.so"
        self._nautilus = nautilus

    def files(self) -> dict[str, bytes | None]:
        return {str(path.relative_to(self.folder)): path.read_bytes() if path.is_file() else None for path in self.folder.rglob("*")}

    def compile(self, *options: str, target: str = "emulated") -> Outcome:
        return self._nautilus("compile", self.model, "-o", self.library, "--target", target, *options)

    def refused(self, code: int, *options: str, target: str = "emulated") -> str:
        """Compile in vain; return what was said."""
        before = self.files()
        said = self.compile(*options, target=target).refused(code)
        assert self.files() == before
        return said


@pytest.fixture
def place(tmp_path: Path, nautilus: Caller) -> Workplace:
    return Workplace(tmp_path, nautilus)


def node(op: str, inputs: list[str], outputs: list[str], name: str = "the_node", **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(op, inputs, outputs, name, **attributes)


def one(op: str, weights: dict[str, np.ndarray] | None = None, **attributes: Any) -> ModelProto:
    """A network of one node, which reads x [2, 8] and the weights."""
    return networks.model(
        [node(op, ["x", *(weights or {})], ["y"], **attributes)], [port("x", BATCH, WIDTH)], [port("y", BATCH, WIDTH)], weights
    )


# --- files that are no models


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"import torch\nprint('not a model')\n" * 9, "a text file"),
        (b"PK\x03\x04" + bytes(200), "a zip archive"),
        (bytes(200), "not an ONNX model"),
        (np.random.default_rng(0).bytes(256), "model.onnx"),
    ],
    ids=["empty", "text", "zip", "zeros", "noise"],
)
def test_not_a_model(content: bytes, message: str, place: Workplace) -> None:
    place.model.write_bytes(content)
    assert message in place.refused(MODEL)


@pytest.mark.parametrize("kept", [0.1, 0.5, 0.9, 0.999])
def test_truncated(kept: float, place: Workplace) -> None:
    content = perceptron().SerializeToString()
    place.model.write_bytes(content[: int(len(content) * kept)])
    assert "is cut off" in place.refused(MODEL)


def test_missing(place: Workplace) -> None:
    assert "model.onnx': there is no such file" in place.refused(FILES)


def test_folder(place: Workplace) -> None:
    place.model.mkdir()
    assert "model.onnx': is a directory" in place.refused(FILES)


# --- models that are wrong


def test_cycle(place: Workplace) -> None:
    nodes = [node("Add", ["x", "b"], ["a"], "one"), node("Relu", ["a"], ["b"], "two")]
    saved(networks.model(nodes, [port("x", 3)], [port("a", 3)]), place.model)
    said = place.refused(MODEL)
    assert "cycle" in said
    assert "'one'" in said and "'two'" in said


def repeated() -> ModelProto:
    """A loop whose trip count only the run knows, and whose state grows: y = x twice as long that often."""
    steps = [node("Identity", ["c"], ["on"]), node("Concat", ["a", "a"], ["b"], "twice", axis=0)]
    flags = [port(name, dtype=TensorProto.BOOL) for name in ("c", "on")]
    inputs = [port("i", dtype=TensorProto.INT64), flags[0], port("a", "p")]
    body = helper.make_graph(steps, "body", inputs, [flags[1], port("b", "q")])
    nodes = [node("Loop", ["n", "", "x"], ["y"], "loop", body=body)]
    return networks.model(nodes, [port("x", 3), port("n", dtype=TensorProto.INT64)], [port("y", "r")])


@pytest.mark.parametrize(
    ("proto", "message"),
    [
        (one("Frobnicate"), "'the_node' (Frobnicate): 'Frobnicate' is not an operator of ONNX"),
        (one("Rellu"), "Relu"),
        (one("Relu", domain="com.microsoft"), "com.microsoft"),
        (networks.model([node("Relu", ["x"], ["y"])], [port("x", 3)], [port("y", 3)], opset=99), "99"),
        (one("Add", {"w": np.ones((BATCH, WIDTH), np.int64)}), "'the_node' (Add): operand 'B' has type i64"),
        (one("Add", {"w": np.ones(5, np.float32)}), "'the_node' (Add): shapes [2, 8], [5] do not broadcast"),
        (one("MatMul", {"w": np.ones((7, 8), np.float32)}), "the inner dimensions 8 and 7 differ"),
        (one("Reshape", {"shape": np.array([3, 5])}), "16 elements cannot become 15"),
        (one("Gather", {"indices": np.array([2])}, axis=0), "index 2 is outside a dimension of 2"),
        (one("Softmax", axis=5), "axis is 5"),
        (one("Relu", alpha=0.5), "attribute 'alpha'"),
        (networks.model([node("Relu", ["z"], ["y"])], [port("x", 3)], [port("y", 3)]), "reads 'z'"),
        (networks.model([node("Relu", ["x"], ["z"])], [port("x", 3)], [port("y", 3)]), "output 'y': nothing computes it"),
        (networks.model([node("Relu", ["x"], ["y"])], [port("x", 3)], [port("y", 3, dtype=TensorProto.INT64)]), "declared as i64"),
        (networks.model([node("Relu", ["x"], ["y"])], [port("x", 3, dtype=TensorProto.STRING)], [port("y", 3)]), "a tensor of strings"),
        (networks.model([], [port("x", 3)], []), "no outputs"),
        (repeated(), "--bind NAME=VALUE"),
    ],
    ids=lambda value: None if isinstance(value, str) else value.graph.node[0].op_type if value.graph.node else "empty",
)
def test_invalid_model(proto: ModelProto, message: str, place: Workplace) -> None:
    saved(proto, place.model)
    assert message in place.refused(MODEL)


@pytest.mark.parametrize(
    "proto",
    [
        one("Expand", {"shape": np.array([10**6, 10**6, 1, 1])}),
        one("Tile", {"repeats": np.array([10**6, 10**6])}),
        one("Pad", {"pads": np.array([0, 0, 10**12, 0])}),
        networks.model([node("Relu", ["x"], ["y"])], [port("x", 10**6, 10**6)], [port("y", 10**6, 10**6)]),
        networks.model(
            [node("ConstantOfShape", ["s"], ["c"]), node("Add", ["x", "c"], ["y"], "add")],
            [port("x", 1)],
            [port("y", 10**12)],
            {"s": np.array([10**12])},
        ),
    ],
    ids=["expand", "tile", "pad", "input", "constant"],
)
def test_enormous_tensor_is_refused_before_it_exists(proto: ModelProto, place: Workplace) -> None:
    saved(proto, place.model)
    said = place.refused(MODEL)
    assert "'the_node'" in said or "input 'x'" in said
    assert "The limit is" in said


def test_problem_beyond_what_a_launch_can_be(place: Workplace) -> None:
    """69 GB of result: it may exist, but not even its rows can be counted in 31 bits."""
    convolution = node("Conv", ["x", "w"], ["y"], pads=[2**31, 1, 2**31, 1])
    proto = networks.model([convolution], [port("x", 1, 2, 2, 2)], [port("y", 1, 2, 2**32, 2)], {"w": np.ones((2, 2, 3, 3), np.float32)})
    saved(proto, place.model)
    assert "the_node: is too large for emulated" in place.refused(MODEL)


@pytest.mark.parametrize("dims", [[10**6, 10**6], [2**62, 2**62], [-1]])
def test_initializer_that_claims_more_than_it_has(dims: list[int], place: Workplace) -> None:
    proto = one("Add", {"w": np.ones(WIDTH, np.float32)})
    proto.graph.initializer[0].dims[:] = dims
    saved(proto, place.model)
    assert "initializer 'w'" in place.refused(MODEL)


# --- external data


def external(place: Workplace, location: str) -> None:
    """Write a model whose weight lies at LOCATION."""
    proto = one("Add", {"w": np.ones(WIDTH, np.float32)})
    (tensor,) = proto.graph.initializer
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)
    place.model.write_bytes(proto.SerializeToString())


@pytest.fixture
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that holds the weight, in another folder."""
    path = tmp_path_factory.mktemp("outside") / "secret.bin"
    path.write_bytes(np.ones(WIDTH, np.float32).tobytes())
    return path


def test_external_data_inside_is_read(place: Workplace, outside: Path) -> None:
    external(place, "w.bin")
    place.folder.joinpath("w.bin").write_bytes(outside.read_bytes())
    place.compile().done()


def test_external_data_above_the_folder(place: Workplace, outside: Path) -> None:
    external(place, os.path.relpath(outside, place.folder))
    assert "outside" in place.refused(MODEL)


def test_external_data_at_an_absolute_path(place: Workplace, outside: Path) -> None:
    external(place, str(outside))
    assert "secret.bin" in place.refused(MODEL)


def test_external_data_behind_a_link(place: Workplace, outside: Path) -> None:
    external(place, "w.bin")
    place.folder.joinpath("w.bin").symlink_to(outside)
    assert "w.bin" in place.refused(MODEL)


def test_external_data_that_is_missing(place: Workplace) -> None:
    external(place, "w.bin")
    assert "w.bin" in place.refused(FILES)


def test_external_data_that_is_too_short(place: Workplace) -> None:
    external(place, "w.bin")
    place.folder.joinpath("w.bin").write_bytes(bytes(WIDTH))
    assert "initializer 'w'" in place.refused(MODEL)


# --- places that cannot be written


def test_output_in_a_folder_that_is_not_there(place: Workplace) -> None:
    saved(perceptron(), place.model)
    place.library = place.folder / "nowhere" / "libmodel.so"
    assert "nowhere/libmodel.so: the file cannot be written: No such file or directory" in place.refused(FILES)


def test_output_below_a_file(place: Workplace) -> None:
    saved(perceptron(), place.model)
    place.library = place.model / "libmodel.so"
    assert "Not a directory" in place.refused(FILES)


def test_output_is_a_folder(place: Workplace) -> None:
    saved(perceptron(), place.model)
    place.library.mkdir()
    assert "it is a folder" in place.refused(FILES)


@pytest.mark.parametrize("name", ["libmodel.so", "libmodel.json"])
def test_output_is_a_pipe(name: str, place: Workplace) -> None:
    """A rename would replace it: as root, -o /dev/null would leave the machine without that device."""
    saved(perceptron(), place.model)
    os.mkfifo(place.folder / name)
    assert f"{name}: the file cannot be written: it is a pipe, a socket or a device" in place.refused(FILES)
    assert place.folder.joinpath(name).is_fifo()


def test_manifest_is_a_folder(place: Workplace) -> None:
    saved(perceptron(), place.model)
    place.library.with_suffix(".json").mkdir()
    assert "libmodel.json" in place.refused(FILES)


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes anywhere")
def test_output_in_a_folder_that_is_read_only(place: Workplace) -> None:
    saved(perceptron(), place.model)
    place.folder.chmod(0o500)
    try:
        assert "Permission denied" in place.refused(FILES)
    finally:
        place.folder.chmod(0o700)


@pytest.mark.parametrize("name", ["model.onnx", "../{folder}/model.onnx", "link.so"])
def test_output_is_the_model(name: str, place: Workplace) -> None:
    saved(perceptron(), place.model)
    place.folder.joinpath("link.so").symlink_to(place.model)
    place.library = place.folder / name.format(folder=place.folder.name)
    assert "the model would be overwritten" in place.refused(FILES)


def test_output_is_its_own_manifest(place: Workplace) -> None:
    saved(perceptron(), place.model)
    place.library = place.folder / "libmodel.json"
    assert "its own manifest" in place.refused(FILES)


def test_cache_that_cannot_be_written(place: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    saved(perceptron(), place.model)
    monkeypatch.setenv("NAUTILUS_CACHE_DIR", str(place.model / "cache"))
    assert "NAUTILUS_CACHE_DIR" in place.refused(FILES)


# --- options


@pytest.fixture
def dynamic(place: Workplace) -> Workplace:
    saved(perceptron(batch="batch"), place.model)
    return place


def test_open_dimensions_show_the_option_to_pass(dynamic: Workplace) -> None:
    said = dynamic.refused(MODEL)
    assert "'x' [batch, 8]" in said
    found = re.search(r"for example: (--shape .*)$", said)
    assert found
    dynamic.compile(*shlex.split(found[1]), "--no-verify").done()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--shape", "x=2"), "2 has 1 dimensions; the model declares 2: 'x' [batch, 8]"),
        (("--shape", "x=2x9"), "has 9 in dimension 1; the model declares 8"),
        (("--shape", "z=2x8"), "--shape 'z': the model has no input of this name. Known: x."),
        (("--shape", "w1=8x16"), "is an initializer of the model"),
        (("--shape", "x=2xtwo"), "is not a shape. Write NAME=1x3x224x224"),
        (("--shape", "x=2x8", "--shape", "x:3x8"), "'x' is given twice"),
        (("--shape", "x=2x8", "--bind", "sr=16000"), "--bind 'sr': the model has no input of this name. Known: x."),
        (("--bind", "x=one"), "--bind 'x': 'one' is not a number"),
        (("--shape", "x=2x8", "--target", "sm_42"), "'sm_42' is not a target. Known:"),
        (("--shape", "x=2x8", "--jobs", "0"), "--jobs"),
        (("--shape", "x=2x8", "--optimise"), "--optimise"),
    ],
)
def test_option_that_cannot_be_meant(options: tuple[str, ...], message: str, dynamic: Workplace) -> None:
    assert message in dynamic.refused(USAGE, *options)


def test_shape_that_is_enormous(dynamic: Workplace) -> None:
    assert "input 'x'" in dynamic.refused(MODEL, "--shape", "x=1000000000000x8")


@pytest.mark.parametrize("limits", ["nan..1", "0..nan", "0..inf", "2..1", "1", ".."])
def test_range_that_is_none(limits: str, place: Workplace, nautilus: Caller) -> None:
    saved(perceptron(), place.model)
    place.compile("--no-verify").done()
    before = place.files()
    assert f"'x={limits}'" in nautilus("verify", place.model, place.library, "--range", f"x={limits}").refused(USAGE)
    assert "'z'" in nautilus("verify", place.model, place.library, "--range", "z=0..1").refused(USAGE)
    assert place.files() == before


# --- compilers


@pytest.mark.parametrize("target", ["emulated", "sm_90a"])
def test_no_host_compiler(target: str, place: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without one on PATH and without the package ziglang, even where everything is cached."""
    saved(perceptron(), place.model)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(host_compiler, "find_spec", lambda name: None)
    host_compiler._find.cache_clear()
    try:
        said = place.refused(TOOLCHAIN, target=target)
    finally:
        host_compiler._find.cache_clear()
    assert {"emulated": "no C++ compiler: none of c++, g++", "sm_90a": "no C compiler: none of cc, gcc"}[target] in said
    assert "pip install ziglang" in said


def test_compiler_that_refuses(place: Workplace, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A compiler that is found but broken: its first words are shown."""
    saved(perceptron(), place.model)
    folder = tmp_path_factory.mktemp("bin")
    for name in ("cc", "c++"):
        (folder / name).write_text(
            '#!/bin/sh\ncase "$1" in --version|-dumpmachine) echo broken 1.0;; *) echo "error: no licence" >&2; exit 1;; esac\n'
        )
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    assert "no licence" in place.refused(TOOLCHAIN)


# --- names that mean something to a shell, a template, C, a terminal or a file system

NAMES: dict[str, Callable[[str], str]] = {
    "C and shell": lambda name: f'"); system("{name}',
    "template": lambda name: f"{{{{ {name} }}}}{{% raw %}}",
    "format": lambda name: f"%s%n{{0}}{{{name}.__class__}}${{HOME}}`{name}`",
    "lines": lambda name: f"{name}\n#include </etc/passwd>\r\n*/ //",
    "terminal": lambda name: f"\x1b[31m{name}\x07\x9b",
    "unicode": lambda name: f"{name}é漢🙂\u202e\u2028",
    "path": lambda name: f"../../{name}/.\\",
    "numbers": lambda name: f"0{name}=1:2,3",
    "long": lambda name: name * 3000,
}


@pytest.mark.parametrize("kind", NAMES)
def test_names_are_nothing_but_names(kind: str, place: Workplace, nautilus: Caller, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Kernels, code and weights are those of plain names to the byte; inputs and outputs have the names that they have."""
    import nautilus_cli

    plain = Workplace(tmp_path_factory.mktemp("plain"), nautilus)
    saved(perceptron(), plain.model)
    saved(perceptron(rename=NAMES[kind]), place.model)
    images = []
    for where in (plain, place):
        done = where.compile("--save-temps", str(where.folder / "temps")).done()
        assert not set(done.out + done.err) & {"\x1b", "\x07", "\x9b", "\r", "\u202e"}
        temporaries = where.folder / "temps"
        images.append({path.name: path.read_bytes() for path in temporaries.iterdir() if path.suffix in (".cu", ".so")})
        assert {path.name for path in where.folder.iterdir()} == {
            "model.onnx",
            "libmodel.so",
            "libmodel.json",
            "libmodel.verify.json",
            "temps",
        }
    assert images[0] == images[1]
    with nautilus_cli.load(plain.library) as first, nautilus_cli.load(place.library) as second:
        assert [p.name for p in second.inputs] == [NAMES[kind]("x")]
        assert [p.name for p in second.outputs] == [NAMES[kind]("y"), NAMES[kind]("hidden")]
        assert second.info.weights_sha256 == first.info.weights_sha256
        x = np.linspace(-1, 1, BATCH * WIDTH, dtype=np.float32).reshape(BATCH, WIDTH)
        for a, b in zip(first(x=x).values(), second({NAMES[kind]("x"): x}).values(), strict=True):
            np.testing.assert_array_equal(a, b)
    plain_kernels, kernels = (nautilus_cli.load(where.library).manifest["kernels"] for where in (plain, place))
    assert [kernel["symbol"] for kernel in kernels] == [kernel["symbol"] for kernel in plain_kernels]


def test_paths_that_are_not_utf8(place: Workplace, nautilus: Caller) -> None:
    """The model is compared all the same: onnxruntime, which takes no such path, is given what the file holds."""
    folder = place.folder / "folder\udcff"
    folder.mkdir()
    place.model, place.library = folder / "model\udcfe.onnx", folder / "lib\udcfd.so"
    place.model.write_bytes(perceptron().SerializeToString())
    done = place.compile("--weights", "external").done()
    assert "not verified" not in done.err and "lib\\udcfd.so" in done.out
    nautilus("verify", place.model, place.library, "--save-inputs", folder / "x.npz", "--save-outputs", folder / "y.npz").done()
    nautilus("run", place.library, "--inputs", folder / "x.npz").done()
    nautilus("bench", place.library, "--against", place.model, "--iterations", "2", "--duration", "0").done()


def test_name_that_c_cannot_hold(place: Workplace) -> None:
    saved(perceptron(rename=lambda name: f"{name}\0"), place.model)
    assert "NUL" in place.refused(MODEL)


@pytest.mark.parametrize("kind", NAMES)
def test_error_with_such_a_name(kind: str, place: Workplace) -> None:
    proto = one("Add", {"w": np.ones(5, np.float32)})
    proto.graph.node[0].name = NAMES[kind]("n")
    saved(proto, place.model)
    assert "(Add): shapes [2, 8], [5] do not broadcast" in place.refused(MODEL)


# --- in a process of its own


def test_no_traceback_from_the_whole_program(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"\x08\x0a")
    done = commands.run("compile", "model.onnx", "-o", "libmodel.so", cwd=tmp_path)
    assert "model.onnx" in done.refused(MODEL)
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]


def test_debug_shows_the_traceback(tmp_path: Path) -> None:
    done = commands.run("--debug", "compile", "model.onnx", "-o", "libmodel.so", cwd=tmp_path)
    assert done.code == FILES
    assert "Traceback (most recent call last):" in done.err
