"""The small networks by name."""

from __future__ import annotations

from collections.abc import Callable

import onnx

from models.small.builder import OPSETS, Builder
from models.small.convolutional import mobilenet_v3, resnet
from models.small.transformers import bert, gpt2, vit

NETWORKS: dict[str, Callable[[Builder, int], onnx.ModelProto]] = {
    "resnet": resnet,
    "mobilenet_v3": mobilenet_v3,
    "vit": vit,
    "bert": bert,
    "gpt2": gpt2,
}
EXPORTERS = tuple(OPSETS)
TYPES = ("fp32", "fp16")


def build(name: str, exporter: str = "dynamo", dtype: str = "fp32", *, batch: int = 1, seed: int = 0) -> onnx.ModelProto:
    """Return a small network.

    Args:
        name: one of NETWORKS.
        exporter: whose way of writing it, one of EXPORTERS.
        dtype: one of TYPES.
        batch: size of the first dimension.
        seed: of the weights.
    """
    return NETWORKS[name](Builder(exporter, dtype, seed), batch)
