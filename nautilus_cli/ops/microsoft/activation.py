"""Activations named by an attribute of a fused operator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nautilus_cli.errors import ModelError, nearest
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.names import quoted
from nautilus_cli.ops.spec import Emitter
from nautilus_cli.ops.wide import cast, widen


@dataclass(frozen=True, slots=True)
class FusedActivation:
    """An activation that a fused operator may apply.

    Attributes:
        numbers: attributes of the operator of that name that take the given numbers, in order.
        defaults: of those that may be left out from the end; numbers without one must be given.
    """

    numbers: tuple[str, ...] = ()
    defaults: tuple[float, ...] = ()


ACTIVATIONS: Mapping[str, FusedActivation] = {
    "Relu": FusedActivation(),
    "Tanh": FusedActivation(),
    "Sigmoid": FusedActivation(),
    "Softplus": FusedActivation(),
    "Softsign": FusedActivation(),
    "LeakyRelu": FusedActivation(("alpha",), (0.01,)),
    "Elu": FusedActivation(("alpha",), (1.0,)),
    "ThresholdedRelu": FusedActivation(("alpha",), (1.0,)),
    "Celu": FusedActivation(("alpha",), (1.0,)),
    "HardSigmoid": FusedActivation(("alpha", "beta"), (0.2, 0.5)),
    "Selu": FusedActivation(("alpha", "gamma"), (1.67326319217681884765625, 1.05070102214813232421875)),
    "HardSwish": FusedActivation(),
    "Clip": FusedActivation(("min", "max")),
}
"""By name; defaults are those of the operators of the same names."""


def check_activation(name: str | None, numbers: Sequence[float | None]) -> None:
    """Check an activation and the numbers given for it; no name is no activation.

    Raises:
        ModelError: it is unknown, or its numbers are too few or too many.
    """
    if not name:
        return
    if name not in ACTIVATIONS:
        raise ModelError(f"activation is {quoted(name)}; supported are {', '.join(ACTIVATIONS)}", hint=nearest(name, ACTIVATIONS))
    found = ACTIVATIONS[name]
    given = [number for number in numbers if number is not None]
    low, high = len(found.numbers) - len(found.defaults), len(found.numbers)
    if not low <= len(given) <= high:
        allowed = str(low) if low == high else f"{low} to {high}"
        raise ModelError(f"activation {name} is given {len(given)} numbers; the specification allows {allowed}")


def activated(emitter: Emitter, name: str | None, numbers: Sequence[float | None], value: Value) -> Value:
    """Return the activation of a value, computed in the compute type and rounded to the type of VALUE."""
    if not name:
        return value
    found = ACTIVATIONS[name]
    given = [float(number) for number in numbers if number is not None]
    given += found.defaults[len(given) - (len(found.numbers) - len(found.defaults)) :]
    wide = widen(emitter, value)
    if name == "Clip":
        limits = [emitter.constant(np.array(number, wide.type.dtype.numpy)) for number in given]
        return cast(emitter, emitter.node("Clip", [wide, *limits]), value.type.dtype)
    return cast(emitter, emitter.node(name, [wide], **dict(zip(found.numbers, given, strict=True))), value.type.dtype)
