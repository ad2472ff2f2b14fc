"""Compile, verify and time the benchmark models; a JSON line for each.

Usage: python -m tests.bench.zoo [--target sm_90a] [--out FILE] [--packages] [--light] [--exports]
       [--keep FOLDER | --kept FOLDER] [NAME.EXPORTER.TYPE ...]

A name may be a prefix: `resnet50` takes both exporters and both types. Without names: the models of MODELS at batch 1. `--packages` takes
the models that `models/fetch.py` has fetched, `--light` onnx's nine light models, `--exports` the networks of
`models/exports`. On the emulated target the latency is left out, since it would not be a speed. `--keep FOLDER` leaves models and
libraries in a folder and times nothing; `--kept FOLDER` times them later.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx.backend.test

from models import catalogue, fetch, weightless
from models.exports import FOLDER as EXPORTS
from nautilus_cli import driver, load
from nautilus_cli.errors import NautilusError
from nautilus_cli.frontend.load import load as load_model
from nautilus_cli.runtime.session import Session
from nautilus_cli.toolchain import device
from nautilus_cli.verify.inputs import draw

MODELS = ("ppocr_cls", "resnet50", "mobilenet_v3", "vit_b16", "bert_base", "gpt2_s128")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A model to measure.

    Attributes:
        name: for the row.
        source: an ONNX file, or a packed graph without weights.
        model: what the catalogue says of it; None for a light model.
    """

    name: str
    source: Path
    model: catalogue.Model | None = None


def cases(names: list[str]) -> Iterator[Case]:
    """Yield the benchmark models chosen."""
    for name, model in catalogue.catalogue().items():
        if model.is_fetched:
            if name in (names or MODELS):
                yield Case(name=name, source=fetch.fetch(name), model=model)
            continue
        for graph in model.graphs:
            full = f"{name}.{graph.path.name.removesuffix(catalogue.SUFFIX)}"
            chosen = any(full.startswith(n) for n in names) if names else name in MODELS and graph.batch == 1
            if chosen:
                yield Case(name=full, source=graph.path, model=model)


def packages() -> Iterator[Case]:
    """Yield the packages' models that are fetched and expected to compile."""
    for name, model in catalogue.catalogue().items():
        if model.is_fetched and not model.missing and (path := fetch.kept(name)) is not None:
            yield Case(name=name, source=path, model=model)


def light() -> Iterator[Case]:
    """Yield onnx's light models: real topologies whose weights are constant."""
    for path in sorted((Path(onnx.backend.test.__file__).parent / "data" / "light").glob("*.onnx")):
        yield Case(name=path.stem, source=path)


def exports() -> Iterator[Case]:
    """Yield the further exports: real structures of small widths."""
    for name, model in catalogue.catalogue(EXPORTS).items():
        for graph in (graph for graph in model.graphs if graph.batch):
            yield Case(name=f"{name}.{graph.exporter}", source=graph.path, model=model)


def measure(case: Case, options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Return the row of one model."""
    kept = folder / f"{case.name}.json"
    if options.kept:
        row: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
        return row | timed(case, folder)
    row = compiled(case, options.target, folder)
    if options.keep:
        kept.write_text(json.dumps(row), encoding="utf-8")
        return row
    row |= timed(case, folder)
    if model_path(case, folder) is not case.source:
        model_path(case, folder).unlink()
    library_path(case, folder).unlink()
    return row


def model_path(case: Case, folder: Path) -> Path:
    """Return the ONNX file of a case: in FOLDER, where its weights were drawn."""
    return folder / f"{case.name}.onnx" if case.source.name.endswith(catalogue.SUFFIX) else case.source


def library_path(case: Case, folder: Path) -> Path:
    """Return where the library of a case lies."""
    return folder / f"lib{case.name}.so"


def compiled(case: Case, target: str | None, folder: Path) -> dict[str, Any]:
    """Compile and verify a model; return its row without times of runs."""
    path, library, model = model_path(case, folder), library_path(case, folder), case.model
    if path is not case.source:
        weightless.save(weightless.fill(case.source), path)
    row: dict[str, Any] = {"model": case.name}
    begin = time.perf_counter()
    result = driver.compile(
        driver.CompileOptions(
            model=path, output=library, target=target, shapes=shapes_of(model), bindings=model.bindings if model else {}, verify=False
        )
    )
    built = result.targets[0]
    row |= {"target": built.target, "compile_s": round(time.perf_counter() - begin, 2)}
    row |= {"kernels": built.kernels, "launches": built.launches, "arena_bytes": built.arena_bytes}
    row |= {"library_bytes_without_weights": result.library_bytes - result.weight_bytes, "weight_bytes": result.weight_bytes}
    begin = time.perf_counter()
    report = driver.verify(driver.VerifyOptions(model=path, library=library, ranges=ranges_of(model)))
    row["verify_s"] = round(time.perf_counter() - begin, 2)
    row["outputs"] = {
        key: {
            "max_abs": c.max_abs,
            "max_rel": c.max_rel,
            "cosine": c.cosine,
            "nan": c.actual_nan,
            "rtol": c.tolerance.rtol,
            "atol": c.tolerance.atol,
            "match": c.is_match,
        }
        for key, c in report.comparisons.items()
    }
    row["match"] = all(c.is_match for c in report.comparisons.values())
    return row


def timed(case: Case, folder: Path) -> dict[str, float]:
    """Return the times of a compiled model's runs; none where it is emulated."""
    path, model = model_path(case, folder), case.model
    with load(library_path(case, folder)) as loaded:
        if loaded.is_emulated:
            return {}
        with Session(loaded) as session:
            graph = load_model(path, shapes=shapes_of(model), bindings=model.bindings if model else {}).graph
            session.feed({key: drawn.array for key, drawn in draw(graph, 0, ranges_of(model)).items()})
            timing = session.time(samples=30, runs=20, warmup=20)
    return {
        "latency_us": round(timing.median_us, 2),
        "latency_p10_us": round(timing.percentile_us(10), 2),
        "latency_p90_us": round(timing.percentile_us(90), 2),
    }


def shapes_of(model: catalogue.Model | None) -> dict[str, tuple[int, ...]]:
    """Return the static shapes of a model's inputs, where its own are dynamic."""
    return {key: tuple(dims) for key, dims in model.shapes.items()} if model else {}


def ranges_of(model: catalogue.Model | None) -> dict[str, tuple[float, float]]:
    """Return the lowest and highest values of a model's inputs."""
    return {key: (low, high) for key, (low, high) in model.ranges.items()} if model else {}


def chosen(options: argparse.Namespace) -> Iterator[Case]:
    """Yield what the command line asks for."""
    if options.packages:
        yield from packages()
    if options.light:
        yield from light()
    if options.exports:
        yield from exports()
    if options.names or not (options.packages or options.light or options.exports):
        yield from cases(options.names)


def main() -> int:
    """Run; exit code 1 where a model failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--target")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--packages", action="store_true")
    parser.add_argument("--light", action="store_true")
    parser.add_argument("--exports", action="store_true")
    parser.add_argument("--keep", type=Path, metavar="FOLDER")
    parser.add_argument("--kept", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    found = device.driver()
    print(f"# driver {found.version}, {', '.join(d.name for d in found.devices) or found.problem}", flush=True)
    failed = False
    lines = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or options.kept or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for case in chosen(options):
            try:
                row = measure(case, options, folder)
            except NautilusError as error:
                row = {"model": case.name, "match": False, "error": str(error)}
            except Exception:
                row = {"model": case.name, "match": False, "error": traceback.format_exc()}
            failed |= not row["match"]
            lines.append(json.dumps(row))
            print(lines[-1], flush=True)
            if options.out:
                options.out.write_text("\n".join(lines) + "\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
