"""Takes what a run of a bench measured into docs/, condensed; docs/performance.md quotes it (tests.bench.page).

Usage:
    python -m tests.bench.keep products RUN.json WHERE         rows of `tests.bench.gemm run`; products that are not in it stay as they are
    python -m tests.bench.keep open_products RUN.json WHERE    of the set `open_sizes`
    python -m tests.bench.keep gated RUN.json WHERE            of `tests.bench.gemm.gated`
    python -m tests.bench.keep models RUN.jsonl WHERE          of `tests.bench.zoo --out`; models that are not in it stay
    python -m tests.bench.keep peers RUN.jsonl WHERE           of `tests.bench.peers --out`, likewise
    python -m tests.bench.keep dynamic RUN.json WHERE          of `tests.bench.dynamic run`; of images, `open_vit`; of GPT-2, `dynamic_gpt2`
    python -m tests.bench.keep loops RUN.jsonl WHERE           of `tests.bench.loops run --out`
    python -m tests.bench.keep while RUN.json WHERE            of `tests.bench.while_nodes`
    python -m tests.bench.keep beside RUN.json WHERE           of `tests.bench.gemm beside`; instructions that are not in it stay

WHERE names the device and the tree that was measured, as in "NVIDIA H200, driver 580.159, CUDA 13.0, tree 172f182".
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[2] / "docs"

Row = dict[str, Any]


def read(name: str) -> dict[str, Any]:
    """Return what docs/NAME.json holds; no rows where it is missing."""
    path = DOCS / f"{name}.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"rows": []}
    return found


def text(found: Mapping[str, Any]) -> str:
    """Return the content of a file: a line a row, so that changes can be read."""
    rows = ",\n".join(json.dumps(row, ensure_ascii=False) for row in found["rows"])
    head = "".join(f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)},\n" for key, value in found.items() if key != "rows")
    return f'{{\n{head}"rows": [\n{rows}\n]\n}}\n'


def _kernel(row: Mapping[str, Any]) -> Row:
    """Return what is told of a kernel: its family, what of its schedule is not one or off, and its times."""
    schedule = {
        name: value
        for name, value in row["schedule"].items()
        if (value is True or value not in (0, 1)) and not name.startswith("vector") and name != "blocks"
    }
    return {"family": row["family"], "schedule": schedule, "us": round(row["us"], 3), "us_pdl": round(row["us_pdl"], 3)}


def products(run: Iterable[Mapping[str, Any]], where: str) -> dict[str, Any]:
    """Return the fastest kernel of every product, and what a compilation takes without a trial."""
    rows: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in run:
        rows[row["product"]].append(row)
    kept = {row["product"]: row for row in read("products")["rows"]}
    for product, measured in rows.items():
        ours = [row for row in measured if "us_pdl" in row and not row.get("symbolic")]
        cublas = [row["us"] for row in measured if row["label"].startswith("cublas")]
        if not ours:
            continue
        best = min(ours, key=lambda row: row["us_pdl"])
        untuned = [row for row in ours if row["label"].split(" ")[0] == "chosen"]
        kept[product] = {
            "product": product,
            "where": where,
            "cublas_us": round(cublas[0], 3) if cublas else None,
            "best": _kernel(best) | {"error": float(f"{best['error']:.3g}")},
            "untuned": _kernel(untuned[0]) if untuned else None,
            "tried": len(ours),
        }
    return {"rows": list(kept.values())}


def open_products(run: Iterable[Mapping[str, Any]], where: str) -> dict[str, Any]:
    """Return, for every product, times of known and of open extents: by one schedule, and as compilations choose."""
    rows: dict[str, Row] = {}
    opened = set()
    for row in run:
        first, *rest = row["label"].split(" ")
        if "us_pdl" in row and first in ("same", "chosen") and (not rest or rest[0] == "open"):
            found = rows.setdefault(row["product"], {"product": row["product"]})
            found[row["label"]] = [round(row["us"], 3), round(row["us_pdl"], 3)]
            opened |= {row["product"]} if rest else set()
    return {"where": where, "rows": [row for product, row in rows.items() if product in opened]}


def gated(run: Iterable[Mapping[str, Any]], where: str) -> dict[str, Any]:
    """Return the untuned times of a gated unit as one kernel, as two, and by torch."""
    rows: dict[str, Row] = {}
    for row in run:
        kind = row["label"].split(":")[0]
        if row["is_chosen"] and row.get("is_right", True):
            rows.setdefault("x".join(map(str, row["shape"])), {"shape": row["shape"]})[kind] = round(row["us"], 2)
    return {"where": where, "rows": list(rows.values())}


def models(run: Iterable[Mapping[str, Any]], where: str) -> dict[str, Any]:
    """Return the latency of whole models and how far they are from onnxruntime."""
    kept = {row["model"]: row for row in read("models")["rows"]}
    for row in run:
        if row["match"] and "latency_us" in row:  # the time of a wrong result is none
            outputs = row["outputs"].values()
            kept[row["model"]] = {key: row[key] for key in ("model", "kernels", "launches", "latency_us", "match")} | {
                "max_abs": max(output["max_abs"] for output in outputs),
                "where": where,
            }
    return {"rows": list(kept.values())}


def peers(run: Iterable[Mapping[str, Any]], where: str) -> dict[str, Any]:
    """Return the latency of models by others."""
    keys = ("kind", "model", "dtype", "batch")
    kept = {tuple(row[key] for key in keys): row for row in read("peers")["rows"]}
    for row in run:
        if "ms" in row:
            kept[tuple(row[key] for key in keys)] = {key: row[key] for key in keys} | {"us": round(row["ms"] * 1e3, 1), "where": where}
    return {"rows": list(kept.values())}


def dynamic(run: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return a run without what each first call took."""
    left_out = ("columns", "taken_bytes", "resident_bytes", "rows", "worst")
    sequences = [{key: value for key, value in one.items() if key not in left_out} for one in run.get("sequences", ())]
    return {"where": where, **{key: run[key] for key in ("model", "dims", "open")}, "sequences": sequences, "rows": run["rows"]}


def loops(run: Iterable[Mapping[str, Any]], where: str) -> dict[str, Any]:
    """Return a run."""
    return {"where": where, "rows": [dict(row) for row in run]}


def beside(run: Iterable[Mapping[str, Any]], where: str) -> dict[str, Any]:
    """Return what instructions cost tensor cores, and how often one is issued."""
    kept = {row["kind"]: row for row in read("beside")["rows"]}
    for row in run:
        kept[row["kind"]] = {
            "kind": row["kind"],
            **{key: round(row[key], 3) for key in ("stolen", "interval_alone", "interval_beside")},
            "where": where,
        }
    return {"rows": list(kept.values())}


KINDS: dict[str, Callable[[Any, str], dict[str, Any]]] = {
    "products": products,
    "open_products": open_products,
    "gated": gated,
    "models": models,
    "dynamic": dynamic,
    "loops": loops,
    "open_vit": dynamic,
    "dynamic_gpt2": dynamic,
    "while": loops,
    "beside": beside,
    "peers": peers,
}


def main(arguments: list[str]) -> int:
    """Run the command line; see the module's text."""
    match arguments:
        case [kind, path, where] if kind in KINDS:
            content = Path(path).read_text(encoding="utf-8")
            lines = path.endswith(".jsonl")
            run = [json.loads(line) for line in content.splitlines() if line.strip()] if lines else json.loads(content)
            (DOCS / f"{kind}.json").write_text(text(KINDS[kind](run, where)), encoding="utf-8")
            return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
