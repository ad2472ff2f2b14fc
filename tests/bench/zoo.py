"""Compile, verify and time the benchmark models; a JSON line for each.

Usage: python -m tests.bench.zoo [--target sm_90a] [--out FILE] [NAME.EXPORTER.TYPE ...]

A name may be a prefix: `resnet50` takes both exporters and both types. Without names: the models of MODELS at batch 1. On the emulated
target the latency is left out, since it would not be a speed.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from models import catalogue, weightless
from nautilus_cli import driver, load
from nautilus_cli.errors import NautilusError
from nautilus_cli.frontend.load import load as load_model
from nautilus_cli.runtime.session import Session
from nautilus_cli.toolchain import device
from nautilus_cli.verify.inputs import draw

MODELS = ("ppocr_cls", "resnet50", "mobilenet_v3", "vit_b16", "bert_base", "gpt2_s128")


def cases(names: list[str]) -> Iterator[tuple[str, Path, dict[str, tuple[int, ...]]]]:
    """Yield (name, ONNX or packed file, shapes) of the chosen models."""
    for name, model in catalogue.catalogue().items():
        shapes = {key: tuple(dims) for key, dims in model.shapes.items()}
        if model.is_fetched:
            from models.fetch import fetch

            if name in (names or MODELS):
                yield name, fetch(name), shapes
            continue
        for graph in model.graphs:
            full = f"{name}.{graph.path.name.removesuffix(catalogue.SUFFIX)}"
            chosen = any(full.startswith(n) for n in names) if names else name in MODELS and graph.batch == 1
            if chosen:
                yield full, graph.path, shapes


def measure(name: str, source: Path, shapes: dict[str, tuple[int, ...]], target: str | None, folder: Path) -> dict[str, Any]:
    """Return the row of one model."""
    path = source
    if source.name.endswith(catalogue.SUFFIX):
        path = folder / f"{name}.onnx"
        weightless.save(weightless.fill(source), path)
    library = folder / f"lib{name}.so"
    row: dict[str, Any] = {"model": name}
    begin = time.perf_counter()
    result = driver.compile(driver.CompileOptions(model=path, output=library, target=target, shapes=shapes, verify=False))
    compiled = result.targets[0]
    row |= {"target": compiled.target, "compile_s": round(time.perf_counter() - begin, 2)}
    row |= {"kernels": compiled.kernels, "launches": compiled.launches, "arena_bytes": compiled.arena_bytes}
    row |= {"library_bytes_without_weights": result.library_bytes - result.weight_bytes, "weight_bytes": result.weight_bytes}
    begin = time.perf_counter()
    report = driver.verify(driver.VerifyOptions(model=path, library=library))
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
    with load(library) as loaded:
        if not loaded.is_emulated:
            with Session(loaded) as session:
                session.feed({key: drawn.array for key, drawn in draw(load_model(path, shapes=shapes).graph, 0, {}).items()})
                timing = session.time(samples=30, runs=20, warmup=20)
                row["latency_us"] = round(timing.median_us, 2)
                row["latency_p10_us"] = round(timing.percentile_us(10), 2)
                row["latency_p90_us"] = round(timing.percentile_us(90), 2)
    path.unlink() if path is not source else None
    library.unlink()
    return row


def main() -> int:
    """Run; exit code 1 where a model failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--target")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    found = device.driver()
    print(f"# driver {found.version}, {', '.join(d.name for d in found.devices) or found.problem}", flush=True)
    failed = False
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for name, source, shapes in cases(options.names):
            try:
                row = measure(name, source, shapes, options.target, Path(folder))
            except NautilusError as error:
                row = {"model": name, "match": False, "error": str(error)}
            except Exception:
                row = {"model": name, "match": False, "error": traceback.format_exc()}
            failed |= not row["match"]
            lines.append(json.dumps(row))
            print(lines[-1], flush=True)
            if options.out:
                options.out.write_text("\n".join(lines) + "\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
