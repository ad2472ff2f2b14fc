"""Runs on device memory, over a libcuda.so.1 that is none: test_device_runs.py runs this file in a process that finds that one first."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

import nautilus_cli
from nautilus_cli.errors import UsageError
from nautilus_cli.lowering.program import Choice, Launches, Word
from nautilus_cli.runtime import dlpack
from nautilus_cli.runtime.device_array import DeviceArray
from nautilus_cli.runtime.session import Session
from tests.support import fake_library
from tests.support.fake_library import WEIGHTS

UPDATES = 3


def aligned(array: np.ndarray) -> np.ndarray:
    """A copy at an address that is a multiple of 64."""
    room = np.zeros(array.nbytes + 64, np.uint8)
    start = -room.ctypes.data % 64
    copy = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


class CudaInterface:
    """Memory that claims to be on device 0, in the way of cupy."""

    def __init__(self, array: np.ndarray, **changes):
        self.array = array
        self.changes = changes

    @property
    def __cuda_array_interface__(self):
        base = {"shape": self.array.shape, "typestr": self.array.dtype.str, "data": (self.array.ctypes.data, False), "version": 3}
        return {**base, "strides": None, "stream": 1, **self.changes}


@dataclass
class DLPack:
    """Memory that claims to be on a device, in the way of torch."""

    array: np.ndarray
    device: tuple[int, int] = (dlpack.CUDA, 0)
    bits: int = 0
    seen: object = None

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, *, stream=None):
        self.seen = stream
        kinds = {"f": "float", "i": "int"}
        array = self.array
        return dlpack.export(
            self,
            address=array.ctypes.data,
            kind=kinds[array.dtype.kind],
            bits=self.bits or 8 * array.itemsize,
            is_bfloat=False,
            shape=array.shape,
            device=self.device,
        )


@pytest.fixture
def library(gpu_library_path: Path):
    with nautilus_cli.load(gpu_library_path) as library:
        yield library


@pytest.fixture
def feeds() -> dict[str, np.ndarray]:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    return {"x": aligned(x), "y.1": aligned(10 * x + 1), "index": aligned(np.array([5, 0]))}


def expected(feeds: dict[str, np.ndarray]) -> np.ndarray:
    return feeds["x"] + feeds["y.1"] + WEIGHTS


def on_device(feeds):
    return {"x": DLPack(feeds["x"]), "y.1": CudaInterface(feeds["y.1"]), "index": DLPack(feeds["index"])}


def test_the_gpu_is_chosen(library):
    assert (library.info.target, library.is_emulated, library.info.device) == ("sm_90a", False, "fake 0")


def test_host_arrays_run_there_too(library, feeds):
    outputs = library(feeds)
    assert isinstance(outputs["sum"], np.ndarray)
    np.testing.assert_array_equal(outputs["sum"], expected(feeds))


def test_device_tensors_give_device_arrays(library, feeds):
    tensors = on_device(feeds)
    outputs = library(tensors, stream=77)
    assert tensors["x"].seen == 77
    result = outputs["sum"]
    assert isinstance(result, DeviceArray) and result.stream == 77
    np.testing.assert_array_equal(result.numpy(), expected(feeds))
    assert result.__cuda_array_interface__ == {
        "data": (result.pointer, False),
        "shape": (2, 3),
        "stream": 77,
        "strides": None,
        "typestr": "<f4",
        "version": 3,
    }
    again = library({**tensors, "x": result})  # an output is an input without a copy
    np.testing.assert_array_equal(again["sum"].numpy(), expected(feeds) + feeds["y.1"] + WEIGHTS)


def test_the_default_stream_is_the_legacy_one(library, feeds):
    tensors = on_device(feeds)
    outputs = library(tensors)
    assert tensors["x"].seen == 1
    assert outputs["sum"].__cuda_array_interface__["stream"] == 1


def test_streams_of_other_libraries(library, feeds):
    class Torch:
        cuda_stream = 33

    class Cupy:
        ptr = 34

    class Cuda:
        def __cuda_stream__(self):
            return 0, 35

    for stream, number in ((Torch(), 33), (Cupy(), 34), (Cuda(), 35)):
        assert library(on_device(feeds), stream=stream)["sum"].stream == number
    with pytest.raises(UsageError, match="stream: str is no CUDA stream"):
        library(on_device(feeds), stream="main")


def test_given_outputs_are_written_and_returned(library, feeds):
    total = CudaInterface(aligned(np.zeros((2, 3), np.float32)))
    outputs = library(on_device(feeds), out={"sum": total})
    assert outputs["sum"] is total
    np.testing.assert_array_equal(total.array, expected(feeds))


def test_a_consumer_of_dlpack_sees_the_data_and_keeps_it(library, feeds):
    result = library(on_device(feeds))["sum"]
    capsule = result.__dlpack__(stream=-1)
    address, name, shape, strides = dlpack.read(capsule)
    assert (address, name, shape, strides) == (result.pointer, "f32", (2, 3), None)
    assert result.__dlpack_device__() == (2, 0)
    live = len(dlpack._exported)
    del capsule
    assert len(dlpack._exported) == live - 1


def test_only_launches_of_changed_pointers_are_updated(library, feeds):
    def updates(tensors, out):
        return library(tensors, out=out)["counters"].array[UPDATES]

    tensors = {name: CudaInterface(array) for name, array in feeds.items()}
    out = {t.name: CudaInterface(aligned(np.zeros(t.shape, t.dtype))) for t in library.outputs}
    start = library(feeds)["counters"][UPDATES]
    first = updates(tensors, out)
    assert first == start + 5  # every launch names a port, and they were those of the host run
    assert updates(tensors, out) == first
    tensors["x"] = CudaInterface(aligned(feeds["x"]))
    assert updates(tensors, out) == first + 1
    out["sum"] = CudaInterface(aligned(np.zeros((2, 3), np.float32)))
    assert updates(tensors, out) == first + 3  # written by one launch, read by another
    np.testing.assert_array_equal(out["sum"].array, expected(feeds))
    np.testing.assert_array_equal(out["picked"].array, expected(feeds).ravel()[[5, 0]])


def test_launches_of_a_branch_are_a_graph(tmp_path, host, feeds):
    """Of which those are updated whose pointers have changed, and no others."""
    plan = fake_library.plan()
    yes, no = (Launches(first=0, count=2), Launches(first=2, count=3)), (Launches(first=2, count=3), Launches(first=0, count=2))
    choice = Choice(condition=Word(kind="input", index=2), branches=(yes, no), name="which")
    held = replace(fake_library.gpu_variant(), plan=replace(plan, target="sm_90a", steps=(choice,)))
    with nautilus_cli.load(fake_library.write(tmp_path / "libsteps.so", host, held)) as library:
        tensors = {name: CudaInterface(array) for name, array in feeds.items()}
        out = {t.name: CudaInterface(aligned(np.zeros(t.shape, t.dtype))) for t in library.outputs}

        def updates() -> int:
            return library(tensors, out=out)["counters"].array[UPDATES]

        first = updates()
        np.testing.assert_array_equal(out["picked"].array, expected(feeds).ravel()[[5, 0]])
        assert updates() == first
        tensors["x"] = CudaInterface(aligned(feeds["x"]))
        assert updates() == first + 1
        out["sum"] = CudaInterface(aligned(np.zeros((2, 3), np.float32)))
        assert updates() == first + 3
        np.testing.assert_array_equal(out["sum"].array, expected(feeds))


def test_streams_launch_one_by_one_when_asked(gpu_library_path, feeds):
    with nautilus_cli.load(gpu_library_path, launch="stream") as library:
        outputs = library(on_device(feeds), stream=5)
        np.testing.assert_array_equal(outputs["sum"].numpy(), expected(feeds))
        outputs = library(on_device(feeds), stream=6)
        np.testing.assert_array_equal(outputs["sum"].numpy(), expected(feeds))


def test_device_arrays_outlive_the_library(gpu_library_path, feeds):
    library = nautilus_cli.load(gpu_library_path)
    result = library(on_device(feeds))["sum"]
    library.close()
    np.testing.assert_array_equal(result.numpy(), expected(feeds))


def test_an_index_out_of_range_is_reported_by_whoever_asks(library, feeds):
    bad = {**on_device(feeds), "index": DLPack(aligned(np.array([0, 7])))}
    result = library(bad)["sum"]
    with pytest.raises(UsageError, match="index outside the axis"):
        result.synchronize()
    library(bad)
    with pytest.raises(UsageError, match="index outside the axis"):
        library(bad)  # the earlier run's
    # That call launched nothing, so nothing is left to report.
    np.testing.assert_array_equal(library(on_device(feeds))["sum"].numpy(), expected(feeds))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: a, "input 'x': this tensor lies in host memory and others on the device"),
        (lambda a: DLPack(a, (dlpack.CUDA, 1)), "input 'x': the tensor lies on device 1; the library on 0"),
        (lambda a: DLPack(a, (10, 0)), "device of DLPack kind 10"),
        (lambda a: DLPack(a, bits=64), "input 'x': the element type is f64; the model wants f32"),
        (lambda a: CudaInterface(a, typestr="<f2"), "the element type is f16"),
        (lambda a: CudaInterface(a, strides=(4, 8)), "not dense"),
        (lambda a: CudaInterface(a, shape=(6,)), "the shape is 6; the model wants 2x3"),
        (lambda a: CudaInterface(a, data=(a.ctypes.data + 4, False)), "input 0, 'x', lies at 0x.*4, which is not aligned to 16 bytes"),
        (lambda a: CudaInterface(a, data=(0, False)), "input 0, 'x', is NULL"),
    ],
)
def test_refuses_wrong_tensors(library, feeds, change, message):
    with pytest.raises(UsageError, match=message):
        library({**on_device(feeds), "x": change(feeds["x"])})


def test_refuses_read_only_outputs_and_host_outputs(library, feeds):
    total = aligned(np.zeros((2, 3), np.float32))
    with pytest.raises(UsageError, match="output 'sum': the array is read-only"):
        library(on_device(feeds), out={"sum": CudaInterface(total, data=(total.ctypes.data, True))})
    with pytest.raises(UsageError, match="output 'sum': this tensor lies in host memory"):
        library(on_device(feeds), out={"sum": total})


def test_times(library):
    with Session(library) as session:
        assert session.time(samples=2).median_us > 0
