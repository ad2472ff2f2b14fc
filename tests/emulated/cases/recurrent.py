"""Cases of the recurrent family: built by its lowering, held against the truth of the recurrence in float64."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from typing import Any
from unittest.mock import patch

import numpy as np

from nautilus_cli.ir.graph import Group, Node, Value
from nautilus_cli.ir.types import F16, F32, F64, I32, DType, TensorType
from nautilus_cli.kernels.base import KernelRequest
from nautilus_cli.kernels.recurrent import FAMILY, Schedule
from nautilus_cli.lowering.building.lowered import Lowering
from nautilus_cli.lowering.building.slots import PackedWeight, Status
from nautilus_cli.lowering.groups import recurrent as lowering
from nautilus_cli.numerics import EXACT, Tolerance, derived
from nautilus_cli.numerics.tolerance import magnitude
from nautilus_cli.ops.recurrence import FUNCTIONS, GATES, OPERATOR, RecurrenceAttrs
from nautilus_cli.targets.registry import target
from tests.emulated.cases.data import random
from tests.emulated.harness import Case, output

DEFAULTS = {"lstm": ("Sigmoid", "Tanh", "Tanh"), "gru": ("Sigmoid", "Tanh"), "linear_gru": ("Sigmoid", "Tanh"), "rnn": ("Tanh",)}

SCHEDULES = (
    Schedule(unit_threads=8, slices=8, vector=4, rows=4, is_resident=True),
    Schedule(unit_threads=32, slices=4, vector=2, rows=2),
    Schedule(unit_threads=32, slices=1, vector=1, rows=1),
    Schedule(unit_threads=5, slices=3, vector=1, rows=8),
    Schedule(unit_threads=16, slices=1, vector=8, rows=2, is_resident=True),
)

ANYTHING = Tolerance(rtol=0.0, atol=inf)
"""Of scratch memory."""


def case(
    name: str,
    cell: str,
    schedule: Schedule,
    *,
    steps: int = 3,
    batch: int = 3,
    directions: int = 1,
    hidden: int = 12,
    storage: DType = F32,
    lengths: Sequence[int] | None = None,
    initial: bool = True,
    bias: bool = False,
    peepholes: bool = False,
    constant_weights: bool = True,
    wanted: Sequence[int] | None = None,
    status: int = 0,
    is_spilled: bool = False,
    **attributes: Any,
) -> Case:
    """Return a case; `wanted` are the results that are stored, None for all that the cell has."""
    gates, functions = GATES[cell], FUNCTIONS[cell]
    attributes = {"names": DEFAULTS[cell], "alphas": (0.0,) * functions, "betas": (0.0,) * functions, **attributes}
    attrs = RecurrenceAttrs(cell=cell, **attributes)
    arrays: list[np.ndarray | None] = [
        random(f"{name}x", (steps, batch, directions, gates, hidden), storage),
        (random(f"{name}r", (directions, hidden, gates, hidden), storage).astype(np.float64) / hidden**0.5).astype(storage.numpy),
        random(f"{name}b", (directions, hidden), storage) if bias else None,
        None if lengths is None else np.array(lengths, np.int32),
        random(f"{name}h", (directions, batch, hidden), storage) if initial else None,
        random(f"{name}c", (directions, batch, hidden), storage) if initial and cell == "lstm" else None,
        random(f"{name}p", (directions, 3, hidden), storage) if peepholes else None,
    ]
    wide = [a.astype(np.float64) if a is not None and a.dtype != np.int32 else a for a in arrays]
    truths = OPERATOR.evaluate(attrs, tuple(wide), 3)

    types = [None if a is None else TensorType(I32 if a.dtype == np.int32 else storage, a.shape) for a in arrays]
    values = [None if t is None else Value(t) for t in types]
    if constant_weights:
        values[1] = Value(TensorType(storage, (directions, hidden, gates, hidden)), constant=arrays[1])
    wanted = range(3 if cell == "lstm" else 2) if wanted is None else wanted
    results = tuple(Value(TensorType(storage, truth.shape)) for truth in truths)
    node = Node(OPERATOR.name, tuple(values), results, attrs)
    with patch.object(lowering, "SPILL_BYTES", 0 if is_spilled else lowering.SPILL_BYTES):
        lowered = lowering.lower(Lowering(Group("recurrent", node, (node,), tuple(results[i] for i in wanted)), fp32_mode="ffma"))
    assert lowered.problem.is_spilled == is_spilled

    buffers: list[np.ndarray] = []
    expected: dict[int, np.ndarray] = {}
    tolerances: dict[int, Tolerance] = {}
    for slot, referent in enumerate(lowered.slots.referents):
        if isinstance(referent, Status):
            buffers.append(np.zeros(1, np.uint32))
            expected[slot], tolerances[slot] = np.array([status], np.uint32), EXACT
        elif isinstance(referent, PackedWeight):
            buffers.append(referent.array)
        elif referent in results:
            truth = truths[results.index(referent)]
            buffers.append(output(truth.size, storage.numpy))
            expected[slot] = truth
            scale = max(1.0, magnitude(truth))
            tolerances[slot] = derived(
                truth, terms=hidden, depth=4 * steps, accumulate=lowered.problem.accumulate, scale=scale, storage=storage
            )
        elif referent in values:
            array = arrays[values.index(referent)]
            assert array is not None
            buffers.append(array)
        else:
            buffers.append(np.zeros(referent.type.elements, referent.type.dtype.numpy))
            expected[slot], tolerances[slot] = buffers[-1], ANYTHING
    return Case(
        name=name,
        request=KernelRequest(
            family="recurrent",
            problem=lowered.problem,
            schedule=_fitting(schedule, hidden, gates),
            functors=lowered.functors,
            pointers=len(buffers),
        ),
        buffers=tuple(buffers),
        expected=expected,
        tolerances=tolerances,
    )


def _fitting(schedule: Schedule, hidden: int, gates: int) -> Schedule:
    """Return the schedule with a vector that divides the units, and few enough sums."""
    vector, rows = schedule.vector, schedule.rows
    while hidden % vector:
        vector //= 2
    while rows * vector * gates > 64:
        rows //= 2
    return replace(schedule, vector=vector, rows=rows)


def cells() -> list[Case]:
    """Every cell under every schedule, one and two directions, edge sizes."""
    found = []
    sizes = ((3, 16), (1, 1), (2, 7), (5, 37))
    for number, cell in enumerate(GATES):
        for place, schedule in enumerate(SCHEDULES):
            batch, hidden = sizes[(number + place) % len(sizes)]
            directions = 1 + (number + place) % 2
            found.append(
                case(
                    f"{cell}-{place}",
                    cell,
                    schedule,
                    batch=batch,
                    hidden=hidden,
                    directions=directions,
                    peepholes=cell == "lstm",
                    bias=cell == "linear_gru",
                )
            )
    return found


def lengths() -> list[Case]:
    """Sequences of other lengths, empty ones among them; and lengths out of range, which are cut and reported."""
    found = []
    for cell in GATES:
        for place, schedule in enumerate(SCHEDULES[1:4]):
            found.append(
                case(
                    f"lengths-{cell}-{place}", cell, schedule, steps=4, lengths=[4, 0, 2, 1, 3][: 3 + place], batch=3 + place, directions=2
                )
            )
            is_reverse = place == 0
            found.append(case(f"short-{cell}-{place}", cell, schedule, steps=4, lengths=[1, 2, 0], is_reverse=is_reverse, wanted=(0, 1)))
    found.append(case("all-empty", "lstm", SCHEDULES[0], lengths=[0, 0, 0]))
    found.append(case("out-of-range", "gru", SCHEDULES[1], lengths=[4, -1, 2], status=1))
    return found


def options() -> list[Case]:
    """Activations, clip, coupled gates; what may be left out; types; weights that are no constant; spilled states."""
    first = SCHEDULES[1]
    found = [
        case("hard", "lstm", first, names=("HardSigmoid", "Softsign", "Affine"), alphas=(0.2, 0.0, 1.5), betas=(0.5, 0.0, 0.1)),
        case("leaky", "gru", first, names=("Sigmoid", "LeakyRelu"), alphas=(0.0, 0.1)),
        case("elu", "rnn", first, names=("Elu",), alphas=(0.7,)),
        case("scaled", "linear_gru", first, names=("Sigmoid", "ScaledTanh"), alphas=(0.0, 1.2), betas=(0.0, 0.7), bias=True),
        case("softplus", "rnn", first, names=("Softplus",)),
        case("threshold", "rnn", first, names=("ThresholdedRelu",), alphas=(0.3,)),
        case("relu", "rnn", first, names=("Relu",), initial=False),
        case("clip", "lstm", first, clip=0.4, peepholes=True, is_coupled=True),
        case("reverse", "linear_gru", first, is_reverse=True, initial=False),
        case("only-last", "lstm", first, wanted=(1,)),
        case("only-cell", "lstm", SCHEDULES[0], wanted=(2,)),
        case("only-all", "gru", first, wanted=(0,)),
        case("one-step", "lstm", first, steps=1, directions=2),
        case("half", "lstm", SCHEDULES[0], storage=F16, hidden=32),
        case("half-odd", "gru", SCHEDULES[3], storage=F16, hidden=9),
        case("double", "lstm", SCHEDULES[1], storage=F64),
        case("double-resident", "gru", SCHEDULES[0], storage=F64),
        case("weights-at-run-time", "lstm", first, constant_weights=False, hidden=7),
    ]
    for place, schedule in enumerate(SCHEDULES):
        for cell in ("lstm", "gru"):
            found.append(case(f"spilled-{cell}-{place}", cell, schedule, is_spilled=True, directions=2, hidden=10))
    return found


def quantised() -> list[Case]:
    """Hidden states in 8 bits: rows of unlike range, a state of zeros, more threads than units and fewer."""
    found = []
    for place, schedule in enumerate((*SCHEDULES[:3], Schedule(unit_threads=40, slices=2, vector=1, rows=1))):
        for hidden in (3, 12, 70):
            name = f"quantised-{place}-{hidden}"
            found.append(case(name, "lstm", schedule, hidden=hidden, directions=2, batch=5, lengths=[3, 1, 0, 2, 3], is_quantised=True))
    found.append(case("quantised-zeros", "lstm", SCHEDULES[0], initial=False, is_quantised=True))
    found.append(case("quantised-spilled", "lstm", SCHEDULES[1], is_spilled=True, hidden=10, is_quantised=True))
    return found


def chosen() -> list[Case]:
    """The schedules that targets choose."""
    found = []
    for name in ("emulated", "sm_90a"):
        for cell, batch, hidden, storage in (("lstm", 1, 128, F32), ("gru", 4, 64, F16), ("rnn", 9, 33, F32), ("linear_gru", 2, 300, F32)):
            built = case(f"chosen-{name}-{cell}", cell, SCHEDULES[0], steps=2, batch=batch, hidden=hidden, storage=storage)
            schedule = FAMILY.choose(built.request.problem, target(name))
            found.append(replace(built, request=replace(built.request, schedule=schedule)))
    return found


def cases() -> list[Case]:
    """Return every case of the family."""
    return [*cells(), *lengths(), *options(), *quantised(), *chosen()]
