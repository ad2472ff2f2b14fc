"""Activation functions, as a table."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import astuple, dataclass
from math import sqrt
from typing import Any

import numpy as np

from nautilus_cli.ir.types import BOOL, DType, TensorType
from nautilus_cli.ops.checks import one_of
from nautilus_cli.ops.element_types import FLOATS, SIGNED
from nautilus_cli.ops.elementwise import erf_of
from nautilus_cli.ops.pointwise import pointwise
from nautilus_cli.ops.spec import NoAttrs, Operator


@dataclass(frozen=True, slots=True)
class LeakyReluAttrs:
    """Attributes of LeakyRelu."""

    alpha: float = 0.01


@dataclass(frozen=True, slots=True)
class EluAttrs:
    """Attributes of Elu."""

    alpha: float = 1.0


@dataclass(frozen=True, slots=True)
class SeluAttrs:
    """Attributes of Selu."""

    alpha: float = 1.67326319217681884765625
    gamma: float = 1.05070102214813232421875


@dataclass(frozen=True, slots=True)
class CeluAttrs:
    """Attributes of Celu."""

    alpha: float = 1.0


@dataclass(frozen=True, slots=True)
class HardSigmoidAttrs:
    """Attributes of HardSigmoid."""

    alpha: float = 0.2
    beta: float = 0.5


@dataclass(frozen=True, slots=True)
class GeluAttrs:
    """Attributes of Gelu."""

    approximate: str = "none"


@dataclass(frozen=True, slots=True)
class ThresholdedReluAttrs:
    """Attributes of ThresholdedRelu."""

    alpha: float = 1.0


@dataclass(frozen=True, slots=True)
class SwishAttrs:
    """Attributes of Swish."""

    alpha: float = 1.0


@dataclass(frozen=True, slots=True)
class IsInfAttrs:
    """Attributes of IsInf."""

    detect_negative: int = 1
    detect_positive: int = 1


def _relu(_: Any, x: np.ndarray) -> np.ndarray:
    return np.asarray(np.maximum(x, x.dtype.type(0)))


def softplus(x: np.ndarray) -> np.ndarray:
    """Return log(1 + e^x), element by element."""
    return np.asarray(np.maximum(x, x.dtype.type(0)) + np.log1p(np.exp(-np.abs(x))))


def sigmoid(x: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + e^-x), element by element."""
    one = x.dtype.type(1)
    return np.asarray(one / (one + np.exp(-x)))


def _gelu(attrs: GeluAttrs, x: np.ndarray) -> np.ndarray:
    if attrs.approximate == "tanh":
        return np.asarray(0.5 * x * (1 + np.tanh(sqrt(2 / np.pi) * (x + 0.044715 * x * x * x))))
    return np.asarray(0.5 * x * (1 + erf_of(x * sqrt(0.5))))


def _is_inf(attrs: IsInfAttrs, x: np.ndarray) -> np.ndarray:
    negative = np.isneginf(x) if attrs.detect_negative else np.zeros(x.shape, bool)
    positive = np.isposinf(x) if attrs.detect_positive else np.zeros(x.shape, bool)
    return np.asarray(negative | positive)


def _fields(attrs: Any, _: tuple[TensorType, ...]) -> tuple[float | int, ...]:
    """Pass every attribute on, in the order of the dataclass."""
    return astuple(attrs)


def _check_gelu(attrs: GeluAttrs, _: tuple[TensorType, ...]) -> None:
    one_of(attrs.approximate, ("none", "tanh"), "approximate")


def _gelu_form(attrs: GeluAttrs, types: tuple[TensorType, ...]) -> tuple[int]:
    """Return which form the device function computes: by tanh, or the exact one, shorter where it is rounded to 16 bits."""
    if attrs.approximate == "tanh":
        return (1,)
    return (2 if types[0].dtype.bits == 16 else 0,)


def _activation(
    name: str,
    function: str,
    evaluate: Callable[[Any, np.ndarray], np.ndarray],
    version: int,
    since: int,
    attributes: type = NoAttrs,
    allowed: Collection[DType] = FLOATS,
) -> Operator:
    constants = None if attributes is NoAttrs else _fields
    return pointwise(name, function, evaluate, version=version, since=since, allowed=allowed, attributes=attributes, constants=constants)


OPERATORS = (
    _activation("Sigmoid", "sigmoid", lambda _, x: sigmoid(x), 13, 6),
    _activation("Relu", "relu", _relu, 14, 6, allowed=(*FLOATS, *SIGNED)),
    _activation("LeakyRelu", "leaky_relu", lambda a, x: np.where(x < 0, x * a.alpha, x), 16, 6, LeakyReluAttrs),
    _activation("Elu", "elu", lambda a, x: np.where(x < 0, a.alpha * np.expm1(x), x), 22, 6, EluAttrs),
    _activation("Selu", "selu", lambda a, x: a.gamma * np.where(x > 0, x, a.alpha * np.expm1(x)), 22, 6, SeluAttrs),
    _activation("Celu", "celu", lambda a, x: np.where(x < 0, a.alpha * np.expm1(x / a.alpha), x), 28, 12, CeluAttrs),
    _activation("Softplus", "softplus", lambda _, x: softplus(x), 22, 1),
    _activation("Softsign", "softsign", lambda _, x: x / (1 + np.abs(x)), 22, 1),
    _activation("HardSigmoid", "hard_sigmoid", lambda a, x: np.clip(x * a.alpha + a.beta, 0, 1), 22, 6, HardSigmoidAttrs),
    _activation("HardSwish", "hard_swish", lambda _, x: x * np.clip(x * x.dtype.type(1 / 6) + 0.5, 0, 1), 22, 14),
    _activation("Mish", "mish", lambda _, x: x * np.tanh(softplus(x)), 22, 18),
    _activation(
        "ThresholdedRelu", "thresholded_relu", lambda a, x: np.where(x > a.alpha, x, x.dtype.type(0)), 22, 10, ThresholdedReluAttrs
    ),
    _activation("Swish", "swish", lambda a, x: x * sigmoid(x * a.alpha), 24, 24, SwishAttrs),
    pointwise(
        "Gelu",
        "gelu",
        _gelu,
        version=20,
        since=20,
        allowed=FLOATS,
        attributes=GeluAttrs,
        constants=_gelu_form,
        check=_check_gelu,
    ),
    pointwise(
        "IsInf",
        "is_inf",
        _is_inf,
        version=20,
        since=10,
        allowed=FLOATS,
        result=BOOL,
        attributes=IsInfAttrs,
        constants=_fields,
    ),
)
