from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.index_map import IndexMap
from nautilus_cli.ir.types import F32, I64, TensorType
from nautilus_cli.ops.pad import runs, source_places
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Inference, Movement, MovementContext
from tests.unit.ops.drawing import MovedTypes, axes_of, full_shapes, seeds, shapes, values
from tests.unit.ops.oracle import check, onnxruntime_says


def ints(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64)


def infer(name: str, operands: list[Any], **attrs: Any) -> tuple[TensorType, ...]:
    """Apply a shape rule; an operand is a type, or an array whose contents are known."""
    operator = operators()[name]
    types = tuple(TensorType(I64, o.shape) if isinstance(o, np.ndarray) else o for o in operands)
    constants = tuple(o if isinstance(o, np.ndarray) else None for o in operands)
    return operator.infer(Inference(operator.attributes(**attrs), types, constants, 1))


@given(st.data(), full_shapes(), MovedTypes, seeds(), st.booleans())
@settings(max_examples=50)
def test_reshape(data: st.DataObject, shape: tuple[int, ...], dtype: object, rng: np.random.Generator, infers: bool) -> None:
    factors = [d for d in shape if d > 1]
    target = data.draw(st.permutations([*factors, *[1] * data.draw(st.integers(0, 2))]))
    while len(target) > 1 and data.draw(st.booleans()):
        target = [target[0] * target[1], *target[2:]]
    if infers and target:
        target[data.draw(st.integers(0, len(target) - 1))] = -1
    if target and shape and target[0] == shape[0] and data.draw(st.booleans()):
        target[0] = 0
    check("Reshape", [values(rng, shape, dtype), ints(*target)])


def test_reshape_of_empty() -> None:
    check("Reshape", [np.zeros((0, 3), np.float32), ints(3, 0)], {"allowzero": 1})


@given(st.data(), full_shapes(), MovedTypes, seeds())
@settings(max_examples=25)
def test_flatten(data: st.DataObject, shape: tuple[int, ...], dtype: object, rng: np.random.Generator) -> None:
    check("Flatten", [values(rng, shape, dtype)], {"axis": data.draw(st.integers(-len(shape), len(shape)))})


@pytest.mark.parametrize("opset", [11, 28])
@given(st.data(), shapes(), MovedTypes, seeds())
@settings(max_examples=30)
def test_squeeze_and_unsqueeze(opset: int, data: st.DataObject, shape: tuple[int, ...], dtype: object, rng: np.random.Generator) -> None:
    ones = [a for a, d in enumerate(shape) if d == 1]
    axes = data.draw(st.permutations(ones))[: data.draw(st.integers(0, len(ones)))]
    axes = [a - len(shape) if data.draw(st.booleans()) else a for a in axes]
    new = (
        data.draw(axes_of(len(shape) + 2).filter(lambda a: len(a) == 2))
        if not shape
        else data.draw(st.sampled_from([(0, -1), (1,), (-2,)]))
    )
    x = values(rng, shape, dtype)
    if opset < 13:
        # The reference evaluator drops one axis after the other, and counts negative ones from what is left.
        check("Squeeze", [x], {"axes": sorted(a % len(shape) for a in axes)} if axes else {}, opset=opset)
        check("Unsqueeze", [x], {"axes": sorted(a % (len(shape) + len(new)) for a in new)}, opset=opset)
    else:
        check("Squeeze", [x, ints(*axes)] if axes else [x])
        check("Unsqueeze", [x, ints(*new)])


@given(st.data(), shapes(), MovedTypes, seeds())
@settings(max_examples=30)
def test_transpose(data: st.DataObject, shape: tuple[int, ...], dtype: object, rng: np.random.Generator) -> None:
    perm = data.draw(st.permutations(range(len(shape))))
    check("Transpose", [values(rng, shape, dtype)], {"perm": perm} if shape and data.draw(st.booleans()) else {})


@given(st.data(), shapes(1), MovedTypes, seeds())
@settings(max_examples=80)
def test_slice(data: st.DataObject, shape: tuple[int, ...], dtype: object, rng: np.random.Generator) -> None:
    axes = data.draw(axes_of(len(shape)))
    assume(axes)
    bound = st.integers(-9, 9) | st.sampled_from([2**63 - 1, -(2**63)])
    starts, ends = ([data.draw(bound) for _ in axes] for _ in range(2))
    steps = [data.draw(st.sampled_from([1, 2, 3, -1, -2])) for _ in axes]
    kind = data.draw(st.sampled_from([np.int64, np.int32])) if max(map(abs, starts + ends)) < 10 else np.int64
    operands = [np.array(v, kind) for v in (starts, ends, axes, steps)]
    if set(steps) == {1} and data.draw(st.booleans()):
        operands.pop()
        if axes == tuple(range(len(axes))):
            operands.pop()
    check("Slice", [values(rng, shape, dtype), *operands])


def test_slice_with_attributes() -> None:
    x = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
    check("Slice", [x], {"starts": [1, -3], "ends": [9, -1], "axes": [0, 2]}, opset=9)
    check("Slice", [x], {"starts": [1, 2], "ends": [2, 9]}, opset=9)


@pytest.mark.parametrize("opset", [11, 28])
@given(st.data(), full_shapes(1), MovedTypes, seeds())
@settings(max_examples=30)
def test_split(opset: int, data: st.DataObject, shape: tuple[int, ...], dtype: object, rng: np.random.Generator) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    size, x = shape[axis], values(rng, shape, dtype)
    cuts = sorted(data.draw(st.lists(st.integers(0, size), max_size=2)))
    sizes = [b - a for a, b in zip([0, *cuts], [*cuts, size], strict=True)]
    if opset < 13:
        check("Split", [x], {"axis": axis, "split": sizes}, outputs=len(sizes), opset=opset)
        return
    check("Split", [x, ints(*sizes)], {"axis": axis}, outputs=len(sizes))
    check("Split", [x], {"axis": axis, "num_outputs": size}, outputs=size)


def test_split_into_unequal_parts() -> None:
    check("Split", [np.arange(7, dtype=np.float32)], {"num_outputs": 3}, outputs=3)


@given(st.data(), shapes(1), MovedTypes, seeds())
@settings(max_examples=30)
def test_concat(data: st.DataObject, shape: tuple[int, ...], dtype: object, rng: np.random.Generator) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    sizes = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=4))
    at = axis % len(shape)
    check("Concat", [values(rng, (*shape[:at], n, *shape[at + 1 :]), dtype) for n in sizes], {"axis": axis})


@given(st.data(), full_shapes(), MovedTypes, seeds())
@settings(max_examples=30)
def test_expand(data: st.DataObject, shape: tuple[int, ...], dtype: object, rng: np.random.Generator) -> None:
    small = tuple(1 if data.draw(st.booleans()) else d for d in shape)
    wanted = tuple(1 if s == d and data.draw(st.booleans()) else d for s, d in zip(small, shape, strict=True))
    lead = data.draw(st.lists(st.integers(0, 2), max_size=1))
    check("Expand", [values(rng, small, dtype), ints(*lead, *wanted)])


@given(st.data(), shapes(1), MovedTypes, seeds())
@settings(max_examples=30)
def test_tile(data: st.DataObject, shape: tuple[int, ...], dtype: object, rng: np.random.Generator) -> None:
    check("Tile", [values(rng, shape, dtype), ints(*(data.draw(st.integers(0, 3)) for _ in shape))])


@given(st.data(), full_shapes(1, 3), st.sampled_from([np.float32, np.float16, np.int32]), seeds(), st.booleans())
@settings(max_examples=40)
def test_pad_with_a_constant(data: st.DataObject, shape: tuple[int, ...], dtype: object, rng: np.random.Generator, has_fill: bool) -> None:
    axes = data.draw(axes_of(len(shape)))
    before, after = ([data.draw(st.integers(0, 3)) for _ in axes] for _ in range(2))
    fill = np.array(data.draw(st.integers(1, 5)), dtype) if has_fill else None
    check("Pad", [values(rng, shape, dtype), ints(*before, *after), fill, ints(*axes)])


@given(st.data(), full_shapes(1, 3), seeds())
@settings(max_examples=40)
def test_pad_crops(data: st.DataObject, shape: tuple[int, ...], rng: np.random.Generator) -> None:
    pads = [data.draw(st.integers(-(d - 1) // 2, 2)) for d in (*shape, *shape)]
    check("Pad", [values(rng, shape, np.float32), ints(*pads)], oracle=onnxruntime_says)


@pytest.mark.parametrize("mode", ["reflect", "edge", "wrap"])
@given(st.data(), full_shapes(1, 4), MovedTypes, seeds())
@settings(max_examples=30)
def test_pad_that_repeats(mode: str, data: st.DataObject, shape: tuple[int, ...], dtype: object, rng: np.random.Generator) -> None:
    reach = [d - 1 if mode == "reflect" else 7 if mode == "wrap" else 3 for d in shape]
    pads = [data.draw(st.integers(0, n)) for n in (*reach, *reach)]
    check("Pad", [values(rng, shape, dtype), ints(*pads)], {"mode": mode})


def test_pad_with_attributes() -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    check("Pad", [x], {"pads": [1, 0, 0, 2], "value": 2.5}, opset=2)
    check("Pad", [x], {"pads": [1, 0, 0, 2], "mode": "edge"}, opset=2)


def test_reflection_beyond_the_tensor_bounces() -> None:
    expected = np.pad(np.arange(4), (7, 9), mode="reflect")
    assert source_places(4, 7, 9, "reflect").tolist() == expected.tolist()


@given(st.lists(st.integers(0, 6), max_size=12))
def test_runs_cover_every_place_once(numbers: list[int]) -> None:
    places = np.array(numbers, np.int64)
    found = np.full(len(places), -1)
    for run in runs(places):
        assert (found[run.begin : run.end] == -1).all()
        found[run.begin : run.end] = run.start + run.step * np.arange(run.end - run.begin)
    assert found.tolist() == numbers


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
@pytest.mark.parametrize("block", [1, 2, 3])
@pytest.mark.parametrize("shape", [(2, 2, 3, 1), (1, 1, 2, 2)])
def test_blocks(mode: str, block: int, shape: tuple[int, ...]) -> None:
    batch, channels, height, width = shape
    deep = np.arange(np.prod(shape) * block * block, dtype=np.float32).reshape(batch, channels * block * block, height, width)
    check("DepthToSpace", [deep], {"mode": mode, "blocksize": block})
    check("SpaceToDepth", [deep.reshape(batch, channels, height * block, width * block)], {"mode": mode, "blocksize": block})


def test_identity_and_dropout() -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    check("Identity", [x])
    check("Dropout", [x], outputs=2)
    check("Dropout", [x, np.array(0.7, np.float32), np.array(False)], outputs=2)
    check("Dropout", [x], {"ratio": 0.7}, opset=7)


def test_movement_of_one_piece_is_unguarded() -> None:
    """What consumers look through must be one map without guards."""
    shape = (2, 3, 4)
    x = TensorType(F32, shape)
    for name, attrs, operands, result in (
        ("Transpose", {"perm": (2, 0, 1)}, (), (4, 2, 3)),
        ("Slice", {}, (ints(1, 2), ints(3, -9), ints(1, 2), ints(1, -1)), (2, 2, 3)),
        ("Expand", {}, (ints(5, 2, 3, 4),), (5, 2, 3, 4)),
        ("Tile", {}, (ints(2, 1, 3),), (4, 3, 12)),
        ("Pad", {}, (ints(0, -1, 0, 0, 0, -1),), (2, 2, 3)),
    ):
        operator = operators()[name]
        lowering = operator.lowering
        assert isinstance(lowering, Movement)
        types = (x, *(TensorType(I64, o.shape) for o in operands))
        context = MovementContext(operator.attributes(**attrs), types, (None, *operands), (TensorType(F32, result),), 0)
        (piece,) = lowering.pieces(context)
        assert isinstance(piece.map, IndexMap)
        assert not piece.map.is_guarded
        assert len(piece.map.stages) == 1


@pytest.mark.parametrize(
    ("name", "operands", "attrs", "message"),
    [
        (
            "Reshape",
            [TensorType(F32, (2, 3)), ints(4, 2)],
            {},
            r"shape \[4, 2\] for a tensor of shape \[2, 3\]: 6 elements cannot become 8",
        ),
        ("Reshape", [TensorType(F32, (2, 3)), ints(-1, -1)], {}, "allows one -1"),
        ("Reshape", [TensorType(F32, (2, 3)), ints(-1, 4)], {}, "6 elements do not divide by 4"),
        ("Reshape", [TensorType(F32, (0, 3)), ints(0, -1)], {}, "0 elements do not divide by 0"),
        ("Reshape", [TensorType(F32, (2,)), ints(2, 0)], {}, "a 0 at place 1 copies a dimension that is not there"),
        ("Reshape", [TensorType(F32, (0,)), ints(0, -1)], {"allowzero": 1}, "not allow both 0 and -1"),
        ("Reshape", [TensorType(F32, (2,)), TensorType(I64, (1,))], {}, "'shape' decides the result's shape.*--bind"),
        ("Flatten", [TensorType(F32, (2,))], {"axis": 2}, "axis is 2; .* allows -1 to 1"),
        ("Squeeze", [TensorType(F32, (2, 1)), ints(0)], {}, "dimension 0 of shape .* is 2"),
        ("Squeeze", [TensorType(F32, (2, 1)), ints(1, -1)], {}, "names a dimension twice"),
        ("Unsqueeze", [TensorType(F32, (2, 1))], {}, "axes are missing"),
        ("Transpose", [TensorType(F32, (2, 1))], {"perm": (0, 0)}, "requires a permutation"),
        ("Slice", [TensorType(F32, (2,)), ints(0), ints(1), ints(0), ints(0)], {}, "does not allow 0"),
        ("Slice", [TensorType(F32, (2,)), ints(0), ints(1), ints(1)], {}, "axes is 1; .* allows -1 to 0"),
        ("Slice", [TensorType(F32, (2,)), ints(0, 1), ints(1)], {}, "equally many"),
        ("Slice", [TensorType(F32, (2,))], {}, "'starts' and 'ends' are missing"),
        ("Split", [TensorType(F32, (4,)), ints(1, 2)], {}, r"a dimension of 4 into \[1, 2\]"),
        ("Concat", [TensorType(F32, (2, 3)), TensorType(F32, (3, 3))], {"axis": 1}, "requires them equal in every other dimension"),
        ("Concat", [TensorType(F32, (2,)), TensorType(I64, (2,))], {"axis": 0}, "'inputs_1' has type i64"),
        ("Expand", [TensorType(F32, (2,)), ints(3)], {}, "do not broadcast"),
        ("Tile", [TensorType(F32, (2,)), ints(-1)], {}, "none negative"),
        ("Pad", [TensorType(F32, (2,)), ints(-2, -1)], {}, "crop more than the shape"),
        ("Pad", [TensorType(F32, (2,)), ints(1)], {}, "requires two numbers each"),
        ("Pad", [TensorType(F32, (2,)), ints(1, 1)], {"mode": "mirror"}, "mode is 'mirror'"),
        ("Pad", [TensorType(F32, (0,)), ints(1, 1)], {"mode": "edge"}, "there is nothing to repeat"),
        ("DepthToSpace", [TensorType(F32, (1, 6, 2, 2))], {"blocksize": 2}, "6 channels do not divide by blocksize² = 4"),
        ("SpaceToDepth", [TensorType(F32, (1, 6, 3, 2))], {"blocksize": 2}, "height 3 and width 2 do not divide"),
    ],
)
def test_refusals(name: str, operands: list[Any], attrs: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        infer(name, operands, **attrs)
