"""Cases of the linear recurrence family."""

from __future__ import annotations

import numpy as np

from nautilus_cli.ir.index_map import broadcast, identity
from nautilus_cli.ir.types import BF16, F16, F32, F64, DType
from nautilus_cli.kernels.base import KernelRequest
from nautilus_cli.kernels.linear_recurrence import FAMILY, Problem, Schedule
from nautilus_cli.numerics import derived
from nautilus_cli.targets.registry import target
from tests.emulated.building import Steps
from tests.emulated.cases.data import random
from tests.emulated.harness import Case, output

SCHEDULES = (
    Schedule(threads=8, key_threads=1, vector=1),
    Schedule(threads=32, key_threads=4, vector=2),
    Schedule(threads=64, key_threads=32, vector=4),
    Schedule(threads=96, key_threads=8, vector=1),
)

RULES = {"linear": (False, False), "gated": (True, False), "delta": (False, True), "gated_delta": (True, True)}


def recurrence(
    query: np.ndarray, key: np.ndarray, value: np.ndarray, decay: np.ndarray | None, beta: np.ndarray | None, state: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return what is read after each step, and the last state, in float64: one matrix at a time."""
    batch, steps, queries, _ = query.shape
    heads = value.shape[2]
    last = state.astype(np.float64).copy()
    result = np.zeros((batch, steps, queries, value.shape[3]))
    for b in range(batch):
        for h in range(heads):
            s = last[b, h]
            for t in range(steps):
                k, v = key[b, t, h].astype(np.float64), value[b, t, h].astype(np.float64)
                if decay is not None:
                    s *= np.exp(decay[b, t, h].astype(np.float64))[:, None]
                if beta is not None:
                    v = float(beta[b, t, h % beta.shape[2]]) * (v - s.T @ k)
                s += np.outer(k, v)
                for reader in range(h * queries // heads, (h + 1) * queries // heads):
                    result[b, t, reader] = 0.5 * (query[b, t, reader].astype(np.float64) @ s)
    return result, last


def case(
    name: str,
    schedule: Schedule,
    rule: str,
    storage: DType = F32,
    *,
    batch: int = 2,
    steps: int = 5,
    heads: int = 3,
    readers: int = 1,
    keys: int = 7,
    values: int = 8,
    is_shared: bool = False,
    has_start: bool = True,
) -> Case:
    """Return a case: slots are the operands that the rule has, the start if there is one, what is read, and the last state."""
    is_gated, is_delta = RULES[rule]
    vector = schedule.vector
    while values % vector:
        vector //= 2
    drawn = {"query": (batch, steps, heads * readers, keys), "key": (batch, steps, heads, keys), "value": (batch, steps, heads, values)}
    arrays = {part: random(f"{name}-{part}", shape, storage) for part, shape in drawn.items()}
    norm = np.linalg.norm(arrays["key"].astype(np.float64), axis=-1, keepdims=True)
    arrays["key"] = (arrays["key"].astype(np.float64) / np.maximum(norm, 1e-3)).astype(storage.numpy)
    if is_gated:
        drawn["decay"] = (batch, steps, heads, 1 if is_shared else keys)
        arrays["decay"] = (-0.2 * np.abs(random(f"{name}-decay", drawn["decay"], F32))).astype(storage.numpy)
    if is_delta:
        drawn["beta"] = (batch, steps, 1 if is_shared else heads)
        arrays["beta"] = (1 / (1 + np.exp(random(f"{name}-beta", drawn["beta"], F32)))).astype(storage.numpy)
    full = (batch, heads, keys, values)
    compute = F32 if storage.bits <= 32 else storage
    start = random(f"{name}-start", full, compute) if has_start else np.zeros(full, compute.numpy)
    if has_start:
        arrays["start"], drawn["start"] = start, full
    slots = {part: number for number, part in enumerate(arrays)}
    targets = {"decay": (batch, steps, heads, keys), "beta": (batch, steps, heads)}

    def read(part: str, *, function: str | None = None, other: float | None = None, default: float = 0) -> tuple[str, object]:
        built = Steps()
        if part not in slots:
            return part, built.expression(built.constant(default, compute))
        kind = compute if part == "start" else storage
        found = built.load(slots[part], kind, broadcast(drawn[part], targets.get(part, drawn[part])))
        if function is not None:
            found = built.apply(function, found, *(() if other is None else (built.constant(other, compute),)), dtype=compute)
        return part, built.expression(found)

    def store(slot: int, shape: tuple[int, ...], kind: DType) -> object:
        built = Steps()
        built.store(built.parameter(0, compute), slot, kind, identity(shape))
        return built.expression()

    shape = (batch, steps, heads * readers, values)
    functors = (
        ("Query", read("query", function="mul", other=0.5)[1]),
        ("Key", read("key")[1]),
        ("Value", read("value")[1]),
        ("Decay", read("decay", function="exp", default=1)[1]),
        ("Beta", read("beta", default=1)[1]),
        ("First", read("start")[1]),
        ("Output", store(len(slots), shape, storage)),
        ("Final", store(len(slots) + 1, full, compute)),
    )
    problem = Problem(
        batch=batch,
        steps=steps,
        heads=heads,
        readers=readers,
        keys=keys,
        values=values,
        is_gated=is_gated,
        is_delta=is_delta,
        accumulate=compute,
    )
    result, last = recurrence(*(arrays[p] for p in ("query", "key", "value")), arrays.get("decay"), arrays.get("beta"), start)
    terms, depth = max(keys, 2), 8 * max(steps, 1)
    return Case(
        name=name,
        request=KernelRequest(
            family="linear_recurrence",
            problem=problem,
            schedule=Schedule(threads=schedule.threads, key_threads=schedule.key_threads, vector=vector),
            functors=functors,  # type: ignore[arg-type]
            pointers=len(slots) + 2,
        ),
        buffers=(*arrays.values(), output(result.size, storage.numpy), output(last.size, compute.numpy)),
        expected={len(slots): result, len(slots) + 1: last},
        tolerances={
            len(slots): derived(result, terms=terms, depth=depth, storage=storage, accumulate=compute),
            len(slots) + 1: derived(last, terms=terms, depth=depth, storage=compute, accumulate=compute),
        },
    )


def rules() -> list[Case]:
    """Every update rule, with a number for each key or for each head, in every way to share a column."""
    return [
        case(f"{rule}-{place}{'-shared' if is_shared else ''}", schedule, rule, is_shared=is_shared)
        for place, schedule in enumerate(SCHEDULES)
        for rule in RULES
        for is_shared in (False, True)
        if rule != "linear" or not is_shared
    ]


def sizes() -> list[Case]:
    """Edge sizes of states and tiles, a single step, and none."""
    found = []
    for place, schedule in enumerate(SCHEDULES):
        tile = schedule.threads // schedule.key_threads * schedule.vector
        for number, (keys, values) in enumerate(((1, 1), (4, tile - 1), (5, tile), (33, tile + 1), (64, 2 * tile + 4))):
            rule = tuple(RULES)[(place + number) % 4]
            if -(-keys // schedule.key_threads) * schedule.vector <= 128:
                found.append(case(f"{keys}x{values}-{place}", schedule, rule, batch=1, heads=2, steps=3, keys=keys, values=max(1, values)))
        found.append(case(f"one-step-{place}", schedule, "gated_delta", steps=1))
        found.append(case(f"without-start-{place}", schedule, "gated_delta", has_start=False))
    return found


def types() -> list[Case]:
    """16-bit storage with a wide state, and doubles."""
    return [
        case(f"{rule}-{storage}", SCHEDULES[1], rule, storage, keys=16, steps=9)
        for rule in ("gated", "gated_delta")
        for storage in (F16, BF16, F64)
    ]


def readers() -> list[Case]:
    """Several heads that read one state."""
    return [case(f"readers-{count}-{place}", s, "delta", readers=count, heads=2) for count in (2, 4) for place, s in enumerate(SCHEDULES)]


def chosen() -> list[Case]:
    """The schedules that targets choose."""
    found = []
    for name in ("emulated", "sm_90a"):
        for keys, values in ((128, 128), (8, 8), (96, 33), (256, 16)):
            problem = Problem(
                batch=1, steps=4, heads=2, readers=1, keys=keys, values=values, is_gated=True, is_delta=True, accumulate=F32
            )  # fmt: skip
            schedule = FAMILY.choose(problem, target(name))
            found.append(
                case(f"chosen-{name}-{keys}x{values}", schedule, "gated_delta", batch=1, heads=2, steps=4, keys=keys, values=values)
            )
    return found


def cases() -> list[Case]:
    """Return every case of the family."""
    return [*rules(), *sizes(), *types(), *readers(), *chosen()]
