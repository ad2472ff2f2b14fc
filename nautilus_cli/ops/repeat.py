"""A loop that is not unrolled. The frontend makes it of a Loop or a Scan."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nautilus_cli.errors import InternalError, ModelError
from nautilus_cli.ir.control import LoopAttrs
from nautilus_cli.ir.types import TensorType
from nautilus_cli.ops.branch import Run, check_inputs, evaluate_body, filled, fits, require_fits
from nautilus_cli.ops.spec import Control, Inference, Operator


def _infer(inference: Inference) -> tuple[TensorType, ...]:
    attrs: LoopAttrs = inference.attrs
    given = inference.types[2:]
    wanted = [value.type for _, value in attrs.body.inputs]
    for place in range(attrs.states, attrs.states + len(attrs.scanned)):
        scanned = given[place]
        assert scanned is not None
        wanted[place] = TensorType(wanted[place].dtype, (scanned.static[0], *wanted[place].static))
    taken = tuple(wanted[: attrs.states])
    wanted[: attrs.states] = [g if g is not None and fits(g, w) else w for g, w in zip(given, taken, strict=False)]
    for one, most in zip(given, taken, strict=False):
        if one is not None:
            require_fits(one, most)
    check_inputs(given, tuple(wanted))
    results = [value.type for _, value in attrs.body.outputs[1 if attrs.is_conditional else 0 :]]
    states, pieces = results[: attrs.states], results[attrs.states :]
    if len(states) != len(taken) or len(pieces) != len(attrs.collected):
        raise InternalError("its body gives states of other types than it takes")
    for one, most in zip(states, taken, strict=True):
        require_fits(one, most)
    return (*taken, *(TensorType(piece.dtype, (attrs.length, *piece.static)) for piece in pieces))


def _evaluate(attrs: LoopAttrs, arrays: tuple[np.ndarray | None, ...], _outputs: int) -> tuple[np.ndarray, ...]:
    return repeated(attrs, arrays, evaluate_body)


def repeated(attrs: LoopAttrs, arrays: Sequence[np.ndarray | None], run: Run) -> tuple[np.ndarray, ...]:
    """Return the results of a loop.

    Raises:
        ModelError: it goes on after as many iterations as it may have.
    """
    trips, start, *operands = arrays
    rooms = [value.type for _, value in attrs.body.inputs[: attrs.states]]
    states = _with_room(operands[: attrs.states], rooms)
    scanned = operands[attrs.states :][: len(attrs.scanned)]
    outside = operands[attrs.states + len(attrs.scanned) :]
    limit = attrs.trips if trips is None else int(trips.item())
    collected: list[list[np.ndarray]] = [[] for _ in attrs.collected]
    number, goes_on = 0, start is None or bool(start.item())
    while goes_on and (limit is None or number < limit):
        if number == attrs.most:
            raise ModelError(f"the loop goes on after {attrs.most} iterations")
        found = list(run(attrs.body, [*states, *_pieces(scanned, attrs.scanned, number), *outside]))
        goes_on = bool(found.pop(0).item()) if attrs.is_conditional else True
        states = _with_room(found[: attrs.states], rooms)
        for pieces, piece in zip(collected, found[attrs.states :], strict=True):
            pieces.append(piece)
        number += 1
    first = 1 if attrs.is_conditional else 0
    types = [value.type for _, value in attrs.body.outputs[first + attrs.states :]]
    results = [_stacked(pieces, type_, is_reverse) for pieces, type_, is_reverse in zip(collected, types, attrs.collected, strict=True)]
    return (*states, *results)


def _with_room(states: Sequence[np.ndarray | None], rooms: Sequence[TensorType]) -> list[np.ndarray]:
    """Return states of the shapes for which there is room; one may begin that."""
    given = [(state, room) for state, room in zip(states, rooms, strict=True) if state is not None]
    return [state if state.shape == room.shape else filled(state, room.static[0]) for state, room in given]


def _pieces(scanned: Sequence[np.ndarray | None], reverse: Sequence[bool], number: int) -> list[np.ndarray]:
    return [array[-1 - number if back else number] for array, back in zip(scanned, reverse, strict=True) if array is not None]


def _stacked(pieces: list[np.ndarray], type_: TensorType, is_reverse: bool) -> np.ndarray:
    if not pieces:
        return np.zeros((0, *type_.static), type_.dtype.numpy)
    return np.stack(pieces[::-1] if is_reverse else pieces)


OPERATOR = Operator(
    name="nautilus::Loop",
    infer=_infer,
    evaluate=_evaluate,
    lowering=Control(),
    attributes=LoopAttrs,
    source="ONNX 28, Loop-25 and Scan-25, with what the body reads from outside as operands",
)
