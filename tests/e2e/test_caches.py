"""Decoders with caches: as separate inputs and outputs at a growing past, and as one buffer (--inplace-cache), against onnxruntime."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import nautilus_cli
from nautilus_cli import driver
from nautilus_cli.errors import UsageError
from nautilus_cli.runtime.decoder import Decoder
from nautilus_cli.runtime.description import EmulatorOptions
from nautilus_cli.runtime.library import Library
from nautilus_cli.runtime.session import Session
from tests.e2e.commands import Caller
from tests.e2e.decoders import CACHES, DIMS, HEAD, HEADS, VOCABULARY, assert_close, decoder, next_ids, reference_steps

STEPS = 9


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("decoder") / "decoder.onnx"
    onnx.save(decoder(), path)
    return path


def built(model: Path, cache: Path, *, inplace: bool) -> Path:
    output = model.with_name("libinplace.so" if inplace else "libseparate.so")
    options = driver.CompileOptions(model=model, output=output, target="emulated", dims=DIMS, verify=inplace, jobs=1, inplace_cache=inplace)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NAUTILUS_CACHE_DIR", str(cache))
        found = driver.compile(options)
    if inplace:
        assert found.verification is not None and all(c.is_match for c in found.verification.comparisons.values())
    return output


@pytest.fixture(scope="module")
def separate(model: Path, cache: Path) -> Path:
    return built(model, cache, inplace=False)


@pytest.fixture(scope="module")
def inplace(model: Path, cache: Path) -> Path:
    return built(model, cache, inplace=True)


@pytest.fixture
def library(inplace: Path) -> Iterator[Library]:
    with nautilus_cli.load(inplace) as loaded:
        yield loaded


def prompt(batch: int, length: int = 5) -> np.ndarray:
    return np.random.default_rng(batch).integers(0, VOCABULARY, (batch, length))


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("kind", ["separate", "inplace"])
def test_each_step_from_an_empty_past_on(kind: str, batch: int, model: Path, request: pytest.FixtureRequest) -> None:
    """On host arrays the caches are dense whichever way they lie in memory."""
    with nautilus_cli.load(request.getfixturevalue(kind)) as library:
        mine: dict[str, np.ndarray] = {}
        for number, (inputs, outputs) in enumerate(reference_steps(model, prompt(batch), STEPS)):
            library.configure_emulator(EmulatorOptions(order=("fifo", "reverse", "random")[number % 3], poison=True))
            found = library({**inputs, **mine})
            assert set(found) == set(outputs)
            for name, truth in outputs.items():
                assert_close(found[name], truth, f"step {number}, {name}")
            mine = {f"past.{name}": found[f"present.{name}"] for name in CACHES}


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("launch", ["graph", "stream"])
def test_a_decoder_keeps_its_caches_on_the_device(batch: int, launch: str, model: Path, inplace: Path) -> None:
    with nautilus_cli.load(inplace, launch=launch) as library, nautilus_cli.Decoder(library, batch=batch) as mine:
        for repeat in range(2):
            ids = prompt(batch)
            for number, (_, outputs) in enumerate(reference_steps(model, ids, STEPS)):
                found = mine.step(input_ids=ids)
                assert list(found) == ["logits"]
                assert_close(found["logits"], outputs["logits"], f"step {number} of generation {repeat}")
                ids = next_ids(found["logits"])
                assert np.array_equal(ids, next_ids(outputs["logits"]))
                assert mine.length == outputs["present.0.key"].shape[2]
            mine.reset()
            assert mine.length == 0


def test_rows_can_be_forgotten(library: Library) -> None:
    with nautilus_cli.Decoder(library) as mine:
        ids = prompt(1)
        first = mine.step(input_ids=ids)["logits"]
        mine.step(input_ids=ids[:, :2])
        mine.reset(3)
        np.testing.assert_array_equal(mine.step(input_ids=ids[:, 3:])["logits"].argmax(-1), first[:, 3:].argmax(-1))
        with pytest.raises(UsageError, match="the caches hold 5 rows, not 6"):
            mine.reset(6)


def test_more_than_there_is_room_for_is_refused_and_the_caches_stay(library: Library) -> None:
    with nautilus_cli.Decoder(library) as mine:
        for _ in range(4):
            mine.step(input_ids=prompt(1, 6))
        assert mine.length == 24
        with pytest.raises(UsageError, match=r"input 'past.0.key' has 24 in dimension 2, 'past'; the library was compiled for 0 to 20"):
            mine.step(input_ids=prompt(1, 1))
        mine.reset(7)
        with pytest.raises(UsageError, match=r"input 'input_ids' has 7 in dimension 1, 'sequence'; the library was compiled for 1 to 6"):
            mine.step(input_ids=prompt(1, 7))
        with pytest.raises(UsageError, match="missing input 'input_ids'"):
            mine.step()
        with pytest.raises(UsageError, match="a step takes no input 'past.0.key'"):
            mine.step({"input_ids": prompt(1), "past.0.key": prompt(1)})
        assert mine.length == 7
        assert mine.step(input_ids=prompt(1, 6))["logits"].shape == (1, 6, VOCABULARY)


def test_a_closed_decoder_says_so(library: Library) -> None:
    decoder = Decoder(library)
    decoder.step(input_ids=np.array([[1, 2]]))
    decoder.close()
    decoder.close()
    with pytest.raises(UsageError, match="the decoder is closed"):
        decoder.step(input_ids=np.array([[3]]))


def test_a_step_copies_nothing(separate: Path, inplace: Path) -> None:
    """No kernel runs over a cache as a whole to write it: one a layer writes rows, into the keys and the values."""
    with nautilus_cli.load(separate) as theirs, nautilus_cli.load(inplace) as ours:
        assert ours.info.launch_count < theirs.info.launch_count
        manifests = theirs.manifest, ours.manifest
    ports = {port["name"]: port for port in manifests[1]["inputs"] + manifests[1]["outputs"]}
    assert (
        ports["past.0.key"]["shared"] == ports["present.0.key"]["shared"] == {"port": 1 + CACHES.index("0.key"), "axis": 2, "capacity": 26}
    )
    assert ports["past.0.key"]["shape"] == ["batch", HEADS, "past", HEAD]
    assert "shared" not in ports["logits"] and not any("shared" in port for port in manifests[0]["inputs"])
    whole = f"{HEADS * HEAD}*batch*past + {HEADS * HEAD}*batch*sequence"
    assert [elements for elements, _ in _writes(manifests[0])] == [whole] * 4
    assert _writes(manifests[1]) == [(f"{HEADS * HEAD}*batch*sequence", 2)] * 2


def _writes(manifest: dict[str, Any]) -> list[tuple[str, int]]:
    """Return elements and number of caches of each kernel that is no product and knows where a cache that goes out lies."""
    found = []
    for launch in manifest["launches"]:
        kernel, caches = manifest["kernels"][launch["kernel"]], sum(word[0] == "output" and word[1] > 0 for word in launch["words"])
        if kernel["family"] == "pointwise" and caches:
            found.append((kernel["problem"]["elements"], caches))
    return found


def test_what_the_library_says_of_shared_memory(library: Library) -> None:
    tensors = {t.name: t for t in (*library.inputs, *library.outputs)}
    shared = tensors["past.1.value"].shared
    assert shared is not None and (shared.port, shared.axis, shared.capacity) == (4, 2, 26)
    assert tensors["past.1.value"].bytes == 2 * HEADS * 26 * HEAD * 4
    assert tensors["logits"].shared is None
    assert library.outputs[4].shared is not None and library.outputs[4].shared.port == 4


def test_time_of_a_step(library: Library, model: Path) -> None:
    (_, _), (inputs, outputs) = reference_steps(model, prompt(1), 2)
    with Session(library) as session:
        for _ in range(2):
            assert_close(session.feed(inputs)["present.1.key"], outputs["present.1.key"], "a session")
        assert len(session.time(samples=2, runs=2, warmup=1).samples_us) == 2


def test_from_the_command_line(nautilus: Caller, model: Path, tmp_path: Path) -> None:
    output = tmp_path / "lib.so"
    ranges = ("--dim", "batch=1..2", "--dim", "sequence=1..6", "--dim", "past=0..20")
    done = nautilus("compile", model, "-o", output, "--target", "emulated", *ranges, "--inplace-cache").done()
    assert "compared at the smallest sizes, the largest sizes, sizes between" in done.err
    assert "past.0.key in the memory of present.0.key, with room for 26 along dimension 2" in nautilus("inspect", output).done().out
    assert "compared at the smallest sizes" in nautilus("verify", model, output).done().err


def test_pairs_that_cannot_be_one_are_refused(nautilus: Caller, model: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    proto = onnx.load(model)
    node = next(n for n in proto.graph.node if n.output[0] == "present.1.key")
    node.name = "appends"
    node.input[:] = [node.input[1], node.input[0]]
    onnx.save(proto, path)
    ranges = ("--dim", "batch=1..2", "--dim", "sequence=1..6", "--dim", "past=0..20")
    said = nautilus("compile", path, "-o", tmp_path / "lib.so", "--target", "emulated", *ranges, "--inplace-cache").refused(3)
    assert "'appends' (Concat): output 'present.1.key' is not input 'past.1.key' with rows appended" in said
