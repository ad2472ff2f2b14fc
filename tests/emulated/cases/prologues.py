"""Products whose A is computed while it is loaded, or lies in no strided matrix: what tensor-core families have in common."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nautilus_cli.ir.expression import Load
from nautilus_cli.ir.index_map import IndexMap, compose, from_strides, identity, padded, regroup
from nautilus_cli.ir.types import F32, DType
from tests.emulated.building import Steps
from tests.emulated.cases.products import Operation, read, values
from tests.emulated.harness import Case, output


def with_left(steps: Steps, left: int, buffers: tuple[np.ndarray, ...], extents: tuple[int, int, int, int], storage: DType) -> Operation:
    """Return a product by B, the slot behind BUFFERS, of the A that STEPS computes; the result is the slot behind that."""
    batch, m, n, k = extents
    slot, pitch = len(buffers), -(-k * storage.bytes // 16) * 16 // storage.bytes  # rows of B lie as those of weights
    epilogue = Steps()
    epilogue.store(epilogue.parameter(0), slot + 1, storage, identity((batch, m, n)))
    return (
        (*buffers, values(batch * n * pitch, storage, 9), output(batch * m * n, storage.numpy)),
        steps.expression(left),
        read(slot, storage, from_strides((batch, n, k), (n * pitch, pitch, 1))),
        epilogue.expression(),
    )


def gated_left(extents: tuple[int, int, int, int], storage: DType) -> Operation:
    """Return a product whose A is x·sigmoid(x)·y·scale[k], of two tensors; scales are powers of two."""
    batch, m, _, k = extents
    at, steps = identity((batch, m, k)), Steps()
    x = steps.load(0, storage, at)
    gate = steps.apply("mul", x, steps.apply("sigmoid", x))
    product = steps.apply("mul", gate, steps.load(1, storage, at))
    left = steps.apply("mul", product, steps.load(2, F32, from_strides((batch, m, k), (0, 0, 1))))
    scales = (2.0 ** np.random.default_rng(3).integers(-2, 3, k)).astype(np.float32)
    return with_left(steps, left, (values(batch * m * k, storage, 1), values(batch * m * k, storage, 2), scales), extents, storage)


def scaled_left(extents: tuple[int, int, int, int], storage: DType) -> Operation:
    """Return a product whose A is x·scale[k]; scales are powers of two, so that nothing is rounded."""
    batch, m, _, k = extents
    steps = Steps()
    scale = steps.load(1, F32, from_strides((batch, m, k), (0, 0, 1)))
    left = steps.apply("mul", steps.load(0, storage, identity((batch, m, k))), scale)
    scales = (2.0 ** np.random.default_rng(3).integers(-2, 3, k)).astype(np.float32)
    return with_left(steps, left, (values(batch * m * k, storage, 1), scales), extents, storage)


def normalised_left(extents: tuple[int, int, int, int], storage: DType) -> Operation:
    """Return a product whose A is (x - mean[m])·deviation[m]·gamma[k] + beta[k], by stored statistics of its rows."""
    batch, m, _, k = extents
    of_row, of_column = from_strides((batch, m, k), (m, 1, 0)), from_strides((batch, m, k), (0, 0, 1))
    steps = Steps()
    centred = steps.apply("sub", steps.load(0, storage, identity((batch, m, k))), steps.load(1, F32, of_row))
    scaled = steps.apply("mul", steps.apply("mul", centred, steps.load(2, F32, of_row)), steps.load(3, storage, of_column))
    left = steps.apply("add", scaled, steps.load(4, storage, of_column))
    x = values(batch * m * k, storage, 1)
    rows = x.astype(np.float32).reshape(batch * m, k)
    statistics = rows.mean(1), 1 / np.sqrt(rows.var(1) + np.float32(1e-5))
    return with_left(steps, left, (x, *statistics, values(k, storage, 3), values(k, storage, 4)), extents, storage)


def transposed_left(extents: tuple[int, int, int, int], storage: DType) -> Operation:
    """Return a product whose A lies with m last and is halved; its functor is at (batch, k, m)."""
    batch, m, _, k = extents
    steps = Steps()
    left = steps.apply("mul", steps.load(0, storage, identity((batch, k, m))), steps.constant(0.5))
    return with_left(steps, left, (values(batch * m * k, storage, 1),), extents, storage)


def cast_left(extents: tuple[int, int, int, int], storage: DType) -> Operation:
    """Return a product whose A is float in memory and rounded to B's type."""
    batch, m, _, k = extents
    steps = Steps()
    left = steps.load(0, F32, identity((batch, m, k)))
    return with_left(steps, left, (values(batch * m * k, F32, 1),), extents, storage)


def padded_left(extents: tuple[int, int, int, int], storage: DType) -> Operation:
    """Return a product whose A is padded along m and k, and one more than what it loads, so that steps beyond k would show."""
    _, m, _, k = extents
    inner = (1, m - 5, k - 4)
    steps = Steps()
    left = steps.apply("add", steps.load(0, storage, padded(inner, (0, 2, 3), (1, m, k))), steps.constant(1.0))
    return with_left(steps, left, (values(inner[1] * inner[2], storage, 1),), extents, storage)


def pitched_left(extents: tuple[int, int, int, int], storage: DType, pitch: int) -> Operation:
    """Return a product whose A's rows lie PITCH elements apart, no multiple of what bulk copies need."""
    batch, m, _, k = extents
    steps = Steps()
    left = steps.load(0, storage, from_strides((batch, m, k), (m * pitch, pitch, 1)))
    return with_left(steps, left, (values(batch * m * pitch, storage, 1),), extents, storage)


def gathered_left(
    extents: tuple[int, int, int, int], storage: DType, indices: DType, *, scales: bool = False, is_outside: bool = False
) -> Operation:
    """Return a product whose A's rows are named by indices, some of which count from the end; halved, or not.

    The last slot is the status word: 1 where an index is out of range, whose row reads as zeros.
    """
    _, m, _, k = extents
    table, random = 29, np.random.default_rng(4)
    chosen = random.integers(-table, table, m).astype(indices.numpy)
    chosen[:3] = (0, table - 1, -table)
    if is_outside:
        chosen[-1] = table
    of_column, of_row = from_strides((1, m, k), (0, 0, 1)), from_strides((1, m, k), (0, 1, 0))
    steps = Steps()
    left = steps.indexed(Load(0, storage, of_column), Load(1, indices, of_row), table, k)
    left = steps.apply("mul", left, steps.constant(0.5)) if scales else left
    buffers, a, b, epilogue = with_left(steps, left, (values(table * k, storage, 1), chosen), extents, storage)
    return (*buffers, np.zeros(1, np.uint32)), a, b, epilogue


def with_status(case: Case) -> Case:
    """Return a case that shall find an index out of range."""
    return replace(case, expected={**case.expected, len(case.buffers) - 1: np.ones(1, np.uint32)})


def merged_heads() -> IndexMap:
    """Return the map of attention's last product, (1, tokens of all, heads × width), over [sequence, head, token, width]."""
    sequences, heads, tokens, width = 2, 3, 37, 16
    strides = (heads * tokens * width, width, tokens * width, 1)
    return regroup(from_strides((1, sequences, tokens, heads, width), (0, strides[0], strides[1], strides[2], 1)), [[0], [1, 2], [3, 4]])


def merged_left(n: int, storage: DType) -> Operation:
    """Return a product whose A is the heads of attention, merged."""
    steps, at = Steps(), merged_heads()
    _, m, k = at.extents
    return with_left(steps, steps.load(0, storage, at), (values(m * k, storage, 1),), (1, m, n, k), storage)


def twice_mapped_left(n: int, storage: DType) -> Operation:
    """Return a product whose A is reshaped between two transposes, so that its map has two stages."""
    m, k = 70, 48
    inner = regroup(from_strides((28, 120), (1, 28)), [[0, 1]])  # of a transposed matrix: no digit of the first stage is one of these
    at = compose(regroup(from_strides((1, m, k), (0, 1, m)), [[0], [1], [2]]), inner)
    assert len(at.stages) == 2
    steps = Steps()
    return with_left(steps, steps.load(0, storage, at), (values(m * k, storage, 1),), (1, m, n, k), storage)
