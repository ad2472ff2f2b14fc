from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nautilus_cli.errors import ModelError
from nautilus_cli.ir.types import BOOL, F32, I64, TensorType
from nautilus_cli.ops.einsum_equation import parse
from nautilus_cli.ops.registry import operators
from nautilus_cli.ops.spec import Inference
from tests.unit.ops.drawing import seeds, values
from tests.unit.ops.lowered import Evaluator
from tests.unit.ops.oracle import check, same

EINSUM = operators()["Einsum"]

EQUATIONS = [
    ("->", [()]),
    ("i->", [(3,)]),
    ("ij->ji", [(2, 3)]),
    ("ij", [(2, 3)]),
    ("ba", [(2, 3)]),
    ("ii", [(3, 3)]),
    ("ii->i", [(3, 3)]),
    ("iii->i", [(3, 3, 3)]),
    ("...ii->...i", [(2, 3, 4, 4)]),
    ("iji->j", [(3, 2, 3)]),
    ("iijj->ij", [(2, 2, 3, 3)]),
    ("i,i", [(4,), (4,)]),
    ("i,j->ij", [(2,), (3,)]),
    ("ij,jk->ik", [(2, 3), (3, 4)]),
    ("ij,jk", [(2, 3), (3, 4)]),
    ("ij,kj->ik", [(2, 3), (4, 3)]),
    ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
    ("bij, bjk -> bik", [(2, 3, 4), (2, 4, 5)]),
    ("bhid,bhjd->bhij", [(2, 3, 4, 5), (2, 3, 6, 5)]),
    ("bhij,bhjd->bihd", [(2, 3, 4, 5), (2, 3, 5, 6)]),
    ("bqhd,bkhd->bhqk", [(2, 3, 4, 5), (2, 6, 4, 5)]),
    ("abc,cd->abd", [(2, 3, 4), (4, 5)]),
    ("abc,abc->", [(2, 3, 4), (2, 3, 4)]),
    ("abc,abc->b", [(2, 3, 4), (2, 3, 4)]),
    ("ab,cd->", [(2, 3), (4, 5)]),
    ("ab,bc->b", [(2, 3), (3, 4)]),
    ("...ij,...jk->...ik", [(2, 1, 3, 4), (5, 4, 2)]),
    ("...,...->...", [(2, 3), (3,)]),
    ("i...->...", [(2, 3, 4)]),
    ("i...j->ji...", [(2, 3, 4, 5)]),
    ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 5)]),
    ("a,a,a->a", [(3,), (3,), (3,)]),
    ("ab,ac,ad->bcd", [(2, 3), (2, 4), (2, 5)]),
    ("ij,ij,k->jk", [(2, 3), (2, 3), (4,)]),
    ("Aa,aB->AB", [(2, 3), (3, 4)]),
    ("aA,Ab", [(2, 3), (3, 4)]),
    ("ij,j->ij", [(2, 3), (1,)]),
    ("ij,jk->ik", [(2, 1), (3, 4)]),
    ("ij,ij->ij", [(1, 3), (2, 1)]),
    ("ij,jk->ik", [(2, 0), (0, 4)]),
    ("ij->j", [(0, 4)]),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.int8, np.uint16])
@pytest.mark.parametrize(("equation", "shapes"), EQUATIONS)
def test_equations(equation: str, shapes: list[tuple[int, ...]], dtype: object) -> None:
    rng = np.random.default_rng(len(equation))
    arrays = [values(rng, shape, dtype) for shape in shapes]
    with np.errstate(all="ignore"):
        expected = np.asarray(np.einsum(equation, *arrays, dtype=dtype, casting="unsafe"))  # type: ignore[call-overload]
    typed = EINSUM.attributes(equation)
    (found,) = EINSUM.evaluate(typed, tuple(arrays), 1)
    same(found, expected, terms=64, depth=4)
    evaluator = Evaluator()
    (value,) = evaluator.apply(EINSUM, typed, tuple(evaluator.constant(a) for a in arrays), 1)
    assert value.constant is not None
    same(value.constant, expected, terms=64, depth=4)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("equation", ["ij,jk->ik", "ij,jk->k", "ij,ij->ij", "ij,kl->il", "ij->i"])
def test_sixteen_bits(equation: str, dtype: object) -> None:
    rng = np.random.default_rng(1)
    shapes = {"i": 3, "j": 4, "k": 5, "l": 4}
    arrays = [values(rng, tuple(shapes[n] for n in term), dtype) for term in equation.split("->")[0].split(",")]
    check("Einsum", arrays, {"equation": equation}, terms=64, depth=6)


@given(st.data(), st.integers(1, 3), seeds())
@settings(max_examples=150)
def test_drawn_equations(data: st.DataObject, count: int, rng: np.random.Generator) -> None:
    """Terms of up to four letters out of five, repeated letters and dimensions of size 1 among them."""
    sizes = {letter: data.draw(st.integers(1, 4)) for letter in "abcde"}
    terms = [data.draw(st.text("abcde", min_size=0, max_size=4)) for _ in range(count)]
    used = sorted({letter for term in terms for letter in term})
    output = "".join(data.draw(st.permutations(used))[: data.draw(st.integers(0, len(used)))])
    equation = ",".join(terms) + data.draw(st.sampled_from(["", f"->{output}"]))
    arrays = [values(rng, tuple(sizes[letter] for letter in term), np.float64) for term in terms]
    expected = np.asarray(np.einsum(equation, *arrays))
    typed = EINSUM.attributes(equation)
    evaluator = Evaluator()
    (value,) = evaluator.apply(EINSUM, typed, tuple(evaluator.constant(a) for a in arrays), 1)
    assert value.constant is not None
    same(value.constant, expected, terms=4**5, depth=4)
    same(EINSUM.evaluate(typed, tuple(arrays), 1)[0], expected, terms=4**5, depth=4)


@pytest.mark.parametrize(
    ("equation", "left"),
    [
        ("bij,bjk->bik", ["MatMul"]),
        ("bhid,bhjd->bhij", ["Transpose", "MatMul"]),
        ("i,j->ij", ["Reshape", "Reshape", "Mul"]),
        ("ij->ji", ["Transpose"]),
        ("ij->", ["ReduceSum"]),
    ],
)
def test_what_they_become(equation: str, left: list[str]) -> None:
    evaluator = Evaluator()
    terms = equation.split("->")[0].split(",")
    operands = tuple(evaluator.constant(np.ones((2,) * len(term), np.float32)) for term in terms)
    evaluator.apply(EINSUM, EINSUM.attributes(equation), operands, 1)
    assert [op for op in evaluator.reached if op != "Reshape" or "Reshape" in left] == left


@pytest.mark.parametrize(
    ("equation", "shapes", "message"),
    [
        ("ij,jk->ik", [(2, 3)], "has 2 terms for 1 operands"),
        ("ij->ij", [(2, 3, 4)], "the term 'ij' for an operand of rank 3"),
        ("i...->i", [()], r"the term 'i\.\.\.' for an operand of rank 0"),
        ("ij,jk->ik", [(2, 3), (4, 5)], "dimension 'j' has the sizes 3 and 4"),
        ("ij->ii", [(2, 3)], "'i' twice in its result"),
        ("ij->k", [(2, 3)], "'k' in its result, but in no operand"),
        ("i1->i", [(2, 3)], "the specification allows letters and one ellipsis"),
        ("i.j->i", [(2, 3)], "the specification allows letters and one ellipsis"),
        ("ij->i->j", [(2, 3)], "the specification allows letters and one ellipsis"),
        ("......->", [(2, 3)], "the specification allows letters and one ellipsis"),
        ("ij->äi", [(2, 3)], "the specification allows letters and one ellipsis"),
    ],
)
def test_refused_equations(equation: str, shapes: list[tuple[int, ...]], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        parse(equation, shapes)


def test_refused_operands() -> None:
    for types, message in (
        ((TensorType(BOOL, (2,)),), "operand 'Inputs_0' has type bool"),
        ((TensorType(F32, (2,)), TensorType(I64, (2,))), "operand 'Inputs_1' has type i64"),
        ((), "has 0 operands"),
    ):
        with pytest.raises(ModelError, match=message):
            EINSUM.infer(Inference(EINSUM.attributes("i,i->i"), types, (None,) * len(types), 1))
