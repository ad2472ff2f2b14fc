"""One library for many sizes: models with open dimensions, each compiled once and held against onnxruntime at five sizes.

The sizes are the smallest, the largest, those that kernels were chosen for, and two that share few divisors with anything. A JSON line for
each size, then a table.

Without names: packages' models that are fetched (python models/fetch.py --all), and the committed fp32 graphs.

`--keep FOLDER` leaves models and libraries in a folder and compares nothing; `--kept FOLDER` compares them later, on another machine.

Usage: python -m tests.bench.open_sizes [--target emulated] [--out FILE] [--keep FOLDER | --kept FOLDER] [NAME ...]
       NAME is minilm, or vit_any_size.torchscript.fp16
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models import catalogue, fetch, weightless
from nautilus_cli import driver, load
from nautilus_cli.cli.options import dimension
from nautilus_cli.driver.origin import open_shapes
from nautilus_cli.errors import NautilusError
from nautilus_cli.ir.binding import bind
from nautilus_cli.ir.dims import Symbol
from nautilus_cli.ir.ranges import DimRange, Size

Shapes = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A model in one form.

    Attributes:
        name: of the model, and the form of a committed graph.
        model: what the catalogue says of it.
        source: an ONNX file, or a graph without its weights.
        is_default: whether it is compared without being named.
    """

    name: str
    model: catalogue.Model
    source: Path
    is_default: bool = True

    def file(self, folder: Path) -> Path:
        """Return an ONNX file; one made from a graph without weights lies in FOLDER."""
        if not self.source.name.endswith(catalogue.SUFFIX):
            return self.source
        path = folder / f"{self.name}.onnx"
        if path.exists():
            return path
        weightless.save(weightless.fill(self.source), path)
        return path


def cases() -> Iterator[Case]:
    """Yield what there is: fetched models, and committed graphs with open dimensions."""
    for name, model in catalogue.catalogue().items():
        if not model.open:
            continue
        if model.is_fetched and (path := fetch.kept(name)) is not None:
            yield Case(name=name, model=model, source=path)
        for graph in model.graphs:
            if graph.batch == 0:
                form = f"{name}.{graph.exporter}.{graph.dtype}"
                yield Case(name=form, model=model, source=graph.path, is_default=graph.dtype == "fp32")


def ranges(model: catalogue.Model) -> dict[str, tuple[Size, ...]]:
    """Return the shapes with ranges that a model's description gives."""
    return {name: tuple(dim if isinstance(dim, int) else _range(dim) for dim in shape) for name, shape in model.open.items()}


def _range(text: str) -> DimRange:
    return dimension(f"dim={text}")[1]


def _prime(dim: Symbol, number: int) -> int:
    """Return a size whose quotient by the divisor is a prime: the NUMBERth from the middle down; the smallest where there are fewer."""
    quotients = range((dim.low + 2 * dim.high) // 3 // dim.divisor, 0, -1)
    primes = [q for q in quotients if q > 1 and all(q % d for d in range(2, q)) and q * dim.divisor >= dim.low]
    return primes[number] * dim.divisor if number < len(primes) else dim.low


def sampled(library: Path, given: Mapping[str, tuple[Size, ...]]) -> Iterator[tuple[str, Shapes]]:
    """Yield the shapes of the inputs at five sizes, with what they are."""
    with load(library) as loaded:
        shapes = open_shapes(loaded)
        dims = [Symbol(d.name, d.low, d.high, d.divisor) for d in loaded.dimensions]
    points: dict[str, int] = {}
    for name, shape in given.items():
        for dim, size in zip(shapes[name], shape, strict=True):
            if isinstance(size, DimRange):
                points[str(dim)] = (*size.points, size.high)[0]
    kinds = {
        "smallest": {d.name: d.low for d in dims},
        "largest": {d.name: d.high for d in dims},
        "points": {d.name: points.get(d.name, d.high) for d in dims},
        "primes": {d.name: _prime(d, 0) for d in dims},
        "smaller primes": {d.name: _prime(d, 1) for d in dims},
    }
    for what, sizes in kinds.items():
        yield what, {name: bind(shape, sizes) for name, shape in shapes.items()}


def rows(case: Case, options: argparse.Namespace, folder: Path) -> Iterator[dict[str, Any]]:
    """Compile a model once, unless that was done, and yield what is found at each size."""
    kept = folder / f"{case.name}.json"
    built = json.loads(kept.read_text(encoding="utf-8")) if options.kept else compiled(case, options.target, folder)
    if options.keep:
        kept.write_text(json.dumps(built), encoding="utf-8")
        yield built | {"match": True}
        return
    yield from compared(case, built, folder)
    if not options.kept:
        library_path(case, folder).unlink()


def library_path(case: Case, folder: Path) -> Path:
    """Return where the library of a case lies."""
    return folder / f"lib{case.name}.so"


def compiled(case: Case, target: str, folder: Path) -> dict[str, Any]:
    """Compile a model for all sizes; return what is to be said of the library."""
    begin = time.perf_counter()
    shapes = ranges(case.model)
    result = driver.compile(
        driver.CompileOptions(
            model=case.file(folder),
            output=library_path(case, folder),
            target=target,
            shapes=shapes,
            bindings=case.model.bindings,
            verify=False,
        )
    )
    return {"model": case.name, "kernels": result.targets[0].kernels, "compile_s": round(time.perf_counter() - begin, 1)}


def compared(case: Case, built: dict[str, Any], folder: Path) -> Iterator[dict[str, Any]]:
    """Yield what is found of a library at each size."""
    path, library, given = case.file(folder), library_path(case, folder), ranges(case.model)
    values = {name: (low, high) for name, (low, high) in case.model.ranges.items()}
    for what, shapes in sampled(library, given):
        found = driver.verify(driver.VerifyOptions(model=path, library=library, ranges=values, shapes=shapes)).comparisons
        yield built | {
            "sizes": what,
            "shapes": {name: list(shape) for name, shape in shapes.items() if name in given},
            "max_abs": max(c.max_abs for c in found.values()),
            "match": all(c.is_match for c in found.values()),
        }


def main() -> int:
    """Run; exit code 1 where a model failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--target", default="emulated")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--keep", type=Path, metavar="FOLDER")
    parser.add_argument("--kept", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    known = {case.name: case for case in cases()}
    if unknown := [name for name in options.names if name not in known]:
        parser.error(f"there is no {', '.join(unknown)}, or it is not fetched; known: {', '.join(known)}")
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or options.kept or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name in options.names or [name for name, case in known.items() if case.is_default]:
            try:
                for row in rows(known[name], options, folder):
                    found.append(row)
                    print(json.dumps(row), flush=True)
            except NautilusError as error:
                found.append({"model": name, "match": False, "error": str(error)})
                print(json.dumps(found[-1]), flush=True)
            except Exception:
                found.append({"model": name, "match": False, "error": traceback.format_exc()})
                print(found[-1]["error"], flush=True)
            if options.out:
                options.out.write_text("".join(f"{json.dumps(row)}\n" for row in found))
    width = max(len(row["model"]) for row in found)
    for name in dict.fromkeys(row["model"] for row in found):
        mine = [row for row in found if row["model"] == name]
        shown = ", ".join(f"{row['sizes']} {row['max_abs']:.1e}{'' if row['match'] else ' WRONG'}" for row in mine if "sizes" in row)
        print(f"{name:<{width}}  {shown}{''.join(' FAILED: ' + row['error'].splitlines()[-1] for row in mine if 'error' in row)}")
    return int(not all(row["match"] for row in found))


if __name__ == "__main__":
    sys.exit(main())
