"""One library for a range of shapes against libraries of one shape each: time, the first run of a shape, and memory.

Usage:
    python -m tests.bench.dynamic build FOLDER [NAME ...]    compile libraries; names are `open` and shapes, as 8x128; needs no GPU
    python -m tests.bench.dynamic run FOLDER OUT.json        measure them
    python -m tests.bench.dynamic profile FOLDER OUT.json    the time of each kernel; needs torch
    python -m tests.bench.dynamic table OUT.json             the rows of a run as Markdown

Without names, `build` makes the open library and those of all SHAPES, a process each. `run` gives the open library random shapes, one
after the other, a sequence for each seed, and takes the first run (with what the host works out for the shape), the second, which makes a
graph, and later ones, and the memory that is taken; then, for each sampled shape, the time of both libraries, in turns, and how far their
results are apart. What ends early has told what it knows. On the emulated target times are left out, since they would not be speeds.
"""

from __future__ import annotations

import argparse
import json
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from nautilus_cli import load
from tests.bench.dynamic import table
from tests.bench.dynamic.comparison import compared
from tests.bench.dynamic.kernel_times import profiled
from tests.bench.dynamic.sequence import SEEDS, in_sequence
from tests.bench.dynamic.subject import DIMS, OPEN, SHAPES, Subject, dims_of, shape_of


def build(subject: Subject, names: list[str], jobs: int) -> int:
    """Compile libraries, some at once."""
    subject.write_model()
    with ProcessPoolExecutor(max_workers=jobs) as pool:
        pending = {pool.submit(subject.build, name): name for name in names}
        for task in as_completed(pending):
            print(pending[task], json.dumps(task.result()), flush=True)
    return 0


def run(subject: Subject, shapes: list[str], count: int, seeds: list[int], out: Path) -> int:
    """Measure what was built."""
    found: dict[str, Any] = {"model": subject.name, "dims": list(subject.dims), "open": subject.built(OPEN), "rows": []}

    def tell(what: object) -> None:
        print(json.dumps(what), flush=True)
        out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")

    with ExitStack() as stack:
        library = stack.enter_context(load(subject.library(OPEN)))
        found["target"] = library.info.target
        found["sequences"] = []
        for seed in seeds if count else []:
            found["sequences"].append(in_sequence(dims_of(subject.dims), library, count, seed))
            tell({name: value for name, value in found["sequences"][-1].items() if name not in {"rows", "taken_bytes", "resident_bytes"}})
        for name in shapes:
            with load(subject.library(name)) as fixed:
                found["rows"].append(
                    {"shape": list(shape_of(name)), "static": subject.built(name)} | compared(fixed, library, shape_of(name))
                )
            tell(found["rows"][-1])
    return 0


def profile(subject: Subject, shapes: list[str], out: Path) -> int:
    """Write the time of each kernel of both libraries."""
    found: dict[str, Any] = {}
    with load(subject.library(OPEN)) as library:
        for name in shapes:
            with load(subject.library(name)) as fixed:
                found[name] = {"static": profiled(fixed, shape_of(name)), "open": profiled(library, shape_of(name))}
            print(name, {kind: round(sum(row["us"] for row in rows), 1) for kind, rows in found[name].items()}, flush=True)
            out.write_text(json.dumps(found) + "\n", encoding="utf-8")
    return 0


def main(arguments: list[str]) -> int:
    """Run the command line; see the module's text."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    building = commands.add_parser("build")
    building.add_argument("folder", type=Path)
    building.add_argument("names", nargs="*")
    building.add_argument("--model", default="bert_base")
    building.add_argument("--file", type=Path, help="an ONNX file in place of a model of the catalogue")
    building.add_argument("--target")
    building.add_argument("--dims", nargs="+", default=DIMS)
    building.add_argument("--jobs", type=int, default=2)
    for name in ("run", "profile"):
        measuring = commands.add_parser(name)
        measuring.add_argument("folder", type=Path)
        measuring.add_argument("out", type=Path)
        measuring.add_argument("--shapes", nargs="*", default=SHAPES)
        measuring.add_argument("--random", type=int, default=100)
        measuring.add_argument("--seeds", type=int, nargs="*", default=SEEDS)
    commands.add_parser("table").add_argument("out", type=Path)
    options = parser.parse_args(arguments)
    match options.command:
        case "build":
            options.folder.mkdir(parents=True, exist_ok=True)
            subject = Subject(folder=options.folder, name=options.model, file=options.file, target=options.target, dims=tuple(options.dims))
            subject.save()
            return build(subject, options.names or [OPEN, *SHAPES], options.jobs)
        case "run":
            return run(Subject.load(options.folder), options.shapes, options.random, options.seeds, options.out)
        case "profile":
            return profile(Subject.load(options.folder), options.shapes, options.out)
        case _:
            print(table.of(json.loads(options.out.read_text(encoding="utf-8"))))
            return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
