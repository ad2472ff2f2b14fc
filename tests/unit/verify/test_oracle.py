"""The reference session."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from nautilus_cli.errors import ModelError, UsageError
from nautilus_cli.ops.element_types import dtype_from_onnx
from nautilus_cli.verify.no_reference import NoReference
from nautilus_cli.verify.oracle import Oracle


def model(op: str, elem_type: int = TensorProto.FLOAT, weight: np.ndarray | None = None) -> onnx.ModelProto:
    x = helper.make_tensor_value_info("x", elem_type, [2, 3])
    y = helper.make_tensor_value_info("y", elem_type, None)
    operands = ["x"] if weight is None else ["x", "w"]
    initializers = [] if weight is None else [numpy_helper.from_array(weight, "w")]
    graph = helper.make_graph([helper.make_node(op, operands, ["y"])], "g", [x], [y], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)


def test_runs_bytes():
    oracle = Oracle(model("Abs").SerializeToString())
    assert (oracle.inputs, oracle.outputs) == (("x",), ("y",))
    x = -np.ones((2, 3), np.float32)
    np.testing.assert_array_equal(oracle.run({"x": x})["y"], -x)
    assert oracle.name.startswith("onnxruntime ")


def test_runs_a_file_with_external_data(tmp_path: Path):
    weight = np.arange(12, dtype=np.float32).reshape(3, 4)
    onnx.save(model("MatMul", weight=weight), tmp_path / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0)
    assert (tmp_path / "m.data").exists()
    x = np.ones((2, 3), np.float32)
    np.testing.assert_array_equal(Oracle(tmp_path / "m.onnx").run({"x": x})["y"], x @ weight)


def test_half_precision_stays_half():
    y = Oracle(model("Exp", TensorProto.FLOAT16).SerializeToString()).run({"x": np.ones((2, 3), np.float16)})["y"]
    assert y.dtype == np.float16


def test_bfloat16_goes_in_and_out():
    x = np.array([[1.5, -2, 3], [0, 1, 2]], ml_dtypes.bfloat16)
    y = Oracle(model("Identity", TensorProto.BFLOAT16).SerializeToString()).run({"x": x})["y"]
    assert y.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(y, x)


@pytest.mark.parametrize("number", [TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E5M2])
def test_8_bit_floats_go_in_and_out(number: int):
    x = np.array([[1.5, -2, 3], [0, 1, 2]], np.float32).astype(dtype_from_onnx(number).numpy)
    y = Oracle(model("Identity", number).SerializeToString()).run({"x": x})["y"]
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(y.view(np.uint8), x.view(np.uint8))


def test_values_of_4_bits_come_out_one_a_byte():
    proto = model("Identity")
    proto.graph.node[0].CopyFrom(helper.make_node("Cast", ["x"], ["y"], to=TensorProto.INT4))
    proto.graph.output[0].type.tensor_type.elem_type = TensorProto.INT4
    x = np.array([[1, -2, 7], [-8, 0, 3]], np.float32)
    y = Oracle(proto.SerializeToString()).run({"x": x})["y"]
    np.testing.assert_array_equal(y.astype(np.float32), x)


def test_inputs_of_4_bits_have_no_reference():
    proto = model("Identity", TensorProto.INT4)
    proto.graph.node[0].CopyFrom(helper.make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT))
    proto.graph.output[0].type.tensor_type.elem_type = TensorProto.FLOAT
    with pytest.raises(NoReference, match="takes no input of type i4"):
        Oracle(proto.SerializeToString()).run({"x": np.zeros((2, 3), ml_dtypes.int4)})


def test_inputs_need_not_be_contiguous():
    x = np.arange(6, dtype=np.float32).reshape(3, 2).T
    np.testing.assert_array_equal(Oracle(model("Abs").SerializeToString()).run({"x": x})["y"], x)


def test_names_are_checked():
    oracle = Oracle(model("Abs").SerializeToString())
    with pytest.raises(UsageError, match="lacks values for 'x'"):
        oracle.run({})
    with pytest.raises(UsageError, match="no input 'z'"):
        oracle.run({"x": np.zeros((2, 3), np.float32), "z": np.zeros(1)})


@pytest.mark.parametrize("content", [b"", b"nonsense"])
def test_what_cannot_be_loaded(content: bytes, tmp_path: Path):
    path = tmp_path / "m.onnx"
    path.write_bytes(content)
    with pytest.raises(ModelError, match="--golden") as caught:
        Oracle(path)
    assert "ONNXRuntimeError" not in str(caught.value)


def test_an_operator_it_does_not_have():
    broken = model("Abs")
    broken.graph.node[0].op_type = "NoSuchOperator"
    with pytest.raises(ModelError, match="NoSuchOperator"):
        Oracle(broken.SerializeToString())


def test_what_fails_while_running():
    with pytest.raises(ModelError, match="cannot run it"):
        Oracle(model("Abs").SerializeToString()).run({"x": np.zeros((3, 3), np.float32)})
