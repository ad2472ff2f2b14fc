"""What an iteration of a loop that the host walks through costs: launches one by one against a graph an iteration.

Usage:
    python -m tests.bench.loops build FOLDER [NAME ...] [--target sm_90a]    compile libraries, all without names
    python -m tests.bench.loops run FOLDER [--out FILE]                      measure those that are there, a line of JSON each

Microseconds an iteration are those by which runs of many iterations take longer than runs of few, so what a run costs once is not in
them. `chain` has so many products an iteration and no condition; `newton` and `decoder` (a GRU that speaks a token an iteration) end by a
condition, which the host waits for; `cache` attends to all tokens so far, whose keys and values are states that grow. Names with `open`
have an open batch. On the emulated target the numbers are no speeds.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
import onnx
from onnx import parser

from nautilus_cli import driver, load
from nautilus_cli.ir.ranges import DimRange
from nautilus_cli.runtime.session import Session

CHAINS = (1, 2, 3, 4, 6, 8, 16)
WIDTH, WORDS = 64, 1000
FEW, MANY, REPEATS = 20, 220, 9


def chain(launches: int, batch: str) -> str:
    """Return a loop of so many products an iteration."""
    names = ["a", *(f"a{number}" for number in range(1, launches + 1))]
    steps = " ".join(f"m{after} = MatMul({before}, w) {after} = Tanh(m{after})" for before, after in pairwise(names))
    return f"""g (float[{batch},{WIDTH}] x, float[{WIDTH},{WIDTH}] w, int64 k) => (float[{batch},{WIDTH}] y) {{
        y = Loop (k, , x) <body = b (int64 i, bool c, float[{batch},{WIDTH}] a) => (bool d, float[{batch},{WIDTH}] {names[-1]}) {{
            d = Identity(c) {steps} }}> }}"""


NEWTON = """g (float[N] x, float least, int64 k) => (float[N] y) {
    on = Constant <value: tensor = bool {1}> () half = Constant <value_float = 0.5> ()
    y = Loop (k, on, x) <body = b (int64 i, bool c, float[N] r) => (bool more, float[N] next) {
        q = Div(x, r) s = Add(r, q) next = Mul(s, half) d = Sub(next, r) m = Abs(d) worst = ReduceMax <keepdims = 0> (m)
        more = GreaterOrEqual(worst, least) }> }"""

DECODER = f"""g (float[1,1,{WIDTH}] x, float[{WORDS},{WIDTH}] table, float[1,{3 * WIDTH},{WIDTH}] p, float[1,{3 * WIDTH},{WIDTH}] r,
    float[{WIDTH},{WORDS}] head, int64[1] begin, int64 k) => (float[1,1,{WIDTH}] y, int64[1] last) {{
    on = Constant <value: tensor = bool {{1}}> () end = Constant <value_int = -1> ()
    one = Constant <value_ints = [1]> () zero = Constant <value_ints = [0]> ()
    last, y = Loop (k, on, begin, x) <body = step (int64 i, bool c, int64[1] token, float[1,1,{WIDTH}] before)
        => (bool more, int64[1] next, float[1,1,{WIDTH}] after) {{
        row = Gather(table, token) e = Unsqueeze(row, zero)
        all, after = GRU <hidden_size = {WIDTH}> (e, p, r, , , before)
        flat = Squeeze(after, zero) scores = MatMul(flat, head) next = ArgMax <axis = 1, keepdims = 0> (scores)
        is_end = Equal(next, end) ended = Squeeze(is_end, zero) more = Not(ended) }}> }}"""

CACHE = f"""g (float[1,4,{WIDTH}] x, float[{WORDS},{WIDTH}] table, float[{WIDTH},{WIDTH}] p, float[{WIDTH},{WIDTH}] q,
    float[{WIDTH},{WORDS}] head, int64[1] begin, int64 k) => (float[1,n,{WIDTH}] y, int64[1] last) {{
    on = Constant <value: tensor = bool {{1}}> () end = Constant <value_int = -1> () zero = Constant <value_ints = [0]> ()
    last, y, values = Loop (k, on, begin, x, x) <body = step (int64 i, bool c, int64[1] token, float[1,a,{WIDTH}] keys,
        float[1,a,{WIDTH}] old) => (bool more, int64[1] next, float[1,d,{WIDTH}] kept, float[1,d,{WIDTH}] new) {{
        row = Gather(table, token) e = Unsqueeze(row, zero) key = MatMul(e, p) value = MatMul(e, q)
        kept = Concat <axis = 1> (keys, key) new = Concat <axis = 1> (old, value)
        turned = Transpose <perm = [0, 2, 1]> (kept) scores = MatMul(e, turned) shares = Softmax <axis = 2> (scores)
        mixed = MatMul(shares, new) flat = Squeeze(mixed, zero) logits = MatMul(flat, head)
        next = ArgMax <axis = 1, keepdims = 0> (logits) is_end = Equal(next, end) ended = Squeeze(is_end, zero) more = Not(ended) }}> }}"""

BATCH = {"B": DimRange(1, 32)}
MODELS: Mapping[str, tuple[str, Mapping[str, DimRange]]] = {
    **{f"chain{number}": (chain(number, "4"), {}) for number in CHAINS},
    **{f"open_chain{number}": (chain(number, "B"), BATCH) for number in (2, 4, 8)},
    "newton": (NEWTON.replace("N]", "1024]"), {}),
    "open_newton": (NEWTON, {"N": DimRange(1, 4096)}),
    "decoder": (DECODER, {}),
    "cache": (CACHE, {"k[0]": DimRange(0, 300)}),
}

SIZES = {"B": 4, "N": 1024}


def build(folder: Path, names: list[str], target: str) -> None:
    """Compile libraries."""
    for name in names or MODELS:
        text, dims = MODELS[name]
        model = folder / f"{name}.onnx"
        onnx.save(parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}'), model)
        options = driver.CompileOptions(model=model, output=model.with_suffix(".so"), target=target, dims=dims, verify=False)
        print(name, driver.compile(options).targets[0].launches, "launches", flush=True)


def inputs(name: str) -> dict[str, np.ndarray]:
    """Draw what a model takes, but for the number of iterations."""
    random = np.random.default_rng(0)
    graph = onnx.load(str(Path(name))).graph
    found: dict[str, np.ndarray] = {}
    for value in graph.input:
        kind = value.type.tensor_type
        shape = [SIZES.get(dim.dim_param, dim.dim_value) for dim in kind.shape.dim]
        if kind.elem_type == onnx.TensorProto.FLOAT:
            found[value.name] = (random.random(shape) * 0.2 + (1 if value.name == "x" else -0.1)).astype(np.float32)
        else:
            found[value.name] = np.zeros(shape, np.int64)
    if "least" in found:
        found["least"] = np.float32(-1)  # never reached
    return found


def measured(session: Session, given: Mapping[str, np.ndarray]) -> tuple[float, float, dict[str, np.ndarray]]:
    """Return microseconds an iteration, those of a run without the iterations, and what came out."""
    times = {}
    for count in (FEW, MANY):
        run = session.bind({**given, "k": np.int64(count)})
        for _ in range(3):
            found = run()
        taken = []
        for _ in range(REPEATS):
            begin = perf_counter()
            run()
            taken.append((perf_counter() - begin) * 1e6)
        times[count] = median(taken)
    each = (times[MANY] - times[FEW]) / (MANY - FEW)
    return each, times[FEW] - FEW * each, {name: array.copy() for name, array in found.items()}


def run(folder: Path, out: Path | None) -> None:
    """Measure all libraries that are there."""
    rows = []
    for path in (found for name in MODELS if (found := folder / f"{name}.so").exists()):
        row: dict[str, str | int | float | bool] = {"name": path.stem}
        with load(path) as library:
            body = next(step["body"] for step in library.manifest["steps"] if step["kind"] == "loop")
            row["launches"] = sum(step.get("count", 0) for step in body)
            given, results = inputs(str(path.with_suffix(".onnx"))), []
            for launch in ("stream", "graph"):
                with Session(library, launch=launch) as session:
                    each, once, found = measured(session, given)
                    results.append(found)
                    row |= {f"{launch}_us": round(each, 2), f"{launch}_once_us": round(once, 1)}
            row["match"] = all(np.array_equal(results[0][key], results[1][key]) for key in results[0])
        rows.append(json.dumps(row))
        print(rows[-1], flush=True)
        if out is not None:
            out.write_text("\n".join(rows) + "\n", encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Run the command line; see the module's text."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("command", choices=["build", "run"])
    options.add_argument("folder", type=Path)
    options.add_argument("names", nargs="*", help="of libraries to build")
    options.add_argument("--target", default="sm_90a")
    options.add_argument("--out", type=Path, metavar="FILE", help="for the rows")
    found = options.parse_args(arguments)
    found.folder.mkdir(parents=True, exist_ok=True)
    if found.command == "build":
        build(found.folder, found.names, found.target)
    else:
        run(found.folder, found.out)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
