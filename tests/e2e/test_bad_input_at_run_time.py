"""What goes wrong after compiling: each command gives one paragraph and its documented exit code, and leaves nothing half-written."""

from __future__ import annotations

import os
import resource
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

import nautilus_cli
from nautilus_cli.errors import DeviceError, UsageError
from nautilus_cli.runtime.library import held_targets
from tests.e2e import commands, networks
from tests.e2e.commands import Caller
from tests.e2e.networks import BATCH, WIDTH, perceptron, port, saved
from tests.support import fake_library
from tests.support.alive import comes

USAGE, DEVICE, FILES, INTERRUPTED = 2, 5, 7, 130
"""Exit codes."""

X = np.linspace(-1, 1, BATCH * WIDTH, dtype=np.float32).reshape(BATCH, WIDTH)
QUICK = ("--iterations", "2", "--warmup", "1", "--duration", "0")


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


# --- inputs

WRONG: dict[str, tuple[dict[str, np.ndarray], str]] = {
    "missing": ({}, "lacks the input 'x' (f32[2, 8])"),
    "unknown": ({"x": X, "z": X}, "'z'"),
    "shape": ({"x": X[:, :7]}, "the shape is 2x7"),
    "rank": ({"x": X.ravel()}, "the shape is 16"),
    "type": ({"x": X.astype(np.float64)}, "f64"),
    "byte order": ({"x": X.astype(">f4")}, ">f4"),
}


@pytest.mark.parametrize("what", WRONG)
def test_inputs_that_do_not_fit(what: str, library: Path, model: Path, nautilus: Caller, tmp_path: Path) -> None:
    """The same of run, bench and verify."""
    arrays, _ = WRONG[what]
    np.savez(tmp_path / "x.npz", **arrays)
    before = contents(tmp_path)
    for command in (("run", library, "--outputs", tmp_path / "y.npz"), ("bench", library, *QUICK), ("verify", model, library)):
        said = nautilus(*command, "--inputs", tmp_path / "x.npz").refused(USAGE)
        assert "'z'" in said if what == "unknown" else "'x'" in said
        assert "x.npz" in said
    assert contents(tmp_path) == before


@pytest.mark.parametrize("what", WRONG)
def test_a_context_is_usable_after_inputs_that_do_not_fit(what: str, library: Path) -> None:
    arrays, _ = WRONG[what]
    with nautilus_cli.load(library) as loaded:
        right = loaded(x=X)["y"]
        with pytest.raises(UsageError):
            loaded(arrays)
        np.testing.assert_array_equal(loaded(x=X)["y"], right)


@pytest.mark.parametrize("layout", [np.asfortranarray, lambda x: np.repeat(x, 2, axis=1)[:, ::2], lambda x: x[::-1][::-1]])
def test_inputs_of_any_layout_are_what_they_hold(layout: Callable[[np.ndarray], np.ndarray], library: Path) -> None:
    """On the host a layout is no error: it is copied into the order that the library wants."""
    with nautilus_cli.load(library) as loaded:
        np.testing.assert_array_equal(loaded(x=layout(X))["y"], loaded(x=X)["y"])


# --- libraries that do not fit


def damaged(library: Path, how: str) -> None:
    """Damage a library."""
    whole = library.read_bytes()
    if how == "truncated":
        library.write_bytes(whole[:-1000])
    elif how == "empty":
        library.write_bytes(b"")
    elif how == "pipe":
        library.unlink()
        os.mkfifo(library)  # nobody writes to it
    else:
        library.write_text("not a library\n" * 99)


@pytest.mark.parametrize("how", ["truncated", "empty", "text", "pipe"])
def test_a_library_that_is_damaged(how: str, library: Path, model: Path, nautilus: Caller, tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", x=X)
    damaged(library, how)
    for command in (
        ("run", library, "--inputs", tmp_path / "x.npz"),
        ("bench", library, *QUICK),
        ("verify", model, library),
    ):
        assert "libmodel.so" in nautilus(*command).refused(FILES)
    told = nautilus("doctor", library)  # it may print what it could read, and what it found
    assert told.code == FILES, told.err
    assert ("the library is truncated: it has" in told.out) if how == "truncated" else (told.out == "" and "libmodel.so" in told.err)


def test_a_manifest_of_another_library(library: Path, model: Path, nautilus: Caller, tmp_path: Path) -> None:
    """What needs the manifest refuses it; running does not need it."""
    np.savez(tmp_path / "x.npz", x=X)
    other = saved(perceptron(seed=1), tmp_path / "other.onnx")
    nautilus("compile", other, "-o", tmp_path / "libother.so", "--target", "emulated", "--no-verify").done()
    library.with_suffix(".json").write_bytes((tmp_path / "libother.json").read_bytes())
    nautilus("run", library, "--inputs", tmp_path / "x.npz").done()
    for command in (("inspect", library), ("verify", model, library)):
        assert "not that of the library beside it" in nautilus(*command).refused(FILES)
    library.with_suffix(".json").unlink()
    os.mkfifo(library.with_suffix(".json"))  # nobody writes to it
    for command in (("inspect", library), ("verify", model, library)):
        assert "the manifest cannot be read: it is a pipe" in nautilus(*command).refused(FILES)
    assert "cannot be written: it is a pipe" in nautilus(
        "run", library, "--inputs", tmp_path / "x.npz", "--outputs", library.with_suffix(".json")
    ).refused(FILES)


# --- devices


def test_a_machine_that_does_not_run_the_target(model: Path, nautilus: Caller, tmp_path: Path) -> None:
    """No driver here, or a GPU of another architecture: no machine has two of these."""
    np.savez(tmp_path / "x.npz", x=X)
    refusals = []
    for target in ("sm_80", "sm_120"):
        library = tmp_path / f"lib{target}.so"
        nautilus("compile", model, "-o", library, "--target", target, "--no-verify").done()
        for command in (("run", library, "--inputs", tmp_path / "x.npz"), ("bench", library, *QUICK), ("verify", model, library)):
            done = nautilus(*command)
            if done.code:
                refusals.append(done.refused(DEVICE))
    assert len(refusals) >= 3
    assert all(f"holds code for {'sm_80' if 'sm_80' in said else 'sm_120'}" in said for said in refusals)


def test_a_workspace_that_the_device_has_no_memory_for(tmp_path: Path, host: bytes, image: bytes) -> None:
    """The model stays: a context that needs less is a new library's, but nothing is lost and the error comes again."""
    path = fake_library.write(tmp_path / "libbig.so", host, fake_library.variant(image, arena_bytes=1 << 50))
    np.savez(tmp_path / "x.npz", x=np.zeros((2, 3), np.float32), **{"y.1": np.zeros((2, 3), np.float32)}, index=np.zeros(2, np.int64))
    done = commands.run("run", path, "--inputs", tmp_path / "x.npz", cwd=tmp_path)
    assert "workspace of a context needs 1125899906842624 bytes" in done.refused(DEVICE)
    with nautilus_cli.load(path) as library:
        for _ in range(2):
            with pytest.raises(DeviceError, match="workspace of a context needs"):
                library.model.create_context()
        assert [tensor.name for tensor in library.inputs] == ["x", "y.1", "index"]


def test_an_index_outside_of_its_axis(nautilus: Caller, tmp_path: Path) -> None:
    """An error that only the kernel sees, and nothing that sticks."""
    node = helper.make_node("Gather", ["table", "ids"], ["y"], "embed")
    weights = {"table": np.arange(12, dtype=np.float32).reshape(4, 3)}
    proto = networks.model([node], [port("ids", 2, dtype=7)], [port("y", 2, 3)], weights)
    model, library = saved(proto, tmp_path / "m.onnx"), tmp_path / "libm.so"
    nautilus("compile", model, "-o", library, "--target", "emulated", "--no-verify").done()
    np.savez(tmp_path / "x.npz", ids=np.array([0, 4]))
    before = contents(tmp_path)
    assert "index outside the axis" in nautilus("run", library, "--inputs", tmp_path / "x.npz", "--outputs", tmp_path / "y.npz").refused(
        USAGE
    )
    assert contents(tmp_path) == before
    with nautilus_cli.load(library) as loaded:
        with pytest.raises(UsageError, match="index outside the axis"):
            loaded(ids=np.array([0, 4]))
        assert loaded(ids=np.array([3, 0]))["y"][0].tolist() == [9, 10, 11]


# --- full disk


@pytest.mark.parametrize(
    ("arguments", "written"),
    [
        (("run", "libmodel.so", "--inputs", "x.npz", "--outputs", "y.npz"), "y.npz"),
        (("verify", "model.onnx", "libmodel.so", "--save-inputs", "y.npz"), "y.npz"),
        (("verify", "model.onnx", "libmodel.so"), "libmodel.verify.json"),
        (("bench", "libmodel.so", *QUICK, "--export", "y.json"), "y.json"),
    ],
    ids=["outputs", "inputs", "verdict", "times"],
)
def test_a_full_disk(
    arguments: tuple[str, ...], written: str, library: Path, nautilus: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A limit of the file size stands for the disk's end, from where a file is begun to where it is given up; what was there stays."""
    np.savez(tmp_path / "x.npz", x=X)
    (tmp_path / written).write_text("from before")
    before = contents(tmp_path)
    monkeypatch.chdir(tmp_path)
    begin, give_up, unlimited = tempfile.mkstemp, Path.unlink, resource.getrlimit(resource.RLIMIT_FSIZE)

    def begun(*args: Any, **rest: Any) -> tuple[int, str]:
        if written in str(rest.get("prefix")):
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, unlimited[1]))
        return begin(*args, **rest)

    def given_up(path: Path, **rest: Any) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
        give_up(path, **rest)

    monkeypatch.setattr(tempfile, "mkstemp", begun)
    monkeypatch.setattr(Path, "unlink", given_up)
    said = nautilus(*arguments).refused(FILES)
    assert f"{written}: cannot be written: File too large" in said
    assert contents(tmp_path) == before


# --- Ctrl-C


@pytest.mark.parametrize("command", ["bench", "verify", "tune"])
def test_interruption(command: str, library: Path, model: Path, tmp_path: Path) -> None:
    """In the middle of work that would take long: measuring, comparing case after case, searching."""
    np.savez(tmp_path / "x.npz", x=X)
    cases = tmp_path / "cases"
    cases.mkdir()
    for number in range(30_000 if command == "verify" else 0):
        os.link(tmp_path / "x.npz", cases / f"{number}.npz")
    arguments = {
        "bench": ("bench", library, "--duration", "300", "--export", tmp_path / "times.json"),
        "verify": ("verify", model, library, "--dataset", cases),
        "tune": ("tune", model, "--target", "emulated", "--trials", "100000"),
    }[command]
    before = contents_of_files(tmp_path)
    temporary = tmp_path_for(tmp_path)
    process = commands.start("--debug", *arguments, cwd=tmp_path, TMPDIR=str(temporary))
    assert comes(lambda: is_at_work(process.pid, command, temporary) or process.poll() is not None)
    assert process.poll() is None, commands.finished(process).err
    done = commands.interrupted(process)
    assert done.code == INTERRUPTED, done.err
    assert done.err.strip().endswith("error: interrupted.")
    assert contents_of_files(tmp_path) == before


def tmp_path_for(folder: Path) -> Path:
    path = folder / "tmp"
    path.mkdir(exist_ok=True)
    return path


def contents_of_files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def is_at_work(pid: int, command: str, temporary: Path) -> bool:
    """Whether a process is at work: it has mapped the model's code, or, of tune, its first trial has a folder."""
    if command == "tune":
        return any(temporary.glob("nautilus-tune-*"))
    return "libmodel.so" in Path(f"/proc/{pid}/maps").read_text()


# --- several at once


def test_compiles_at_once_share_a_cache(model: Path, tmp_path: Path) -> None:
    """From nothing, two of them to one library and one to another: all of them are right and the same."""
    cold, outputs = tmp_path / "cold", ["liba.so", "libb.so", "libb.so"]
    environment = {"NAUTILUS_CACHE_DIR": str(cold)}
    started = [
        commands.start("compile", model, "-o", name, "--target", "sm_90a", "--no-verify", cwd=tmp_path, **environment) for name in outputs
    ]
    for process in started:
        commands.finished(process).done()
    a, b = (tmp_path / name for name in ("liba.so", "libb.so"))
    assert a.read_bytes() == b.read_bytes()
    assert a.with_suffix(".json").read_bytes() == b.with_suffix(".json").read_bytes()
    assert not [path for path in [*cold.rglob("*"), *tmp_path.iterdir()] if path.is_file() and path.name.startswith(".")]
    alone = commands.run("compile", model, "-o", "libc.so", "--target", "sm_90a", "--no-verify", cwd=tmp_path, **environment)
    alone.done()
    assert (tmp_path / "libc.so").read_bytes() == a.read_bytes()
    assert held_targets(a) == (("sm_90a", False),)
