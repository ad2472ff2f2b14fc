"""Attention operators, and others that count along a dimension, of open sizes: against onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest

import nautilus_cli
from nautilus_cli import driver
from nautilus_cli.ir.ranges import DimRange
from tests.e2e.test_open_edges import POISONED
from tests.support.closeness import assert_close

DIMS = {"B": DimRange(2, 2), "S": DimRange(1, 12), "T": DimRange(1, 12), "P": DimRange(0, 9)}
SIZES = ({"B": 2, "S": 1, "T": 1, "P": 0}, {"B": 2, "S": 12, "T": 12, "P": 9}, {"B": 2, "S": 7, "T": 5, "P": 4})

STANDARD = """g (float[B,2,S,4] q, float[B,2,S,4] k, float[B,2,T,4] other, float[B,1,S,T] bias, bool[S,PS] seen, float[B,2,P,4] past,
                 float[5,B,2] x, int64[B] lengths)
  => (float[B,2,S,4] plain, float[B,2,S,4] causal, float[B,2,S,4] biased, float[B,2,S,4] y, float[B,2,X,4] key, float[B,2,X,4] value,
      float[5,B,2] turned, float[B,2,S,4] hard) {
  plain = Attention (q, other, other)
  causal = Attention <is_causal = 1> (q, k, k)
  biased = Attention (q, other, other, bias)
  y, key, value = Attention <is_causal = 1> (q, k, k, seen, past, past)
  turned = ReverseSequence <batch_axis = 1, time_axis = 0> (x, lengths)
  hard = Hardmax <axis = 2> (q)
}"""

DECODING = """g (float[B,2,S,8] x, float[20,4] table, int64[B,S] ids, float[B,30,4] cache, float[B,S,4] rows,
                 int64[B] at, float[B,8] scores)
  => (float[B,2,S,8] turned, float[B,30,4] filled, float[B,30,4] begun, float[B] loss) {
  turned = RotaryEmbedding (x, table, table, ids)
  filled = TensorScatter <axis = 1> (cache, rows, at)
  begun = TensorScatter <axis = 1> (cache, rows)
  loss = NegativeLogLikelihoodLoss <reduction = "none"> (scores, at)
}"""

MICROSOFT = """g (float[B,S,8] q, float[B,T,8] other, int32[B,T] mask, float[8,24] w, float[24] b, int32[B] ends,
                  float[B,2,S,8] turned, int64[1] at, float[20,4] table, int32[B,S] ids, float[30,8] words,
                  float[12,8] places, float[8] scale)
  => (float[B,S,8] a, float[B,S,8] c, float[B,S,8] d, float[B,S,8] e, float[B,2,S,8] r, float[B,S,8] embedded) {
  a = com.microsoft.MultiHeadAttention <num_heads = 2> (q, other, other, , mask)
  c = com.microsoft.MultiHeadAttention <num_heads = 2, unidirectional = 1> (q, q, q)
  d = com.microsoft.Attention <num_heads = 2> (q, w, b)
  e = com.microsoft.Attention <num_heads = 2, unidirectional = 1> (q, w, b, ends)
  r = com.microsoft.RotaryEmbedding (turned, at, table, table)
  embedded, counts = com.microsoft.EmbedLayerNormalization (ids, , words, places, , scale, scale)
}"""


def drawn(model: onnx.ModelProto, sizes: Mapping[str, int]) -> dict[str, np.ndarray]:
    """Return inputs of these sizes: whatever picks something picks what is there."""
    random, found = np.random.default_rng(0), {}
    for port in model.graph.input:
        shape = [sizes[dim.dim_param] if dim.dim_param else dim.dim_value for dim in port.type.tensor_type.shape.dim]
        match port.name:
            case "seen":
                found[port.name] = random.random(shape) < 0.7
                found[port.name][:, 0] = True
            case "lengths" | "ends":
                found[port.name] = random.integers(1, 5 if port.name == "lengths" else sizes["S"], shape, endpoint=True)
            case "mask":
                found[port.name] = np.ones(shape)
            case "ids" | "at":
                found[port.name] = random.integers(0, 8, shape)
            case _:
                found[port.name] = random.standard_normal(shape)
        found[port.name] = found[port.name].astype(onnx.helper.tensor_dtype_to_np_dtype(port.type.tensor_type.elem_type))
    return found


@pytest.mark.parametrize(("text", "opset"), [(STANDARD, 23), (DECODING, 24), (MICROSOFT, 23)], ids=["standard", "decoding", "microsoft"])
def test_one_library_for_all_lengths(text: str, opset: int, tmp_path: Path) -> None:
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : {opset}, "com.microsoft" : 1]>\n{text}')
    path, output = tmp_path / "model.onnx", tmp_path / "libmodel.so"
    onnx.save(model, path)
    named = {dim.dim_param for port in model.graph.input for dim in port.type.tensor_type.shape.dim}
    dims = {name: range_ for name, range_ in {**DIMS, "PS": DimRange(1, 21)}.items() if name in named}
    driver.compile(driver.CompileOptions(model=path, output=output, target="emulated", dims=dims, verify=False))
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    with nautilus_cli.load(output, emulator=POISONED) as library:
        for sizes in SIZES:
            inputs = drawn(model, {**sizes, "PS": sizes["P"] + sizes["S"]})
            found = library(inputs)
            for port, wanted in zip(model.graph.output, session.run(None, inputs), strict=True):
                assert_close(found[port.name], wanted, f"{port.name} at {sizes}", terms=24, depth=16, scale=float(np.abs(wanted).max()))
