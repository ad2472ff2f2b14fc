"""The cases of onnx.backend.test: models, inputs, what must come out, and the tolerance that onnx's own runner compares with."""

from __future__ import annotations

import hashlib
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, TypeProto, numpy_helper
from onnx.backend.test import loader

SUITES = ("node", "simple", "pytorch-converted", "pytorch-operator", "light")
ON_DISK = ("simple", "pytorch-converted", "pytorch-operator")
FOLDER = Path(__file__).parent

_EXPANDED = re.compile(r"_expanded(_ver\d+)?$")
BEYOND = ("Cast", "CastLike", "QuantizeLinear", "DequantizeLinear")


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSet:
    """Inputs and what must come out, in the order of the model's; a tensor is an array, a sequence a list, an empty optional None."""

    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Case:
    """One case.

    Attributes:
        suite: one of SUITES.
        name: unique in its suite.
        operator: what it is about; a case of an operator's expanded definition counts for that operator.
        model: the model.
        data_sets: at least one.
        rtol, atol: tolerances of onnx's runner.
    """

    suite: str
    name: str
    operator: str
    model: ModelProto
    data_sets: tuple[DataSet, ...]
    rtol: float
    atol: float

    @property
    def key(self) -> str:
        """Its name among all suites."""
        return f"{self.suite}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which cases to run.

    Attributes:
        only: patterns of names, any of which a case must match; none for all.
        suites: the suites.
        kind: `core`, `static` or `runtime` (kinds of core), `beyond`, or None for all.
        part: (N, of): the cases whose hash leaves N when divided by OF.
        operators: those about one of these are chosen whatever their hash.
    """

    only: tuple[str, ...] = ()
    suites: tuple[str, ...] = SUITES
    kind: str | None = None
    part: tuple[int, int] = (0, 1)
    operators: frozenset[str] = field(default_factory=frozenset)

    def has(self, case: Case) -> bool:
        """Whether a case is chosen."""
        if case.suite not in self.suites:
            return False
        if self.only and not any(fnmatchcase(case.name, pattern) for pattern in self.only):
            return False
        if self.kind is not None and self.kind not in kinds(case):
            return False
        if not self.operators.isdisjoint(case.operator.split("+")):
            return True
        number, of = self.part
        return hash_of(case.key) % of == number


def hash_of(key: str) -> int:
    """Return a number that only the name decides."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "little")


@cache
def core_kinds() -> Mapping[str, str]:
    """Return the kind of each core case: `static`, or `runtime` where an input's value decides a shape, axis, count or branch."""
    lines = (FOLDER / "core_cases.tsv").read_text().splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    return {name: kind for name, kind, *_ in rows[1:]}


def kinds(case: Case) -> tuple[str, ...]:
    """Return what a case counts as."""
    if case.suite != "node":
        return ()
    kind = core_kinds().get(case.name)
    if kind is not None:
        return ("core", kind)
    return ("beyond",) if is_beyond(case) else ()


def is_beyond(case: Case) -> bool:
    """Whether a case outside core converts to or from fp8, fp4 or integers below eight bits: what core leaves out of these operators."""
    return case.suite == "node" and case.operator in BEYOND and case.name not in core_kinds()


def load(suites: Sequence[str] = SUITES) -> list[Case]:
    """Return the cases of some suites, sorted by suite and name."""
    found: list[Case] = []
    for suite in SUITES:
        if suite in suites:
            found += sorted(_READERS[suite](), key=lambda case: case.name)
    return found


def _node_cases() -> Iterator[Case]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some cases overflow on purpose while they are made
        tests = list(loader.load_model_tests(kind="node"))
    by_name = {test.name: test for test in tests}
    for test in tests:
        original = by_name.get(_EXPANDED.sub("", test.name), test)
        yield Case(
            suite="node",
            name=test.name,
            operator=_operator(original.model),
            model=test.model,
            data_sets=tuple(DataSet(inputs=_values(given), outputs=_values(wanted)) for given, wanted in test.data_sets),
            rtol=test.rtol,
            atol=test.atol,
        )


def _disk_cases(suite: str) -> Iterator[Case]:
    for test in loader.load_model_tests(kind=suite):
        folder = Path(test.model_dir)
        model = onnx.load(folder / "model.onnx")
        sets = []
        for data in sorted(folder.glob("test_data_set*")):
            inputs = tuple(_read(data / f"input_{i}.pb", model.graph.input[i].type) for i in range(len(list(data.glob("input_*.pb")))))
            outputs = tuple(_read(data / f"output_{i}.pb", model.graph.output[i].type) for i in range(len(list(data.glob("output_*.pb")))))
            sets.append(DataSet(inputs=inputs, outputs=outputs))
        yield Case(
            suite=suite, name=test.name, operator=_operator(model), model=model, data_sets=tuple(sets), rtol=test.rtol, atol=test.atol
        )


def _light_cases() -> Iterator[Case]:
    """Yield the classical networks, whose weights are constants; the runner's input counts up from 0 to 1."""
    folder = Path(loader.DATA_DIR) / "light"
    tolerances = {test.model_name: (test.rtol, test.atol) for test in loader.load_model_tests(kind="real")}
    for path in folder.glob("*.onnx"):
        model = onnx.load(path)
        initial = {t.name for t in model.graph.initializer}
        shapes = [[d.dim_value or 1 for d in v.type.tensor_type.shape.dim] for v in model.graph.input if v.name not in initial]
        inputs = [(np.arange(np.prod(shape)).reshape(shape) / np.prod(shape)).astype(np.float32) for shape in shapes]
        results = enumerate(model.graph.output)
        outputs = tuple(_read(path.with_name(f"{path.stem}_output_{i}.pb"), value.type) for i, value in results)
        rtol, atol = tolerances.get(path.stem.removeprefix("light_"), (1e-3, 1e-7))
        data = DataSet(inputs=tuple(inputs), outputs=outputs)
        yield Case(suite="light", name=path.stem, operator="network", model=model, data_sets=(data,), rtol=rtol, atol=atol)


_READERS = {
    "node": _node_cases,
    "light": _light_cases,
    **{suite: lambda suite=suite: _disk_cases(suite) for suite in ON_DISK},
}


def _values(items: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(numpy_helper.to_array(item) if isinstance(item, TensorProto) else item for item in items)


def _read(path: Path, type_: TypeProto) -> Any:
    """Return the value in a file."""
    content = path.read_bytes()
    if type_.HasField("sequence_type"):
        return numpy_helper.to_list(onnx.SequenceProto.FromString(content))
    if type_.HasField("optional_type"):
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(content))
    return numpy_helper.to_array(TensorProto.FromString(content))


def _operator(model: ModelProto) -> str:
    """Return what a model is about: its one operator, or the two that it has."""
    names = {f"{node.domain}::{node.op_type}" if node.domain else node.op_type for node in model.graph.node}
    names = names - {"Constant"} or names
    return "+".join(sorted(names)) if len(names) < 3 else "several"
