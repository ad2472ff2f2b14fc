"""Calls of the C interface with whatever a caller may get wrong: each is an error that says so, and the context runs on as before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from ctypes import POINTER, byref, c_int64, c_size_t, c_void_p
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nautilus_cli.artifact.abi import Status
from nautilus_cli.ir.ranges import DimRange
from nautilus_cli.runtime.binding import Binding, ContextOptionsStruct, ModelInfoStruct, TensorStruct
from tests.e2e.test_run_time_control_flow import Compiled
from tests.support.closeness import assert_close

NUMBERS = (0, 1, -1, 2, 3, 7, 8, 12, 64, 65, 4096, 4097, 2**31 - 1, 2**31, -(2**31), 2**32, 2**62, 2**63 - 1, -(2**63))
"""Sizes, and values of integers: what is small, edges of types, and what only 64 bits hold."""

MODELS = {
    "open": (
        """g (float[B,T] x, float[B,T] y, float[T] z, float[B,S] w) => (float[B,T] o, float[n] p) {
            a = Add(x, y) b = Mul(a, z) o = Relu(b) c = Concat <axis = 1> (w, x) axes = Constant <value_ints = [1]> ()
            p = ReduceSum <keepdims = 0> (c, axes) }""",
        {"B": DimRange(1, 8), "T": DimRange(8, 64, 8), "S": DimRange(0, 5)},
    ),
    "values": (
        """g (float[R,12] x, int64[2] shape, int64[1] k, int64 n) => (float[a,b] y, float[c,d] t, int64[e] r) {
            zero = Constant <value_int = 0> () one = Constant <value_int = 1> ()
            y = Reshape(x, shape) t, i = TopK(x, k) r = Range(zero, n, one) }""",
        {"R": DimRange(1, 20)},
    ),
    "counts": (
        """g (float[N] x) => (int64[1,c] found, float[c] v) {
            l = Constant <value_float = 0.5> () axis = Constant <value_ints = [0]> () m = Greater(x, l) found = NonZero(m)
            p = Squeeze(found, axis) v = Gather(x, p) }""",
        {"N": DimRange(1, 300)},
    ),
    "loop": (
        """g (float[B,4] x, int64 k, float most) => (float[B,4] y, int64 n, float[s] all) {
            on = Constant <value: tensor = bool {1}> () zero = Constant <value_int = 0> ()
            y, n, all = Loop (k, on, x, zero) <body = b (int64 i, bool c, float[B,4] a, int64 m)
                    => (bool d, float[B,4] e, int64 o, float q) {
                two = Constant <value_float = 1.5> () one = Constant <value_int = 1> () e = Mul(a, two) o = Add(m, one)
                q = ReduceMax <keepdims = 0> (e) d = Less(q, most) }> }""",
        {"B": DimRange(1, 6)},
    ),
}

DTYPES = {1: np.float32, 7: np.int64}
"""By their numbers in nautilus/abi.h."""

Arrays = list[np.ndarray]


@dataclass
class Caller:
    """A program in C, as it were: a model, one context, and what it passes."""

    name: str
    binding: Binding
    random: np.random.Generator
    model: c_void_p = field(default_factory=c_void_p)
    context: c_void_p = field(default_factory=c_void_p)
    inputs: list[TensorStruct] = field(default_factory=list)
    outputs: list[TensorStruct] = field(default_factory=list)

    def call(self, name: str, *arguments: Any) -> Status:
        assert self.binding._library is not None
        return Status(getattr(self.binding._library, f"nautilus_{name}")(*arguments))

    def say(self) -> str:
        assert self.binding._library is not None
        return str(self.binding._library.nautilus_last_error().decode())

    def begin(self) -> None:
        assert self.call("model_create", None, byref(self.model)) == Status.OK, self.say()
        info = ModelInfoStruct()
        assert self.call("model_describe", self.model, byref(info)) == Status.OK
        for name, count, found in (("input", info.input_count, self.inputs), ("output", info.output_count, self.outputs)):
            for number in range(count):
                found.append(TensorStruct())
                assert self.call(name, self.model, number, byref(found[-1])) == Status.OK
        assert self.call("context_create", self.model, None, byref(self.context)) == Status.OK, self.say()

    def end(self) -> None:
        assert self.call("context_destroy", self.context) == Status.OK
        assert self.call("model_destroy", self.model) == Status.OK
        self.binding.close()

    def number(self, low: int, high: int) -> int:
        return int(self.random.integers(low, high, endpoint=True))

    def arrays(self) -> Arrays:
        """Return inputs that fit."""
        floats = self.random.random
        match self.name:
            case "open":
                b, t, s = self.number(1, 8), 8 * self.number(1, 8), self.number(0, 5)
                shapes: Sequence[tuple[int, ...]] = ((b, t), (b, t), (t,), (b, s))
                return [np.asarray(floats(shape), np.float32) for shape in shapes]
            case "values":
                rows = self.number(1, 20)
                first = int(self.random.choice([d for d in range(1, 12 * rows + 1) if 12 * rows % d == 0]))
                numbers = ([first, 12 * rows // first], [self.number(1, 12)], self.number(0, 50))
                return [floats((rows, 12)).astype(np.float32), *(np.array(n) for n in numbers)]
            case "counts":
                return [floats(self.number(1, 300)).astype(np.float32)]
        return [
            floats((self.number(1, 6), 4)).astype(np.float32),
            np.array(self.number(0, 20)),
            np.array(self.random.choice([0.5, 10, 1e9]), np.float32),
        ]

    def expected(self, arrays: Arrays) -> list[np.ndarray]:
        match self.name:
            case "open":
                x, y, z, w = arrays
                return [np.maximum((x + y) * z, 0), np.concatenate([w, x], 1).sum(1)]
            case "values":
                x, shape, k, n = arrays
                return [x.reshape(shape), -np.sort(-x, 1)[:, : k[0]], np.arange(int(n))]
            case "counts":
                (x,) = arrays
                places = np.nonzero(x > 0.5)[0]
                return [places[None], x[places]]
        x, k, most = arrays
        greatest: list[np.float32] = []
        while len(greatest) < k:
            x = x * np.float32(1.5)
            greatest.append(x.max())
            if not greatest[-1] < most:
                break
        return [x, np.array(len(greatest)), np.array(greatest, np.float32)]

    def pointers(self, arrays: Sequence[np.ndarray | None]) -> Any:
        found = (c_void_p * len(arrays))()
        for number, array in enumerate(arrays):
            found[number] = None if array is None else array.ctypes.data
        return found

    def values(self, arrays: Sequence[np.ndarray | None]) -> Any:
        """Of the inputs that decide shapes."""
        return self.pointers([a if t.read_elements else None for a, t in zip(arrays, self.inputs, strict=True)])

    def shapes(self, shapes: Sequence[Sequence[int] | None]) -> Any:
        found = (POINTER(c_int64) * len(shapes))()
        for number, shape in enumerate(shapes):
            if shape is not None:
                found[number] = (c_int64 * max(1, len(shape)))(*shape)
        return found

    def run(self) -> None:
        """Run on inputs that fit, and hold what comes out against numpy."""
        arrays = self.arrays()
        shapes, most = self.shapes([a.shape for a in arrays]), [np.zeros(max(1, t.rank), np.int64) for t in self.outputs]
        told = (POINTER(c_int64) * len(most))(*(m.ctypes.data_as(POINTER(c_int64)) for m in most))
        bytes_ = c_size_t()
        assert self.call("shapes_of_values", self.model, shapes, self.values(arrays), told, byref(bytes_)) == Status.OK, self.say()
        assert self.call("context_reshape", self.context, shapes) == Status.OK, self.say()
        found = [np.zeros(int(np.prod(m[: t.rank])), DTYPES[t.dtype]) for m, t in zip(most, self.outputs, strict=True)]
        assert self.call("run_host", self.context, self.pointers(arrays), self.pointers(found)) == Status.OK, self.say()
        assert self.call("output_shapes", self.context, told, None) == Status.OK, self.say()
        for array, shape, tensor, wanted in zip(found, most, self.outputs, self.expected(arrays), strict=True):
            assert tuple(shape[: tensor.rank]) == wanted.shape
            assert_close(array[: wanted.size].reshape(wanted.shape), wanted, self.name, terms=64, depth=32)

    def mistake(self, what: str) -> Status:
        """Make a call that is wrong, or that may be."""
        arrays: list[np.ndarray | None] = [*self.arrays()]
        shapes: list[list[int] | None] = [list(a.shape) for a in arrays if a is not None]
        number = int(self.random.choice(NUMBERS[:12])) if self.random.random() < 0.5 else int(NUMBERS[self.number(0, len(NUMBERS) - 1)])
        place = self.number(0, len(shapes) - 1)
        match what:
            case "size":
                shape = shapes[place]
                if shape:
                    shape[self.number(0, len(shape) - 1)] = number
                if self.random.random() < 0.5:
                    return self.call("shapes", self.model, self.shapes(shapes), None, None)
                return self.call("context_reshape", self.context, self.shapes(shapes))
            case "no shape":
                shapes[place] = None
                return self.call("context_reshape", self.context, self.shapes(shapes))
            case "value":
                for place, tensor in enumerate(self.inputs):
                    array = arrays[place]
                    if tensor.read_elements and array is not None:
                        array.reshape(-1)[self.number(0, array.size - 1)] = number
                        arrays[place] = None if self.random.random() < 0.1 else array
                if self.random.random() < 0.5:
                    return self.call("context_reshape_values", self.context, self.shapes(shapes), self.values(arrays))
                status = self.call("context_reshape", self.context, self.shapes(shapes))
                found = [np.zeros(1 << 16) for _ in self.outputs]
                return status or self.call("run_host", self.context, self.pointers(arrays), self.pointers(found))
            case "no tensors":
                return self.call("run_host", self.context, self.pointers([None] * len(arrays)), self.pointers([None] * len(self.outputs)))
            case "no arguments":
                name = str(self.random.choice(["run", "run_host", "output_shapes", "context_reshape"]))
                empty = [None] * {"context_reshape": 1, "output_shapes": 2, "run_host": 2, "run": 3}[name]
                return self.call(name, self.context if self.random.random() < 0.5 else None, *empty)
            case "before a run":
                other = c_void_p()
                assert self.call("context_create", self.model, None, byref(other)) == Status.OK
                told = (POINTER(c_int64) * len(self.outputs))(*((c_int64 * 8)() for _ in self.outputs))
                status = self.call("output_shapes", other, told, None)
                assert self.call("context_destroy", other) == Status.OK
                return status
            case "structure":
                tensor = TensorStruct()
                tensor.struct_bytes = int(self.random.choice([0, 1, 8, 9, 40, 10**6, 2**62]))
                return self.call("input", self.model, int(self.random.choice([0, 1, 9, 2**62])), byref(tensor))
            case "options":
                options, other = ContextOptionsStruct(), c_void_p()
                options.workspace, options.workspace_bytes = int(self.random.choice([0, 1, 255, 256])), 0
                options.launch, options.device_only = int(self.random.choice([-1, 0, 1, 2])), 0
                status = self.call("context_create", self.model, byref(options), byref(other))
                return status or self.call("context_destroy", other)
        assert what == "memory"
        pointer = c_void_p()
        return self.call("allocate", self.model, int(self.random.choice([2**45, 2**62, 2**63])), byref(pointer))


MISTAKES = ("size", "no shape", "value", "no tensors", "no arguments", "before a run", "structure", "options", "memory")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("c_calls")


@pytest.fixture
def caller(request: pytest.FixtureRequest, folder: Path) -> Iterator[Caller]:
    name: str = request.param
    path = folder / name
    if not path.exists():
        path.mkdir()
        text, dims = MODELS[name]
        Compiled(text, path, **dims)
    made = Caller(name, Binding(path / "libmodel.so"), np.random.default_rng(3))
    made.begin()
    yield made
    made.end()


@pytest.mark.parametrize("caller", MODELS, indirect=True)
def test_a_context_runs_on_after_any_mistake(caller: Caller) -> None:
    seen: dict[str, set[Status]] = {what: set() for what in MISTAKES}
    for turn in range(117):
        what = MISTAKES[turn % len(MISTAKES)]
        status = caller.mistake(what)
        seen[what].add(status)
        if status != Status.OK:
            assert status not in (Status.BAD_LIBRARY, Status.DEVICE_ERROR), f"{what}: {caller.say()}"
            assert len(caller.say()) > 20
        caller.run()
    refused = {what for what, statuses in seen.items() if statuses != {Status.OK}}
    assert refused >= {"size", "no shape", "no tensors", "no arguments", "structure", "options", "memory"}


@pytest.mark.parametrize("caller", ["counts"], indirect=True)
def test_shapes_that_no_run_has_given(caller: Caller) -> None:
    """Not before the first run, and not behind a change of shapes."""
    told = (POINTER(c_int64) * len(caller.outputs))(*((c_int64 * 8)() for _ in caller.outputs))
    assert caller.call("output_shapes", caller.context, told, None) == Status.INVALID_ARGUMENT
    assert "has not run since it was created or reshaped" in caller.say()
    caller.run()
    assert caller.call("output_shapes", caller.context, told, None) == Status.OK
    assert caller.call("context_reshape", caller.context, caller.shapes([(299,)])) == Status.OK
    assert caller.call("output_shapes", caller.context, told, None) == Status.INVALID_ARGUMENT
    caller.run()


@pytest.mark.parametrize("caller", ["open"], indirect=True)
def test_what_is_said_of_sizes(caller: Caller) -> None:
    """The input, the dimension, the value, and what is right."""
    good = [[2, 16], [2, 16], [16], [2, 3]]
    for place, axis, size, text in (
        (0, 1, 72, "input 'x' has 72 in dimension 1, 'T'; the library was compiled for 8 to 64 in multiples of 8"),
        (0, 1, 12, "input 'x' has 12 in dimension 1, 'T'; the library was compiled for 8 to 64 in multiples of 8"),
        (0, 0, 0, "input 'x' has 0 in dimension 0, 'B'; the library was compiled for 1 to 8"),
        (3, 1, -(2**63), f"input 'w' has {-(2**63)} in dimension 1, 'S'; the library was compiled for 0 to 5"),
        (2, 0, 24, "input 'z' has 24 in dimension 0, 'T'; input 'x' makes it 16"),
    ):
        shapes = [list(shape) for shape in good]
        shapes[place][axis] = size
        assert caller.call("context_reshape", caller.context, caller.shapes(shapes)) == Status.INVALID_ARGUMENT
        assert caller.say() == text
    caller.run()
