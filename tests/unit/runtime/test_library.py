import ctypes
import gc
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import nautilus_cli
from nautilus_cli.errors import DeviceError, FileError, UsageError
from nautilus_cli.runtime.description import EmulatorOptions
from nautilus_cli.runtime.library import Library, held_targets
from tests.support import fake_library
from tests.support.fake_library import WEIGHTS

ALLOCATIONS, GRAPH_LAUNCHES, STREAM_LAUNCHES, UPDATES = range(4)


@pytest.fixture
def library(library_path: Path):
    with nautilus_cli.load(library_path) as library:
        yield library


@pytest.fixture
def feeds() -> dict[str, np.ndarray]:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    return {"x": x, "y.1": 10 * x + 1, "index": np.array([5, 0])}


def expected(feeds: dict[str, np.ndarray]) -> np.ndarray:
    return feeds["x"] + feeds["y.1"] + WEIGHTS


def test_describes_inputs_outputs_and_itself(library: Library):
    assert [(t.name, t.dtype, t.shape, t.bytes) for t in library.inputs] == [
        ("x", np.dtype(np.float32), (2, 3), 24),
        ("y.1", np.dtype(np.float32), (2, 3), 24),
        ("index", np.dtype(np.int64), (2,), 16),
    ]
    assert [t.name for t in library.outputs] == ["sum", "picked", "counters", "options"]
    info = library.info
    assert (info.target, info.device, info.is_emulated, info.driver_version) == ("emulated", "fake 0", True, (13, 0))
    assert (info.launch_count, info.workspace_bytes, info.weight_bytes, info.version) == (5, 512, 512, "1.2.3")
    assert info.model_sha256 == fake_library.MODEL_DIGEST.hex()
    assert library.manifest["weights_sha256"] == info.weights_sha256
    assert library.targets() == ("emulated",)
    assert "x: f32[2, 3]" in repr(library)


def test_runs_on_numpy_arrays(library: Library, feeds):
    outputs = library({"y.1": feeds["y.1"]}, x=feeds["x"], index=feeds["index"])
    assert list(outputs) == ["sum", "picked", "counters", "options"]
    np.testing.assert_array_equal(outputs["sum"], expected(feeds))
    np.testing.assert_array_equal(outputs["picked"], expected(feeds).ravel()[[5, 0]])


def test_writes_into_given_arrays(library: Library, feeds):
    given = np.full((2, 3), np.nan, np.float32)
    outputs = library(feeds, out={"sum": given})
    assert outputs["sum"] is given
    np.testing.assert_array_equal(given, expected(feeds))


def test_takes_host_arrays_without_numpy_and_transposed_ones(library: Library, feeds):
    class Foreign:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    transposed = np.asfortranarray(feeds["x"])
    outputs = library({**feeds, "x": transposed, "y.1": Foreign(feeds["y.1"])})
    np.testing.assert_array_equal(outputs["sum"], expected(feeds))
    with pytest.raises(UsageError, match="'x'.*not dense"):
        library({**feeds, "x": Foreign(transposed)})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": None}, "input 'x': NoneType is no tensor. *Pass a numpy array"),
        ({"x": 3.0}, "float is no tensor"),
        ({"x": np.zeros((2, 3))}, "input 'x': the element type is f64; the model wants f32"),
        ({"x": np.zeros((2, 3), ">f4")}, "the element type is >f4; the model wants f32"),
        ({"x": np.zeros((3, 2), np.float32)}, "input 'x': the shape is 3x2; the model wants 2x3"),
        ({"x": np.float32(1)}, "the shape is that of a scalar"),
        ({"index": np.zeros(2, np.int32)}, "input 'index': the element type is i32; the model wants i64"),
        ({"z": np.zeros(1)}, r"the model has no input 'z'. *Inputs: x: f32\[2, 3\], y.1: f32\[2, 3\], index: i64\[2\]"),
    ],
)
def test_refuses_wrong_inputs(library: Library, feeds, change, message):
    with pytest.raises(UsageError, match=message):
        library({**feeds, **change})


def test_refuses_missing_inputs_and_positional_ones(library: Library, feeds):
    with pytest.raises(UsageError, match=r"missing input 'y.1', 'index'"):
        library(x=feeds["x"])
    with pytest.raises(UsageError, match=r"inputs are passed by name"):
        library(feeds["x"])  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        library(feeds, feeds)  # type: ignore[call-arg]


def test_refuses_wrong_outputs(library: Library, feeds):
    with pytest.raises(UsageError, match="no output 'total'"):
        library(feeds, out={"total": np.zeros((2, 3), np.float32)})
    with pytest.raises(UsageError, match="output 'sum': the shape is 3x3"):
        library(feeds, out={"sum": np.zeros((3, 3), np.float32)})
    with pytest.raises(UsageError, match="output 'sum'.*not dense"):
        library(feeds, out={"sum": np.zeros((2, 6), np.float32)[:, ::2]})
    frozen = np.zeros((2, 3), np.float32)
    frozen.flags.writeable = False
    with pytest.raises(UsageError, match="output 'sum': the array is read-only"):
        library(feeds, out={"sum": frozen})


def test_an_index_out_of_range_is_reported_once(library: Library, feeds):
    with pytest.raises(UsageError, match="index outside the axis"):
        library({**feeds, "index": np.array([0, 6])})
    np.testing.assert_array_equal(library(feeds)["sum"], expected(feeds))


def test_a_device_fault_names_the_kernel_and_a_new_load_works(library: Library, library_path: Path, feeds):
    for what in ("running the model", "copying an input"):  # the second meets the error that the first left behind
        with pytest.raises(DeviceError, match=rf"{what}.*FAKE_ILLEGAL_ADDRESS \(700\).*kernel fake_add read.*create it anew"):
            library({**feeds, "x": -np.ones((2, 3), np.float32)})
    with nautilus_cli.load(library_path) as other:
        np.testing.assert_array_equal(other(feeds)["sum"], expected(feeds))


@pytest.mark.parametrize("launch", ["graph", "stream"])
def test_runs_allocate_nothing_and_update_nothing(library_path: Path, feeds, launch):
    with nautilus_cli.load(library_path, launch=launch) as library:
        counts = np.array([library(feeds)["counters"] for _ in range(4)])
    assert (counts[:, ALLOCATIONS] == counts[0, ALLOCATIONS]).all()
    assert (counts[:, UPDATES] == 0).all()
    graph, stream = counts[:, GRAPH_LAUNCHES].tolist(), counts[:, STREAM_LAUNCHES].tolist()
    assert (graph, stream) == (([1, 2, 3, 4], [0] * 4) if launch == "graph" else ([0] * 4, [4, 9, 14, 19]))


def test_threads_have_contexts_of_their_own(library: Library, feeds):
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        own = {**feeds, "x": feeds["x"] + seed}
        try:
            for _ in range(50):
                np.testing.assert_array_equal(library(own)["sum"], expected(own))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_loads_are_independent_and_leave_nothing(library_path: Path, feeds):
    descriptors = Path("/proc/self/fd")

    def images() -> int:
        return Path("/proc/self/maps").read_text().count("memfd:nautilus-emulated")

    gc.collect()  # what other tests have left
    others = images()
    with nautilus_cli.load(library_path) as first:
        allocations = first(feeds)["counters"][ALLOCATIONS]
        before = len(list(descriptors.iterdir()))
        for _ in range(50):
            with nautilus_cli.load(library_path) as library:
                assert library(feeds)["counters"][ALLOCATIONS] == allocations
        assert len(list(descriptors.iterdir())) == before
        assert images() <= others + 6  # of one image
    assert images() == others
    assert library_path.name not in Path("/proc/self/maps").read_text()


def test_a_library_written_anew_is_loaded_anew(tmp_path: Path, host, image, library_path: Path):
    with nautilus_cli.load(library_path) as old:
        changed = fake_library.variant(image, weights=(), weight_bytes=768)
        fake_library.write(library_path, host, changed)
        with nautilus_cli.load(library_path) as new:
            assert (old.info.weight_bytes, new.info.weight_bytes) == (512, 768)


def test_a_library_that_stays_loaded_is_not_taken_for_another(tmp_path: Path, host, image, library_path: Path):
    other = fake_library.write(tmp_path / "other.so", host, fake_library.variant(image, weights=(), weight_bytes=768))
    with nautilus_cli.load(library_path) as library:
        kept = ctypes.CDLL(str(library_path))  # the same library, which closing does not unload then
        assert library.info.weight_bytes == 512
    with nautilus_cli.load(other) as library:  # its descriptors have the numbers of those that were closed
        assert library.info.weight_bytes == 768
    assert kept.nautilus_abi_version() > 0


def test_a_closed_library_says_so(library_path: Path, feeds):
    library = nautilus_cli.load(library_path)
    library.close()
    library.close()
    assert "closed" in repr(library)
    with pytest.raises(UsageError, match="the library is closed"):
        library(feeds)


def test_emulator_options(library_path: Path, feeds):
    with nautilus_cli.load(library_path, emulator=EmulatorOptions(order="random", seed=7, lazy=True)) as library:
        assert library(feeds)["options"].tolist() == [2, 7, 1, 0]
        library.configure_emulator(EmulatorOptions(order="reverse", poison=True))
        assert library(feeds)["options"].tolist() == [1, 0, 0, 1]


def test_the_manifest_of_another_library_is_noticed(library: Library):
    path = library.path.with_suffix(".json")
    path.write_text(path.read_text().replace('"note": "options"', '"note": "optionz"'))
    with pytest.raises(FileError, match="not that of the library beside it"):
        _ = library.manifest


def test_unknown_choices_list_the_known(library_path: Path):
    with pytest.raises(UsageError, match="place: 'emulate' is no choice. *Known: emulated"):
        nautilus_cli.load(library_path, place="emulate")
    with pytest.raises(UsageError, match="launch: 'x' is no choice"):
        nautilus_cli.load(library_path, launch="x")
    with pytest.raises(DeviceError, match="there is no device 3: devices 0 to 0 were found"):
        nautilus_cli.load(library_path, device=3)


def test_out_of_memory_says_how_much(tmp_path: Path, host, image):
    path = fake_library.write(tmp_path / "libbig.so", host, fake_library.variant(image, arena_bytes=1 << 50))
    with (
        nautilus_cli.load(path) as library,
        pytest.raises(DeviceError, match="workspace of a context needs 1125899906842624 bytes.*1000 of"),
    ):
        library.model.create_context()


def test_more_shared_memory_than_there_is_names_the_kernel(tmp_path: Path, host, image):
    kernels = fake_library.plan().kernels
    large = replace(kernels[0], geometry=replace(kernels[0].geometry, smem_bytes=300_000))
    path = fake_library.write(tmp_path / "liblarge.so", host, fake_library.variant(image, kernels=(large, *kernels[1:])))
    with pytest.raises(DeviceError, match="giving kernel fake_add its 300000 bytes of shared memory"):
        nautilus_cli.load(path)


def test_emulated_code_serves_only_when_asked_or_alone(tmp_path: Path, host, image):
    fat = fake_library.write(tmp_path / "libfat.so", host, fake_library.gpu_variant(), fake_library.variant(image))
    assert held_targets(fat) == (("sm_90a", False), ("emulated", True))
    with nautilus_cli.load(fat, place="emulated") as library:
        assert library.is_emulated
    with pytest.raises(
        DeviceError,
        match=r"no CUDA driver was found \(libcuda.so.1.*holds code for sm_90a, emulated \(which runs with --emulated\)\..*CUDA 12.3",
    ):
        nautilus_cli.load(fat)


def test_asking_for_what_the_library_lacks(library_path: Path, gpu_library_path: Path):
    with pytest.raises(UsageError, match="the emulator was asked for. This library holds code for sm_90a. Compile it with --target"):
        nautilus_cli.load(gpu_library_path, place="emulated")
    with pytest.raises(UsageError, match="a GPU was asked for. This library holds code for emulated."):
        nautilus_cli.load(library_path, place="gpu")
