"""Measures matrix products against cuBLAS.

Usage:
    python -m tests.bench.gemm build FILE [SET ...]     compile the jobs of some sets for sm_90a; needs no GPU
    python -m tests.bench.gemm run FILE OUT.json        measure them; needs a GPU and torch
    python -m tests.bench.gemm cycles FILE OUT.json     their cycles and clocks, bound by power and not; needs a GPU and torch
    python -m tests.bench.gemm beside OUT.json          what other instructions cost tensor cores; needs a GPU and torch
    python -m tests.bench.gemm chart OUT.json SVG       draw what a run of `ladder` measured; needs matplotlib

Sets: see SETS.
"""

from __future__ import annotations

import json
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from nautilus_cli.targets.registry import target
from nautilus_cli.toolchain.cache import Cache
from tests.bench.gemm import beside, ladder
from tests.bench.gemm import jobs as catalogue
from tests.bench.gemm.sets import SETS


def build(path: Path, names: list[str], workers: int = 2) -> int:
    """Compile the jobs of some sets."""
    # Sets may have a job in common; rows of a run are told apart by product and label.
    wanted = list({item[:2]: item for name in names for item in SETS[name]()}.values())
    jobs, refused = catalogue.compile_jobs(wanted, target("sm_90a"), Cache.default(), workers=workers)
    for line in refused:
        print(line)
    if "ladder" in names:
        jobs.insert(0, ladder.naive(target("sm_90a"), Cache.default()))
    catalogue.save(jobs, path)
    print(f"{len(jobs)} jobs, {path.stat().st_size >> 10} KiB")
    return 0


def run(path: Path, out: Path) -> int:
    """Measure jobs; rows are written after every product."""
    from tests.bench.gemm.measure import Cuda, measure

    cuda = Cuda()
    products: dict[catalogue.Product, list[catalogue.Job]] = defaultdict(list)
    for job in catalogue.load(path):
        products[job.product.plain].append(job)
    rows: list[dict[str, Any]] = []
    begin = time.monotonic()
    for product, jobs in products.items():
        found = measure(product, jobs, cuda)
        rows += found
        out.write_text(json.dumps(rows, indent=1))
        print(f"-- {product.name}: cublas {found[-1]['us']:.2f} us, {found[-1]['tflops']:.0f} TFLOP/s  [{time.monotonic() - begin:.1f} s]")
        for row in sorted(found[:-1], key=lambda r: r.get("us", 1e9)):
            if "family" not in row:
                print(f"   {row['label']:<34} {row['us']:9.2f} us")
            elif row["is_right"]:
                print(
                    f"   {row['label']:<34} {row['us']:9.2f} us  {row['tflops']:6.1f} TF  x{row['ratio']:.3f}  pdl x{row['ratio_pdl']:.3f}"
                    f"  err {row['error']:.1e}/{row['error_after']:.1e}"
                )
            else:
                print(f"   {row['label']:<34} WRONG: error {row['error']}")
        sys.stdout.flush()
    return int(any(not row.get("is_right", True) for row in rows))


def main(arguments: list[str]) -> int:
    """Run the command line; see the module's text."""
    match arguments:
        case ["build", path, *names] if names and all(name in SETS for name in names):
            return build(Path(path), names)
        case ["run", path, out]:
            return run(Path(path), Path(out))
        case ["cycles", path, out]:
            from tests.bench.gemm import cycles

            return cycles.run(catalogue.load(Path(path)), Path(out))
        case ["beside", out]:
            return beside.run(Path(out))
        case ["chart", path, picture]:
            ladder.chart(Path(path), Path(picture))
            return 0
    print(__doc__, file=sys.stderr)
    print(", ".join(SETS), file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
