"""Recurrences: what a cell makes of the products with its hidden state, as expressions."""

from __future__ import annotations

from dataclasses import dataclass
from dataclasses import replace as with_fields

from nautilus_cli.ir.dims import same
from nautilus_cli.ir.expression import Expression, Parameter, Store
from nautilus_cli.ir.graph import Value
from nautilus_cli.ir.index_map import IndexMap, from_strides, identity
from nautilus_cli.ir.types import I32, DType, TensorType
from nautilus_cli.kernels.recurrent import MOST_ROWS, SPILL_BYTES, Problem, state_bytes, stride
from nautilus_cli.lowering.building.expressions import ExpressionBuilder, Leaf
from nautilus_cli.lowering.building.lowered import Lowered, Lowering, main_storage
from nautilus_cli.lowering.building.operands import accumulator, weight_expression
from nautilus_cli.lowering.building.slots import Slots, Status
from nautilus_cli.ops.recurrence import Extents, RecurrenceAttrs, extents

_HIDDEN, _CARRY, _SUMS = 0, 1, 2
"""Parameters of a cell's functors: the state before the step, the carry, and the sums from this number on."""


def lower(lowering: Lowering) -> Lowered:
    """Every cell is one kernel; the cells differ in their expressions."""
    anchor = lowering.group.anchor
    assert anchor is not None
    attrs = anchor.attrs
    assert isinstance(attrs, RecurrenceAttrs)
    inputs = (*anchor.inputs, *(None,) * 5)[:7]
    projected, weights, _, lengths, first_hidden, first_cell, _ = inputs
    assert projected is not None and weights is not None
    sizes = extents(projected.type)
    dtype = accumulator(projected.type.dtype)

    slots = Slots()
    weight = _weight(lowering, slots, weights)
    cell = Cell(lowering, slots, attrs, sizes, inputs, dtype)
    problem = Problem(
        steps=sizes.steps,
        batch=sizes.batch,
        directions=sizes.directions,
        hidden=sizes.hidden,
        gates=sizes.gates,
        early_gates=2 if attrs.cell == "gru" else sizes.gates,
        is_reverse=attrs.is_reverse,
        has_carry=attrs.cell in ("lstm", "gru"),
        is_quantised=attrs.is_quantised,
        accumulate=dtype,
        storage=main_storage(weight, weights.type.dtype),
    )
    problem = with_fields(problem, is_spilled=state_bytes(problem) > SPILL_BYTES)
    carry, middle, hidden = cell.functors()
    output, final = _results(lowering, slots, sizes)
    functors = (
        ("Weight", weight),
        ("Length", _length(lowering, slots, lengths, sizes)),
        ("FirstHidden", _state(lowering, slots, first_hidden, sizes, dtype)),
        ("FirstCarry", _state(lowering, slots, first_cell, sizes, dtype)),
        ("Carry", carry),
        ("Middle", middle),
        ("Hidden", hidden),
        ("Output", output),
        ("Final", final),
        ("Scratch", _scratch(slots, problem)),
    )
    slots.number(Status())
    return Lowered(family="recurrent", problem=problem, functors=functors, slots=slots)


def _weight(lowering: Lowering, slots: Slots, weights: Value) -> Expression:
    """Return the weights at (direction, k, gate, unit): consecutive units for each k and gate."""
    walk = identity(weights.type.static)
    return weight_expression(lowering, slots, weights, walk, "recurrent_kgh")


def _length(lowering: Lowering, slots: Slots, lengths: Value | None, sizes: Extents) -> Expression:
    builder = ExpressionBuilder(lowering.group, slots)
    if lengths is None:
        return builder.expression((builder.constant(sizes.steps, I32),))
    return builder.expression((builder.value(lengths, identity((sizes.batch,))),))


def _state(lowering: Lowering, slots: Slots, initial: Value | None, sizes: Extents, dtype: DType) -> Expression:
    """Return the initial state at (direction, row, unit)."""
    builder = ExpressionBuilder(lowering.group, slots)
    if initial is None:
        return builder.expression((builder.constant(0, dtype),))
    return builder.expression((builder.value(initial, identity((sizes.directions, sizes.batch, sizes.hidden))),))


def _results(lowering: Lowering, slots: Slots, sizes: Extents) -> tuple[Expression, Expression]:
    """Return what stores every hidden state, and what stores the last ones.

    With one time step all results have the same elements, and work fused behind one may read the others: all of it is done at the end.
    """
    anchor = lowering.group.anchor
    assert anchor is not None
    every, last_hidden, last_carry = (*anchor.outputs, None, None)[:3]
    t, b, d, h = sizes.steps, sizes.batch, sizes.directions, sizes.hidden
    at_end = identity((d, b, h))
    at_step = from_strides((d, t, b, h), (b * h, d * b * h, h, 1))
    last: dict[Value, Leaf] = {}
    for value, parameter in ((last_hidden, 0), (last_carry, 1), (every if same(t, 1) else None, 2)):
        if value is not None:
            last[value] = Leaf(parameter, at_end)
    output = ExpressionBuilder(lowering.group, slots, {every: Leaf(0, at_step)} if every is not None else {})
    final = ExpressionBuilder(lowering.group, slots, last)
    for value in lowering.group.outputs:
        if same(value.type.elements, d * b * h):  # a state at the end, what follows one, or another view of either
            final.store(value, at_end)
        else:
            output.store(value, at_step)
    return output.expression(), final.expression()


def _scratch(slots: Slots, problem: Problem) -> Expression:
    """Return the store that says where spilled states lie; there is room for every tile of rows."""
    if not problem.is_spilled:
        return Expression((), ())
    rows = problem.batch + MOST_ROWS - 1
    elements = problem.directions * rows * problem.parts * stride(problem.hidden)
    slot = slots.number(Value(TensorType(problem.accumulate, (elements,))))
    return Expression((Parameter(0, problem.accumulate),), (), (Store(0, slot, problem.accumulate, identity((elements,))),))


@dataclass(frozen=True, slots=True)
class Cell:
    """Builds the functors of a cell.

    Attributes:
        lowering: the group.
        slots: the kernel's pointer arguments.
        attrs: of the recurrence.
        sizes: its extents.
        inputs: its operands (see `ops/recurrence.py`).
        dtype: type of states and sums.
    """

    lowering: Lowering
    slots: Slots
    attrs: RecurrenceAttrs
    sizes: Extents
    inputs: tuple[Value | None, ...]
    dtype: DType

    def functors(self) -> tuple[Expression, Expression, Expression]:
        """Return `Carry`, `Middle` and `Hidden`; one that the cell does not have is a constant."""
        if self.attrs.cell == "lstm":
            return self._lstm()
        nothing = self._constant(0)
        if self.attrs.cell == "rnn":
            steps = self._steps()
            return nothing, nothing, steps.result(steps.gate(0, 0, steps.sum(0)))
        if self.attrs.cell == "linear_gru":
            steps = self._steps()
            reset = steps.gate(0, 1, steps.sum(1))
            late = steps.apply("mul", reset, steps.plus_bias(steps.sum(2)))
            return nothing, nothing, steps.result(steps.blend(steps.gate(0, 0, steps.sum(0)), steps.gate(1, 2, late)))
        update, middle, hidden = self._steps(), self._steps(), self._steps()
        carry = update.result(update.gate(0, 0, update.sum(0)))
        product = middle.apply("mul", middle.gate(0, 1, middle.sum(1)), middle.parameter(_HIDDEN))
        new = hidden.blend(hidden.parameter(_CARRY), hidden.gate(1, 2, hidden.sum(0)))
        return carry, middle.result(product), hidden.result(new)

    def _lstm(self) -> tuple[Expression, Expression, Expression]:
        carry, hidden = self._steps(), self._steps()
        before = carry.parameter(_CARRY)
        entered = carry.gate(0, 0, carry.plus_peephole(carry.sum(0), 0, before))
        if self.attrs.is_coupled:
            kept = carry.apply("sub", carry.constant(1), entered)
        else:
            kept = carry.gate(0, 2, carry.plus_peephole(carry.sum(2), 2, before))
        new = carry.apply("mul", entered, carry.gate(1, 3, carry.sum(3)))
        after = carry.apply("add", carry.apply("mul", kept, before), new)
        state = hidden.parameter(_CARRY)
        shown = hidden.gate(0, 1, hidden.plus_peephole(hidden.sum(1), 1, state))
        return carry.result(after), self._constant(0), hidden.result(hidden.apply("mul", shown, hidden.activation(2, state)))

    def _constant(self, number: float) -> Expression:
        steps = self._steps()
        return steps.result(steps.constant(number))

    def _steps(self) -> CellSteps:
        return CellSteps(self, ExpressionBuilder(self.lowering.group, self.slots))


@dataclass(frozen=True, slots=True)
class CellSteps:
    """One functor of a cell while it is built: every method returns the step of a value at (direction, time, row, unit).

    Attributes:
        cell: the cell.
        builder: collects the steps.
    """

    cell: Cell
    builder: ExpressionBuilder

    def result(self, step: int) -> Expression:
        """Return the functor that gives STEP."""
        return self.builder.expression((step,))

    def parameter(self, number: int) -> int:
        """Return what the kernel hands in."""
        return self.builder.parameter(number, self.cell.dtype)

    def sum(self, number: int) -> int:
        """Return a gate's product with the hidden state, counted within its pass."""
        return self.parameter(_SUMS + number)

    def constant(self, number: float) -> int:
        """Return a number in the cell's type."""
        return self.builder.constant(number, self.cell.dtype)

    def apply(self, function: str, *operands: int) -> int:
        """Return what a device function makes of other steps."""
        return self.builder.apply(function, operands, self.cell.dtype)

    def gate(self, function: int, gate: int, product: int) -> int:
        """Return an activated gate: the product of the input added to that of the hidden state, clipped."""
        sizes = self.cell.sizes
        row = sizes.directions * sizes.gates * sizes.hidden
        strides = (sizes.gates * sizes.hidden, sizes.batch * row, row, 1)
        total = self.apply("add", self._load(0, from_strides(self._extents(), strides, gate * sizes.hidden)), product)
        clip = self.cell.attrs.clip
        if clip is not None:
            total = self.apply("min", self.apply("max", total, self.constant(-clip)), self.constant(clip))
        return self.activation(function, total)

    def plus_bias(self, step: int) -> int:
        """Add the bias of the hidden gate of a linear GRU."""
        if self.cell.inputs[2] is None:
            return step
        return self.apply("add", step, self._load(2, from_strides(self._extents(), (self.cell.sizes.hidden, 0, 0, 1))))

    def plus_peephole(self, step: int, number: int, state: int) -> int:
        """Add the cell state times the weights of a peephole."""
        if self.cell.inputs[6] is None:
            return step
        hidden = self.cell.sizes.hidden
        weights = self._load(6, from_strides(self._extents(), (3 * hidden, 0, 0, 1), number * hidden))
        return self.apply("add", step, self.apply("mul", weights, state))

    def blend(self, update: int, new: int) -> int:
        """Return (1 - update) new + update h."""
        fresh = self.apply("mul", self.apply("sub", self.constant(1), update), new)
        return self.apply("add", fresh, self.apply("mul", update, self.parameter(_HIDDEN)))

    def activation(self, function: int, x: int) -> int:
        """Return an activation function of a step."""
        attrs = self.cell.attrs
        name = attrs.names[function]
        alpha, beta = attrs.alphas[function], attrs.betas[function]
        if name == "Affine":
            return self.apply("add", self.apply("mul", self.constant(alpha), x), self.constant(beta))
        if name == "ScaledTanh":
            return self.apply("mul", self.constant(alpha), self.apply("tanh", self.apply("mul", self.constant(beta), x)))
        device_function, numbers = _FUNCTIONS[name]
        return self.apply(device_function, x, *map(self.constant, (alpha, beta)[:numbers]))

    def _extents(self) -> tuple[int, ...]:
        sizes = self.cell.sizes
        return (sizes.directions, sizes.steps, sizes.batch, sizes.hidden)

    def _load(self, operand: int, index_map: IndexMap) -> int:
        value = self.cell.inputs[operand]
        assert value is not None
        return self.builder.value(value, index_map)


_FUNCTIONS = {
    "Relu": ("relu", 0),
    "Tanh": ("tanh", 0),
    "Sigmoid": ("sigmoid", 0),
    "Softsign": ("softsign", 0),
    "Softplus": ("softplus", 0),
    "LeakyRelu": ("leaky_relu", 1),
    "ThresholdedRelu": ("thresholded_relu", 1),
    "Elu": ("elu", 1),
    "HardSigmoid": ("hard_sigmoid", 2),
}
"""Device function of each activation, and how many of (alpha, beta) it takes."""
