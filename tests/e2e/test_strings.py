"""Strings at the interface: arrays of strings go in and come out, and StringNormalizer works on their code points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper

import nautilus_cli
from nautilus_cli import driver
from nautilus_cli.errors import ModelError, UsageError
from nautilus_cli.frontend.load import NO_SHAPES, load
from nautilus_cli.ir.ranges import DimRange, Size
from nautilus_cli.runtime.library import Library

WORDS = ["monday", "Tuesday", "ÄPFEL", "straße"]


def normalizer(shape: Sequence[int | str], result: Sequence[int | str], **attributes: object) -> ModelProto:
    node = helper.make_node("StringNormalizer", ["x"], ["y"], **attributes)
    ports = [helper.make_tensor_value_info(name, TensorProto.STRING, dims) for name, dims in (("x", shape), ("y", result))]
    graph = helper.make_graph([node], "g", ports[:1], ports[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def built(proto: ModelProto, folder: Path, shapes: Mapping[str, tuple[Size, ...]] = NO_SHAPES) -> Library:
    path = folder / "model.onnx"
    onnx.save(proto, path)
    driver.compile(driver.CompileOptions(model=path, output=folder / "model.so", target="emulated", jobs=1, verify=False, shapes=shapes))
    return nautilus_cli.load(folder / "model.so")


@pytest.mark.parametrize("action", ["UPPER", "LOWER", "NONE"])
def test_case_changes(action: str, tmp_path: Path) -> None:
    with built(normalizer([4], [4], case_change_action=action, is_case_sensitive=1), tmp_path) as library:
        for words in (WORDS, ["", "a", "b" * 64, "ñ Ω"]):
            convert = {"UPPER": str.upper, "LOWER": str.lower, "NONE": str}[action]
            wanted = ["".join(found if len(found := convert(c)) == 1 else c for c in word) for word in words]
            assert library(x=np.array(words))["y"].tolist() == wanted
            assert library(x=np.array(words, object))["y"].dtype == object


STOP = ["monday", "Straße", "x" * 65, "TUESDAY"]


@pytest.mark.parametrize("is_case_sensitive", [0, 1])
@pytest.mark.parametrize("action", ["UPPER", "NONE"])
def test_stop_words_leave(action: str, is_case_sensitive: int, tmp_path: Path) -> None:
    proto = normalizer([1, "n"], [1, "m"], case_change_action=action, is_case_sensitive=is_case_sensitive, stopwords=STOP)
    with built(proto, tmp_path, {"x": (1, DimRange(1, 9))}) as library:
        for words in (WORDS, ["monday"], ["a"], ["Monday", "monday", "tuesday", "TUESDAY", ""], ["straße"] * 9, ["monday"] * 9):
            fold = str if is_case_sensitive else str.lower
            stop = {fold(word) for word in STOP}
            kept = [word for word in words if fold(word) not in stop] or [""]
            wanted = [simple_upper(word) if action == "UPPER" else word for word in kept]
            assert library(x=np.array([words], object))["y"].tolist() == [wanted]


def simple_upper(word: str) -> str:
    return "".join(found if len(found := c.upper()) == 1 else c for c in word)


def test_width_is_the_last_dimension_of_a_shape(tmp_path: Path) -> None:
    with built(normalizer(["n"], ["n"], case_change_action="UPPER"), tmp_path, {"x": (2, 5)}) as library:
        assert library(x=np.array(["abcde", "x"]))["y"].tolist() == ["ABCDE", "X"]
        with pytest.raises(UsageError, match=r"input 'x': holds a string of 6 code points; the library takes up to 5"):
            library(x=np.array(["abcdef", "x"]))
        with pytest.raises(UsageError, match=r"input 'x': .*Pass an array of strings"):
            library(x=np.zeros(2, np.float32))


def test_other_operators_on_strings_are_refused(tmp_path: Path) -> None:
    x = helper.make_tensor_value_info("x", TensorProto.STRING, [2])
    for op, outputs in (("StringConcat", [TensorProto.STRING]), ("Equal", [TensorProto.BOOL])):
        node = helper.make_node(op, ["x", "x"], ["y"])
        graph = helper.make_graph([node], "g", [x], [helper.make_tensor_value_info("y", outputs[0], [2])])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), tmp_path / "m.onnx")
        with pytest.raises(ModelError, match=f"#0 {op}.*strings"):
            load(tmp_path / "m.onnx")


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"case_change_action": "TITLE"}, "case_change_action is 'TITLE'; the specification allows LOWER, UPPER, NONE"),
        ({"case_change_action": "UPPER", "locale": "tr_TR"}, "'tr' has rules of its own"),
        ({"case_change_action": 3}, "'case_change_action' is no string"),
        ({"stopwords": 3}, "'stopwords' is no list of strings"),
    ],
)
def test_constraints(attributes: dict[str, object], message: str, tmp_path: Path) -> None:
    onnx.save(normalizer([2], [2], **attributes), tmp_path / "m.onnx")
    with pytest.raises(ModelError, match=message):
        load(tmp_path / "m.onnx")


def test_shape_of_the_operand_is_checked(tmp_path: Path) -> None:
    onnx.save(normalizer([2, 2], [2, 2]), tmp_path / "m.onnx")
    with pytest.raises(ModelError, match=r"the specification allows \[C\] and \[1, C\]"):
        load(tmp_path / "m.onnx")
