"""What to do about an operator that is not supported: another export, or another place to cut the model."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_TEXT = "Turn text into numbers outside of the library: cut the model behind it with onnx.utils.extract_model, or before it with --outputs."
_RANDOM = "Draw the numbers outside of the library and make them an input; noise of training goes with an export in evaluation mode."
_TRAINING = "Export the model for inference: model.eval(), and not in training mode."

_OPERATORS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("RegexFullMatch", "StringConcat", "StringSplit", "TfIdfVectorizer"), _TEXT),
        **dict.fromkeys(("Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"), _RANDOM),
        "ATen": "Export with torch.onnx.export(..., dynamo=True), which writes ONNX's own operators.",
        "ImageDecoder": "Decode images outside of the library, and cut the model behind this node with onnx.utils.extract_model.",
        "ai.onnx.ml::ZipMap": "Convert with options={'zipmap': False} (skl2onnx), which leaves probabilities a tensor.",
    }
)

_DOMAINS: Mapping[str, str] = MappingProxyType(
    {
        "ai.onnx.contrib": "Export without the steps of onnxruntime-extensions, and run them outside of the library.",
        "ai.onnx.ml": "Write it with tensor operators before the export: hummingbird-ml does so for trees and linear models.",
        "ai.onnx.preview.training": _TRAINING,
        "ai.onnx.training": _TRAINING,
        "com.microsoft": "onnxruntime's optimiser and quantiser write such: compile the model as it was before, or with fewer fusions.",
        "com.microsoft.nchwc": "onnxruntime writes it for one CPU: save the model with ORT_ENABLE_BASIC, or compile the one before.",
        "org.pytorch.aten": _OPERATORS["ATen"],
    }
)


def advice(key: str) -> str | None:
    """Return what would help with an operator that is not supported, None where nothing is known to.

    Args:
        key: the operator's name, with `domain::` before it outside the default domain.
    """
    if key in _OPERATORS:
        return _OPERATORS[key]
    domain, separator, name = key.rpartition("::")
    if not separator and name.endswith("_TRT"):
        return "Export without TensorRT's plugins."
    return _DOMAINS.get(domain)
