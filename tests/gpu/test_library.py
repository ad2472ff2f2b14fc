"""The host code on a GPU: a library of two hand-written kernels, with numpy, and with torch and cupy where they are installed."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nautilus_cli
from nautilus_cli.artifact.weights_file import WeightsPlace
from nautilus_cli.errors import UsageError
from nautilus_cli.runtime.device_array import DeviceArray
from nautilus_cli.runtime.session import Session
from nautilus_cli.targets.base import Target
from nautilus_cli.targets.registry import target
from tests.gpu.on_device import skip_without_device
from tests.support import tiny_library

pytestmark = pytest.mark.gpu

skip_without_device()


@pytest.fixture(scope="module")
def path(architecture: Target, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_library.write(tmp_path_factory.mktemp("library") / "libtiny.so", architecture, target("emulated"))


@pytest.fixture(params=["graph", "stream"])
def library(path: Path, request: pytest.FixtureRequest):
    with nautilus_cli.load(path, launch=request.param) as library:
        yield library


def test_runs_on_the_gpu_with_numpy(library):
    assert not library.is_emulated and "NVIDIA" in library.info.device
    for seed in range(3):
        inputs = tiny_library.feeds(seed)
        tiny_library.check(library(inputs), inputs)


def test_the_emulator_gives_the_same_bits(path, library):
    inputs = tiny_library.feeds()
    with nautilus_cli.load(path, place="emulated") as emulated:
        assert emulated.is_emulated
        for name, array in emulated(inputs).items():
            np.testing.assert_array_equal(library(inputs)[name], array)


def test_two_libraries_live_side_by_side(path, library, tmp_path):
    """The second has its weights in a file of their own, and stays when the first is closed."""
    second = tiny_library.write(tmp_path / "libsecond.so", target(library.info.target), weights=WeightsPlace.EXTERNAL)
    with nautilus_cli.load(second) as other:
        with nautilus_cli.load(path) as first:
            for seed in range(3):
                inputs = tiny_library.feeds(seed)
                tiny_library.check(first(inputs), inputs)
                tiny_library.check(other(inputs), inputs)
        tiny_library.check(other(inputs), inputs)


class Upload:
    """Device memory by the library's own functions."""

    def __init__(self, library: Any, array: np.ndarray):
        self.model = library.model
        self.array = array
        self.address = self.model.allocate(array.nbytes)
        self.model.copy(self.address, array.ctypes.data, array.nbytes, 0, 0)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {"shape": self.array.shape, "typestr": self.array.dtype.str, "data": (self.address, False), "version": 3, "stream": 1}

    def free(self) -> None:
        self.model.free(self.address)


def test_pointers_change_between_runs(library):
    for seed in range(4):
        inputs = tiny_library.feeds(seed)
        tensors = {name: Upload(library, array) for name, array in inputs.items()}
        outputs = library(tensors)
        assert all(isinstance(o, DeviceArray) for o in outputs.values())
        tiny_library.check({name: o.numpy() for name, o in outputs.items()}, inputs)
        for tensor in tensors.values():
            tensor.free()


def test_an_index_out_of_range_is_an_error_and_the_context_goes_on(library):
    inputs = tiny_library.feeds()
    with pytest.raises(UsageError, match="index outside"):
        library({**inputs, "index": np.array([-1, 6])})
    tiny_library.check(library(inputs), inputs)
    tensors = {name: Upload(library, array) for name, array in {**inputs, "index": np.array([0, 1 << 40])}.items()}
    result = library(tensors)["sum"]
    with pytest.raises(UsageError, match="index outside"):
        result.synchronize()


def test_threads_run_at_the_same_time(library):
    tiny_library.check_side_by_side(library, runs=200)


@pytest.mark.parametrize("launch", ["graph", "stream"])
def test_times(path, launch):
    with nautilus_cli.load(path) as library, Session(library, launch=launch) as session:
        session.feed(tiny_library.feeds())
        timing = session.time(samples=20, runs=50)
        print(f"{launch}: median {timing.median_us:.2f} us a run of three launches")
        assert 0 < timing.minimum_us < 1e4


def test_loading_again_and_again_leaves_no_device_memory(path):
    torch = pytest.importorskip("torch")

    def cycle(times: int) -> int:
        for _ in range(times):
            with nautilus_cli.load(path) as library:
                library(tiny_library.feeds())
        torch.cuda.synchronize()
        return torch.cuda.mem_get_info()[0]

    torch.zeros(1, device="cuda")
    free = cycle(20)
    assert cycle(200) >= free - (4 << 20)  # the driver hands memory out in pieces of 2 MiB


def test_torch(library):
    torch = pytest.importorskip("torch")
    inputs = tiny_library.feeds()
    tensors = {name: torch.from_numpy(array).cuda() for name, array in inputs.items()}
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            outputs = {name: torch.from_dlpack(array) for name, array in library(tensors, stream=stream).items()}
            doubled = outputs["sum"] * 2
    stream.synchronize()
    tiny_library.check({name: o.cpu().numpy() for name, o in outputs.items()}, inputs)
    np.testing.assert_array_equal(doubled.cpu().numpy(), 2 * tiny_library.expected(inputs)["sum"])

    total = torch.zeros(2, 3, device="cuda")
    given = library(tensors, out={"sum": total})
    torch.cuda.synchronize()
    assert given["sum"] is total
    np.testing.assert_array_equal(total.cpu().numpy(), tiny_library.expected(inputs)["sum"])
    with pytest.raises(UsageError, match="not dense"):
        library({**tensors, "x": torch.zeros(3, 2, device="cuda").T})
    with pytest.raises(UsageError, match="element type is f64"):
        library({**tensors, "x": torch.zeros(2, 3, device="cuda", dtype=torch.float64)})
    with pytest.raises(UsageError, match="not aligned to 16 bytes"):
        library({**tensors, "x": torch.zeros(7, device="cuda")[1:].view(2, 3)})
    with pytest.raises(UsageError, match="host memory"):
        library({**tensors, "x": torch.zeros(2, 3)})
    tiny_library.check(library({name: torch.from_numpy(array) for name, array in inputs.items()}), inputs)


def test_torch_captures_a_run(path):
    torch = pytest.importorskip("torch")
    inputs = tiny_library.feeds()
    tensors = {name: torch.from_numpy(array).cuda() for name, array in inputs.items()}
    out = {"sum": torch.zeros(2, 3, device="cuda"), "picked": torch.zeros(2, device="cuda")}
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    torch.cuda.synchronize()
    with nautilus_cli.load(path, launch="stream") as library:
        library(tensors, out=out, stream=stream)
        with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
            library(tensors, out=out, stream=stream)
        tensors["x"].add_(1)
        torch.cuda.synchronize()
        graph.replay()
        torch.cuda.synchronize()
    tiny_library.check({name: o.cpu().numpy() for name, o in out.items()}, {**inputs, "x": inputs["x"] + 1})


def test_cupy(library):
    cupy = pytest.importorskip("cupy")
    inputs = tiny_library.feeds()
    tensors = {name: cupy.asarray(array) for name, array in inputs.items()}
    outputs = library(tensors, stream=cupy.cuda.get_current_stream())
    tiny_library.check({name: cupy.asnumpy(cupy.asarray(o)) for name, o in outputs.items()}, inputs)
