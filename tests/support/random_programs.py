"""Random models whose course the run decides: branches and loops within each other, over a few small tensors and numbers."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

ROWS, COLUMNS = 4, 8

_DEEPEST = 3


@dataclass(slots=True)
class _Block:
    """Nodes of one graph under construction, and what they may read.

    Attributes:
        tensors: names of tensors of [ROWS, COLUMNS].
        numbers: names of int64 scalars from 0 to 3.
        depth: graphs around it.
        nodes: so far.
    """

    tensors: list[str]
    numbers: list[str]
    depth: int
    nodes: list[NodeProto] = field(default_factory=list)


class _Writer:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self._count = 0

    def name(self) -> str:
        self._count += 1
        return f"v{self._count}"

    def node(self, block: _Block, op: str, *inputs: str, **attributes: object) -> str:
        result = self.name()
        block.nodes.append(helper.make_node(op, inputs, [result], name=f"{op} {result}", **attributes))
        return result

    def fill(self, block: _Block, count: int) -> None:
        for _ in range(count):
            kind = self.random.random()
            if kind < 0.18 and block.depth < _DEEPEST:
                block.tensors += self.branch(block)
            elif kind < 0.42 and block.depth < _DEEPEST:
                self.loop(block)
            elif kind < 0.92:
                block.tensors.append(self.tensor(block))
            else:
                block.numbers.append(self.modulo(block, self.node(block, "Add", self.random.choice(block.numbers), "one")))

    def tensor(self, block: _Block) -> str:
        x, other = self.random.choice(block.tensors), self.random.choice(block.tensors)
        match self.random.randrange(6):
            case 0:
                return self.node(block, "Add", x, other)
            case 1:
                return self.node(block, "Tanh", x)
            case 2:
                return self.node(block, "Tanh", self.node(block, "MatMul", x, "w"))
            case 3:
                return self.node(block, "Softmax", x, axis=1)
            case 4:
                return self.node(block, "Transpose", self.node(block, "Reshape", x, "turned"), perm=[1, 0])
        number = self.node(block, "Cast", self.random.choice(block.numbers), to=TensorProto.FLOAT)
        return self.node(block, "Add", x, self.node(block, "Mul", number, "tenth"))

    def modulo(self, block: _Block, number: str) -> str:
        return self.node(block, "Mod", number, "four")

    def branch(self, block: _Block) -> list[str]:
        condition = self.node(block, "Greater", self.random.choice(block.numbers), "one")
        count = self.random.randint(1, 2)
        bodies = []
        for _ in range(2):
            inner = _Block(list(block.tensors), list(block.numbers), block.depth + 1)
            self.fill(inner, self.random.randint(2, 5))
            results = [
                self.node(inner, self.random.choice(("Identity", "Neg")), self.random.choice(inner.tensors[-4:])) for _ in range(count)
            ]
            bodies.append(helper.make_graph(inner.nodes, self.name(), [], [_tensor(name) for name in results]))
        found = [self.name() for _ in range(count)]
        block.nodes.append(helper.make_node("If", [condition], found, name=f"If {found[0]}", then_branch=bodies[0], else_branch=bodies[1]))
        return found

    def loop(self, block: _Block) -> None:
        states = [self.name() for _ in range(self.random.randint(1, 2))]
        numbers = [self.name() for _ in range(self.random.randint(0, 1))]
        number, condition = self.name(), self.name()
        inner = _Block([*block.tensors, *states], [*block.numbers, *numbers, number], block.depth + 1)
        self.fill(inner, self.random.randint(2, 5))
        choose = self.random.choice
        following = [self.node(inner, choose(("Identity", "Tanh")), choose([*inner.tensors[-5:], *states])) for _ in states]
        counted = [self.modulo(inner, self.node(inner, "Add", choose(inner.numbers), "one")) for _ in numbers]
        goes_on = (
            self.node(inner, "Identity", condition) if choose((True, False)) else self.node(inner, "Less", choose(inner.numbers), "three")
        )
        pieces = [self.node(inner, "ReduceSum", choose(inner.tensors), "axis", keepdims=0)] if choose((True, False)) else []
        inputs = [_number(number), _flag(condition), *map(_tensor, states), *map(_number, numbers)]
        outputs = [_flag(goes_on), *map(_tensor, following), *map(_number, counted), *map(_row, pieces)]
        body = helper.make_graph(inner.nodes, self.name(), inputs, outputs)
        trips = self.modulo(block, choose(block.numbers))
        given = [trips, "", *(choose(block.tensors) for _ in states), *(choose(block.numbers) for _ in numbers)]
        found = [self.name() for _ in outputs[1:]]
        block.nodes.append(helper.make_node("Loop", given, found, name=f"Loop {found[0]}", body=body))
        block.tensors += found[: len(states)]
        block.numbers += found[len(states) :][: len(numbers)]
        if pieces:
            total = self.node(block, "Mul", self.node(block, "ReduceSum", found[-1], keepdims=0), "tenth")
            block.tensors.append(self.node(block, "Add", found[0], total))


def _tensor(name: str) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, [ROWS, COLUMNS])


def _row(name: str) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, [ROWS])


def _number(name: str) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.INT64, [])


def _flag(name: str) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.BOOL, [])


def program(seed: int) -> ModelProto:
    """Return a model over `x`, a tensor, and `k` and `m`, two numbers; it holds a loop at least."""
    writer = _Writer(seed)
    block = _Block(["x"], ["k", "m"], 0)
    writer.loop(block)
    writer.fill(block, writer.random.randint(3, 7))
    tensors, number = block.tensors[1:][-4:], block.numbers[-1]
    results = [writer.node(block, "Identity", name) for name in (*tensors, number)]
    constants = {
        "one": np.array(1),
        "three": np.array(3),
        "four": np.array(4),
        "axis": np.array([1]),
        "turned": np.array([COLUMNS, ROWS]),
        "tenth": np.array(0.1, np.float32),
        "w": (np.random.default_rng(seed).standard_normal((COLUMNS, COLUMNS)) * 0.4).astype(np.float32),
    }
    graph: GraphProto = helper.make_graph(
        block.nodes,
        "program",
        [_tensor("x"), _number("k"), _number("m")],
        [*map(_tensor, results[:-1]), _number(results[-1])],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
