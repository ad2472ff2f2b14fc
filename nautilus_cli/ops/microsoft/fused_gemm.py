"""FusedGemm: Gemm and an activation of it."""

from __future__ import annotations

from dataclasses import dataclass

from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.types import TensorType
from nautilus_cli.ops.composed import composed
from nautilus_cli.ops.gemm import OPERATOR as GEMM
from nautilus_cli.ops.gemm import GemmAttrs
from nautilus_cli.ops.microsoft.activation import activated, check_activation
from nautilus_cli.ops.microsoft.source import source
from nautilus_cli.ops.spec import Emitter, Inference


@dataclass(frozen=True, slots=True)
class FusedGemmAttrs(GemmAttrs):
    """Attributes of FusedGemm."""

    activation: str | None = None
    activation_alpha: float | None = None
    activation_beta: float | None = None
    activation_gamma: float | None = None

    @property
    def numbers(self) -> tuple[float | None, ...]:
        """What the activation takes."""
        return self.activation_alpha, self.activation_beta, self.activation_gamma


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    check_activation(inference.attrs.activation, inference.attrs.numbers)
    return GEMM.infer(inference)


def _build(emitter: Emitter, attrs: FusedGemmAttrs, operands: tuple[Value | None, ...]) -> tuple[Value | None, ...]:
    plain = GemmAttrs(alpha=attrs.alpha, beta=attrs.beta, transA=attrs.transA, transB=attrs.transB)
    return (activated(emitter, attrs.activation, attrs.numbers, emitter.node("Gemm", operands, plain)),)


OPERATOR = composed("com.microsoft::FusedGemm", _infer, _build, source=source("FusedGemm"), attributes=FusedGemmAttrs)
