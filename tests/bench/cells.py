"""Numbers, names and tables as docs/performance.md writes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import exp, log
from typing import Any

from tests.bench.keep import Row


def us(time: float) -> str:
    """Return microseconds with about four digits."""
    return f"{time:.0f}" if time >= 1000 else f"{time:.1f}" if time >= 20 else f"{time:.2f}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"|{'|'.join(f' {cell} ' if cell != '---' else cell for cell in line)}|\n" for line in lines)


def named(product: str) -> tuple[int, int, int, str, str, str]:
    """Return m, n, k, type, layout and epilogue of a product's name."""
    extents, dtype, layout, *epilogue = product.split("-")
    m, n, k = map(int, extents.split("x"))
    return m, n, k, dtype, layout, (epilogue or ["plain"])[0]


LAYOUTS = {"kk": "", "kn": ", B with n last", "mk": ", A with m last"}


def title(product: str, *, has_type: bool = True) -> str:
    """Return a product's name for people."""
    m, n, k, dtype, layout, _ = named(product)
    extents = f"{m}³" if m == n == k else f"{m}×{n}×{k}"
    return f"{extents}{f' {dtype}' if has_type else ''}{LAYOUTS[layout]}"


def schedule(kernel: Mapping[str, Any]) -> str:
    """Return what a kernel's schedule is, in short."""
    s: Mapping[str, Any] = kernel["schedule"]
    tile = "×".join(str(s.get(name, 1)) for name in ("tile_m", "tile_n"))
    match kernel["family"]:
        case "gemm_wgmma":
            found = ["transposed"] if s.get("swaps") else []
            found += [tile, f"{s.get('consumers', 1)}{' by turns' if s.get('ping_pong') else ''}"]
            shares = "×".join(str(s.get(name, 1)) for name in ("cluster_m", "cluster_n"))
            found += [shares] if shares != "1×1" else []
            found += ["slices of the depth"] if s.get("slices_depth") else []
            found += [f"depth by {s['cluster_k']}"] if "cluster_k" in s else []
            found += [word for name, word in (("stores_boxes", "boxes"), ("early_trigger", "early")) if s.get(name)]
        case "gemm_skinny":
            found = ["mma"] if s.get("tensor_cores") else []
            found += [f"{s.get('tile_n', 1)} columns", f"{s.get('loads', 1)} loads"]
            found += [f"{s['slices_k']} slices"] if "slices_k" in s else []
            found += [f"depth by {s['cluster_k']}"] if "cluster_k" in s else []
        case "gemm":
            found = [f"{tile}×{s.get('tile_k', 1)}", "×".join(str(s.get(name, 1)) for name in ("thread_m", "thread_n"))]
            found += [f"{s['slices_k']} slices"] if "slices_k" in s else []
            found += [f"{s.get('stages', 1)} stages"]
        case family:
            found = [family, f"{tile}×{s.get('tile_k', 1)}", f"{s.get('stages', 1)} stages"]
    return ", ".join(found)


def ratio(row: Row, kernel: Mapping[str, Any] | None, key: str = "us_pdl") -> str:
    """Return how many times as fast as cuBLAS a kernel is."""
    return "–" if kernel is None or row["cublas_us"] is None else f"{row['cublas_us'] / kernel[key]:.2f}"


def mean(values: Iterable[float]) -> float:
    """Return the geometric mean."""
    logs = [log(value) for value in values]
    return exp(sum(logs) / len(logs)) if logs else float("nan")
