"""Models in ONNX's text form, and what others say that they compute."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnxruntime
import pytest
from onnx import ModelProto, parser
from onnx.reference import ReferenceEvaluator

from nautilus_cli.errors import ModelError
from nautilus_cli.frontend import LoadedModel
from nautilus_cli.ops.evaluate import evaluate
from nautilus_cli.ops.verifier import verify_graph
from nautilus_cli.passes import pipeline
from tests.unit.frontend.models import imported, told
from tests.unit.ops.oracle import same

Feeds = Mapping[str, np.ndarray]


def parsed(text: str, opset: int = 20) -> ModelProto:
    """Return a model whose opset is not written in the text."""
    return parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]> {text}')


def computed(loaded: LoadedModel, feeds: Feeds) -> list[np.ndarray]:
    """What the imported graph computes, before and after the passes."""
    verify_graph(loaded.graph)
    given = {name: feeds[name] for name, _ in loaded.graph.inputs}
    plain = evaluate(loaded.graph, given)
    lowered = evaluate(pipeline.simplify(loaded.graph), given)
    for name, array in plain.items():
        same(lowered[name], array, terms=64, depth=16)
    return list(plain.values())


def onnxruntime_says(proto: ModelProto, feeds: Feeds) -> list[np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    found: list[np.ndarray] = session.run(None, dict(feeds))
    return found


def reference_says(proto: ModelProto, feeds: Feeds) -> list[np.ndarray]:
    return [np.asarray(array) for array in ReferenceEvaluator(proto).run(None, dict(feeds))]


def hold(
    text: str,
    *feeds: Feeds,
    opset: int = 20,
    bindings: Mapping[str, str] | None = None,
    by_onnxruntime: bool = True,
    by_reference: bool = True,
) -> LoadedModel:
    """Hold what the import of a model computes against onnxruntime and ONNX's reference, for each set of inputs."""
    proto = parsed(text, opset)
    loaded = imported(proto, bindings=bindings)
    for given in feeds:
        found = computed(loaded, given)
        for says, is_asked in ((onnxruntime_says, by_onnxruntime), (reference_says, by_reference)):
            if is_asked:
                for ours, theirs in zip(found, says(proto, given), strict=True):
                    same(ours, theirs, terms=64, depth=16)
    return loaded


def refused(text: str, opset: int = 20, **given: object) -> str:
    """What the refusal of a model says."""
    with pytest.raises(ModelError) as caught:
        imported(parsed(text, opset), **given)  # type: ignore[arg-type]
    return told(caught.value)


def drawn(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
