"""Activation functions of recurrent cells: which of them take alpha and beta, and how the attributes hand these out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import ModelError, nearest
from nautilus_cli.ir.names import quoted
from nautilus_cli.ops.activations import sigmoid, softplus


@dataclass(frozen=True, slots=True)
class CellActivation:
    """A function that a cell may apply.

    Attributes:
        name: as the specification spells it.
        evaluate: from (x, alpha, beta) to the result.
        takes_alpha: whether it reads alpha.
        takes_beta: whether it reads beta.
        alpha: default; None where the specification gives none, and the model must.
        beta: default.
    """

    name: str
    evaluate: Callable[[np.ndarray, float, float], np.ndarray]
    takes_alpha: bool = False
    takes_beta: bool = False
    alpha: float | None = None
    beta: float | None = None


@dataclass(frozen=True, slots=True)
class Activations:
    """What the gates of a cell apply, in the order of its functions (f, g, h).

    Attributes:
        names: of the functions.
        alphas: of each; 0 where it takes none.
        betas: of each; 0 where it takes none.
    """

    names: tuple[str, ...]
    alphas: tuple[float, ...]
    betas: tuple[float, ...]


ACTIVATIONS: Mapping[str, CellActivation] = {
    activation.name: activation
    for activation in (
        CellActivation("Relu", lambda x, _a, _b: np.maximum(x, x.dtype.type(0))),
        CellActivation("Tanh", lambda x, _a, _b: np.tanh(x)),
        CellActivation("Sigmoid", lambda x, _a, _b: sigmoid(x)),
        CellActivation("Softsign", lambda x, _a, _b: x / (1 + np.abs(x))),
        CellActivation("Softplus", lambda x, _a, _b: softplus(x)),
        CellActivation("Affine", lambda x, a, b: a * x + b, takes_alpha=True, takes_beta=True),
        CellActivation("ScaledTanh", lambda x, a, b: a * np.tanh(b * x), takes_alpha=True, takes_beta=True),
        CellActivation("LeakyRelu", lambda x, a, _: np.where(x < 0, a * x, x), takes_alpha=True, alpha=0.01),
        CellActivation("ThresholdedRelu", lambda x, a, _: np.where(x > a, x, x.dtype.type(0)), takes_alpha=True, alpha=1.0),
        CellActivation("Elu", lambda x, a, _: np.where(x < 0, a * np.expm1(x), x), takes_alpha=True, alpha=1.0),
        CellActivation("HardSigmoid", lambda x, a, b: np.clip(a * x + b, 0, 1), takes_alpha=True, takes_beta=True, alpha=0.2, beta=0.5),
    )
}
"""By name. Source: ONNX 28, LSTM-22, attribute activations; defaults are those of the operators of the same names."""

_BY_LOWER_NAME = {name.lower(): activation for name, activation in ACTIVATIONS.items()}


def resolve(
    names: Sequence[str], alphas: Sequence[float] | None, betas: Sequence[float] | None, functions: int, directions: int
) -> tuple[Activations, ...]:
    """Return the activations of each direction.

    Alphas and betas are consumed in the order of the functions, by those that take them; when they run out, defaults hold. Names are
    compared without case, as onnxruntime does.

    Args:
        names: of all functions of all directions.
        alphas: attribute activation_alpha.
        betas: attribute activation_beta.
        functions: of a cell.
        directions: 1 or 2.

    Raises:
        ModelError: the number of functions is wrong, one is unknown, or a number that it needs is missing.
    """
    if len(names) != functions * directions:
        raise ModelError(
            f"activations names {len(names)} functions; the specification requires {functions * directions}: {functions} a direction"
        )
    found = [_known(name) for name in names]
    left = {"alpha": list(alphas or ()), "beta": list(betas or ())}
    numbers: dict[str, list[float]] = {"alpha": [], "beta": []}
    for activation in found:
        for key, takes, default in (
            ("alpha", activation.takes_alpha, activation.alpha),
            ("beta", activation.takes_beta, activation.beta),
        ):
            number = 0.0
            if takes:
                given = left[key].pop(0) if left[key] else default
                if given is None:
                    raise ModelError(f"activation_{key} has no value for {activation.name}, which has no default")
                number = float(given)
            numbers[key].append(number)
    return tuple(
        Activations(tuple(a.name for a in found[part]), tuple(numbers["alpha"][part]), tuple(numbers["beta"][part]))
        for part in (slice(first * functions, (first + 1) * functions) for first in range(directions))
    )


def _known(name: str) -> CellActivation:
    if name.lower() not in _BY_LOWER_NAME:
        raise ModelError(f"activation {quoted(name)} is not one of the specification's", hint=nearest(name, ACTIVATIONS))
    return _BY_LOWER_NAME[name.lower()]
